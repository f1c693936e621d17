// The operators on files: load, broadcast, compile, execute, save. One way for all, from the
// library's table.
#pragma once

#include <hewn/hewn.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device.h"
#include "images.h"
#include "table.h"

namespace hewn::cli {

struct OperatorOptions : ExecutionOptions {
    std::vector<std::optional<std::string>>
        inputs;               // files or numbers, in the operator's order; none: absent
    std::string type;         // the output's; empty: it follows from the inputs'
    std::optional<int> bits;  // of the data's elements, which files hold in a byte each
    std::optional<int> axis;
    std::optional<int> block_size;        // along the axis
    std::vector<std::string> attributes;  // words, in the operator's order; empty: the default
    std::string output;
    std::vector<std::string> other_outputs;  // files; empty: not wanted
    std::string feature_level;               // "6.0"; empty: the newest
    ImageLimits image_limits;
};

// How the command line calls an input, or an output but the first: "A", "IN", "--a-scale",
// "--scale,--output-scale".
std::string argument_of(const TensorInfo &tensor);

// Whether a number may stand for the input, of the type of another: where both have one type and
// nothing quantizes them.
bool takes_number(const OperatorInfo &op, size_t input);

// The tensor whose type --type says: the output, or the scale that it is like. None if its type
// follows from the input's.
const TensorInfo *typed_by_option(const OperatorInfo &op);

// Whether the output has the first input's type if nothing else is said.
bool has_type_of_input(const OperatorInfo &op);

// Prints a line with the output's type and sizes, the variant that ran and other outputs' values.
void run_operator(const OperatorInfo &op, const OperatorOptions &options);

// "6.0" -> FeatureLevel::LEVEL_6_0. Throws InputError with the list of levels.
FeatureLevel parse_feature_level(const std::string &text);
std::vector<std::string> feature_level_words();  // "1.0", ..., "hewn"

}  // namespace hewn::cli
