// The program `hewn`, the command line of the library. This file declares the commands and their
// options with CLI11, and turns exceptions into exit codes. Each command is in a file of its own:
// operators.h, conformance.h, verify.h, replay.h and info.h.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "array.h"
#include "complete.h"
#include "conformance.h"
#include "device.h"
#include "facts.h"
#include "files.h"
#include "info.h"
#include "manual.h"
#include "names.h"
#include "operators.h"
#include "progress.h"
#include "replay.h"
#include "variants.h"
#include "verify.h"

namespace {
using namespace hewn::cli;
using hewn::DataType, hewn::OperatorInfo;

constexpr int EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_MEMORY = 3;

// The texts after the options in --help and in the man page.
const std::vector<Section> SECTIONS = {
    {"Tensors", R"(Tensors are .npy files: f32 f16 i8 u8 i16 u16 i32 u32 i64 u64, little-endian,
ranks 0 to 8, either order; bf16 is two bytes of no type (V2), as ml_dtypes saves
it. Options take these names and NumPy's (float32, int8).

Images (.jpg, and .png without palette and interlacing) are tensors [height,
width] or [height, width, channels], u8 (16 bits: u16) as stored; quantize reads
them as f32, value / 255 (65535). An output that ends in .png holds u8 or u16, or
f32 and f16 as 0..1, clamped and rounded to u8.

Values of i4, u4, i2 and u2 are in files of i8 and u8, one a byte: quantize
--type u4, dequantize --bits 4. Small floats (f8e4m3fn, f4e2m1) are bytes of no
type (V1), one each; ml_dtypes saves f8e5m2 as f1. dequantize --input-type says
which they are.

The output file appears whole or not at all. Standard input and output, pipes and
devices are not supported.
)"},
    {"Scales and zero points",
     R"(Scales and zero points are numbers or .npy files: of one element, 1-D along the
input's --axis, or of sizes that broadcast to the input's by NumPy's rule. With
--block-size B each serves B neighbours along --axis (the last one what is left):
sizes then count blocks there. One operand of add may be a number too, of the
other's type. A number that its type cannot hold is an error; a negative one
follows a "=" (--scale=-2) or, of add, a "--".
)"},
    {"Environment", R"(HEWN_VARIANT does what --variant does.
)"},
    {"Exit status", R"(Exit code: 0 done; 1 the library refused the operator, a conformance case
failed, or a result of verify is wrong; 2 wrong usage or bad input; 3 out of memory.
)"},
    {"Examples", R"(hewn quantize photo.jpg --scale 0.0039 -o q.png
hewn dequantize q.npy --scale scales.npy --axis 1 -o y.npy
hewn add a.npy b.npy -o sum.npy --device cuda
hewn info
)",
     /*verbatim=*/true},
};

std::string footer() {
    std::string text;
    for (const Section &section : SECTIONS)
        text += (text.empty() ? "" : "\n") + std::string(section.title) + ":\n" + section.text;
    return text;
}

// The headings of --help for options that several commands have.
constexpr char WHERE_IT_RUNS[] = "Where it runs", FILES_AND_LIMITS[] = "Files and limits";

// ---- Words that options take ----

using Words = std::vector<std::string>;

// The words of each option whose values can be listed. Completions offer them.
std::map<const CLI::Option *, std::function<Words()>> offered_words;

CLI::Option *offer(CLI::Option *option, std::function<Words()> words) {
    offered_words[option] = std::move(words);
    return option;
}

// The option takes these words, or NumPy's names for them, and no others. `list` is called only
// when the option is given: some lists ask the GPUs' drivers, which other commands must not load.
CLI::Option *take_only(CLI::Option *option, const std::function<Words()> &list) {
    const auto check = [list](std::string &given) -> std::string {
        const Words words = list();
        Words names = words;
        for (const std::string &word : words) {
            if (given == word || given == numpy_name(word)) {
                given = word;
                return "";
            }
            if (numpy_name(word) != word) names.push_back(numpy_name(word));
        }
        // A known type that is not allowed here was not mistyped, so there is nothing to suggest.
        const bool is_type = type_from_name(given).has_value();
        return given + " is not allowed" + suggestion(given, is_type ? Words() : names, words);
    };
    offer(option, list);
    return option->transform(CLI::Validator(check, ""));
}

CLI::Option *take_only(CLI::Option *option, const Words &words) {
    return take_only(option, [words] { return words; });
}

// ---- The commands ----

// A check for whole numbers from `least` on. The empty description keeps its limits out of --help.
CLI::Validator whole_number(int least) {
    return CLI::Range(least, std::numeric_limits<int>::max()).description("");
}

// The options --device, --variant and --threads. `kernels` is the operator whose variants --variant
// can force ("add"); if it is empty, they are those of all operators.
void add_execution(CLI::App &command, ExecutionOptions &options, const std::string &kernels = "") {
    offer(command.add_option("--device", options.device,
                             kind_names("or") + ": the first GPU; cuda:1 for the second device"),
          kind_words)
        ->type_name("DEVICE")
        ->group(WHERE_IT_RUNS);
    offer(command.add_option("--variant", options.variant,
                             "force a target (x86_64_avx2) or one variant (add_f32__x86_64_avx2)"),
          [kernels] { return forcible_names(kernels); })
        ->type_name("NAME")
        ->group(WHERE_IT_RUNS);
    command.add_option("--threads", options.threads, "most threads; 0: as many as help")
        ->check(whole_number(0))
        ->type_name("N")
        ->group(WHERE_IT_RUNS);
}

void add_common(CLI::App &command, const OperatorInfo &op, OperatorOptions &options) {
    command.add_option("-o,--output", options.output, "output file, .npy or .png")
        ->required()
        ->type_name("FILE");
    offer(command.add_option("--feature-level", options.feature_level,
                             "DirectML's 1.0 to 6.4, or hewn, which has all there is; default: "
                             "hewn"),
          feature_level_words)
        ->type_name("LEVEL")
        ->group(FILES_AND_LIMITS);
    command
        .add_option("--max-image-mib", options.image_limits.mib,
                    "most MiB of an image's pixels as stored; default: 512")
        ->check(whole_number(1))
        ->type_name("N")
        ->group(FILES_AND_LIMITS);
    command
        .add_option("--max-scans", options.image_limits.scans,
                    "most scans of a progressive JPEG; default: 100")
        ->check(whole_number(1))
        ->type_name("N")
        ->group(FILES_AND_LIMITS);
    add_execution(command, options, kernels_name(op));
}

// The callback of a subcommand shares ownership of its options, which it reads after parsing.

void add_info_command(CLI::App &app) {
    struct Options {
        bool json = false, licenses = false;
    };
    CLI::App &command = *app.add_subcommand(
        "info",
        "targets and variants of this build, which run here, which is picked and why; devices");
    const auto options = std::make_shared<Options>();
    command.add_flag("--json", options->json, "the same as JSON, every variant on its own");
    command
        .add_flag("--licenses", options->licenses,
                  "the licences of hewn and of what is linked into it")
        ->excludes("--json");
    command.callback([options] {
        if (options->licenses) print_licenses();
        else print_info(options->json);
    });
}

// "i8 u8"
std::string types_text(const TensorInfo &tensor) {
    std::string text;
    for (const DataType type : types_of(tensor))
        text += (text.empty() ? "" : " ") + std::string(type_name(type));
    return text;
}

void add_input(CLI::App &command, const OperatorInfo &op, size_t input, OperatorOptions &options) {
    const TensorInfo &tensor = op.tensors[input];
    if (is_parameter(tensor)) {
        command
            .add_option(
                argument_of(op, tensor), options.inputs[input],
                std::string(tensor.name) + ": number or .npy file" +
                    (!tensor.optional                        ? ""
                     : tensor.role == HEWN_TENSOR_ROLE_SCALE ? "; absent: it is chosen"
                     : has_quantization_type(op) ? "; absent: an unsigned type's middle, or 0"
                                                 : "; absent: 0"))
            ->required(!tensor.optional)
            ->type_name("NUMBER|FILE");
        return;
    }
    command
        .add_option(argument_of(op, tensor), options.inputs[input],
                    std::string(tensor.name) + ": " + types_text(tensor) +
                        (takes_number(op, input) ? "; or a number" : ""))
        ->required()
        ->type_name(takes_number(op, input) ? "FILE|NUMBER" : "FILE");
}

void add_type(CLI::App &command, const OperatorInfo &op, OperatorOptions &options) {
    const TensorInfo *typed = typed_by_option(op);
    if (!typed) return;
    Words words;
    for (const DataType type : types_of(*typed))
        if (allows(output_of(op), type)) words.emplace_back(type_name(type));
    std::string text = "type of the output";
    bool has_default = true;
    if (is_parameter(*typed)) {
        text += " and the scale: " + joined(words) + "; default: the scale file's, else " +
                words.front();
    } else {
        bool zero_point = false;
        for (const TensorInfo &tensor : op.tensors)
            zero_point |=
                tensor.role == HEWN_TENSOR_ROLE_ZERO_POINT && tensor.like == int(input_count(op));
        const auto usual = usual_output_type(op);
        has_default = has_type_of_input(op) || usual;
        text += ": " + joined(words);
        if (has_default)
            text += std::string("; default: ") +
                    (zero_point ? "the zero point file's, else " : "") +
                    (has_type_of_input(op) ? "the first input's" : std::string(type_name(*usual)));
    }
    take_only(command.add_option("--type", options.type, text), words)
        ->required(!has_default)
        ->type_name("TYPE");
}

// The option --bits, for operators that take integers of sub-byte types, whose elements have a byte
// each in files.
void add_bits(CLI::App &command, const OperatorInfo &op, OperatorOptions &options) {
    std::set<std::string> bits;
    for (const DataType type : types_of(op.tensors.front()))
        if (is_sub_byte(type) && !is_float(type)) bits.insert(std::to_string(type_bits(type)));
    if (bits.empty()) return;
    const Words words(bits.begin(), bits.end());
    take_only(command.add_option("--bits", options.bits,
                                 "bits of the elements of a u8 or i8 file and of its zero point: " +
                                     joined(words)),
              words)
        ->type_name("N");
}

// The option --input-type, for operators that take small floats, whose files do not say which type
// they have.
void add_input_type(CLI::App &command, const OperatorInfo &op, OperatorOptions &options) {
    Words words;
    for (const DataType type : types_of(op.tensors.front()))
        if (is_small_float(type)) words.emplace_back(type_name(type));
    if (words.empty() || types_of(op.tensors.front()).size() == 1) return;
    take_only(command.add_option("--input-type", options.input_type,
                                 "type of the elements of a file of bytes without a type (V1), and "
                                 "of its zero point: " +
                                     joined(words)),
              words)
        ->type_name("TYPE");
}

void add_axis(CLI::App &command, const OperatorInfo &op, OperatorOptions &options) {
    const int usual = block_size_of(op);
    const char *const about = usual ? "the axis of blocks; default: the last"
                              : chooses_blocks(op)
                                  ? "the axis whose elements share a scale; absent: all share one"
                                  : "the input's axis of a 1-D scale or zero point and of "
                                    "blocks; negative: from the last";
    CLI::Option *axis = command.add_option("--axis", options.axis, about)->type_name("N");
    CLI::Option *size =
        command
            .add_option("--block-size", options.block_size,
                        usual ? "elements of a block; default: " + std::to_string(usual)
                              : "elements along --axis that share a scale and a zero point")
            ->check(whole_number(1))
            ->type_name("B");
    if (!usual) size->needs(axis);
}

// The option --scale-type, for operators that choose scales of several types.
void add_scale_type(CLI::App &command, const OperatorInfo &op, OperatorOptions &options) {
    Words words;
    for (const DataType type : types_of(op.tensors[input_count(op) + 1]))
        words.emplace_back(type_name(type));
    take_only(
        command.add_option("--scale-type", options.scale_type,
                           "type of the scales: " + joined(words) + "; default: " + words.front()),
        words)
        ->type_name("TYPE");
}

void add_attributes(CLI::App &command, const OperatorInfo &op, OperatorOptions &options) {
    options.attributes.resize(op.attributes.size());
    Words choice;  // the words of the choice before a parameter
    for (size_t i = 0; i < op.attributes.size(); i++) {
        const AttributeInfo &attribute = op.attributes[i];
        const std::string option = std::string("--") + attribute.name;
        if (belongs_to_choice(attribute)) {
            Words with;
            for (size_t value = 0; value < choice.size(); value++)
                if (has(int32_t(value), attribute)) with.push_back(choice[value]);
            command.add_option(option, options.attributes[i], "a parameter of " + joined(with))
                ->type_name("NUMBER");
            continue;
        }
        const Words words = choice = words_of(attribute);
        const Words computed(words.begin(), words.begin() + attribute.value_count);
        take_only(command.add_option(option, options.attributes[i],
                                     joined(computed) + "; default: " + words.front()),
                  words)
            ->type_name("VALUE");
    }
}

// The subcommand of an operator. Its options follow from the library's table.
void add_operator_command(CLI::App &app, const OperatorInfo &op) {
    CLI::App &command = *app.add_subcommand(op.command, op.formula);
    const auto options = std::make_shared<OperatorOptions>();
    options->inputs.resize(input_count(op));
    options->other_outputs.resize(op.tensors.size() - input_count(op) - 1);
    for (size_t i = 0; i < options->inputs.size(); i++) add_input(command, op, i, *options);
    for (size_t i = 0; i < options->other_outputs.size(); i++) {
        const TensorInfo &tensor = op.tensors[input_count(op) + 1 + i];
        command
            .add_option(argument_of(op, tensor), options->other_outputs[i],
                        std::string(tensor.name) + ": also written to that file")
            ->type_name("FILE.npy");
    }
    if (has_axis(op) || chooses_blocks(op)) add_axis(command, op, *options);
    if (chooses_blocks(op) && types_of(op.tensors[input_count(op) + 1]).size() > 1)
        add_scale_type(command, op, *options);
    add_type(command, op, *options);
    add_bits(command, op, *options);
    add_input_type(command, op, *options);
    add_attributes(command, op, *options);
    add_common(command, op, *options);
    command.callback([&op, options] {
        if (const int block = block_size_of(op)) {
            options->axis = options->axis.value_or(-1);
            options->block_size = options->block_size.value_or(block);
        }
        run_operator(op, *options);
    });
}

void add_conformance_command(CLI::App &app, int &exit_code) {
    struct Options : ExecutionOptions {
        std::vector<std::string> files;
    };
    CLI::App &command =
        *app.add_subcommand("conformance", "run cases in the format of tests/data/README.md");
    const auto options = std::make_shared<Options>();
    command.add_option("FILES", options->files, "files of one JSON object a line")
        ->required()
        ->type_name("FILE.jsonl");
    add_execution(command, *options);
    command.callback([options, &exit_code] {
        switch (conformance(options->files, *options)) {
        case Conformance::Passed: break;
        case Conformance::Failed: exit_code = EXIT_FAILED; break;
        case Conformance::Unusable: exit_code = EXIT_USAGE; break;
        }
    });
}

void add_verify_command(CLI::App &app, int &exit_code) {
    CLI::App &command = *app.add_subcommand("verify",
                                            "check every variant that can run here against the "
                                            "scalar reference, bit for bit, and measure "
                                            "it beside memcpy: a page to paste into a report");
    const auto options = std::make_shared<VerifyOptions>();
    command.add_option("--seed", options->seed, "repeat the random cases of that run")
        ->type_name("N");
    CLI::Option *minutes = command
                               .add_option("--minutes", options->minutes,
                                           "of random cases beside the others; default: a third")
                               ->check(CLI::Validator(CLI::NonNegativeNumber).description(""))
                               ->type_name("N");
    command.add_option("--cases", options->cases, "that many random cases instead")
        ->check(whole_number(1))
        ->excludes(minutes)
        ->type_name("N");
    offer(command.add_option("--device", options->device,
                             kind_names("or") + " alone; default: all that are here"),
          kind_words)
        ->type_name("DEVICE");
    take_only(command.add_option("--operator", options->op, "one alone: quantize_linear"),
              operator_names)
        ->type_name("NAME");
    command.add_flag("--json", options->json, "the same as JSON, with a line for each variant");
    command.callback([options, &exit_code] {
        if (!verify(*options)) exit_code = EXIT_FAILED;
    });
}

void add_replay_command(CLI::App &app) {
    struct Options : ExecutionOptions {
        std::string folder;
    };
    CLI::App &command =
        *app.add_subcommand("replay",
                            "write cases of every kernel for DirectML's DxDispatch, with hewn's "
                            "results to compare (docs/windows.md)");
    const auto options = std::make_shared<Options>();
    command.add_option("DIR", options->folder, "folder for the files, made if it is not there")
        ->required()
        ->type_name("DIR");
    add_execution(command, *options);
    command.callback([options] { replay(options->folder, *options); });
}

// ---- The table of commands as plain data (facts.h) ----

OptionFacts facts_of(const CLI::Option &option) {
    OptionFacts facts;
    for (const std::string &name : option.get_snames()) facts.names.push_back("-" + name);
    for (const std::string &name : option.get_lnames()) facts.names.push_back("--" + name);
    if (option.get_positional()) facts.argument = option.get_name(true);
    if (option.get_items_expected_max() > 0) facts.value = option.get_type_name();
    facts.about = option.get_description();
    facts.group = option.get_group();
    facts.required = option.get_required();
    facts.repeats = option.get_items_expected_max() > 1;
    const auto found = offered_words.find(&option);
    if (found != offered_words.end()) facts.words = found->second;
    return facts;
}

CommandFacts facts_of(const CLI::App &app) {
    CommandFacts facts{app.get_name(), app.get_description(), {}, {}};
    for (const CLI::Option *option : app.get_options()) facts.options.push_back(facts_of(*option));
    std::stable_partition(facts.options.begin(), facts.options.end(),
                          [](const OptionFacts &option) { return option.names.empty(); });
    for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
        facts.commands.push_back(facts_of(*command));
    return facts;
}

// The message for an error on the command line. CLI11 reports a missing option before an unknown
// one, but the unknown one may be the missing one, mistyped. So this looks for unknown words first.
std::string usage_error(const CLI::App &app, const CLI::ParseError &error) {
    const CommandFacts facts = facts_of(app);
    const std::vector<const CLI::App *> commands =
        app.get_subcommands([](const CLI::App *command) { return command->parsed(); });
    for (const std::string &word : app.remaining(/*recurse=*/true)) {
        if (word == "--") continue;
        if (word.empty()) return "'' is not expected: an empty argument";
        const bool is_option = word.size() > 1 && word[0] == '-';
        if (!is_option && !commands.empty()) continue;
        if (is_option && is_number(word))
            return word + " is taken for an option: write --option=" + word + ", or -- before " +
                   word + " and what follows";
        Words names;
        if (is_option) {
            for (const CLI::App *each : {&app, commands.empty() ? &app : commands.front()})
                for (const OptionFacts &option : facts_of(*each).options)
                    names.insert(names.end(), option.names.begin(), option.names.end());
        } else {
            for (const CommandFacts &command : facts.commands) names.push_back(command.name);
        }
        const std::string name = word.substr(0, word.find('='));
        if (is_option && std::find(names.begin(), names.end(), name) != names.end())
            return name + " stands after --: write options before it";
        return (is_option ? "unknown option " : "unknown subcommand ") + name +
               suggestion(name, names, is_option ? Words() : names);
    }
    return error.what();
}

// Runs an option that prints something and then ends the program, such as --man.
template<class Print>
void print_and_stop(const Print &print) {
    print();
    throw CLI::Success();
}

int run(int argc, char **argv) {
    CLI::App app("DirectML's element-wise operators on files, by precompiled kernels", "hewn");
    app.footer(footer());
    app.allow_windows_style_options(false);  // a file's name may begin with a slash (under Wine)
    app.require_subcommand(1);
    app.fallthrough();  // --progress may follow the subcommand
    app.set_version_flag("--version", [] { return "hewn " + version_string(); });
    bool progress = false;
    int exit_code = 0;
    app.add_flag("--progress", progress, "report progress on stderr even where it is no terminal");
    take_only(app.add_option_function<std::string>(
                  "--completion",
                  [](const std::string &shell) {
                      print_and_stop([&] { print_completion_script(shell); });
                  },
                  "print the script by which that shell completes hewn's command line: " +
                      joined(completion_shells())),
              completion_shells())
        ->type_name("SHELL");
    app.add_flag_callback(
        "--man",
        [&app] {
            print_and_stop([&] { print_manual(facts_of(app), SECTIONS, version_string()); });
        },
        "print the man page: hewn --man | man -l -");
    add_info_command(app);
    for (const OperatorInfo &op : operator_table()) add_operator_command(app, op);
    add_conformance_command(app, exit_code);
    add_verify_command(app, exit_code);
    add_replay_command(app);

    if (argc > 1 && std::string(argv[1]) == "--complete") {
        print_completions(facts_of(app), {argv + 2, argv + argc});
        return 0;
    }
    // This runs after everything is parsed, so that --progress is known, and before the callback of
    // the subcommand.
    app.parse_complete_callback([&] { Progress::show(progress); });
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        if (error.get_exit_code() != 0) {
            std::cerr << "hewn: error: " << usage_error(app, error)
                      << "\nRun hewn --help, or hewn <subcommand> --help.\n";
            return EXIT_USAGE;
        }
        app.exit(error);  // --help, --version
    }
    std::cout.flush();
    if (!std::cout) throw InputError("standard output cannot be written");
    return exit_code;
}

// Handles a lack of memory in a function that may not throw, such as the destructor of nlohmann's
// JSON, which allocates. It gives the same message and exit code as elsewhere.
std::terminate_handler terminate_otherwise;
void terminate_on_exception() {
    try {
        if (std::current_exception()) throw;
    } catch (const std::bad_alloc &) {
        std::fputs("hewn: error: out of memory\n", stderr);
        std::_Exit(EXIT_MEMORY);
    } catch (...) {
    }
    terminate_otherwise();
}
}  // namespace

int main(int argc, char **argv) {
    terminate_otherwise = std::set_terminate(terminate_on_exception);
    remove_temporaries_on_signals();
    const auto fail = [](const char *text, int exit_code) {
        std::cerr << "hewn: error: " << text << "\n";
        return exit_code;
    };
    try {
        return run(argc, argv);
    } catch (const InputError &error) {
        return fail(error.what(), EXIT_USAGE);
    } catch (const MemoryError &error) {
        return fail(error.what(), EXIT_MEMORY);
    } catch (const std::bad_alloc &) {
        return fail("out of memory", EXIT_MEMORY);
    } catch (const hewn::Error &error) {
        return fail(error.what(),
                    error.status() == HEWN_STATUS_OUT_OF_MEMORY ? EXIT_MEMORY : EXIT_FAILED);
    } catch (const std::exception &error) {  // such as OperatorError
        return fail(error.what(), EXIT_FAILED);
    }
}
