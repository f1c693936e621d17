// The peer XNNPACK. Its operators are created once. Usually they are also set up once, so that only
// xnn_run_operator is timed. With `sets_up`, the setup, which takes the tensors' addresses, is
// timed too. The code is for two generations of XNNPACK's API: with a function for each type
// (Debian 12), and with one function for all types (Debian 13; HEWN_BENCH_XNNPACK_TYPED_API).
#include <xnnpack.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <type_traits>

#include "../core/contender.h"
#include "../core/threads.h"

namespace hewn_bench {
namespace {

// A tensor as XNNPACK's operators take it: its shape (with 1 where it repeats, empty if it is not
// contiguous), its scale and its zero point.
struct Side {
    const Operand *operand;
    std::vector<size_t> shape;
    float scale = 1;
    int32_t zero_point = 0;
};

Side side_of(const Operand &operand) {
    Side side{&operand, {}};
    for (const int64_t size : operand.contiguous_shape()) side.shape.push_back(size_t(size));
    return side;
}

Side side_of(const Operand &operand, const Operand &scale, const Operand &zero_point) {
    Side side = side_of(operand);
    side.scale = float(scale.values()[0]);
    side.zero_point = int32_t(zero_point.values()[0]);
    return side;
}

// The rows of an input and an output: how many, how long, and their distances in elements.
struct Rows {
    size_t count, length, input_stride, output_stride;
};

// The Runner of an operator, or an empty one if `setup` fails. With `sets_up`, each call repeats
// the setup.
template<class Setup>
Runner runner(xnn_operator_t op, pthreadpool_t pool, bool sets_up, Setup setup) {
    if (setup() != xnn_status_success) return {};
    if (!sets_up) return repeat([=] { xnn_run_operator(op, pool); });
    return repeat([=] {
        setup();
        xnn_run_operator(op, pool);
    });
}

#if defined(HEWN_BENCH_XNNPACK_TYPED_API)

constexpr bool kSetupIsQuick = true;

xnn_datatype xnn_type(const std::string &type, bool quantized) {
    static const std::map<std::string, xnn_datatype> types = {{"f32", xnn_datatype_fp32},
                                                              {"f16", xnn_datatype_fp16},
                                                              {"i32", xnn_datatype_int32},
                                                              {"i8", xnn_datatype_qint8},
                                                              {"u8", xnn_datatype_quint8}};
    const auto found = types.find(type);
    const bool integer = type == "i8" || type == "u8";
    return found == types.end() || (integer && !quantized) ? xnn_datatype_invalid : found->second;
}

// This API has no activations.
Runner create_add(const Side &a, const Side &b, const Side &out, bool quantized, bool relu,
                  pthreadpool_t pool, bool sets_up, xnn_operator_t *op) {
    if (relu) return {};
    const xnn_datatype type = xnn_type(out.operand->type, quantized);
    if (type == xnn_datatype_invalid || a.operand->type != b.operand->type ||
        a.operand->type != out.operand->type)
        return {};
    const auto parameters = [](const Side &side) {
        return xnn_quantization_params{side.zero_point, side.scale};
    };
    const xnn_quantization_params qa = parameters(a), qb = parameters(b), qo = parameters(out);
    if (xnn_create_binary_elementwise_nd(xnn_binary_add, type, quantized ? &qa : nullptr,
                                         quantized ? &qb : nullptr, quantized ? &qo : nullptr, 0,
                                         op) != xnn_status_success ||
        xnn_reshape_binary_elementwise_nd(*op, a.shape.size(), a.shape.data(), b.shape.size(),
                                          b.shape.data(), pool) != xnn_status_success)
        return {};
    return runner(*op, pool, sets_up,
                  [op = *op, x = a.operand->data, y = b.operand->data, to = out.operand->data] {
                      return xnn_setup_binary_elementwise_nd(op, x, y, to);
                  });
}

// Calls xnn_create_unary_elementwise_nc. Versions after Debian 13's also take a lookup table.
template<class Create, class... Rest>
xnn_status create_unary(const Create &create, xnn_datatype from, xnn_datatype to, Rest... rest) {
    constexpr std::nullptr_t parameters = nullptr, table = nullptr;
    if constexpr (std::is_invocable_v<Create, xnn_unary_operator, xnn_datatype, xnn_datatype,
                                      std::nullptr_t, Rest...>)
        return create(xnn_unary_convert, from, to, parameters, rest...);
    else return create(xnn_unary_convert, from, to, parameters, table, rest...);
}

Runner create_convert(const Side &in, const Side &out, const Rows &rows, pthreadpool_t pool,
                      bool sets_up, xnn_operator_t *op) {
    const xnn_datatype from = xnn_type(in.operand->type, true),
                       to = xnn_type(out.operand->type, true);
    if (from == xnn_datatype_invalid || to == xnn_datatype_invalid) return {};
    // XNNPACK would ignore the scale of i32.
    if (from == xnn_datatype_int32 && in.scale != 1) return {};
    const xnn_quantization_params qi{in.zero_point, in.scale}, qo{out.zero_point, out.scale};
    if (create_unary(xnn_create_unary_elementwise_nc, from, to, &qi, &qo, uint32_t(0), op) !=
            xnn_status_success ||
        xnn_reshape_unary_elementwise_nc(*op, rows.count, rows.length, rows.input_stride,
                                         rows.output_stride, pool) != xnn_status_success)
        return {};
    return runner(*op, pool, sets_up, [op = *op, x = in.operand->data, y = out.operand->data] {
        return xnn_setup_unary_elementwise_nc(op, x, y);
    });
}

#else

constexpr bool kSetupIsQuick = false;  // the setup of this API also plans

template<class T>
const T *data(const Side &side) {
    return static_cast<const T *>(side.operand->data);
}

template<class T>
T *output(const Side &side) {
    return static_cast<T *>(side.operand->data);
}

bool create_add_of_type(const Side &a, const Side &b, const Side &out, bool quantized, bool relu,
                        pthreadpool_t pool, xnn_operator_t *op) {
    const std::string &type = out.operand->type;
    if (a.operand->type != type || b.operand->type != type) return false;
    const float infinity = std::numeric_limits<float>::infinity(), least = relu ? 0 : -infinity;
    const size_t a_rank = a.shape.size(), b_rank = b.shape.size();
    if (type == "f32")
        return xnn_create_add_nd_f32(least, infinity, 0, op) == xnn_status_success &&
               xnn_setup_add_nd_f32(*op, a_rank, a.shape.data(), b_rank, b.shape.data(),
                                    data<float>(a), data<float>(b), output<float>(out),
                                    pool) == xnn_status_success;
    if (type == "f16")
        return xnn_create_add_nd_f16(least, infinity, 0, op) == xnn_status_success &&
               xnn_setup_add_nd_f16(*op, a_rank, a.shape.data(), b_rank, b.shape.data(),
                                    data<void>(a), data<void>(b), output<void>(out),
                                    pool) == xnn_status_success;
    if (type == "i8" && quantized)
        return xnn_create_add_nd_qs8(int8_t(a.zero_point), a.scale, int8_t(b.zero_point), b.scale,
                                     int8_t(out.zero_point), out.scale,
                                     relu ? int8_t(out.zero_point) : INT8_MIN, INT8_MAX, 0,
                                     op) == xnn_status_success &&
               xnn_setup_add_nd_qs8(*op, a_rank, a.shape.data(), b_rank, b.shape.data(),
                                    data<int8_t>(a), data<int8_t>(b), output<int8_t>(out),
                                    pool) == xnn_status_success;
    if (type == "u8" && quantized)
        return xnn_create_add_nd_qu8(uint8_t(a.zero_point), a.scale, uint8_t(b.zero_point), b.scale,
                                     uint8_t(out.zero_point), out.scale,
                                     relu ? uint8_t(out.zero_point) : 0, UINT8_MAX, 0,
                                     op) == xnn_status_success &&
               xnn_setup_add_nd_qu8(*op, a_rank, a.shape.data(), b_rank, b.shape.data(),
                                    data<uint8_t>(a), data<uint8_t>(b), output<uint8_t>(out),
                                    pool) == xnn_status_success;
    return false;
}

bool create_convert_of_type(const Side &in, const Side &out, const Rows &rows, pthreadpool_t pool,
                            xnn_operator_t *op) {
    const std::string signature = in.operand->type + "_" + out.operand->type;
    const size_t length = rows.length, input_stride = rows.input_stride,
                 output_stride = rows.output_stride;
    if (signature == "f32_i8")
        return xnn_create_convert_nc_f32_qs8(length, input_stride, output_stride, out.scale,
                                             int8_t(out.zero_point), INT8_MIN, INT8_MAX, 0,
                                             op) == xnn_status_success &&
               xnn_setup_convert_nc_f32_qs8(*op, rows.count, data<float>(in), output<int8_t>(out),
                                            pool) == xnn_status_success;
    if (signature == "f32_u8")
        return xnn_create_convert_nc_f32_qu8(length, input_stride, output_stride, out.scale,
                                             uint8_t(out.zero_point), 0, UINT8_MAX, 0,
                                             op) == xnn_status_success &&
               xnn_setup_convert_nc_f32_qu8(*op, rows.count, data<float>(in), output<uint8_t>(out),
                                            pool) == xnn_status_success;
    if (signature == "i8_f32")
        return xnn_create_convert_nc_qs8_f32(length, input_stride, output_stride, in.scale,
                                             int8_t(in.zero_point), 0, op) == xnn_status_success &&
               xnn_setup_convert_nc_qs8_f32(*op, rows.count, data<int8_t>(in), output<float>(out),
                                            pool) == xnn_status_success;
    if (signature == "u8_f32")
        return xnn_create_convert_nc_qu8_f32(length, input_stride, output_stride, in.scale,
                                             uint8_t(in.zero_point), 0, op) == xnn_status_success &&
               xnn_setup_convert_nc_qu8_f32(*op, rows.count, data<uint8_t>(in), output<float>(out),
                                            pool) == xnn_status_success;
    return false;
}

Runner set_up(bool created, xnn_operator_t op, pthreadpool_t pool) {
    return created ? runner(op, pool, false, [] { return xnn_status_success; }) : Runner();
}

Runner create_add(const Side &a, const Side &b, const Side &out, bool quantized, bool relu,
                  pthreadpool_t pool, bool, xnn_operator_t *op) {
    const bool created = create_add_of_type(a, b, out, quantized, relu, pool, op);
    return set_up(created, *op, pool);
}

Runner create_convert(const Side &in, const Side &out, const Rows &rows, pthreadpool_t pool, bool,
                      xnn_operator_t *op) {
    const bool created = create_convert_of_type(in, out, rows, pool, op);
    return set_up(created, *op, pool);
}

#endif

class XnnPack : public Contender {
public:
    explicit XnnPack(bool sets_up) : sets_up_(sets_up) {
        if (sets_up && !kSetupIsQuick)
            throw std::runtime_error(
                "--xnnpack-setup: this XNNPACK, of before 2023, takes "
                "addresses and shapes at once");
        if (xnn_initialize(nullptr) != xnn_status_success)
            throw std::runtime_error("XNNPACK does not run on this machine");
    }
    ~XnnPack() override { release(); }
    std::string name() const override { return sets_up_ ? "XNNPACK set up" : "XNNPACK"; }
    std::string version() const override { return HEWN_BENCH_XNNPACK_VERSION; }

    Runner prepare(const Problem &problem, int threads) override {
        release();
        return create(problem, thread_pool(threads));
    }

private:
    Runner create(const Problem &problem, pthreadpool_t pool) {
        const std::vector<Operand> &in = problem.inputs;
        const Operand &out = problem.output;
        const bool quantized = problem.op == "quantized_linear_add";
        if (problem.op == "add" || problem.op == "add1" || quantized) {
            const Side a = quantized ? side_of(in[0], in[1], in[2]) : side_of(in[0]);
            const Side b = quantized ? side_of(in[3], in[4], in[5]) : side_of(in[1]);
            const Side o = quantized ? side_of(out, in[6], in[7]) : side_of(out);
            if (a.shape.empty() || b.shape.empty() || o.shape.empty()) return {};
            return create_add(a, b, o, quantized, problem.has_relu(), pool, sets_up_, &op_);
        }
        const bool quantize = problem.op == "quantize_linear";
        if (!quantize && problem.op != "dequantize_linear") return {};
        const Operand &x = in[0];
        if (in[1].axis() >= 0 || x.strides.back() != 1 || out.strides.back() != 1) return {};
        const size_t length = size_t(x.sizes.back());
        const bool flat = x.sizes.size() == 1;
        const Rows rows = {flat ? 1 : size_t(x.sizes[0]), length,
                           flat ? length : size_t(x.strides[0]),
                           flat ? length : size_t(out.strides[0])};
        const Side from = quantize ? side_of(x) : side_of(x, in[1], in[2]);
        const Side to = quantize ? side_of(out, in[1], in[2]) : side_of(out);
        return create_convert(from, to, rows, pool, sets_up_, &op_);
    }

    void release() {
        if (op_) xnn_delete_operator(op_);
        op_ = nullptr;
    }

    const bool sets_up_;
    xnn_operator_t op_ = nullptr;
};

}  // namespace

std::unique_ptr<Contender> make_xnnpack(bool sets_up) { return std::make_unique<XnnPack>(sets_up); }

}  // namespace hewn_bench
