// The operators on files: load, broadcast, compile, execute, save.
#ifndef HEWN_TOOLS_OPERATORS_H
#define HEWN_TOOLS_OPERATORS_H

#include <hewn/hewn.hpp>
#include <optional>
#include <string>

#include "device.h"
#include "images.h"

namespace hewn::cli {

struct CommonOptions : ExecutionOptions {
    std::string output;
    std::string feature_level;  // "6.0"; empty: the newest
    ImageLimits image_limits;
};

struct AddOptions : CommonOptions {
    std::string a, b;  // files; one may be a number
};

struct LinearOptions : CommonOptions {
    std::string input, scale, type;
    std::optional<std::string> zero_point;
    std::optional<int> axis;
    std::optional<int> block_size;  // along the axis
};

struct QaddOptions : CommonOptions {
    std::string a, a_scale, b, b_scale, output_scale, type;
    std::optional<std::string> a_zero_point, b_zero_point, output_zero_point;
};

// Each prints a line with the output's type and sizes and the variant that ran.
void add(const AddOptions &options);
void quantize(const LinearOptions &options);
void dequantize(const LinearOptions &options);
void qadd(const QaddOptions &options);

// "6.0" -> FeatureLevel::LEVEL_6_0. Throws InputError with the list of levels.
FeatureLevel parse_feature_level(const std::string &text);

}  // namespace hewn::cli

#endif  // HEWN_TOOLS_OPERATORS_H
