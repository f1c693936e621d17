// Reads the graph of a model: decides which nodes hewn takes, and describes the operation that a
// kernel or a fused node computes (operation.h). provider.cpp calls these functions when ONNX
// Runtime loads a model.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "operation.h"

namespace hewn_ort {

// The user's choice of nodes.
struct Choice {
    // If true, hewn takes all nodes that it can compute. Otherwise it leaves out each Add that ONNX
    // Runtime's CPU provider fuses with a neighbour.
    bool all = false;
    // The operators to take, by ONNX's names. Empty: all.
    std::set<std::string> operators;
    // As Settings::target.
    std::string target;

    bool asks_for(const std::string &name) const {
        return operators.empty() || operators.count(name);
    }
};

// Nodes that hewn runs as one operation: a single node as a kernel, several as a fused node.
using Taken = std::vector<const OrtNode *>;
std::vector<Taken> taken_nodes(const Ort &ort, const OrtGraph *graph, const Choice &choice);

// The operation of a kernel that ONNX Runtime creates for a single node. Throws Failure.
Description describe_kernel(const Ort &ort, const OrtKernelInfo *info, const std::string &target);

// The operation of several nodes, which ONNX Runtime has fused to the node `fused`. `graph` has the
// original nodes. Throws Failure.
Description describe_fused(const Ort &ort, const OrtGraph *graph, const OrtNode *fused,
                           const std::string &target);

}  // namespace hewn_ort
