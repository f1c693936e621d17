// hewn: the command line over libhewn.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "array.h"
#include "conformance.h"
#include "device.h"
#include "info.h"
#include "operators.h"
#include "progress.h"
#include "replay.h"

namespace {
using namespace hewn::cli;

constexpr int EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_MEMORY = 3;

constexpr char FOOTER[] = R"(Tensors are .npy files: f32 f16 i8 u8 i16 u16 i32 u32 i64 u64, little-endian,
ranks 0 to 8, either order. Images (.jpg, and .png without palette and
interlacing) are tensors [height, width] or [height, width, channels], u8
(16 bits: u16) as stored; quantize reads them as f32, value / 255 (65535). An
output that ends in .png holds u8 or u16, or f32 and f16 as 0..1, clamped and
rounded to u8. The output file appears whole or not at all. Standard input and
output, pipes and devices are not supported.

Scales and zero points are numbers or .npy files: of one element, 1-D along the
input's --axis, or of sizes that broadcast to the input's by NumPy's rule. With
--block-size B each serves B neighbours along --axis, whose size B must divide:
sizes then count blocks there. One operand of add may be a number too, of the
other's type. A number that its type cannot hold is an error; a negative one
follows a "=" (--scale=-2) or, of add, a "--".

HEWN_VARIANT in the environment does what --variant does.

Exit code: 0 done; 1 the library refused the operator, or a conformance case
failed; 2 wrong usage or bad input; 3 out of memory.
)";

void add_execution(CLI::App &command, ExecutionOptions &options) {
    command.add_option("--device", options.device, kind_names("or") + ": the first GPU; cuda:1 for the second device")
        ->type_name("DEVICE");
    command.add_option("--variant", options.variant, "force a target (x86_64_avx2) or one variant (add_f32__x86_64_avx2)")
        ->type_name("NAME");
    command.add_option("--threads", options.threads, "most threads; 0: as many as help")
        ->check(CLI::Range(0, std::numeric_limits<int>::max()))
        ->type_name("N");
}

void add_common(CLI::App &command, CommonOptions &options) {
    command.add_option("-o,--output", options.output, "output file, .npy or .png")->required()->type_name("FILE");
    command.add_option("--feature-level", options.feature_level, "DirectML feature level, 1.0 to 6.4; default: the newest")
        ->type_name("LEVEL");
    const CLI::Range positive(1, std::numeric_limits<int>::max());
    command.add_option("--max-image-mib", options.image_limits.mib, "most MiB of an image's pixels as stored; default: 512")
        ->check(positive)
        ->type_name("N");
    command.add_option("--max-scans", options.image_limits.scans, "most scans of a progressive JPEG; default: 100")
        ->check(positive)
        ->type_name("N");
    add_execution(command, options);
}

// A subcommand's options live as long as its callback.

void add_info_command(CLI::App &app) {
    struct Options {
        bool json = false, licenses = false;
    };
    CLI::App &command =
        *app.add_subcommand("info", "targets and variants of this build, which run here, which is picked and why; devices");
    const auto options = std::make_shared<Options>();
    command.add_flag("--json", options->json, "the same as JSON, every variant on its own");
    command.add_flag("--licenses", options->licenses, "the licences of hewn and of what is linked into it")->excludes("--json");
    command.callback([options] {
        if (options->licenses) print_licenses();
        else print_info(options->json);
    });
}

void add_add_command(CLI::App &app) {
    CLI::App &command = *app.add_subcommand("add", "A + B, broadcast by NumPy's rule; integers wrap");
    const auto options = std::make_shared<AddOptions>();
    command.add_option("A", options->a, "first tensor, or a number")->required()->type_name("FILE");
    command.add_option("B", options->b, "second tensor, of the same type, or a number")->required()->type_name("FILE");
    add_common(command, *options);
    command.callback([options] { add(*options); });
}

void add_linear(CLI::App &command, LinearOptions &options) {
    command.add_option("IN", options.input, "input tensor")->required()->type_name("FILE");
    command.add_option("--scale", options.scale, "number or .npy file")->required()->type_name("S");
    command.add_option("--zero-point", options.zero_point, "number or .npy file; absent: 0")->type_name("Z");
    CLI::Option *axis = command
                            .add_option("--axis", options.axis,
                                        "the input's axis of a 1-D scale or zero point and of blocks; negative: from the last")
                            ->type_name("N");
    command.add_option("--block-size", options.block_size, "elements along --axis that share a scale and a zero point")
        ->needs(axis)
        ->check(CLI::Range(1, std::numeric_limits<int>::max()))
        ->type_name("B");
    add_common(command, options);
}

void add_quantize_command(CLI::App &app) {
    CLI::App &command = *app.add_subcommand("quantize", "clamp(round(IN / scale) + zero point), ties to even");
    const auto options = std::make_shared<LinearOptions>();
    add_linear(command, *options);
    command.add_option("--type", options->type, "output type: u8 or i8")
        ->required()
        ->check(CLI::IsMember({"u8", "i8"}))
        ->type_name("TYPE");
    command.callback([options] { quantize(*options); });
}

void add_dequantize_command(CLI::App &app) {
    CLI::App &command = *app.add_subcommand("dequantize", "(IN - zero point) * scale");
    const auto options = std::make_shared<LinearOptions>();
    add_linear(command, *options);
    command.add_option("--type", options->type, "output and scale type: f32 or f16; default: the scale file's, else f32")
        ->check(CLI::IsMember({"f32", "f16"}))
        ->type_name("TYPE");
    command.callback([options] { dequantize(*options); });
}

void add_qadd_command(CLI::App &app) {
    CLI::App &command = *app.add_subcommand("qadd", "the quantized sum of two quantized tensors, broadcast by NumPy's rule");
    const auto options = std::make_shared<QaddOptions>();
    command.add_option("A", options->a, "first tensor, u8 or i8")->required()->type_name("FILE");
    command.add_option("B", options->b, "second tensor, u8 or i8")->required()->type_name("FILE");
    command.add_option("--a-scale", options->a_scale, "A's scale: number or .npy file")->required()->type_name("S");
    command.add_option("--a-zero-point", options->a_zero_point, "A's zero point; absent: 0")->type_name("Z");
    command.add_option("--b-scale", options->b_scale, "B's scale")->required()->type_name("S");
    command.add_option("--b-zero-point", options->b_zero_point, "B's zero point; absent: 0")->type_name("Z");
    command.add_option("--scale,--output-scale", options->output_scale, "the output's scale")->required()->type_name("S");
    command.add_option("--zero-point,--output-zero-point", options->output_zero_point, "the output's zero point; absent: 0")
        ->type_name("Z");
    command.add_option("--type", options->type, "output type: u8 or i8; default: A's")
        ->check(CLI::IsMember({"u8", "i8"}))
        ->type_name("TYPE");
    add_common(command, *options);
    command.callback([options] { qadd(*options); });
}

void add_conformance_command(CLI::App &app, int &exit_code) {
    struct Options : ExecutionOptions {
        std::vector<std::string> files;
    };
    CLI::App &command = *app.add_subcommand("conformance", "run cases in the format of tests/conformance/README.md");
    const auto options = std::make_shared<Options>();
    command.add_option("FILES", options->files, "files of one JSON object a line")->required()->type_name("FILE.jsonl");
    add_execution(command, *options);
    command.callback([options, &exit_code] {
        switch (conformance(options->files, *options)) {
        case Conformance::Passed: break;
        case Conformance::Failed: exit_code = EXIT_FAILED; break;
        case Conformance::Unusable: exit_code = EXIT_USAGE; break;
        }
    });
}

void add_replay_command(CLI::App &app) {
    struct Options : ExecutionOptions {
        std::string folder;
    };
    CLI::App &command = *app.add_subcommand(
        "replay", "write cases of every kernel for DirectML's DxDispatch, with hewn's results to compare (docs/windows.md)");
    const auto options = std::make_shared<Options>();
    command.add_option("DIR", options->folder, "folder for the files, made if it is not there")->required()->type_name("DIR");
    add_execution(command, *options);
    command.callback([options] { replay(options->folder, *options); });
}

int run(int argc, char **argv) {
    CLI::App app("hewn: elementwise kernels of four DirectML operators, on files", "hewn");
    app.footer(FOOTER);
    app.allow_windows_style_options(false);  // a file's name may begin with a slash (under Wine)
    app.require_subcommand(1);
    app.fallthrough();  // --progress may follow the subcommand
    app.set_version_flag("--version", [] { return "hewn " + version_string(); });
    bool progress = false;
    int exit_code = 0;
    app.add_flag("--progress", progress, "report progress on stderr even where it is no terminal");
    add_info_command(app);
    add_add_command(app);
    add_quantize_command(app);
    add_dequantize_command(app);
    add_qadd_command(app);
    add_conformance_command(app, exit_code);
    add_replay_command(app);

    // Callbacks run in the order of the command line's subcommands, after everything is parsed. --progress is known by then.
    app.parse_complete_callback([&] { Progress::show(progress); });
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        if (error.get_exit_code() != 0) {
            // CLI11 would only say that a subcommand is required.
            const bool unknown = argc > 1 && argv[1][0] != '-' &&
                                 app.get_subcommands([&](CLI::App *command) { return command->check_name(argv[1]); }).empty();
            std::cerr << "hewn: error: " << (unknown ? "unknown subcommand " + std::string(argv[1]) : error.what())
                      << "\nRun hewn --help, or hewn <subcommand> --help.\n";
            return EXIT_USAGE;
        }
        app.exit(error);  // --help, --version
    }
    std::cout.flush();
    if (!std::cout) throw InputError("standard output cannot be written");
    return exit_code;
}

// A lack of memory where no exception may leave: destructors of nlohmann's JSON allocate.
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
        return fail(error.what(), error.status() == HEWN_STATUS_OUT_OF_MEMORY ? EXIT_MEMORY : EXIT_FAILED);
    } catch (const std::exception &error) {  // the library's refusal, with the names of files
        return fail(error.what(), EXIT_FAILED);
    }
}
