// The peer oneDNN. ADD is a binary primitive. QUANTIZE_LINEAR and DEQUANTIZE_LINEAR are reorders
// with a scale and a zero point. QUANTIZED_LINEAR_ADD is a binary sum whose sources have scales,
// followed by a linear operation that adds all zero points at once. A fused relu is one more
// operation after the sum. The code is for versions 2 (scales are attributes) and 3 (scales are
// arguments) of oneDNN's API.
#include <omp.h>

#include <algorithm>
#include <limits>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>

#include "../core/contender.h"

namespace hewn_bench {
namespace {

using dnnl::memory;

memory::data_type dnnl_type(const std::string &type) {
    static const std::map<std::string, memory::data_type> types = {
        {"f32", memory::data_type::f32},   {"f16", memory::data_type::f16},
        {"bf16", memory::data_type::bf16}, {"i32", memory::data_type::s32},
        {"i8", memory::data_type::s8},     {"u8", memory::data_type::u8}};
    const auto found = types.find(type);
    return found == types.end() ? memory::data_type::undef : found->second;
}

class OneDnn : public Contender {
public:
    OneDnn() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}
    std::string name() const override { return "oneDNN"; }
    std::string version() const override {
        const dnnl_version_t *const v = dnnl_version();
        return std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
               std::to_string(v->patch);
    }

    Runner prepare(const Problem &problem, int threads) override {
        arguments_.clear();
        for (const Operand &input : problem.inputs) {
            if (dnnl_type(input.type) == memory::data_type::undef) return {};
        }
        // oneDNN adds i32 as f32, which rounds beyond 2^24.
        if (problem.op == "add" && problem.signature == "i32") return {};
        const bool linear = problem.op == "quantize_linear" || problem.op == "dequantize_linear";
        if (!linear && problem.op != "add" && problem.op != "add1" &&
            problem.op != "quantized_linear_add")
            return {};
        omp_set_num_threads(threads);
        try {
            primitive_ = linear ? reorder(problem) : binary(problem);
        } catch (const dnnl::error &) {  // no implementation for these types or strides
            return {};
        }
        std::vector<dnnl_exec_arg_t> arguments;
        for (const auto &[index, memory] : arguments_) arguments.push_back({index, memory.get()});
        return [this, threads, arguments](int64_t n) {
            omp_set_num_threads(threads);
            for (int64_t i = 0; i < n; i++) {
                dnnl_primitive_execute(primitive_.get(), stream_.get(), int(arguments.size()),
                                       arguments.data());
            }
            stream_.wait();
        };
    }

private:
    // oneDNN's description of an operand. A dimension that repeats has size 1 and the stride of a
    // contiguous tensor. With any other stride, oneDNN would take its slow reference
    // implementation.
    static memory::desc desc(const Operand &operand) {
        memory::dims sizes = operand.sizes, strides = operand.strides;
        for (size_t d = sizes.size(); d-- > 0;) {
            if (strides[d] != 0) continue;
            sizes[d] = 1;
            strides[d] = d + 1 < sizes.size() ? strides[d + 1] * sizes[d + 1] : 1;
        }
        return {sizes, dnnl_type(operand.type), strides};
    }

    // Passes the operand's memory as that argument of the primitive.
    void pass(int argument, const Operand &operand) {
        arguments_[argument] = memory(desc(operand), engine_, operand.data);
    }

    // Passes a copy of the values.
    template<class T>
    void pass(int argument, memory::data_type type, const std::vector<T> &values) {
        memory m({{memory::dim(values.size())}, type, {1}}, engine_);
        std::copy(values.begin(), values.end(), static_cast<T *>(m.get_data_handle()));
        arguments_[argument] = m;
    }

    dnnl::primitive reorder(const Problem &problem) {
        const Operand &x = problem.inputs[0], &scale = problem.inputs[1],
                      &zero_point = problem.inputs[2];
        const bool quantize = problem.op == "quantize_linear";
        const int side = quantize ? DNNL_ARG_DST : DNNL_ARG_SRC,
                  mask = scale.axis() < 0 ? 0 : 1 << scale.axis();
        std::vector<float> scales;
        for (const double s : scale.values()) scales.push_back(float(s));
        const std::vector<int32_t> zero_points = {int32_t(zero_point.values()[0])};
        dnnl::primitive_attr attributes;
#if DNNL_VERSION_MAJOR < 3
        if (quantize) {
            for (float &s : scales) s = 1 / s;
        }
        attributes.set_output_scales(mask, scales);
        if (zero_points[0] != 0) attributes.set_zero_points(side, 0, zero_points);
#else
        attributes.set_scales_mask(side, mask);
        pass(DNNL_ARG_ATTR_SCALES | side, memory::data_type::f32, scales);
        if (zero_points[0] != 0) {
            attributes.set_zero_points_mask(side, 0);
            pass(DNNL_ARG_ATTR_ZERO_POINTS | side, memory::data_type::s32, zero_points);
        }
#endif
        pass(DNNL_ARG_FROM, x);
        pass(DNNL_ARG_TO, problem.output);
        return dnnl::reorder(dnnl::reorder::primitive_desc(engine_, desc(x), engine_,
                                                           desc(problem.output), attributes));
    }

    static void append(dnnl::post_ops &post, dnnl::algorithm algorithm, float alpha, float beta) {
#if DNNL_VERSION_MAJOR < 3
        post.append_eltwise(1, algorithm, alpha, beta);
#else
        post.append_eltwise(algorithm, alpha, beta);
#endif
    }

    dnnl::primitive binary(const Problem &problem) {
        const bool quantized = problem.op == "quantized_linear_add";
        const Operand &a = problem.inputs[0], &b = problem.inputs[quantized ? 3 : 1];
        dnnl::primitive_attr attributes;
        dnnl::post_ops post;
        float zero_point = 0;
        if (quantized) {
            std::vector<float> p;
            for (const Operand &input : problem.inputs)
                p.push_back(input.distinct() == 1 ? float(input.values()[0]) : 0);
            const float a_scale = p[1] / p[6], b_scale = p[4] / p[6],
                        shift = p[7] - p[2] * a_scale - p[5] * b_scale;
            zero_point = p[7];
#if DNNL_VERSION_MAJOR < 3
            attributes.set_scales(DNNL_ARG_SRC_0, 0, {a_scale});
            attributes.set_scales(DNNL_ARG_SRC_1, 0, {b_scale});
#else
            attributes.set_scales_mask(DNNL_ARG_SRC_0, 0);
            attributes.set_scales_mask(DNNL_ARG_SRC_1, 0);
            pass(DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC_0, memory::data_type::f32,
                 std::vector<float>{a_scale});
            pass(DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC_1, memory::data_type::f32,
                 std::vector<float>{b_scale});
#endif
            append(post, dnnl::algorithm::eltwise_linear, 1, shift);
        }
        if (problem.has_relu())
            append(post, dnnl::algorithm::eltwise_clip, zero_point,
                   std::numeric_limits<float>::max());
        attributes.set_post_ops(post);
        pass(DNNL_ARG_SRC_0, a);
        pass(DNNL_ARG_SRC_1, b);
        pass(DNNL_ARG_DST, problem.output);
        constexpr auto ADD = dnnl::algorithm::binary_add;
#if DNNL_VERSION_MAJOR < 3
        return dnnl::binary(dnnl::binary::primitive_desc(
            dnnl::binary::desc(ADD, desc(a), desc(b), desc(problem.output)), attributes, engine_));
#else
        return dnnl::binary(dnnl::binary::primitive_desc(engine_, ADD, desc(a), desc(b),
                                                         desc(problem.output), attributes));
#endif
    }

    dnnl::engine engine_;
    dnnl::stream stream_;
    dnnl::primitive primitive_;
    std::map<int, memory> arguments_;
};

}  // namespace

std::unique_ptr<Contender> make_onednn() { return std::make_unique<OneDnn>(); }

}  // namespace hewn_bench
