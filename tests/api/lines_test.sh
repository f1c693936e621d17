#!/usr/bin/env bash
# lines_test.sh WORK CXX...: checks which lines with hewn.hpp compile. Lines that a user may write
# must compile without a warning. Lines that cannot be right must not compile, and the compiler's
# message must give the reason. It does so by showing the line of the header that deletes the
# constructor.
set -euo pipefail
work=$1
shift
compiler=("$@" -fsyntax-only -Wall -Wextra -Wshadow -pedantic -Werror)
if [[ $("$@" --version) == *clang* ]]; then compiler+=(-ferror-limit=0); fi
rm -rf "$work"
mkdir -p "$work"

cat >"$work/begin" <<'END'
#include <hewn/hewn.hpp>
#include <complex>
#include <list>
#if __cplusplus >= 202002L
#include <span>
#endif
using hewn::DataType, hewn::TensorDesc;
void lines(const hewn::Operator &op, std::vector<float> x, const std::vector<float> constant,
           float *pointer, const std::vector<int64_t> s, uint64_t bytes) {
    const auto f32 = DataType::FLOAT32, u8 = DataType::UINT8;
    std::vector<double> doubles;
    std::vector<std::vector<float>> rows_of_rows;
    std::vector<bool> bits;
    std::list<float> list;
    std::array<std::array<float, 3>, 2> nested = {};
    float array[4] = {}, rows[2][3] = {}, number = 0;
    const float constant_array[4] = {};
    double wide[4] = {};
    float *pointers[2] = {};
    const TensorDesc q = {u8, s};
    const std::optional<TensorDesc> optional;
    (void)bytes, (void)doubles, (void)wide, (void)pointers;
END
cp "$work/begin" "$work/good.cpp"
cp "$work/begin" "$work/bad.cpp"

bad=() reasons=()
good() { printf '{ %s }\n' "$1" >>"$work/good.cpp"; }
bad() {  # REASON LINE
    reasons+=("$1") bad+=("$2")
    printf '#line %d "bad"\n{ %s }\n' "${#bad[@]}" "$2" >>"$work/bad.cpp"
}

good 'op.execute({x, constant}, {x});'
good 'op.execute({array, constant_array, rows, nested}, {array});'
good 'op.execute({array, array}, {rows});'
good 'op.execute({array, number, uint8_t(3), 0.5f, nullptr}, {number});'
good 'op.execute({{pointer, 16}, {pointer, bytes, 4}, {&number, sizeof number}},
                 {{pointer, bytes}});'
good 'const hewn::Binding out(pointer, 16, 4); op.execute({out, out, x}, {out});'
good 'hewn::ExecuteOptions options(1); op.execute({x, x}, {x}, &options);'
good 'std::vector<hewn::InputBinding> in = {x, constant}; hewn::Binding out = x;
      op.execute(in.data(), in.size(), &out, 1);'
good 'op.execute({std::vector<float>(4), x}, {x});'
good 'std::vector<std::complex<float>> c; std::vector<std::byte> b; op.execute({c, b}, {c});'
good '[[maybe_unused]] hewn_buffer_binding c[] = {hewn::Binding(x), hewn::InputBinding(x)};'
good 'hewn::compile(hewn::QuantizeLinearDesc{{f32, s}, {f32, s}, {u8, s}, q});'
good 'hewn::compile(hewn::QuantizeLinearDesc{{f32, s}, {f32, s, {{0}}}, {u8, s, s}, {u8, s}});'
good 'hewn::compile(hewn::DequantizeLinearDesc{q, {f32, s}, std::nullopt, {f32, s}});'
good 'hewn::compile(hewn::DequantizeLinearDesc{q, {f32, s}, optional, {f32, s}});'
good 'hewn::QuantizeLinearDesc desc = {{f32, s}, {f32, s}, {}, q};
      desc.zero_point_tensor = q; desc.zero_point_tensor = {u8, s};'
echo '#if __cplusplus >= 202002L' >>"$work/good.cpp"
good 'op.execute({std::span(x), std::span(constant), std::span(array)}, {std::span(x)});'
good 'op.execute({x, x}, {std::span(x).first(4)});'
echo '#endif' >>"$work/good.cpp"

written='an output is written: it is neither const nor a temporary'
for output in constant constant_array 'std::vector<float>(4)' 0.5f 'std::as_const(number)'; do
    bad "$written" "op.execute({x}, {$output});"
done
type='no operator takes double: convert to float'
for memory in doubles wide 'wide[0]' 'std::vector<long double>(4)' \
    'std::vector<std::complex<double>>(4)'; do
    bad "$type" "op.execute({x, $memory}, {x});"
done
for output in doubles wide 'wide[0]'; do bad "$type" "op.execute({x, x}, {$output});"; done
bad "$type" 'op.execute({x, 0.5}, {x});'
numbers='expected: a container with data(), a C array, {pointer, bytes}'
for memory in pointer rows_of_rows bits list pointers 'std::vector<hewn::InputBinding>{}'; do
    bad "$numbers" "op.execute({x, $memory}, {x});"
done
for output in pointer rows_of_rows bits list pointers; do
    bad "$numbers" "op.execute({x, x}, {$output});"
done

for file in good bad; do echo '}' >>"$work/$file.cpp"; done
failed=0
for standard in c++17 c++20; do
    "${compiler[@]}" -std=$standard "$work/good.cpp" || failed=1
    "${compiler[@]}" -std=$standard "$work/bad.cpp" 2>"$work/messages" && failed=1
    # A line's message begins with its error and ends with the next one.
    for i in "${!bad[@]}"; do
        message=$(awk -v line="^bad:$((i + 1)):.* error: " \
            '/ error: / { inside = $0 ~ line } inside' "$work/messages")
        [[ $message == *"${reasons[i]}"* ]] && continue
        printf 'lines_test: with %s the messages of this lack "%s": %s\n%s\n' $standard \
            "${reasons[i]}" "${bad[i]}" "$message" >&2
        failed=1
    done
done
((failed == 0)) || exit 1
echo "passed: lines that compile, ${#bad[@]} that are refused with a reason"
