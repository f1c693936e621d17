#include "problem.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>

#include "../../reference/elements.h"
#include "../../reference/evaluation.h"
#include "../../reference/operators.h"
#include "../../reference/reference.h"
#include "../../reference/types.h"

namespace hewn_bench {

using hewn_test::element, hewn_test::facts, hewn_test::is_float, hewn_test::is_small_float,
    hewn_test::parse_type, hewn_test::sub_byte_bits, hewn_test::with_any_type, reference::f16;

// ---- The lists ----------------------------------------------------------------------------------

const std::vector<std::string> &all_layouts() {
    static const std::vector<std::string> layouts = {
        "dense",   "row_broadcast", "per_channel_outer", "per_axis_last",
        "inner_3", "inner_4",       "transposed",        "strided_rows"};
    return layouts;
}

namespace {
constexpr int64_t ROW = 1024, ROW_PITCH = 1088, CHANNELS = 64;
}

bool layout_fits(const std::string &op, const std::string &layout, int64_t elements) {
    if (layout != "dense" && elements < 4 * ROW) return false;
    if (layout == "row_broadcast") return !facts(op).is_linear();
    if (layout == "per_axis_last") return facts(op).is_linear();
    return true;
}

// ---- Memory -------------------------------------------------------------------------------------

namespace {
constexpr size_t ARENA_BYTES = size_t(64) << 30, HUGE_PAGE = size_t(2) << 20, STAGGER = 33 * 64;
}

Arena::Arena() {
    // One huge page more is mapped, so that the memory can begin at a huge page. Each process then
    // has the same layout within huge pages.
    void *memory = mmap(nullptr, ARENA_BYTES + HUGE_PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no address space for the tensors");
    mapped_ = memory;
    base_ = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(memory) + HUGE_PAGE - 1) /
                                     HUGE_PAGE * HUGE_PAGE);
    madvise(base_, ARENA_BYTES, MADV_HUGEPAGE);
}

Arena::~Arena() { munmap(mapped_, ARENA_BYTES + HUGE_PAGE); }

void *Arena::take(size_t bytes) {
    void *memory = base_ + used_ + STAGGER * (taken_++ % 8);
    // There is some room after each tensor, because peers may read some bytes beyond it.
    used_ = (used_ + bytes + 8 * STAGGER + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    if (used_ > ARENA_BYTES) throw std::runtime_error("tensors beyond 64 GiB");
    kept_ = std::max(kept_, used_);
    return memory;
}

// ---- Operands -----------------------------------------------------------------------------------

size_t Operand::element_bytes() const { return hewn_test::element_bytes(parse_type(type)); }

size_t Operand::bytes() const { return hewn_test::memory_bytes(parse_type(type), span()); }

int64_t Operand::span() const {
    int64_t last = 0;
    for (size_t d = 0; d < sizes.size(); d++) last += (sizes[d] - 1) * strides[d];
    return last + 1;
}

int64_t Operand::distinct() const {
    int64_t count = 1;
    for (size_t d = 0; d < sizes.size(); d++) count *= strides[d] ? sizes[d] : 1;
    return count;
}

int Operand::axis() const {
    for (size_t d = 0; d < sizes.size(); d++) {
        if (strides[d]) return int(d);
    }
    return -1;
}

std::vector<int64_t> Operand::contiguous_shape() const {
    std::vector<int64_t> shape = sizes;
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
        if (strides[d] == 0) shape[d] = 1;
        else if (strides[d] != stride) return {};
        stride *= shape[d];
    }
    return shape;
}

std::vector<double> Operand::values() const {
    std::vector<double> values;
    with_any_type(parse_type(type), [&](auto tag) {
        using T = decltype(tag);
        for (int64_t i = 0; i < distinct(); i++) {
            const T value = element<T>(data, i);
            if constexpr (is_float<T>) values.push_back(reference::to_f32(value));
            else values.push_back(double(value));
        }
    });
    return values;
}

hewn_tensor_desc Operand::desc() const {
    return {sizeof(hewn_tensor_desc), parse_type(type), uint32_t(sizes.size()), sizes.data(),
            strides.data(),           nullptr};
}

// ---- Problems -----------------------------------------------------------------------------------

double Problem::bytes() const {
    const auto distinct_bytes = [](const Operand &operand) {
        return double(hewn_test::memory_bytes(parse_type(operand.type), operand.distinct()));
    };
    double bytes = distinct_bytes(output);
    for (const Operand &input : inputs) bytes += distinct_bytes(input);
    return bytes;
}

bool Problem::is_parameter(size_t input) const { return facts(op).is_parameter(input); }

void Problem::fuse_relu() {
    if (!facts(op).attributes.empty() && facts(op).attributes[0].name == "activation")
        attributes = facts(op).attributes_of({"relu"}, 0);
}

hewn_test::Description Problem::description() const {
    hewn_test::TensorDescs tensors;
    for (const Operand &input : inputs) tensors.push_back(input.desc());
    tensors.push_back(output.desc());
    return hewn_test::Description(facts(op).type, std::move(tensors), attributes);
}

Problem lay_out(const std::string &op, const std::string &signature, const std::string &layout,
                int64_t elements) {
    Problem problem{op, signature, layout, elements, {}, {}};
    if (op == "add1") problem.fuse_relu();
    for (const hewn_data_type type : hewn_test::operand_types(facts(op), signature))
        problem.inputs.push_back({hewn_test::type_name(type), {}, {}});
    problem.output = problem.inputs.back();
    problem.inputs.pop_back();
    const bool is_linear = facts(op).is_linear();
    // `special` has the strides of the second operand, or of the parameters, if the layout has
    // special ones.
    std::vector<int64_t> sizes{elements}, dense{1}, none{0}, special;
    if (layout != "dense") {
        int64_t columns = ROW;
        if (layout == "inner_3" || layout == "inner_4") columns = layout == "inner_3" ? 3 : 4;
        if (layout == "per_channel_outer") columns = elements / CHANNELS;
        if (layout == "transposed") {
            for (columns = 1; columns * columns < elements;) columns *= 2;
        }
        const int64_t rows = elements / columns;
        sizes = {rows, columns};
        dense = {layout == "strided_rows" ? ROW_PITCH : columns, 1};
        none = {0, 0};
        if (layout == "per_channel_outer") special = {1, 0};
        else if (layout == "transposed") special = {1, rows};
        else if (layout != "strided_rows") special = {0, 1};
        problem.elements = rows * columns;
    }
    const bool parameters_vary = is_linear && !special.empty() && layout != "transposed";
    for (size_t i = 0; i < problem.inputs.size(); i++) {
        Operand &input = problem.inputs[i];
        input.sizes = sizes;
        if (problem.is_parameter(i)) input.strides = parameters_vary ? special : none;
        else {
            const bool last = is_linear || i > 0;
            input.strides = last && !special.empty() && !parameters_vary ? special : dense;
        }
    }
    problem.output.sizes = sizes;
    problem.output.strides = dense;
    return problem;
}

namespace {

// Fills the tensor with a random pattern of a prime length, which is repeated. T is the type of its
// elements, or uint8_t for a tensor of any type whose bytes are drawn.
template<class T, class Draw>
void fill(Operand &operand, Draw &&draw) {
    T *const data = static_cast<T *>(operand.data);
    const int64_t count = int64_t(operand.bytes() / sizeof(T)),
                  pattern = std::min<int64_t>(count, 65537);
    for (int64_t i = 0; i < pattern; i++) data[i] = draw();
    for (int64_t done = pattern; done < count;) {
        const int64_t n = std::min(done, count - done) / pattern * pattern,
                      step = n ? n : count - done;
        std::memcpy(data + done, data, size_t(step) * sizeof(T));
        done += step;
    }
}

// The scale of the output of QUANTIZED_LINEAR_ADD and of the input of DEQUANTIZE_LINEAR, and the
// zero point of signed types (each input's is a little smaller).
constexpr float SCALE = 0.0473f;
constexpr int ZERO_POINT = 5;

// The number of steps up to which QUANTIZE_LINEAR's inputs go. Some results saturate, but none that
// is a small float of 8 bits, because peers make infinity or NaN of those.
int quantized_steps(hewn_data_type output) {
    int steps = 150;
    with_any_type(output, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (is_small_float<T> && sub_byte_bits<T> != 0)
            steps = int(1.2f * reference::value_of_code(T::format, T::format.largest));
        else if constexpr (sub_byte_bits<T> != 0) steps = 1 << (sub_byte_bits<T> - 1);
    });
    return steps;
}

// The scale with which QUANTIZE_LINEAR quantizes values of that type. With it, a product with the
// reciprocal does not always round as the division does: 0.05 in f16, and 0.3 at ties.
float quantizing_scale(const std::string &type) {
    return type == "i32" ? 7.0f : type == "f16" ? 0.05f : 0.3f;
}

void fill_tensor(const Problem &problem, Operand &operand, std::mt19937 &random) {
    const std::string &op = problem.op;
    with_any_type(parse_type(operand.type), [&](auto tag) {
        using T = decltype(tag);
        if constexpr (sub_byte_bits<T> != 0) {  // all codes are numbers
            fill<uint8_t>(operand, [&] { return uint8_t(random()); });
        } else if constexpr (is_float<T>) {
            const bool quantizes = op == "quantize_linear";
            const int most_steps = quantized_steps(parse_type(problem.output.type));
            const float scale = quantizing_scale(operand.type),
                        most = quantizes ? float(most_steps) * scale : 6.5f;
            std::uniform_real_distribution<float> values(-most, most);
            std::uniform_int_distribution<int> steps(-most_steps, most_steps);
            fill<T>(operand, [&] {
                const bool tie = quantizes && random() % 8 == 0;
                return reference::from_f32<T>(tie ? (float(steps(random)) + 0.5f) * scale
                                                  : values(random));
            });
        } else {
            // QUANTIZE_LINEAR of i32 has a scale of its own. The 32-bit values for
            // DEQUANTIZE_LINEAR are exact in f32, because peers need that.
            const int64_t limit = op == "quantize_linear" ? 1000 : int64_t(1) << 20;
            const bool narrow = sizeof(T) <= 2 || op == "add";
            const int64_t low = narrow                ? int64_t(std::numeric_limits<T>::min() / 2)
                                : std::is_signed_v<T> ? -limit
                                                      : 0;
            const int64_t high = narrow ? int64_t(std::numeric_limits<T>::max() / 2) : limit;
            std::uniform_int_distribution<int64_t> values(low, high);
            if (op == "add" || sizeof(T) > 1) fill<T>(operand, [&] { return T(values(random)); });
            else fill<T>(operand, [&] { return T(random()); });
        }
    });
}

// Fills a scale or a zero point. Scales differ along an axis. Zero points are equal, because
// oneDNN's reorder takes only one. For 32-bit types they are 0, because ONNX Runtime needs that.
void fill_parameter(Problem &problem, size_t index) {
    Operand &operand = problem.inputs[index];
    static const float scales[] = {0.03f, 0.05f, SCALE};  // those of A, B and the output
    float scale =
        problem.op == "quantize_linear" ? quantizing_scale(problem.inputs[0].type) : SCALE;
    if (facts(problem.op).has_scalars()) scale = scales[index / 3];
    const bool wide = problem.op == "dequantize_linear" && problem.inputs[0].element_bytes() == 4;
    with_any_type(parse_type(operand.type), [&](auto tag) {
        using T = decltype(tag);
        for (int64_t i = 0; i < operand.distinct(); i++) {
            T value;
            if constexpr (is_float<T>)  // a small float has no zero point but 0
                value = reference::from_f32<T>(
                    facts(problem.op).is_scale(index) ? scale * (1 + 0.01f * float(i % 37)) : 0);
            else
                value = wide                            ? T(0)
                        : reference::Limits<T>::min < 0 ? T(ZERO_POINT - int(index))
                                                        : T(120 + int(index));
            hewn_test::set_element(operand.data, i, value);
        }
    });
}

}  // namespace

Problem make_problem(const std::string &op, const std::string &signature, const std::string &layout,
                     int64_t elements, Arena &arena) {
    Problem problem = lay_out(op, signature, layout, elements);
    std::mt19937 random(1);
    for (size_t i = 0; i < problem.inputs.size(); i++) {
        Operand &input = problem.inputs[i];
        input.data = arena.take(input.bytes());
        if (problem.is_parameter(i)) fill_parameter(problem, i);
        else fill_tensor(problem, input, random);
    }
    problem.output.data = arena.take(problem.output.bytes());
    std::memset(problem.output.data, 0, problem.output.bytes());
    return problem;
}

double memory_bytes(const std::string &op, const std::string &signature, int64_t elements) {
    const hewn_test::DataTypes types = hewn_test::operand_types(facts(op), signature);
    double bytes = 0;
    for (size_t i = 0; i < types.size(); i++) {
        if (facts(op).is_parameter(i)) continue;
        bytes += double(elements) * double(hewn_test::element_bytes(types[i])) * ROW_PITCH / ROW;
    }
    return bytes;
}

// ---- Checks -------------------------------------------------------------------------------------

namespace {

// The strides of all tensors, those of the output last.
std::vector<std::vector<int64_t>> strides_of(const Problem &problem) {
    std::vector<std::vector<int64_t>> strides;
    for (const Operand &input : problem.inputs) strides.push_back(input.strides);
    strides.push_back(problem.output.strides);
    return strides;
}

}  // namespace

void check_against_reference(const Problem &problem) {
    hewn_test::Evaluation evaluation{
        facts(problem.op).type, {}, problem.output.sizes, strides_of(problem), {}};
    evaluation.attributes = problem.attributes;
    for (const Operand &input : problem.inputs) {
        evaluation.types.push_back(parse_type(input.type));
        evaluation.inputs.push_back(input.data);
    }
    evaluation.types.push_back(parse_type(problem.output.type));
    const int64_t wrong = hewn_test::count_differences(evaluation, problem.output.data);
    if (wrong)
        throw std::runtime_error("hewn: " + std::to_string(wrong) +
                                 " elements differ from the reference in " + problem.op + " " +
                                 problem.signature + " " + problem.layout + " " +
                                 std::to_string(problem.elements));
}

Difference difference(const Problem &problem, const void *expected) {
    Difference result;
    with_any_type(parse_type(problem.output.type), [&](auto tag) {
        using T = decltype(tag);
        hewn_test::for_each_element(
            problem.output.sizes, {problem.output.strides}, [&](const int64_t *at) {
                const T got = element<T>(problem.output.data, at[0]),
                        want = element<T>(expected, at[0]);
                if (reference::same(got, want)) return;
                result.count++;
                double distance;
                if constexpr (std::is_same_v<T, float>)
                    distance = std::fabs(double(got) - want) / (std::fabs(want) * 0x1p-22);
                else if constexpr (is_float<T>) {
                    double relative = std::is_same_v<T, f16> ? 0x1p-9 : 0x1p-6, least = 0x1p-23;
                    if constexpr (is_small_float<T>) {
                        relative = std::ldexp(2.0, -T::format.mantissa);
                        least = std::ldexp(relative, T::format.least_exponent());
                    }
                    distance = std::fabs(double(reference::to_f32(got)) - reference::to_f32(want)) /
                               (std::fabs(reference::to_f32(want)) * relative + least);
                } else distance = problem.op == "add" ? 2 : std::fabs(double(got) - double(want));
                if (!(distance <= 1)) result.within_a_step = false;
            });
    });
    return result;
}

hewn::CompileOptions compile_options(const std::string &variant, int threads) {
    hewn::CompileOptions options;
    options.variant = variant;
    // A limit on threads also limits the number of slices, so none is set for all threads.
    options.max_threads = threads == int(std::thread::hardware_concurrency()) ? 0 : threads;
    return options;
}

hewn_operator *compile(const hewn_test::Description &description,
                       const hewn::CompileOptions &options, decltype(&hewn_compile) with) {
    const hewn_compile_options c_options{sizeof c_options,
                                         HEWN_FEATURE_LEVEL_NEWEST,
                                         options.variant.c_str(),
                                         options.max_threads,
                                         nullptr,
                                         nullptr,
                                         options.constants.data(),
                                         uint32_t(options.constants.size())};
    hewn_error error{sizeof error, HEWN_STATUS_OK, ""};
    hewn_operator *op = nullptr;
    if (with(nullptr, description.get(), &c_options, &op, &error) != HEWN_STATUS_OK)
        throw hewn::Error(error);
    return op;
}

std::vector<hewn::InputBinding> constants_of(const Problem &problem) {
    std::vector<hewn::InputBinding> constants;
    for (size_t i = 0; i < problem.inputs.size(); i++) {
        if (problem.is_parameter(i)) constants.push_back(problem.inputs[i].binding());
        else constants.push_back(nullptr);
    }
    return constants;
}

std::vector<hewn_buffer_binding> input_bindings(const Problem &problem) {
    std::vector<hewn_buffer_binding> bindings;
    for (const Operand &input : problem.inputs) bindings.push_back(input.binding());
    return bindings;
}

std::vector<hewn_buffer_binding> bindings_beside_constants(const Problem &problem) {
    std::vector<hewn_buffer_binding> bindings = input_bindings(problem);
    for (size_t i = 0; i < bindings.size(); i++) {
        if (problem.is_parameter(i)) bindings[i] = {sizeof(hewn_buffer_binding), nullptr, 0, 0};
    }
    return bindings;
}

}  // namespace hewn_bench
