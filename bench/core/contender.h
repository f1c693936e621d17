// Contenders: what runs a problem and is timed. They are hewn, its peers (peers/*.cpp), and for the
// machine's limits plain copies (limits.cpp). compare.cpp measures them side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "problem.h"

namespace hewn_bench {

// Runs a prepared problem n times. An empty Runner says that the contender cannot do the problem.
using Runner = std::function<void(int64_t n)>;

// The Runner that calls call() n times.
template<class Call>
Runner repeat(Call call) {
    return [call](int64_t n) {
        for (int64_t i = 0; i < n; i++) call();
    };
}

class Contender {
public:
    virtual ~Contender() = default;
    virtual std::string name() const = 0;
    virtual std::string version() const = 0;
    // Does all work that needs to be done only once, and returns what is timed. The Runner uses the
    // problem's own memory. It is valid until the next call of prepare().
    virtual Runner prepare(const Problem &problem, int threads) = 0;
};

// The peers. Each function throws std::runtime_error if the library cannot be loaded.
std::unique_ptr<Contender> make_onnxruntime(const std::string &library);
std::unique_ptr<Contender> make_onednn();
// With `sets_up`, XNNPACK's operator is given the addresses of its tensors in each call.
std::unique_ptr<Contender> make_xnnpack(bool sets_up);
// `module` is the name of the module in peers/. `packages` is another folder in which Python looks
// for libraries, or empty.
std::unique_ptr<Contender> make_python_peer(const std::string &name, const char *module,
                                            const std::string &packages = "");

struct HewnOptions {
    // A target or a variant to force. Empty: none.
    std::string variant;
    // Whether hewn_execute is given the tensors in each call, instead of binding them once.
    bool executes = false;
    // Whether hewn runs on the threads of XNNPACK's pool, instead of its own.
    bool in_pthreadpool = false;
};

// The build of hewn with which the program is linked.
std::unique_ptr<Contender> make_hewn(const HewnOptions &options);
// Another build of hewn, by its shared library. Throws std::runtime_error if that cannot be loaded,
// or if its version has another binary interface.
std::unique_ptr<Contender> make_build(const std::string &name, const std::string &library,
                                      const HewnOptions &options);

// The machine's limits: passes over `bytes` bytes of `arena`. The copies read half of the bytes and
// write the other half; `read` reads all of them.
struct Limits {
    Runner memcpy, vector_copy, streaming_copy, read;
};
Limits make_limits(double bytes, int threads, Arena &arena);

}  // namespace hewn_bench
