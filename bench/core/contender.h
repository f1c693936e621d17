// Who runs a problem: hewn, a peer, or the machine itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "problem.h"

namespace hewn_bench {

// Runs a prepared problem n times. Empty: the contender cannot do it.
using Runner = std::function<void(int64_t n)>;

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
    // Everything that can be done once; the runner works on the problem's own memory. Valid until
    // the next prepare.
    virtual Runner prepare(const Problem &problem, int threads) = 0;
};

// Each throws std::runtime_error where the library is missing.
std::unique_ptr<Contender> make_onnxruntime(const std::string &library);
std::unique_ptr<Contender> make_onednn();
// sets_up: tells the operator its tensors' addresses in each call.
std::unique_ptr<Contender> make_xnnpack(bool sets_up);
// `packages`: a folder where Python finds the library too; or empty.
std::unique_ptr<Contender> make_python_peer(const std::string &name, const char *module,
                                            const std::string &packages = "");

struct HewnOptions {
    std::string variant;    // a target or variant to force, or empty
    bool executes = false;  // gives the tensors in each call, instead of binding them once
    bool in_pthreadpool =
        false;  // threads of the pool that XNNPACK's are of, instead of the library's own
};

// The build of hewn that the program is linked to, or another by its shared library, which has to
// be there and of this version's interface.
std::unique_ptr<Contender> make_hewn(const HewnOptions &options);
std::unique_ptr<Contender> make_build(const std::string &name, const std::string &library,
                                      const HewnOptions &options);

// What the machine can do: passes over `bytes` bytes of `arena`, half of them read and half
// written, or all read.
struct Limits {
    Runner memcpy, vector_copy, streaming_copy, read;
};
Limits make_limits(double bytes, int threads, Arena &arena);

}  // namespace hewn_bench
