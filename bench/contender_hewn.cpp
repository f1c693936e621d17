// hewn, linked or by the shared library of a build. Two builds beside each other tell what a change of code or tuning gains.
#include <dlfcn.h>

#include <stdexcept>

#include "contender.h"

namespace hewn_bench {
namespace {

struct Functions {
    decltype(&hewn_compile) compile;
    decltype(&hewn_execute) execute;
    decltype(&hewn_destroy_operator) destroy_operator;
    decltype(&hewn_version) version;
};

// RTLD_LOCAL keeps builds' functions apart.
Functions load(const std::string &library) {
    void *const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!loaded) throw std::runtime_error(dlerror());
    Functions functions;
    const auto find = [&](const char *name, auto &function) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(loaded, name));
        if (!function) throw std::runtime_error(library + " has no " + name);
    };
    find("hewn_compile", functions.compile);
    find("hewn_execute", functions.execute);
    find("hewn_destroy_operator", functions.destroy_operator);
    find("hewn_version", functions.version);
    // Until 1.0 a binary interface is that of a minor version.
    if (functions.version() >> 8 != hewn_version() >> 8) throw std::runtime_error(library + " is of another minor version");
    return functions;
}

class Hewn : public Contender {
public:
    Hewn(const std::string &name, const Functions &functions, const std::string &origin, const std::string &variant)
        : name_(name), functions_(functions), origin_(origin), variant_(variant) {}
    ~Hewn() override { release(); }

    std::string name() const override { return name_; }
    std::string version() const override {
        const uint32_t number = functions_.version();
        std::string text =
            std::to_string(number >> 16) + "." + std::to_string(number >> 8 & 255) + "." + std::to_string(number & 255);
        if (!origin_.empty()) text += ", " + origin_;
        if (!variant_.empty()) text += ", variant " + variant_;
        return text;
    }

    Runner prepare(const Problem &problem, int threads) override {
        release();
        compile(problem, compile_options(variant_, threads));
        const std::vector<hewn_buffer_binding> inputs = input_bindings(problem);
        const hewn_buffer_binding output = problem.output.binding();
        hewn_error error{sizeof error, HEWN_STATUS_OK, ""};
        if (functions_.execute(op_, inputs.data(), uint32_t(inputs.size()), &output, 1, nullptr, &error) != HEWN_STATUS_OK)
            throw hewn::Error(error);
        return [execute = functions_.execute, op = op_, inputs, output](int64_t n) {
            for (int64_t i = 0; i < n; i++) execute(op, inputs.data(), uint32_t(inputs.size()), &output, 1, nullptr, nullptr);
        };
    }

private:
    const std::string name_;
    const Functions functions_;
    const std::string origin_, variant_;
    hewn_operator *op_ = nullptr;

    void release() {
        functions_.destroy_operator(op_);
        op_ = nullptr;
    }

    // As hewn.hpp does, which calls the linked build.
    void compile(const Problem &problem, const hewn::CompileOptions &options) {
        std::vector<hewn::TensorDesc> tensors;
        for (const Operand &input : problem.inputs) tensors.push_back(input.desc());
        tensors.push_back(problem.output.desc());
        std::vector<hewn_tensor_desc> t;
        for (const hewn::TensorDesc &tensor : tensors) t.push_back(tensor.c_desc());
        const auto create = [&](hewn_operator_type type, const auto &desc) {
            const hewn_operator_desc operator_desc{sizeof operator_desc, type, &desc};
            const hewn_compile_options c_options{
                sizeof c_options, HEWN_FEATURE_LEVEL_NEWEST, options.variant.c_str(), options.max_threads, nullptr, nullptr};
            hewn_error error{sizeof error, HEWN_STATUS_OK, ""};
            if (functions_.compile(nullptr, &operator_desc, &c_options, &op_, &error) != HEWN_STATUS_OK) throw hewn::Error(error);
        };
        if (problem.op == "add") {
            create(HEWN_OPERATOR_ADD, hewn_add_desc{sizeof(hewn_add_desc), &t[0], &t[1], &t[2]});
        } else if (problem.op == "quantize_linear") {
            create(HEWN_OPERATOR_QUANTIZE_LINEAR,
                   hewn_quantize_linear_desc{sizeof(hewn_quantize_linear_desc), &t[0], &t[1], &t[2], &t[3]});
        } else if (problem.op == "dequantize_linear") {
            create(HEWN_OPERATOR_DEQUANTIZE_LINEAR,
                   hewn_dequantize_linear_desc{sizeof(hewn_dequantize_linear_desc), &t[0], &t[1], &t[2], &t[3]});
        } else {
            create(HEWN_OPERATOR_QUANTIZED_LINEAR_ADD,
                   hewn_quantized_linear_add_desc{sizeof(hewn_quantized_linear_add_desc), &t[0], &t[1], &t[2], &t[3], &t[4],
                                                  &t[5], &t[6], &t[7], &t[8]});
        }
    }
};

}  // namespace

std::unique_ptr<Contender> make_hewn(const std::string &variant) {
    const Functions linked = {hewn_compile, hewn_execute, hewn_destroy_operator, hewn_version};
    return std::make_unique<Hewn>("hewn", linked, "", variant);
}

std::unique_ptr<Contender> make_build(const std::string &name, const std::string &library, const std::string &variant) {
    return std::make_unique<Hewn>(name, load(library), library, variant);
}

}  // namespace hewn_bench
