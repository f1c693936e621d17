// What a model's graph says of its nodes, and which of them hewn takes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "operation.h"

namespace hewn_ort {

struct Choice {
    // All that hewn computes, or without the sums that ONNX Runtime's CPU provider fuses with
    // their neighbours.
    bool all = false;
    std::set<std::string> operators;  // ONNX's names of those to take; none: all
    std::string target;               // see Settings

    bool asks_for(const std::string &name) const {
        return operators.empty() || operators.count(name);
    }
};

// Nodes to run as one operation: one as a kernel, several as a fused node.
using Taken = std::vector<const OrtNode *>;
std::vector<Taken> taken_nodes(const Ort &ort, const OrtGraph *graph, const Choice &choice);

// The operation of a kernel that ONNX Runtime creates for a node.
Description describe_kernel(const Ort &ort, const OrtKernelInfo *info, const std::string &target);

// The operation of nodes that were taken together.
Description describe_fused(const Ort &ort, const OrtGraph *graph, const OrtNode *fused,
                           const std::string &target);

}  // namespace hewn_ort
