// The commands for operators, such as `hewn quantize`: load files, broadcast, compile, execute and
// save. The same code serves all operators; the library's table (table.h) says what each one takes.
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
    // Files or numbers, in the operator's order. Nothing: the input is absent.
    std::vector<std::optional<std::string>> inputs;
    // The type that --type gives. Empty: it follows from the inputs.
    std::string type;
    // Bits of the data's elements if they are integers of a sub-byte type. Files hold each in a
    // byte.
    std::optional<int> bits;
    // The name of the small float that the data's elements are, in files of bytes without a type.
    // Empty: they are of another type.
    std::string input_type;
    std::optional<int> axis;
    // Elements along the axis that share a scale and a zero point.
    std::optional<int> block_size;
    // The type of scales that the operator chooses. Empty: f32.
    std::string scale_type;
    // The words of the attributes' values, in the operator's order, and parameters as numbers.
    // Empty: not given.
    std::vector<std::string> attributes;
    std::string output;
    // Files for the outputs after the first. Empty: not wanted.
    std::vector<std::string> other_outputs;
    // "6.0". Empty: the newest.
    std::string feature_level;
    ImageLimits image_limits;
};

// The name by which the command line takes an input, or an output after the first: "A", "IN",
// "--a-scale", "--scale,--output-scale".
std::string argument_of(const OperatorInfo &op, const TensorInfo &tensor);

// Whether the input may be given as a number, which takes the type of the other input. That is so
// if both must have one type and the operator has no scales and zero points (ADD).
bool takes_number(const OperatorInfo &op, size_t input);

// The tensor whose type --type decides: the output, or the scale whose type the output has. Null if
// the output's type follows from the inputs, or can only be one.
const TensorInfo *typed_by_option(const OperatorInfo &op);
// The type of an output whose type follows from nothing: u8, f32, or the only one that it can have.
// Nothing: --type must say it.
std::optional<DataType> usual_output_type(const OperatorInfo &op);

// Whether the output has the first input's type by default.
bool has_type_of_input(const OperatorInfo &op);

// Runs the command. Prints a line with the output's type and sizes, the variant that ran and the
// values of the other outputs. Throws InputError, MemoryError or OperatorError.
void run_operator(const OperatorInfo &op, const OperatorOptions &options);

// "6.0" -> FeatureLevel::LEVEL_6_0. Throws InputError with the list of levels.
FeatureLevel parse_feature_level(const std::string &text);
std::vector<std::string> feature_level_words();  // "1.0", ..., "hewn"

}  // namespace hewn::cli
