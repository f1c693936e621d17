// The peer ONNX Runtime, from the shared library in its wheel. The wheel has no header, so the
// declarations are hewn's own (onnxruntime_abi.h). Any version works: OrtApi only grows, and its
// first version has all functions that are used here.
#include <dlfcn.h>

#include <map>
#include <stdexcept>
#include <tuple>

#include "../../bindings/onnxruntime/onnxruntime_abi.h"
#include "../core/contender.h"
#include "python.h"

namespace py = pybind11;

namespace hewn_bench {
namespace {

// The operator's ONNX name with its domain: "ai.onnx.Add". Empty if ONNX does not have it.
std::string onnx_name(const std::string &op) {
    for (const hewn::OperatorInfo &info : hewn::operators()) {
        if (op == info.name) return info.onnx_name;
    }
    throw std::logic_error("no operator is called " + op);
}

ONNXTensorElementDataType onnx_type(const std::string &type) {
    static const std::map<std::string, ONNXTensorElementDataType> types = {
        {"f32", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT},
        {"f16", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16},
        {"bf16", ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16},
        {"f8e4m3fn", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN},
        {"f8e4m3fnuz", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ},
        {"f8e5m2", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2},
        {"f8e5m2fnuz", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ},
        {"f4e2m1", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1},
        {"u4", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4},
        {"i4", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4},
        {"u8", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8},
        {"i8", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8},
        {"u16", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16},
        {"i16", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16},
        {"u32", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32},
        {"i32", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32},
        {"i64", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64}};
    return types.at(type);
}

class OnnxRuntime : public Contender {
public:
    explicit OnnxRuntime(const std::string &library) {
        python_module("models");  // starts Python before `prepare` makes Python's objects
        void *const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!loaded) throw std::runtime_error(dlerror());
        const auto get_base =
            reinterpret_cast<const OrtApiBase *(*)()>(dlsym(loaded, "OrtGetApiBase"));
        if (!get_base) throw std::runtime_error(library + " has no OrtGetApiBase");
        base_ = get_base();
        api_ = base_->GetApi(1);
        check(api_->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "hewn", &environment_));
        check(api_->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory_));
    }
    ~OnnxRuntime() override { release(); }

    std::string name() const override { return "ONNX Runtime"; }
    std::string version() const override { return base_->GetVersionString(); }

    Runner prepare(const Problem &problem, int threads) override {
        release();
        py::dict tensors, parameters;
        std::vector<std::string> names;
        std::vector<std::pair<const Operand *, std::vector<int64_t>>> operands;
        int axis = -1;
        for (size_t i = 0; i < problem.inputs.size(); i++) {
            const Operand &input = problem.inputs[i];
            if (problem.is_parameter(i)) {
                // In ONNX, i32 has no zero point.
                if (problem.op == "dequantize_linear" && i == 2 && input.element_bytes() == 4)
                    continue;
                axis = std::max(axis, input.axis());
                parameters[py::int_(i)] = std::make_tuple(input.type, input.values());
                continue;
            }
            // A transposed tensor is passed as a contiguous one of the reversed sizes, followed by
            // a node Transpose.
            std::vector<int64_t> shape = input.contiguous_shape();
            const bool transposed =
                shape.empty() && input.strides[0] == 1 && input.strides[1] == input.sizes[0];
            if (transposed) shape.assign(input.sizes.rbegin(), input.sizes.rend());
            if (shape.empty()) return {};
            tensors[py::int_(i)] = std::make_tuple(input.type, shape, transposed);
            names.push_back("t" + std::to_string(i));
            operands.emplace_back(&input, shape);
        }
        if (problem.output.contiguous_shape().empty()) return {};
        const py::object made = python_module("models").attr("make")(
            problem.op, onnx_name(problem.op), tensors, parameters,
            std::make_tuple(problem.output.type, problem.output.sizes), axis, problem.has_relu());
        if (made.is_none()) return {};
        const std::string model = made.cast<std::string>();

        OrtSessionOptions *options = nullptr;
        check(api_->CreateSessionOptions(&options));
        check(api_->SetIntraOpNumThreads(options, threads));
        check(api_->SetInterOpNumThreads(options, 1));
        check(api_->SetSessionLogSeverityLevel(options, ORT_LOGGING_LEVEL_FATAL));
        OrtStatus *const refused = api_->CreateSessionFromArray(environment_, model.data(),
                                                                model.size(), options, &session_);
        api_->ReleaseSessionOptions(options);
        if (refused) {  // no kernel for these types
            api_->ReleaseStatus(refused);
            session_ = nullptr;
            return {};
        }
        for (const auto &[operand, shape] : operands) values_.push_back(tensor(*operand, shape));
        values_.push_back(tensor(problem.output, problem.output.sizes));
        return repeat([this, names] {
            const char *inputs[2] = {names[0].c_str(), names.back().c_str()};
            const char *const output = "y";
            check(api_->Run(session_, nullptr, inputs, values_.data(), names.size(), &output, 1,
                            &values_.back()));
        });
    }

private:
    void check(OrtStatus *status) const {
        if (status)
            throw std::runtime_error(std::string("ONNX Runtime: ") + api_->GetErrorMessage(status));
    }

    OrtValue *tensor(const Operand &operand, const std::vector<int64_t> &shape) const {
        OrtValue *value = nullptr;
        check(api_->CreateTensorWithDataAsOrtValue(memory_, operand.data, operand.bytes(),
                                                   shape.data(), shape.size(),
                                                   onnx_type(operand.type), &value));
        return value;
    }

    void release() {
        for (OrtValue *value : values_) api_->ReleaseValue(value);
        values_.clear();
        if (session_) api_->ReleaseSession(session_);
        session_ = nullptr;
    }

    const OrtApiBase *base_ = nullptr;
    const OrtApi *api_ = nullptr;
    OrtEnv *environment_ = nullptr;
    OrtMemoryInfo *memory_ = nullptr;
    OrtSession *session_ = nullptr;
    std::vector<OrtValue *> values_;  // the inputs, then the output
};

}  // namespace

std::unique_ptr<Contender> make_onnxruntime(const std::string &library) {
    return std::make_unique<OnnxRuntime>(library);
}

}  // namespace hewn_bench
