// hewn as a contender: the linked build, or another one by its shared library. A comparison of two
// builds shows what a change of code or tuning gains.
#include <dlfcn.h>

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "contender.h"
#include "threads.h"

namespace hewn_bench {
namespace {

// The functions of a build.
struct Functions {
    decltype(&hewn_compile) compile;
    decltype(&hewn_execute) execute;
    decltype(&hewn_destroy_operator) destroy_operator;
    decltype(&hewn_version) version;
    // Null in a build from before these functions existed.
    decltype(&hewn_bind) bind;
    decltype(&hewn_run) run;
    decltype(&hewn_destroy_bound_operator) destroy_bound_operator;
};

std::string version_text(uint32_t version) {
    return std::to_string(version >> 16) + "." + std::to_string(version >> 8 & 255) + "." +
           std::to_string(version & 255);
}

// Loads a build, which stays loaded. RTLD_LOCAL keeps the functions of several builds apart.
Functions load(const std::string &library) {
    // dlopen would look for a name without a slash in the system's folders.
    const std::string path = std::filesystem::absolute(library);
    void *const loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!loaded) throw std::runtime_error(dlerror());
    Functions functions;
    const auto find = [&](const char *name, auto &function, bool optional = false) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(loaded, name));
        if (!function && !optional) throw std::runtime_error(library + " has no " + name);
    };
    find("hewn_compile", functions.compile);
    find("hewn_execute", functions.execute);
    find("hewn_destroy_operator", functions.destroy_operator);
    find("hewn_version", functions.version);
    find("hewn_bind", functions.bind, true);
    find("hewn_run", functions.run, true);
    find("hewn_destroy_bound_operator", functions.destroy_bound_operator, true);
    // Before version 1.0, each minor version has its own binary interface.
    if (functions.version() >> 8 != hewn_version() >> 8)
        throw std::runtime_error(library + " is version " + version_text(functions.version()) +
                                 ", not " + version_text(hewn_version()));
    return functions;
}

// A parallel_for that runs slices in XNNPACK's pool of threads.
void HEWN_CALL run_in_pthreadpool(void *pool, int32_t count, hewn_slice_fn slice, void *arg) {
    struct Call {
        hewn_slice_fn slice;
        void *arg;
    } call = {slice, arg};
    const auto run = [](void *context, size_t i) {
        const Call &call = *static_cast<const Call *>(context);
        call.slice(call.arg, int32_t(i));
    };
    pthreadpool_parallelize_1d(static_cast<pthreadpool_t>(pool), run, &call, size_t(count), 0);
}

class Hewn : public Contender {
public:
    Hewn(const std::string &name, const Functions &functions, const std::string &origin,
         const HewnOptions &options)
        : name_(name),
          functions_(functions),
          origin_(origin),
          options_(options),
          op_(nullptr, functions.destroy_operator),
          bound_(nullptr, functions.destroy_bound_operator) {}

    std::string name() const override { return name_; }
    std::string version() const override {
        return version_text(functions_.version()) + (origin_.empty() ? "" : ", " + origin_) +
               (options_.variant.empty() ? "" : ", variant " + options_.variant) +
               (options_.executes ? ", hewn_execute" : "") +
               (options_.in_pthreadpool ? ", threads of pthreadpool" : "");
    }

    // Scales and zero points are constants, and the operator is bound once, as programs do that run
    // one problem often. hewn_execute is used instead if the options say so, or if the build is too
    // old for binding.
    Runner prepare(const Problem &problem, int threads) override {
        std::vector<hewn_buffer_binding> inputs = input_bindings(problem);
        hewn::CompileOptions compile_options =
            hewn_bench::compile_options(options_.variant, threads);
        if (functions_.bind) {
            compile_options.constants = constants_of(problem);
            inputs = bindings_beside_constants(problem);
        }
        const hewn_buffer_binding output = problem.output.binding();
        const hewn_execute_options in_pthreadpool = {sizeof in_pthreadpool, 0, run_in_pthreadpool,
                                                     thread_pool(threads), 0};
        const auto options = options_.in_pthreadpool ? std::optional(in_pthreadpool) : std::nullopt;
        bound_.reset();
        try {
            op_.reset(compile(problem.description(), compile_options, functions_.compile));
            hewn_error error{sizeof error, HEWN_STATUS_OK, ""};
            if (functions_.execute(op_.get(), inputs.data(), uint32_t(inputs.size()), &output, 1,
                                   nullptr, &error) != HEWN_STATUS_OK)
                throw hewn::Error(error);
            hewn_bound_operator *bound = nullptr;
            if (functions_.bind && !options_.executes &&
                functions_.bind(op_.get(), inputs.data(), uint32_t(inputs.size()), &output, 1,
                                options ? &*options : nullptr, &bound, &error) != HEWN_STATUS_OK)
                throw hewn::Error(error);
            bound_.reset(bound);
        } catch (const hewn::Error &error) {
            throw std::runtime_error(name_ + ": " + error.what());
        }
        if (bound_) {
            return [run = functions_.run, bound = bound_.get()](int64_t n) {
                for (int64_t i = 0; i < n; i++) run(bound, nullptr);
            };
        }
        return [execute = functions_.execute, op = op_.get(), inputs, output, options](int64_t n) {
            for (int64_t i = 0; i < n; i++)
                execute(op, inputs.data(), uint32_t(inputs.size()), &output, 1,
                        options ? &*options : nullptr, nullptr);
        };
    }

private:
    const std::string name_;
    const Functions functions_;
    const std::string origin_;
    const HewnOptions options_;
    std::unique_ptr<hewn_operator, decltype(&hewn_destroy_operator)> op_;
    std::unique_ptr<hewn_bound_operator, decltype(&hewn_destroy_bound_operator)> bound_;
};

}  // namespace

std::unique_ptr<Contender> make_hewn(const HewnOptions &options) {
    const Functions linked = {hewn_compile, hewn_execute, hewn_destroy_operator,      hewn_version,
                              hewn_bind,    hewn_run,     hewn_destroy_bound_operator};
    return std::make_unique<Hewn>("hewn", linked, "", options);
}

std::unique_ptr<Contender> make_build(const std::string &name, const std::string &library,
                                      const HewnOptions &options) {
    return std::make_unique<Hewn>(name, load(library), library, options);
}

}  // namespace hewn_bench
