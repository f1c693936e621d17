// One operation of a model: hewn's operators for the shapes that it has met, and their execution.
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
    std::string target;       // forced, as hewn_compile_options::variant
    int32_t max_threads = 0;  // 0: as many as help
};

// A tensor of a run. Nothing is set beforehand, which would take time in every small node.
struct Input {
    const void *data;
    const int64_t *dims;
    size_t rank;
    int64_t elements() const;
};

// An input whose value never changes: a copy.
struct Constant {
    std::vector<std::byte> bytes;
    std::vector<int64_t> dims;
    Constant(const Ort &ort, const OrtValue *value);
    Input input() const { return {bytes.data(), dims.data(), dims.size()}; }
};

// What an operation computes, whatever its shapes.
struct Description {
    const Operator *op = nullptr;
    Types types = {};  // of the inputs, and of the outputs behind them
    int64_t axis = 1;  // of scales for each index of an axis, and of blocks; negative: from the end
    int64_t block_size = 0;                // 0: no blocks
    std::vector<int32_t> attributes = {};  // as numbers_of() gives them
    // For each of the operator's inputs its number among those that ONNX Runtime passes; kAbsent if
    // it is not passed.
    static constexpr int kAbsent = -1;
    std::vector<int> passed;
    std::vector<std::unique_ptr<const Constant>> constants;  // or null; then not looked at in a run
};

struct Plan;

class Operation {
public:
    Operation(const Ort &ort, Description description, Settings settings);
    ~Operation();
    // Computes the outputs from the context's inputs, in their memory. Any number of threads may.
    void run(OrtKernelContext *context) const;

private:
    using Inputs = std::array<Input, kMaxTensors>;
    void read(const OrtKernelContext *context, Inputs &inputs) const;
    std::unique_ptr<const Plan> make_plan(const Inputs &passed) const;
    const Plan &plan_for(const Inputs &passed, std::unique_ptr<const Plan> &temporary) const;

    // A small node's time is that of the cache lines that it reads, so what each run reads comes
    // first.
    const Ort &ort_;
    std::vector<size_t> passed_;  // the numbers of the inputs that each run passes
    // Shapes met so far; a plan stays where it is. Once all places are taken, others are made for
    // one run each.
    static constexpr size_t kMostPlans = 64;
    mutable std::array<std::atomic<const Plan *>, kMostPlans> plans_{};
    const Description description_;
    const Settings settings_;
    std::vector<size_t> operands_;  // which of the operator's inputs they are
};

}  // namespace hewn_ort
