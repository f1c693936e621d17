// One operation of a model: a node, or a group of nodes that hewn computes together. The first run
// with new shapes compiles hewn's operators for them (a Plan). Later runs with these shapes only
// execute the operators.
#pragma once

#include <hewn/hewn.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "ort.h"
#include "table.h"

namespace hewn_ort {

struct Settings {
    std::string target;       // a target to force, as hewn_compile_options::variant
    int32_t max_threads = 0;  // 0: as many as help
};

// A tensor of a run. Its members have no initial values, because setting them would take time in
// every small node.
struct Input {
    const void *data;
    const int64_t *dims;
    size_t rank;
    int64_t elements() const;
};

// A copy of an input whose contents never change.
struct Constant {
    std::vector<std::byte> bytes;
    std::vector<int64_t> dims;
    Constant(const Ort &ort, const OrtValue *value);
    Input input() const { return {bytes.data(), dims.data(), dims.size()}; }
};

// All about an operation except its shapes.
struct Description {
    const Operator *op = nullptr;
    // The types of the inputs, followed by those of the outputs.
    Types types = {};
    // The axis of scales that vary along one, and of blocks. Negative: counted from the last.
    int64_t axis = 1;
    // 0: no blocks.
    int64_t block_size = 0;
    // hewn's numbers of the attributes (numbers_of()).
    std::vector<int32_t> attributes = {};
    // For each input of the operator, its number among the inputs that ONNX Runtime passes. kAbsent
    // if it is not passed, because it is absent or a constant.
    static constexpr int kAbsent = -1;
    std::vector<int> passed;
    // For each input of the operator, its contents if it is a constant, otherwise null.
    std::vector<std::unique_ptr<const Constant>> constants;
};

struct Plan;

class Operation {
public:
    Operation(const Ort &ort, Description description, Settings settings);
    ~Operation();
    // Computes the outputs from the inputs in the context. Any number of threads may call this at
    // the same time. Throws Failure.
    void run(OrtKernelContext *context) const;

private:
    using Inputs = std::array<Input, kMaxTensors>;
    void read(const OrtKernelContext *context, Inputs &inputs) const;
    std::unique_ptr<const Plan> make_plan(const Inputs &passed) const;
    const Plan &plan_for(const Inputs &passed, std::unique_ptr<const Plan> &temporary) const;

    // The time of a small node depends on the number of cache lines that it reads, so the members
    // that each run reads come first.
    const Ort &ort_;
    // The numbers of the inputs that ONNX Runtime passes in each run.
    std::vector<size_t> passed_;
    // The plans for the shapes met so far. A plan stays at its place. When all places are taken, a
    // plan for other shapes is made anew for each run.
    static constexpr size_t kMostPlans = 64;
    mutable std::array<std::atomic<const Plan *>, kMostPlans> plans_{};
    const Description description_;
    const Settings settings_;
    // For each element of passed_, the operator's input that it is.
    std::vector<size_t> operands_;
};

}  // namespace hewn_ort
