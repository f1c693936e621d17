// ONNX Runtime out of its wheel. The wheel has no header; OrtApi is a table of functions that only
// grows, so the functions below are called by their place in it
// (include/onnxruntime/core/session/onnxruntime_c_api.h, version 1).
#include <dlfcn.h>

#include <map>
#include <stdexcept>
#include <tuple>

#include "contender.h"
#include "python.h"

namespace py = pybind11;

namespace hewn_bench {
namespace {

// "ai.onnx.Add"
std::string onnx_name(const std::string &op) {
    for (const hewn::OperatorInfo &info : hewn::operators()) {
        if (op == info.name) return info.onnx_name;
    }
    throw std::logic_error("no operator is called " + op);
}

enum OrtFunction : size_t {
    GET_ERROR_MESSAGE = 2,
    CREATE_ENV = 3,
    CREATE_SESSION_FROM_ARRAY = 8,
    RUN = 9,
    CREATE_SESSION_OPTIONS = 10,
    SET_SESSION_LOG_SEVERITY_LEVEL = 22,
    SET_INTRA_OP_NUM_THREADS = 24,
    SET_INTER_OP_NUM_THREADS = 25,
    CREATE_TENSOR_WITH_DATA = 49,
    CREATE_CPU_MEMORY_INFO = 69,
    RELEASE_STATUS = 93,
    RELEASE_SESSION = 95,
    RELEASE_VALUE = 96,
    RELEASE_SESSION_OPTIONS = 100,
};
constexpr int LOG_FATAL = 4, ARENA_ALLOCATOR = 1, DEFAULT_MEMORY = 0;

using Handle = void *;

struct OrtApiBase {
    Handle const *(*get_api)(uint32_t version);
    const char *(*get_version)();
};

int onnx_type(const std::string &type) {
    static const std::map<std::string, int> types = {{"f32", 1}, {"u8", 2},   {"i8", 3},
                                                     {"u16", 4}, {"i16", 5},  {"i32", 6},
                                                     {"i64", 7}, {"f16", 10}, {"u32", 12}};
    return types.at(type);
}

class OnnxRuntime : public Contender {
public:
    explicit OnnxRuntime(const std::string &library) {
        Handle const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!loaded) throw std::runtime_error(dlerror());
        const auto get_base =
            reinterpret_cast<const OrtApiBase *(*)()>(dlsym(loaded, "OrtGetApiBase"));
        if (!get_base) throw std::runtime_error(library + " has no OrtGetApiBase");
        base_ = get_base();
        api_ = base_->get_api(1);
        check(call<Handle>(CREATE_ENV, LOG_FATAL, "hewn", &environment_));
        check(call<Handle>(CREATE_CPU_MEMORY_INFO, ARENA_ALLOCATOR, DEFAULT_MEMORY, &memory_));
    }
    ~OnnxRuntime() override { release(); }

    std::string name() const override { return "ONNX Runtime"; }
    std::string version() const override { return base_->get_version(); }

    Runner prepare(const Problem &problem, int threads) override {
        release();
        py::dict tensors, parameters;
        std::vector<std::string> names;
        int axis = -1;
        for (size_t i = 0; i < problem.inputs.size(); i++) {
            const Operand &input = problem.inputs[i];
            if (problem.is_parameter(i)) {
                // i32 has no zero point in ONNX.
                if (problem.op == "dequantize_linear" && i == 2 && input.element_bytes() == 4)
                    continue;
                axis = std::max(axis, input.axis());
                parameters[py::int_(i)] = std::make_tuple(input.type, input.values());
                continue;
            }
            // A transposed tensor is a packed one of the reversed sizes and a Transpose node.
            std::vector<int64_t> shape = input.packed_shape();
            const bool transposed =
                shape.empty() && input.strides[0] == 1 && input.strides[1] == input.sizes[0];
            if (transposed) shape.assign(input.sizes.rbegin(), input.sizes.rend());
            if (shape.empty()) return {};
            tensors[py::int_(i)] = std::make_tuple(input.type, shape, transposed);
            names.push_back("t" + std::to_string(i));
            values_.push_back(tensor(input, shape));
        }
        if (problem.output.packed_shape().empty()) return {};
        const std::string model =
            python_module("models")
                .attr("make")(onnx_name(problem.op), tensors, parameters,
                              std::make_tuple(problem.output.type, problem.output.sizes), axis)
                .cast<std::string>();

        Handle options = nullptr;
        check(call<Handle>(CREATE_SESSION_OPTIONS, &options));
        check(call<Handle>(SET_INTRA_OP_NUM_THREADS, options, threads));
        check(call<Handle>(SET_INTER_OP_NUM_THREADS, options, 1));
        check(call<Handle>(SET_SESSION_LOG_SEVERITY_LEVEL, options, LOG_FATAL));
        const Handle refused =
            call<Handle>(CREATE_SESSION_FROM_ARRAY, environment_,
                         static_cast<const void *>(model.data()), model.size(), options, &session_);
        call<void>(RELEASE_SESSION_OPTIONS, options);
        if (refused) {  // no kernel for these types
            call<void>(RELEASE_STATUS, refused);
            session_ = nullptr;
            return {};
        }
        values_.push_back(tensor(problem.output, problem.output.sizes));
        return repeat([this, names] {
            const char *inputs[2] = {names[0].c_str(), names.back().c_str()};
            const char *const output = "y";
            check(call<Handle>(RUN, session_, static_cast<const void *>(nullptr), &inputs[0],
                               values_.data(), names.size(), &output, size_t(1), &values_.back()));
        });
    }

private:
    template<class Result, class... Arguments>
    Result call(OrtFunction function, Arguments... arguments) const {
        return reinterpret_cast<Result (*)(Arguments...)>(api_[function])(arguments...);
    }

    void check(Handle status) const {
        if (status)
            throw std::runtime_error(std::string("ONNX Runtime: ") +
                                     call<const char *>(GET_ERROR_MESSAGE, status));
    }

    Handle tensor(const Operand &operand, const std::vector<int64_t> &shape) const {
        Handle value = nullptr;
        check(call<Handle>(CREATE_TENSOR_WITH_DATA, memory_, operand.data,
                           size_t(operand.span()) * operand.element_bytes(), shape.data(),
                           shape.size(), onnx_type(operand.type), &value));
        return value;
    }

    void release() {
        for (const Handle value : values_) call<void>(RELEASE_VALUE, value);
        values_.clear();
        if (session_) call<void>(RELEASE_SESSION, session_);
        session_ = nullptr;
    }

    const OrtApiBase *base_ = nullptr;
    Handle const *api_ = nullptr;
    Handle environment_ = nullptr, memory_ = nullptr, session_ = nullptr;
    std::vector<Handle> values_;  // the inputs, then the output
};

}  // namespace

std::unique_ptr<Contender> make_onnxruntime(const std::string &library) {
    return std::make_unique<OnnxRuntime>(library);
}

}  // namespace hewn_bench
