// The operator table, the checks of descriptions, and the functions of the C ABI that show the
// table to programs.
#include "operators.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "../base/error.h"
#include "../base/kernel_contract.h"

namespace hewn {

namespace {

// ---- The table: its words are those of operators.inc ----

// The words of types, once as an enumerator (type_f32) and once as a bit in a set (f32).
constexpr hewn_data_type type_none = HEWN_DATA_TYPE_UNKNOWN;
constexpr uint32_t none = 0;
#define HEWN_TYPE(word, name, number, bits) \
    [[maybe_unused]] constexpr hewn_data_type type_##word = number; \
    [[maybe_unused]] constexpr uint32_t word = 1u << number; \
    static_assert(number == HEWN_DATA_TYPE_##name);
#define HEWN_LEVEL(name, word, number) static_assert(HEWN_FEATURE_LEVEL_##name == number);
#include "types.inc"
// The formats of small floats, by the numbers of the types, as kernels of codes get them
// (kernel_contract.h). A format without NaN always saturates. f8e8m0, which has no sign, is only a
// scale, and is converted.
constexpr struct Formats {
    uint32_t of[32];
} kFormats = [] {
    Formats formats = {};
#define HEWN_SMALL_FLOAT(word, name, numpy, bits, mantissa, bias, largest, nan, sign) \
    if (sign != 0) \
        formats.of[type_##word] = \
            uint32_t(mantissa) << kFormatMantissa.at | uint32_t(bits - 1) << kFormatSign.at | \
            uint32_t(bias) << kFormatBias.at | uint32_t(largest) << kFormatLargest.at | \
            uint32_t(nan) << kFormatNan.at | uint32_t(nan == 0) << kFormatSaturates.at;
#include "types.inc"
    return formats;
}();
constexpr uint32_t kSmallFloats = [] {
    uint32_t types = 0;
    for (int type = 0; type < 32; type++)
        if (kFormats.of[type]) types |= 1u << type;
    return types;
}();
constexpr uint32_t kFloats = f32 | f16 | bf16, kUnsigned = u64 | u32 | u16 | u8;
// The middles of unsigned types, as bytes that a kernel reads.
constexpr uint8_t kMiddleOfU8 = 128, kMiddleOfU4 = 8;

constexpr struct Level {
    hewn_feature_level number;
    char word[sizeof "hewn"];
} kLevels[] = {
#define HEWN_LEVEL(name, word, number) {number, word},
#include "types.inc"
};

// Returns a level's word, such as "6.2"; null if there is no such level.
const char *word_of(hewn_feature_level level) {
    for (const Level &known : kLevels) {
        if (known.number == level) return known.word;
    }
    return nullptr;
}

// The words of operators.inc for the roles of tensors.
constexpr hewn_tensor_role data = HEWN_TENSOR_ROLE_DATA, scale = HEWN_TENSOR_ROLE_SCALE,
                           zero_point = HEWN_TENSOR_ROLE_ZERO_POINT,
                           output = HEWN_TENSOR_ROLE_OUTPUT;

#define HEWN_UNPACK(...) __VA_ARGS__
#define HEWN_TENSOR(name, member, role, like, integers, optional_from, one_element, blocks, \
                    middle, mixed, others) \
    {#name, role, like, type_##integers, optional_from, one_element, blocks, middle, mixed, others},
#define HEWN_LEVEL(level, least, most, ...) {level, least, most, {__VA_ARGS__}},
#define HEWN_OPERATOR(name, kernels, type, dml_name, command, formula, onnx, in_place, wraps, \
                      one_width, as_f32, signature, tensors, levels) \
    constexpr TensorRule tensors_##name[] = {HEWN_UNPACK tensors}; \
    constexpr LevelRule levels_##name[] = {HEWN_UNPACK levels}; \
    constexpr int signature_##name[] = {HEWN_UNPACK signature};
#include "operators.inc"

// A signature fits in Problem::signature. No kernel's type has a longer word than bf16.
#define HEWN_OPERATOR(name, ...) \
    static_assert(sizeof signature_##name / sizeof(int) * sizeof "bf16" <= \
                  sizeof Problem::signature);
#include "operators.inc"

// All attributes, in the order of their operators.
// The lists end in an element of their own, as those of parameters would be empty.
#define HEWN_VALUE(word, name, onnx, level) #word,
#define HEWN_ATTRIBUTE(op, number, attribute, type, of, why, computed, values) \
    constexpr const char *words_##op##_##attribute[] = {values nullptr};
#include "attributes.inc"
#define HEWN_VALUE(word, name, onnx, level) {#name, level},
#define HEWN_ATTRIBUTE(op, number, attribute, type, of, why, computed, values) \
    constexpr ValueRule values_##op##_##attribute[] = {values{}};
#include "attributes.inc"
constexpr AttributeRule kAllAttributes[] = {
#define HEWN_ATTRIBUTE(op, number, attribute, type, of, why, computed, values) \
    {number, \
     #attribute, \
     offsetof(Attributes, op##_##attribute), \
     of, \
     words_##op##_##attribute, \
     values_##op##_##attribute, \
     int32_t(sizeof words_##op##_##attribute / sizeof(char *)) - 1, \
     computed, \
     why},
#include "attributes.inc"
};
constexpr size_t kAttributeOffsets[] = {
#define HEWN_ATTRIBUTE(op, number, attribute, ...) offsetof(hewn_##op##_desc, attribute),
#include "attributes.inc"
};
constexpr size_t kAttributeBytes = sizeof(int32_t);

// Returns an operator's attribute number n, from 0 on; null if there is none.
template<class Rules>
constexpr const AttributeRule *nth_attribute(const Rules &rules, hewn_operator_type type,
                                             uint32_t n) {
    for (const AttributeRule &rule : rules) {
        if (rule.type == type && n-- == 0) return &rule;
    }
    return nullptr;
}

// Checks that the struct in hewn.h that describes an operator has the table's tensors in the
// table's order after struct_size, and then the attributes, padded to an even number of words.
#define HEWN_TENSOR(name, member, ...) offsetof(Desc, member),
#define HEWN_OPERATOR(name, kernels, type, dml_name, command, formula, onnx, in_place, wraps, \
                      one_width, as_f32, signature, tensors, levels) \
    constexpr bool describes_##name() { \
        using Desc = hewn_##name##_desc; \
        size_t due = sizeof(void *); \
        for (const size_t member : {HEWN_UNPACK tensors}) { \
            if (member != due) return false; \
            due += sizeof(void *); \
        } \
        uint32_t n = 0; \
        while (const AttributeRule *rule = nth_attribute(kAllAttributes, type, n)) { \
            if (kAttributeOffsets[rule - kAllAttributes] != due + n++ * kAttributeBytes) \
                return false; \
        } \
        due += (n + n % 2) * kAttributeBytes; \
        return due == sizeof(Desc) && type == HEWN_OPERATOR_##dml_name; \
    } \
    static_assert(describes_##name(), "hewn.h and lists/operators.py differ in " #name);
#include "operators.inc"

// Completes a row of the table with its lists.
template<size_t Tensors, size_t Levels, size_t Words>
constexpr OperatorInfo with_lists(OperatorInfo info, const TensorRule (&tensors)[Tensors],
                                  const LevelRule (&levels)[Levels],
                                  const int (&signature)[Words]) {
    for (const TensorRule &tensor : tensors) info.output_count += tensor.role == output;
    info.input_count = int(Tensors) - info.output_count;
    info.level_count = int(Levels);
    info.signature_count = int(Words);
    info.tensors = tensors;
    info.levels = levels;
    info.signature = signature;
    for (int i = 0; i < info.input_count; i++) {
        if (!tensors[i].one_element) info.operands[info.operand_count++] = i;
    }
    return info;
}

}  // namespace

constexpr std::array<OperatorInfo, kOperatorCount> kOperators = [] {
    constexpr OperatorInfo all[] = {
#define HEWN_OPERATOR(name, kernels, type, dml_name, command, formula, onnx, in_place, wraps, \
                      one_width, as_f32, ...) \
    with_lists({type, #kernels, #dml_name, in_place, wraps, one_width, as_f32}, tensors_##name, \
               levels_##name, signature_##name),
#include "operators.inc"
    };
    return rows_in_table(all);
}();

namespace {

// The attributes of the operators that this build has kernels of. Those of other operators, whose
// words and names would take kilobytes, are not read.
constexpr bool is_built(const AttributeRule &rule) {
    for (const OperatorInfo &info : kOperators) {
        if (info.type == rule.type) return hewn::is_built(info.kernels);
    }
    return false;
}
constexpr size_t count_built_attributes() {
    size_t count = 0;
    for (const AttributeRule &rule : kAllAttributes) count += is_built(rule);
    return count;
}
constexpr auto kAttributes = [] {
    std::array<AttributeRule, count_built_attributes()> built = {};
    size_t count = 0;
    for (const AttributeRule &rule : kAllAttributes) {
        if (is_built(rule)) built[count++] = rule;
    }
    return built;
}();

// Returns an operator's name, whether or not this build has it; null if there is no such operator.
const char *name_of(hewn_operator_type type) {
#define HEWN_OPERATOR(name, kernels, number, dml_name, ...) \
    if (type == number) return #dml_name;
#include "operators.inc"
    return nullptr;
}

// ---- Reading descriptions: compiled for size ("cold"), as it happens once an operator ----

// Returns the newest rule that is not above a level; null if the operator was introduced later.
const LevelRule *rule_at(const OperatorInfo &info, hewn_feature_level level) {
    for (int i = 0; i < info.level_count; i++) {
        if (info.levels[i].level <= level) return &info.levels[i];
    }
    return nullptr;
}

// Returns the type that a tensor with this rule must have if the tensor that it is like has the
// type `like`.
hewn_data_type type_like(const TensorRule &rule, hewn_data_type like) {
    return rule.integers && !(1u << like & kFloats) ? rule.integers : like;
}

// Returns the types that tensor t may have at a level, a bit for each.
uint32_t types_of(const OperatorInfo &info, const LevelRule &level, int t) {
    const TensorRule &rule = info.tensors[t];
    if (rule.like < 0) return level.types[t];
    const uint32_t like = types_of(info, level, rule.like);
    const uint32_t own = level.level >= HEWN_FEATURE_LEVEL_HEWN ? rule.others : 0;
    if (rule.integers) return (like & kFloats) | 1u << rule.integers | own;
    return (rule.mixed ? like & kFloats : like) | own;
}

// Reads one description and checks it by the table's rules for a level. docs/architecture.md lists
// the checks in order.
class Reader {
public:
    Reader(Problem &problem, hewn_feature_level level, hewn_error *error)
        : info_(*problem.info),
          problem_(problem),
          level_(level),
          rule_(rule_at(info_, level)),
          error_(error) {}

    hewn_status read(const void *desc) {
        HEWN_CHECK(check_introduced());
        HEWN_CHECK(read_tensors(desc));
        HEWN_CHECK(read_attributes(desc));
        HEWN_CHECK(check_rank());
        for (const auto check :
             {&Reader::check_type, &Reader::check_width, &Reader::check_presence,
              &Reader::check_sizes, &Reader::check_like, &Reader::check_blocks}) {
            for (int t = 0; t < tensor_count(info_); t++) HEWN_CHECK((this->*check)(t));
        }
        HEWN_CHECK(check_mode());
        HEWN_CHECK(check_tensor_scale());
        HEWN_CHECK(check_one_blocked_dimension());
        for (int d = 0; d < problem_.output.rank; d++) HEWN_CHECK(check_blocks_along(d));
        for (int t = 0; t < tensor_count(info_); t++) HEWN_CHECK(check_same_blocks(t));
        convert_to_f32();
        set_format();
        set_signature();
        for (int t = info_.input_count; t < tensor_count(info_); t++) HEWN_CHECK(check_output(t));
        return HEWN_STATUS_OK;
    }

private:
    const OperatorInfo &info_;
    Problem &problem_;
    const hewn_feature_level level_;
    const LevelRule *const rule_;
    hewn_error *const error_;
    int short_count_ = 0;  // the dimensions whose last block is short

    Tensor &at(int t) { return tensor(problem_, t); }

    // Returns a function that reports an error of tensor t: failed(t)("a message").
    TensorFailure failed(int t, hewn_status status = HEWN_STATUS_INVALID_ARGUMENT) {
        return {error_, status, info_.dml_name, info_.tensors[t].name};
    }

    hewn_status check_output(int t) {
        if (!at(t).present) return HEWN_STATUS_OK;
        // A scale that is chosen for a block is one element.
        if (strides_never_overlap(is_chosen(t) ? each_stored(at(t)) : at(t))) return HEWN_STATUS_OK;
        return failed(t)(
            "strides overlap; sorted, each must exceed the span of all smaller dimensions, and be "
            "above 0");
    }

    hewn_status check_introduced() {
        if (rule_) return HEWN_STATUS_OK;
        return fail(error_, HEWN_STATUS_UNSUPPORTED, "%s: needs feature level %s, compiled at %s",
                    info_.dml_name, word_of(info_.levels[info_.level_count - 1].level),
                    word_of(level_));
    }

    // A description is a struct_size, in the room of a pointer, and a pointer to each tensor.
    hewn_status read_tensors(const void *desc) {
        if (!desc)
            return fail(error_, HEWN_STATUS_INVALID_ARGUMENT,
                        "%s: the operator's description is null", info_.dml_name);
        const size_t tensors = size_t(tensor_count(info_)), due = (1 + tensors) * sizeof(void *);
        uint32_t struct_size;
        std::memcpy(&struct_size, desc, sizeof struct_size);
        if (struct_size < due)
            return fail(error_, HEWN_STATUS_INVALID_ARGUMENT,
                        "%s: struct_size %u of the operator's description is less than %u",
                        info_.dml_name, unsigned(struct_size), unsigned(due));
        const hewn_tensor_desc *descs[kMaxTensors];
        std::memcpy(descs, static_cast<const char *>(desc) + sizeof(void *),
                    tensors * sizeof *descs);
        for (int t = 0; t < int(tensors); t++) {
            if (descs[t] || !info_.tensors[t].optional_from)
                HEWN_CHECK(
                    read_tensor(descs[t], info_.dml_name, info_.tensors[t].name, at(t), error_));
        }
        for (int t = 0; t < int(tensors); t++) {
            if (!descs[t]) set_absent(t);
        }
        return HEWN_STATUS_OK;
    }

    // Attributes follow the tensors: a word each, padded to an even number of words. Words beyond
    // struct_size count as 0.
    hewn_status read_attributes(const void *desc) {
        problem_.attributes = {};
        uint32_t n = 0;
        const AttributeRule *choice = nullptr;
        int32_t chosen = 0;
        while (const AttributeRule *rule = nth_attribute(kAttributes, info_.type, n)) {
            const int32_t value = word_behind(desc, n++);
            std::memcpy(reinterpret_cast<char *>(&problem_.attributes) + rule->offset, &value,
                        sizeof value);
            if (rule->of) {
                HEWN_CHECK(check_parameter(*rule, value, *choice, chosen));
                continue;
            }
            choice = rule;
            chosen = value;
            HEWN_CHECK(check_choice(*rule, value));
        }
        if (n % 2 == 0 || word_behind(desc, n) == 0) return HEWN_STATUS_OK;
        return fail(error_, HEWN_STATUS_INVALID_ARGUMENT, "%s: reserved is %d, must be 0",
                    info_.dml_name, int(word_behind(desc, n)));
    }
    // Returns word n after the tensors.
    int32_t word_behind(const void *desc, uint32_t n) const {
        const size_t at = (1 + size_t(tensor_count(info_))) * sizeof(void *) + n * kAttributeBytes;
        uint32_t struct_size;
        std::memcpy(&struct_size, desc, sizeof struct_size);
        int32_t word = 0;
        if (struct_size >= at + kAttributeBytes)
            std::memcpy(&word, static_cast<const char *>(desc) + at, sizeof word);
        return word;
    }

    hewn_status check_choice(const AttributeRule &rule, int32_t value) {
        if (value < 0 || value >= rule.value_count)
            return fail(error_, HEWN_STATUS_INVALID_ARGUMENT,
                        "%s: %s %d is none of 0 (%s) to %d (%s)", info_.dml_name, rule.name,
                        int(value), rule.values[0].name, int(rule.computed - 1),
                        rule.values[rule.computed - 1].name);
        if (value >= rule.computed)
            return fail(error_, HEWN_STATUS_UNSUPPORTED, "%s: %s %s is not supported, because %s",
                        info_.dml_name, rule.name, rule.values[value].name, rule.why);
        if (level_ >= rule.values[value].from) return HEWN_STATUS_OK;
        return fail(error_, HEWN_STATUS_UNSUPPORTED,
                    "%s: %s %s needs feature level %s, compiled at %s", info_.dml_name, rule.name,
                    rule.values[value].name, word_of(rule.values[value].from), word_of(level_));
    }

    // `word` has the bits of the parameter, and `chosen` is the value of `choice`.
    hewn_status check_parameter(const AttributeRule &rule, int32_t word,
                                const AttributeRule &choice, int32_t chosen) {
        const uint32_t magnitude = uint32_t(word) & 0x7fffffff;
        if (magnitude > 0x7f800000)
            return fail(error_, HEWN_STATUS_INVALID_ARGUMENT, "%s: %s is NaN, must be a number",
                        info_.dml_name, rule.name);
        if (magnitude == 0 || rule.of >> chosen & 1) return HEWN_STATUS_OK;
        return fail(error_, HEWN_STATUS_INVALID_ARGUMENT,
                    "%s: %s is not 0, but %s %s does not have it", info_.dml_name, rule.name,
                    choice.name, choice.values[chosen].name);
    }

    // Has tensors converted to f32 if there are no kernels for their types: floats of `as_f32`,
    // mixed floats, and integers that are quantized to small floats. In a `precision` below f32 the
    // runtime divides f32 numbers, and the kernel of f32 does the rest.
    void convert_to_f32() {
        const bool divides = precision_of(problem_);
        const uint32_t integers = divides || (1u << problem_.output.type & kSmallFloats) ? i32 : 0;
        bool converts = divides;
        for (int t = 0; t < tensor_count(info_); t++)
            converts |= is_mixed(t) || (1u << at(t).type & (info_.as_f32 | integers));
        for (int t = 0; converts && t < tensor_count(info_); t++) {
            const hewn_data_type type = at(t).type;
            const uint32_t converted = kFloats | info_.as_f32 | (t == 0 ? integers : 0);
            if (type != type_f32 && (1u << type & converted))
                at(t).conversion = conversion_of(type);
        }
    }
    void set_format() {
        problem_.format = 0;
        if (!kHasOwnLevel) return;
        for (const Tensor *each : {&problem_.inputs[0], &problem_.output})
            if (const uint32_t format = kFormats.of[each->type])
                problem_.format = format | uint32_t(saturate_of(problem_) == HEWN_SATURATE_ON)
                                               << kFormatSaturates.at;
    }
    // Whether the tensor has another type than the rules without `mixed` say.
    bool is_mixed(int t) {
        const TensorRule &rule = info_.tensors[t];
        return rule.like >= 0 && at(t).type != type_like(rule, at(rule.like).type);
    }

    // An absent tensor is read as one value that is repeated to the first tensor's sizes. The value
    // is 0, or the constant that the rule asks for.
    void set_absent(int t) {
        Tensor &absent = at(t);
        const int like = info_.tensors[t].like;
        absent = repeated(at(0), like < 0 ? type_f32 : at(like).type);
        absent.name = info_.tensors[t].name;
        absent.present = false;
        if (t >= info_.input_count) return;
        if (info_.tensors[t].middle)
            problem_.constants[t] = absent.type == type_u8   ? &kMiddleOfU8
                                    : absent.type == type_u4 ? &kMiddleOfU4
                                                             : nullptr;
        absent.constant = problem_.constants[t] != nullptr;
    }

    // Reports what the level lacks, and which newer level has it, if one does.
    template<class Fits>
    hewn_status unsupported(int t, const char *what, const char *allowed, const Fits &fits) {
        for (const LevelRule *newer = rule_; newer-- != info_.levels;) {
            if (fits(*newer)) return needs(t, what, newer->level);
        }
        return failed(t, HEWN_STATUS_UNSUPPORTED)("%s is not supported; feature level %s has %s",
                                                  what, word_of(level_), allowed);
    }
    // Reports that `what` needs a newer level.
    hewn_status needs(int t, const char *what, hewn_feature_level level) {
        return failed(t, HEWN_STATUS_UNSUPPORTED)("%s needs feature level %s, compiled at %s", what,
                                                  word_of(level), word_of(level_));
    }

    // DirectML has no tensors of rank 0. In hewn such a tensor is one element, and is supported
    // wherever rank 1 is.
    hewn_status check_rank() {
        const int given = at(0).rank, rank = given > 0 ? given : 1;
        const auto fits = [&](const LevelRule &rule) {
            return rule.min_rank <= rank && rank <= rule.max_rank;
        };
        if (fits(*rule_)) return HEWN_STATUS_OK;
        char what[32], allowed[32];
        snprintf(what, sizeof what, "dimension count %d", given);
        snprintf(allowed, sizeof allowed, "%d to %d", rule_->min_rank, rule_->max_rank);
        return unsupported(0, what, allowed, fits);
    }

    hewn_status check_type(int t) {
        if (info_.tensors[t].like >= 0 || (rule_->types[t] & 1u << at(t).type))
            return HEWN_STATUS_OK;
        return unsupported_type(t, rule_->types[t]);
    }
    hewn_status unsupported_type(int t, uint32_t types) {
        const uint32_t type = 1u << at(t).type;
        const auto fits = [&](const LevelRule &rule) { return (rule.types[t] & type) != 0; };
        char allowed[256] = "";
        for (hewn_data_type each = 0; each < 32; each++) {
            if (!(types & 1u << each)) continue;
            const size_t length = std::strlen(allowed);
            snprintf(allowed + length, sizeof allowed - length, "%s%s", length ? ", " : "",
                     type_name(each));
        }
        return unsupported(t, type_name(at(t).type), allowed, fits);
    }

    // Only inputs to compute with and outputs are compared: a zero point is `like` one of them, and
    // so has its width.
    hewn_status check_width(int t) {
        const TensorRule &rule = info_.tensors[t];
        const bool named =
            rule.role == HEWN_TENSOR_ROLE_DATA || rule.role == HEWN_TENSOR_ROLE_OUTPUT;
        if (!info_.one_width || !named || at(t).element_bytes == at(0).element_bytes)
            return HEWN_STATUS_OK;
        return failed(t, HEWN_STATUS_UNSUPPORTED)(
            "%s with %s's %s is not supported; they must have the same width",
            type_name(at(t).type), info_.tensors[0].name, type_name(at(0).type));
    }

    hewn_status check_presence(int t) {
        if (at(t).present || level_ >= info_.tensors[t].optional_from) return HEWN_STATUS_OK;
        return needs(t, "leaving it out", info_.tensors[t].optional_from);
    }

    hewn_status check_like(int t) {
        const TensorRule &rule = info_.tensors[t];
        if (rule.like < 0) return HEWN_STATUS_OK;
        const hewn_data_type due = type_like(rule, at(rule.like).type);
        const uint32_t type = 1u << at(t).type, allowed = types_of(info_, info_.levels[0], t);
        if (!is_mixed(t))
            return type & allowed ? hewn_status(HEWN_STATUS_OK) : unsupported_type(t, allowed);
        const uint32_t mixable = (allowed & kFloats) | rule.others;
        if (rule.mixed && type & mixable && 1u << due & (kFloats | info_.as_f32))
            return level_ >= HEWN_FEATURE_LEVEL_HEWN ? HEWN_STATUS_OK : needs_mixing(t, due);
        return failed(t)("data type is %s, must be %s: %s's%s%s%s", type_name(at(t).type),
                         type_name(due), info_.tensors[rule.like].name, rule.integers ? ", " : "",
                         rule.integers ? type_name(rule.integers) : "",
                         rule.integers ? " for integers" : "");
    }

    hewn_status needs_mixing(int t, hewn_data_type due) {
        char what[64];
        snprintf(what, sizeof what, "%s where %s is expected", type_name(at(t).type),
                 type_name(due));
        return needs(t, what, HEWN_FEATURE_LEVEL_HEWN);
    }

    hewn_status check_sizes(int t) {
        static constexpr char kOneElement[] = "; in each dimension the size 1 or the stride 0";
        const Tensor &first = at(0), &other = at(t);
        const bool one = info_.tensors[t].one_element;
        if (other.rank != first.rank) {
            return failed(t)("has %d dimensions, %s has %d; they must be equal%s", other.rank,
                             first.name, first.rank, one ? kOneElement : kRepeatsHint);
        }
        if (one) return check_one_element(t);
        for (int d = 0; d < other.rank; d++) {
            if (other.sizes[d] == first.sizes[d] || spread(t, d)) continue;
            const bool divides = info_.tensors[t].blocks && other.block_sizes[d] == 1;
            return failed(t)("size %lld of dimension %d %s %s's %lld%s", (long long)other.sizes[d],
                             d, divides ? "does not divide" : "differs from", first.name,
                             (long long)first.sizes[d], kRepeatsHint);
        }
        return HEWN_STATUS_OK;
    }

    // If the size of tensor t divides the first tensor's, and the rule allows that, gives the
    // tensor the first one's size, and blocks. Returns false if that is not allowed.
    bool spread(int t, int d) {
        Tensor &own = at(t);
        const int64_t size = at(0).sizes[d], blocks = own.sizes[d];
        if (!info_.tensors[t].blocks || own.block_sizes[d] > 1 || blocks == 0 || size % blocks != 0)
            return false;
        own.sizes[d] = size;
        if (blocks == 1 || size == 0) own.strides[d] = 0;
        if (own.strides[d] != 0) own.block_sizes[d] = size / blocks;
        own.blocked |= own.block_sizes[d] > 1;
        if (size == 0) own.bytes = 0;
        return true;
    }

    // One element means that each dimension has a size of 1, where the stride means nothing, or a
    // stride of 0. An empty tensor is accepted if the first tensor is empty too.
    hewn_status check_one_element(int t) {
        const Tensor &first = at(0), &other = at(t);
        for (int d = 0; d < other.rank; d++) {
            if (other.sizes[d] != 1 && other.strides[d] != 0)
                return failed(t)(
                    "expected 1 element: dimension %d has size %lld and stride %lld, expected size "
                    "1 or stride 0",
                    d, (long long)other.sizes[d], (long long)other.strides[d]);
        }
        if (!other.empty() || first.empty()) return HEWN_STATUS_OK;
        return failed(t)("expected 1 element: is empty, and %s is not", first.name);
    }

    hewn_status check_blocks(int t) {
        const TensorRule &rule = info_.tensors[t];
        if (!at(t).blocked) return HEWN_STATUS_OK;
        if (rule.one_element || (rule.role != HEWN_TENSOR_ROLE_SCALE &&
                                 rule.role != HEWN_TENSOR_ROLE_ZERO_POINT && !is_chosen(t)))
            return failed(t)(
                "has block sizes above 1; only scales and zero points of more than one element may "
                "have them");
        return level_ >= HEWN_FEATURE_LEVEL_HEWN || rule.blocks
                   ? HEWN_STATUS_OK
                   : needs(t, "a block size", HEWN_FEATURE_LEVEL_HEWN);
    }

    // Whether the tensor is an output with one element for each block.
    bool is_chosen(int t) const {
        return kChoosesBlocks && info_.tensors[t].role == HEWN_TENSOR_ROLE_OUTPUT &&
               info_.tensors[t].blocks;
    }

    // All blocks in a dimension must be equal. Only kMaxShortDimensions dimensions may have a short
    // last block.
    hewn_status check_blocks_along(int d) {
        int first = -1;
        for (int t = 0; t < tensor_count(info_); t++) {
            const int64_t size = at(t).block_sizes[d];
            if (size == 1) continue;
            if (first < 0) first = t;
            if (size != at(first).block_sizes[d])
                return failed(t, HEWN_STATUS_UNSUPPORTED)(
                    "block size %lld of dimension %d differs from %s's %lld", (long long)size, d,
                    at(first).name, (long long)at(first).block_sizes[d]);
        }
        if (first < 0 || problem_.output.sizes[d] % at(first).block_sizes[d] == 0)
            return HEWN_STATUS_OK;
        if (info_.tensors[first].blocks && !is_chosen(first))
            return failed(first)("block size %lld of dimension %d does not divide %s's %lld",
                                 (long long)at(first).block_sizes[d], d, at(0).name,
                                 (long long)at(0).sizes[d]);
        if (++short_count_ <= kMaxShortDimensions) return HEWN_STATUS_OK;
        return failed(first, HEWN_STATUS_UNSUPPORTED)(
            "the last block is short in more than %d dimensions", kMaxShortDimensions);
    }

    // An operator that chooses scales and zero points chooses both for the same blocks.
    hewn_status check_same_blocks(int t) {
        if (!kChoosesBlocks || !is_chosen(t) || !at(t).present) return HEWN_STATUS_OK;
        int first = info_.input_count;
        while (!is_chosen(first)) first++;
        const Tensor &own = at(t), &other = at(first);
        for (int d = 0; d < own.rank; d++) {
            const bool one = stored(own, d) == 1, other_is_one = stored(other, d) == 1;
            if (one && other_is_one) continue;
            if (one != other_is_one)
                return failed(t)("has %s in dimension %d, and %s has %s",
                                 one ? "one block" : "several blocks", d, other.name,
                                 one ? "several" : "one");
        }
        return HEWN_STATUS_OK;
    }

    // The mode of DYNAMIC_QUANTIZE says whether there is a zero point.
    hewn_status check_mode() {
        if (!kHasDynamicQuantize || info_.type != HEWN_OPERATOR_DYNAMIC_QUANTIZE)
            return HEWN_STATUS_OK;
        enum { kOutput = 1, kZeroPoint = 3 };
        const hewn_quantization_mode mode = problem_.attributes.dynamic_quantize_mode;
        const bool is_asymmetric = mode == HEWN_QUANTIZATION_MODE_ASYMMETRIC;
        if (mode != HEWN_QUANTIZATION_MODE_SYMMETRIC && (1u << at(kOutput).type & kSmallFloats))
            return failed(kOutput)("is %s; floats take the mode SYMMETRIC only",
                                   type_name(at(kOutput).type));
        if (is_asymmetric && !at(kZeroPoint).present)
            return failed(kZeroPoint)("is missing; the mode ASYMMETRIC has a zero point");
        if (!is_asymmetric && at(kZeroPoint).present)
            return failed(kZeroPoint)("is given; only the mode ASYMMETRIC has a zero point");
        if (problem_.attributes.dynamic_quantize_min_scale < 0)
            return fail(error_, HEWN_STATUS_INVALID_ARGUMENT,
                        "%s: min_scale is negative, expected 0 or more", info_.dml_name);
        return HEWN_STATUS_OK;
    }

    // The scale of NVFP4's tensor is given, or an output.
    hewn_status check_tensor_scale() {
        if (!kHasNvfp4 || info_.type != HEWN_OPERATOR_NVFP4_QUANTIZE) return HEWN_STATUS_OK;
        enum { kGiven = 1, kWritten = 4 };
        if (at(kGiven).present == at(kWritten).present)
            return failed(kWritten)("%s, and %s is, too; expected one of them",
                                    at(kWritten).present ? "is given" : "is missing",
                                    info_.tensors[kGiven].name);
        return HEWN_STATUS_OK;
    }

    // The blocks of MX and of NVFP4 lie along one dimension.
    hewn_status check_one_blocked_dimension() {
        if ((!kHasMx || info_.type != HEWN_OPERATOR_MX_QUANTIZE) &&
            (!kHasNvfp4 || info_.type != HEWN_OPERATOR_NVFP4_QUANTIZE))
            return HEWN_STATUS_OK;
        const int t = info_.input_count + 1;
        int count = 0;
        for (int d = 0; d < at(t).rank; d++) count += stored(at(t), d) < at(t).sizes[d];
        if (count <= 1) return HEWN_STATUS_OK;
        return failed(t, HEWN_STATUS_UNSUPPORTED)(
            "has blocks along %d dimensions, expected blocks along one", count);
    }

    // Writes the signature: the words of the kernel's types.
    void set_signature() {
        problem_.signature[0] = 0;
        for (int s = 0; s < info_.signature_count; s++) {
            if (s > 0) std::strcat(problem_.signature, "_");
            const hewn_data_type type = kernel_type(info_, at(info_.signature[s]));
            std::strcat(problem_.signature, 1u << type & kSmallFloats ? "f8" : type_word(type));
        }
    }
};

// Returns the level, or the newest one for NEWEST; 0 if this build has no such level.
hewn_feature_level known_level(hewn_feature_level level) {
    if (level == HEWN_FEATURE_LEVEL_NEWEST) return kBuiltLevel;
    return level <= kBuiltLevel && word_of(level) ? level : 0;
}

}  // namespace

hewn_data_type kernel_type(const OperatorInfo &info, const Tensor &tensor) {
    const hewn_data_type type = tensor.type;
    if (tensor.conversion) return tensor.conversion->taken;
    // An absent sub-byte zero point has no conversion, because it is stored as one byte. Its kernel
    // type is that of a converted tensor all the same.
    if (const Conversion *const c = conversion_of(type); c && c->shares_bytes()) return c->taken;
    if (!info.unsigned_as_signed || !(1u << type & kUnsigned)) return type;
    return type == type_u64   ? type_i64
           : type == type_u32 ? type_i32
           : type == type_u16 ? type_i16
                              : type_i8;
}

// Kernels take bf16 and small floats as bits, in unsigned integers.
halide_type_t halide_type(hewn_data_type type) {
    const uint32_t bit = 1u << type;
    return halide_type_t(bit & (kUnsigned | bf16 | kSmallFloats) ? halide_type_uint
                         : bit & kFloats                         ? halide_type_float
                                                                 : halide_type_int,
                         uint8_t(type_bytes(type) * 8));
}

int tensor_of_operand(const Problem &problem, int o) {
    return o == problem.info->operand_count ? problem.info->input_count : problem.info->operands[o];
}

__attribute__((cold)) int list_operands(const Problem &problem, const Tensor **operands) {
    const int count = problem.info->operand_count + 1;
    for (int o = 0; o < count; o++) operands[o] = &tensor(problem, tensor_of_operand(problem, o));
    return count;
}

__attribute__((cold)) hewn_status read_operator(const hewn_operator_desc *desc,
                                                hewn_feature_level level, Problem &problem,
                                                hewn_error *error) {
    if (!desc) return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_operator_desc: is null");
    if (desc->struct_size < sizeof(hewn_operator_desc)) {
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                    "hewn_operator_desc: struct_size is too small");
    }
    const hewn_feature_level known = known_level(level);
    if (!known && word_of(level))
        return fail(error, HEWN_STATUS_UNSUPPORTED,
                    "feature level %s is not in this build, which has those up to %s "
                    "(HEWN_FEATURE_LEVEL)",
                    word_of(level), word_of(kBuiltLevel));
    if (!known)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                    "feature level 0x%x is none of DirectML's, nor hewn's", unsigned(level));
    for (const OperatorInfo &info : kOperators) {
        if (info.type != desc->type) continue;
        problem.info = &info;
        for (const void *&constant : problem.constants) constant = nullptr;
        return Reader(problem, known, error).read(desc->desc);
    }
    if (const char *name = name_of(desc->type))
        return fail(error, HEWN_STATUS_UNSUPPORTED,
                    "this build of hewn has no kernel of %s: see HEWN_OPERATORS, HEWN_SIGNATURES "
                    "and HEWN_FEATURE_LEVEL",
                    name);
    return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_operator_desc: %d is no operator type",
                int(desc->type));
}

}  // namespace hewn

// ---- The table at run time ----

using namespace hewn;

uint32_t hewn_operator_count(void) { return uint32_t(kOperatorCount); }

// What only hewn_get_operator shows: a program that does not call it is linked without these texts.
struct Texts {
    const char *name, *command, *formula, *onnx_name;
};
constexpr auto kTexts = [] {
    constexpr Texts all[] = {
#define HEWN_OPERATOR(name, kernels, type, dml_name, command, formula, onnx, ...) \
    {#name, #command, formula, onnx},
#include "operators.inc"
    };
    return rows_in_table(all);
}();

hewn_status hewn_get_operator(uint32_t index, hewn_feature_level level, hewn_operator_info *info) {
    const hewn_feature_level known = known_level(level);
    if (index >= kOperatorCount || !known || !info || info->struct_size < sizeof *info)
        return HEWN_STATUS_INVALID_ARGUMENT;
    const OperatorInfo &op = kOperators[index];
    const LevelRule *rule = rule_at(op, known);
    info->type = op.type;
    info->name = kTexts[index].name;
    info->directml_name = op.dml_name;
    info->onnx_name = kTexts[index].onnx_name;
    info->command = kTexts[index].command;
    info->formula = kTexts[index].formula;
    info->tensor_count = uint32_t(tensor_count(op));
    info->in_place = op.in_place;
    info->unsigned_as_signed = op.unsigned_as_signed;
    info->min_dimension_count = rule ? uint32_t(rule->min_rank) : 0;
    info->max_dimension_count = rule ? uint32_t(rule->max_rank) : 0;
    return HEWN_STATUS_OK;
}

hewn_status hewn_get_operator_tensor(uint32_t index, uint32_t tensor_index,
                                     hewn_feature_level level, hewn_operator_tensor_info *info) {
    const hewn_feature_level known = known_level(level);
    if (index >= kOperatorCount || !known || !info || info->struct_size < sizeof *info)
        return HEWN_STATUS_INVALID_ARGUMENT;
    const OperatorInfo &op = kOperators[index];
    if (tensor_index >= uint32_t(tensor_count(op))) return HEWN_STATUS_INVALID_ARGUMENT;
    const LevelRule *level_rule = rule_at(op, known);
    const TensorRule &rule = op.tensors[tensor_index];
    info->name = rule.name;
    info->role = rule.role;
    info->like = rule.like;
    info->like_integers = rule.integers;
    info->optional = rule.optional_from && known >= rule.optional_from;
    info->one_element = rule.one_element;
    info->in_signature = 0;
    for (int s = 0; s < op.signature_count; s++)
        info->in_signature |= op.signature[s] == int(tensor_index);
    info->types = level_rule ? types_of(op, *level_rule, int(tensor_index)) : 0;
    return HEWN_STATUS_OK;
}

hewn_status hewn_get_operator_attribute(uint32_t index, uint32_t attribute,
                                        hewn_feature_level level,
                                        hewn_operator_attribute_info *info) {
    const hewn_feature_level known = known_level(level);
    if (index >= kOperatorCount || !known || !info || info->struct_size < sizeof *info)
        return HEWN_STATUS_INVALID_ARGUMENT;
    const AttributeRule *const rule = nth_attribute(kAttributes, kOperators[index].type, attribute);
    if (!rule) return HEWN_STATUS_INVALID_ARGUMENT;
    info->name = rule->name;
    info->values = rule->words;
    info->value_count = uint32_t(rule->computed);
    info->allowed = rule->of || (rule->computed > 1 && known >= rule->values[1].from);
    info->known_count = uint32_t(rule->value_count);
    info->of = rule->of;
    return HEWN_STATUS_OK;
}
