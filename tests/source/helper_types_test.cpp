// Tests of the generators' numeric helpers, which are called without the generators. Each helper
// accepts some types. For all others it ends the generator's run with an error that names the
// kernel, the helper and the types.
#include <cstdio>
#include <functional>

#include "../../generators/numerics.h"
#include "../../generators/numerics_gpu.h"
#include "../../generators/small_floats.h"

namespace {

using Halide::BFloat, Halide::Expr, Halide::Float, Halide::Int, Halide::Type, Halide::UInt;

int failed = 0;

Expr variable(const Type &type) { return Halide::Internal::Variable::make(type, "v"); }

void refused(const char *helper, const char *rule, const std::function<void()> &call) {
    const std::string wanted = std::string("add f32_x: ") + rule;
    std::string got = "nothing";
    try {
        call();
    } catch (const Halide::CompileError &error) {
        got = error.what();
        got.pop_back();  // the end of the line
    }
    const bool ok = got.find(wanted) != std::string::npos;
    std::printf("%s  %s: %s\n", ok ? "ok    " : "FAILED", helper, got.c_str());
    failed += !ok;
}

void taken(const char *helper, const std::function<void()> &call) {
    try {
        call();
    } catch (const Halide::CompileError &error) {
        std::printf("FAILED  %s: %s\n", helper, error.what());
        failed++;
    }
}

// Calls f(type) for the types that the helper accepts, which must succeed, and for all others,
// which must be refused.
void holds(const char *helper, const std::vector<Type> &held,
           const std::function<void(const Type &)> &f) {
    for (const Type &type : {Float(16), BFloat(16), Float(32), Float(64), Int(8), Int(16), Int(32),
                             Int(64), UInt(8), UInt(16), UInt(32), UInt(64)}) {
        const auto call = [&] { f(type); };
        if (std::find(held.begin(), held.end(), type) != held.end()) taken(helper, call);
        else refused(helper, helper, call);
    }
}

}  // namespace

int main() {
    using namespace hewn;
    kernel_name = "add f32_x";
    const Halide::Target x86("x86-64-linux-sse41"), arm("arm-64-linux-arm_dot_prod"),
        cuda("x86-64-linux-cuda-cuda_capability_75"), opencl("x86-64-linux-opencl");
    const std::vector<Type> bytes = {Int(8), UInt(8)}, f32 = {Float(32)};
    const std::vector<Type> up_to_16 = {Int(8), UInt(8), Int(16), UInt(16)};
    const std::vector<Type> up_to_32 = {Int(8), UInt(8), Int(16), UInt(16), Int(32), UInt(32)};
    std::vector<Type> numbers = up_to_32;
    numbers.insert(numbers.end(), {Float(16), Float(32)});
    const Expr q = variable(Float(32)), bits = variable(UInt(32));

    holds("to_f32", numbers, [&](const Type &t) { to_f32(variable(t)); });
    holds("to_f16", f32, [&](const Type &t) { to_f16(variable(t), x86); });
    holds("bf16_to_f32", {UInt(16)}, [&](const Type &t) { bf16_to_f32(variable(t)); });
    holds("f32_to_bf16", f32, [&](const Type &t) { f32_to_bf16(variable(t), x86); });
    holds("round_to_int32", f32, [&](const Type &t) { round_to_int32(variable(t)); });
    holds("quantize_clamped", up_to_16,
          [&](const Type &t) { quantize_clamped(q, variable(t), t); });
    for (const auto &target : {x86, arm})
        holds("quantized_by_halves", {Int(32), UInt(32)},
              [&](const Type &t) { quantized_by_halves(q, variable(t), t, target); });
    for (const auto &target : {x86, arm})
        holds("difference_f32", up_to_32,
              [&](const Type &t) { difference_f32(variable(t), variable(t), target); });
    refused("difference_f32", "difference_f32",
            [&] { difference_f32(variable(UInt(32)), variable(Int(32)), x86); });
    holds("difference_f32", bytes,
          [&](const Type &t) { hewn::arm::difference_f32(variable(t), variable(t), arm); });
    holds("quantized", up_to_16, [&](const Type &t) { hewn::arm::quantized(q, variable(t), t); });
    holds("quantized_number", bytes,
          [&](const Type &t) { hewn::arm::quantized_number(q, variable(Int(32)), t); });
    holds("sum_f16", {Float(16)},
          [&](const Type &t) { hewn::arm::sum_f16(variable(t), variable(t), arm); });

    const Format format(bits);
    holds("decoded_bits", {UInt(8)}, [&](const Type &t) { decoded_bits(variable(t), format); });
    holds("decoded_as_f16", {UInt(8)}, [&](const Type &t) { decoded_as_f16(variable(t), format); });
    holds("decoded_by_f16", {UInt(8)}, [&](const Type &t) { decoded_by_f16(variable(t), format); });
    holds("encoded_bits", {UInt(32)}, [&](const Type &t) { encoded_bits(variable(t), format); });
    for (const bool has_nan : {true, false})
        holds("encoded", f32,
              [&](const Type &t) { encoded(variable(t), bits, format, has_nan, x86); });

    holds("widened", {UInt(16)}, [&](const Type &t) { gpu::widened(variable(t)); });
    holds("widened_power", {UInt(8)}, [&](const Type &t) { gpu::widened_power(variable(t)); });
    holds("narrowed", {UInt(32)}, [&](const Type &t) { gpu::narrowed(variable(t)); });
    holds("narrowed_to_bf16", {UInt(32)},
          [&](const Type &t) { gpu::narrowed_to_bf16(variable(t)); });
    holds("converted", {Int(32)}, [&](const Type &t) { gpu::converted(variable(t)); });
    holds("difference", up_to_32,
          [&](const Type &t) { gpu::difference(variable(t), variable(t)); });
    holds("quantized", up_to_16,
          [&](const Type &t) { gpu::quantize(bits, bits, variable(t), t, true, true); });
    holds("finished_ieee", up_to_16, [&](const Type &t) { gpu::finished_ieee(q, variable(t), t); });
    holds("addend_ieee", up_to_16,
          [&](const Type &t) { gpu::addend_ieee(variable(t), variable(t), bits); });
    holds("addend", up_to_16, [&](const Type &t) {
        gpu::quantized_add(variable(t), bits, variable(t), variable(t), bits, variable(t), bits,
                           variable(UInt(8)), UInt(8));
    });
    for (const auto &target : {cuda, opencl}) {
        const gpu::Numerics numerics(target, true);
        holds("to_f32", {Float(16), BFloat(16), Float(32), Int(32), UInt(8)},
              [&](const Type &t) { numerics.to_f32(variable(gpu::bits_type(t)), t); });
        holds("from_f32", {Float(16), BFloat(16), Float(32)},
              [&](const Type &t) { numerics.from_f32(q, t); });
    }
    return failed != 0;
}
