// The program `compare`, which bench/run.sh builds and runs (README.md). It measures hewn, its
// peers or another build of hewn, and the machine's limits, all of them interleaved in one process.
// For each row (rows.h) it makes a problem (problem.h), lets every contender (contender.h) prepare
// it, checks the results, and measures (measure.h).
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "busy.h"
#include "contender.h"
#include "measure.h"
#include "problem.h"
#include "report.h"
#include "rows.h"

namespace {
using namespace hewn_bench;

constexpr Effort QUICK{0.5e6, 8e6, 5, 15}, FULL{2e6, 300e6, 5, 41};

// A peer that was not on the machine when this program was built: the word for it in options, its
// name, and what to install.
struct LeftOut {
    const char *word, *name, *why;
};
constexpr LeftOut kLeftOut[] = {
#include "left_out.inc"
    {},
};

struct Options {
    Selection selection;
    // The words of peers to leave out.
    std::set<std::string> without;
    HewnOptions hewn;
    std::string json, report, baseline, onnxruntime = HEWN_BENCH_ONNXRUNTIME, pytorch, openvino;
    bool busy = false, xnnpack_setup = false, relu = false;
};

std::string cpu_name() {
    std::map<std::string, std::string> fields;
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line) && !line.empty();) {
        const size_t colon = line.find(':');
        if (colon != std::string::npos && colon + 2 <= line.size())
            fields.emplace(line.substr(0, line.find_last_not_of("\t ", colon - 1) + 1),
                           line.substr(colon + 2));
    }
    return fields["model name"] + " (family " + fields["cpu family"] + ", model " +
           fields["model"] + ")";
}

std::string cache_size(int level) {
    std::string size = "?";
    std::ifstream("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(level) + "/size") >>
        size;
    return size;
}

std::map<std::string, std::string> describe_machine() {
    char date[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
    double load = 0;
    getloadavg(&load, 1);
    std::ostringstream machine;
    machine << cpu_name() << ", " << std::thread::hardware_concurrency() << " CPUs, L2 "
            << cache_size(2) << ", L3 " << cache_size(3) << ", load " << std::fixed
            << std::setprecision(1) << load;
    return {{"machine", machine.str()}, {"date", date}};
}

struct Contenders {
    std::unique_ptr<Contender> hewn;
    std::vector<std::unique_ptr<Contender>> peers;
};

// The peers of every comparison: those that were on the machine when this program was built.
struct Peer {
    const char *word, *name;
    std::unique_ptr<Contender> (*make)(const Options &);
};
constexpr Peer kPeers[] = {
#if HEWN_BENCH_HAS_ONNXRUNTIME
    {"onnxruntime", "ONNX Runtime",
     [](const Options &options) { return make_onnxruntime(options.onnxruntime); }},
#endif
#if HEWN_BENCH_HAS_ONEDNN
    {"onednn", "oneDNN", [](const Options &) { return make_onednn(); }},
#endif
#if HEWN_BENCH_HAS_XNNPACK
    {"xnnpack", "XNNPACK", [](const Options &) { return make_xnnpack(false); }},
#endif
#if HEWN_BENCH_HAS_NUMPY
    {"numpy", "NumPy", [](const Options &) { return make_python_peer("NumPy", "peer_numpy"); }},
#endif
#if HEWN_BENCH_HAS_NUMKONG
    {"numkong", "NumKong",
     [](const Options &) { return make_python_peer("NumKong", "peer_numkong"); }},
#endif
    {},
};

std::vector<std::string> peer_words() {
    std::vector<std::string> words;
    for (const Peer &peer : kPeers) {
        if (peer.word) words.emplace_back(peer.word);
    }
    for (const LeftOut &left_out : kLeftOut) {
        if (left_out.word) words.emplace_back(left_out.word);
    }
    return words;
}

// The peers that are not compared, by name, each with the reason. Throws unless --without-peer
// names all those that were not on the machine when this program was built.
std::map<std::string, std::string> left_out(const Options &options) {
    std::map<std::string, std::string> result;
    if (!options.baseline.empty()) return result;
    std::string missing;
    for (const LeftOut &peer : kLeftOut) {
        if (!peer.word) continue;
        result[peer.name] = std::string("left out: ") + peer.why;
        if (!options.without.count(peer.word))
            missing += std::string("\n  ") + peer.name + ": " + peer.why +
                       "; or go on without it: --without-peer " + peer.word;
    }
    if (!missing.empty())
        throw std::runtime_error("peers that were not there when this was built:" + missing);
    for (const Peer &peer : kPeers) {
        if (peer.word && options.without.count(peer.word))
            result[peer.name] = "left out by --without-peer";
    }
    return result;
}

Contenders make_contenders(const Options &options) {
    Contenders result;
    if (options.baseline.empty()) {
        result.hewn = make_hewn(options.hewn);
        for (const Peer &peer : kPeers) {
            if (peer.word && !options.without.count(peer.word))
                result.peers.push_back(peer.make(options));
        }
#if HEWN_BENCH_HAS_XNNPACK
        if (options.xnnpack_setup) result.peers.push_back(make_xnnpack(true));
#endif
#if HEWN_BENCH_HAS_NUMPY
        if (!options.pytorch.empty())
            result.peers.push_back(make_python_peer("PyTorch", "peer_torch", options.pytorch));
        if (!options.openvino.empty())
            result.peers.push_back(make_python_peer("OpenVINO", "peer_openvino", options.openvino));
#endif
    } else {
        // Both builds are loaded as shared libraries. The linked build lies at other addresses, by
        // which calls of 16 elements differed by a factor of 1.4.
        result.hewn = make_build("hewn", HEWN_BENCH_LIBRARY, options.hewn);
        result.peers.push_back(make_build("baseline", options.baseline, options.hewn));
    }
    return result;
}

std::string text_of(const Row &row) {
    return row.op + " " + row.signature + " " + row.layout + " " + std::to_string(row.elements) +
           ", " + std::to_string(row.threads) + " thread(s)";
}

// A peer that takes part in a row.
struct Entry {
    Contender *peer;
    Samples samples;
    int64_t differing;  // elements that differ from hewn's
};

// Prepares the peers that can do the problem, and compares their outputs with hewn's, which the
// problem's output has before. Throws if a result differs by more than a step.
std::vector<Entry> prepare_peers(const Problem &problem, int threads,
                                 const std::vector<std::unique_ptr<Contender>> &peers) {
    const Operand &output = problem.output;
    const size_t bytes = output.bytes();
    std::vector<char> exact(bytes);
    std::memcpy(exact.data(), output.data, bytes);
    std::vector<Entry> entries;
    for (const auto &peer : peers) {
        const Runner run = peer->prepare(problem, threads);
        if (!run) continue;
        std::memset(output.data, 0x55, bytes);
        run(1);
        const Difference found = difference(problem, exact.data());
        if (!found.within_a_step)
            throw std::runtime_error(peer->name() + ": " + std::to_string(found.count) +
                                     " results differ, some by more than a step");
        entries.push_back({peer.get(), {run, {}}, found.count});
    }
    return entries;
}

// Measures a row. Throws std::runtime_error if a result is wrong.
RowResult measure_row(const Row &row, const Options &options, const Contenders &all, Arena &arena) {
    arena.reset();
    Problem problem = make_problem(row.op, row.signature, row.layout, row.elements, arena);
    if (options.relu) problem.fuse_relu();
    Samples hewn{all.hewn->prepare(problem, row.threads), {}};  // also executes it once
    check_against_reference(problem);
    std::vector<Entry> entries = prepare_peers(problem, row.threads, all.peers);
    const Limits limits = make_limits(problem.bytes(), row.threads, arena);
    Samples memcpy{limits.memcpy, {}}, vector_copy{limits.vector_copy, {}},
        streaming_copy{limits.streaming_copy, {}}, read{limits.read, {}};

    std::vector<Samples *> contenders = {&hewn};
    for (Entry &entry : entries) contenders.push_back(&entry.samples);
    for (Samples *limit : {&memcpy, &vector_copy, &streaming_copy, &read})
        contenders.push_back(limit);
    measure(contenders, row.threads, options.selection.quick ? QUICK : FULL);

    const double bytes = problem.bytes();
    RowResult result{row,
                     compile(problem, compile_options(options.hewn.variant, row.threads)).variant(),
                     bytes,
                     hewn.median_ns(),
                     int(hewn.call_ns.size()),
                     bytes / memcpy.median_ns(),
                     bytes / vector_copy.median_ns(),
                     bytes / streaming_copy.median_ns(),
                     bytes / read.median_ns(),
                     {}};
    result.row.elements = problem.elements;
    for (const Entry &entry : entries) {
        result.peers.push_back({entry.peer->name(), bytes / entry.samples.median_ns(),
                                ratio(entry.samples, hewn), entry.differing});
    }
    return result;
}

// The nanoseconds that compiling and destroying takes, for each operator that was measured.
std::map<std::string, double> measure_compile(const std::vector<RowResult> &results,
                                              const Options &options, Arena &arena) {
    std::map<std::string, double> result;
    for (const RowResult &measured : results) {
        const Row &row = measured.row;
        if (result.count(row.op)) continue;
        arena.reset();
        const Problem problem = make_problem(row.op, row.signature, "dense", 16, arena);
        const hewn_test::Description description = problem.description();
        const hewn::CompileOptions serial = compile_options(options.hewn.variant, 1);
        result[row.op] =
            measure_alone(repeat([&] { hewn::Operator(compile(description, serial)); }), QUICK);
    }
    return result;
}

// Whether the available memory is enough for the tensors, the limits' buffers, a copy of the output
// and NumPy's intermediate results.
bool fits_in_memory(const Row &row, const Arena &arena) {
    double available = 0;
    std::ifstream info("/proc/meminfo");
    for (std::string key, value, line; info >> key >> value && std::getline(info, line);) {
        if (key == "MemAvailable:") available = std::stod(value) * 1024;
    }
    return 4 * memory_bytes(row.op, row.signature, row.elements) + 16 * double(row.elements) <
           available + double(arena.kept());
}

// Measures all chosen rows and writes the reports. Returns the exit code.
int compare(const Options &options) {
    const std::vector<Row> rows = choose_rows(options.selection);
    if (rows.empty()) throw std::runtime_error("no row fits these options");
    for (const Row &row : rows) {
        if (options.busy && row.threads != 1)
            throw std::runtime_error("--busy: measures one thread: give --threads 1 with it");
    }
    const std::map<std::string, std::string> absent = left_out(options);
    const Contenders contenders = make_contenders(options);
    Report report;
    report.machine = describe_machine();
    if (options.relu) report.machine["activation"] = "relu, also in quantized_linear_add";
    std::optional<BusyNeighbour> neighbour;
    if (options.busy) {
        neighbour.emplace();
        report.machine["machine"] +=
            ", a thread spins on CPU " + std::to_string(neighbour->cpu()) + " of the same core";
    }
    report.versions = absent;
    report.versions["hewn"] = contenders.hewn->version();
    for (const auto &peer : contenders.peers) {
        report.peers.push_back(peer->name());
        report.versions[peer->name()] = peer->version();
    }
    const auto write_reports = [&] {
        if (!options.json.empty()) write_json(rows_json(report), options.json);
        if (!options.report.empty()) write_json(full_json(report), options.report);
    };
    // Writes the reports without rows, so that a path that cannot be written fails before anything
    // is measured.
    write_reports();
    print_header(report);

    Arena arena;
    const bool terminal = isatty(STDERR_FILENO);
    int failures = 0;
    std::set<std::string> measured;
    for (size_t i = 0; i < rows.size(); i++) {
        if (!fits_in_memory(rows[i], arena)) {
            std::fprintf(stderr, "compare: left out, too little memory: %s\n",
                         text_of(rows[i]).c_str());
            continue;
        }
        if (terminal)
            std::fprintf(stderr, "\r[%zu/%zu] %s\033[K", i + 1, rows.size(),
                         text_of(rows[i]).c_str());
        try {
            report.rows.push_back(measure_row(rows[i], options, contenders, arena));
        } catch (const std::runtime_error &error) {
            std::fprintf(stderr, "%scompare: %s: %s\n", terminal ? "\r\033[K" : "",
                         text_of(rows[i]).c_str(), error.what());
            failures++;
            continue;
        }
        if (terminal) std::fprintf(stderr, "\r\033[K");
        print_row(report, report.rows.back());
        for (const PeerResult &peer : report.rows.back().peers) measured.insert(peer.name);
        write_reports();
    }
    if (options.baseline.empty())
        report.compile_ns = measure_compile(report.rows, options, arena);  // of the linked build
    print_summary(report);
    write_reports();

    for (const std::string &name : report.peers) {
        if (measured.count(name)) continue;
        std::fprintf(stderr, "compare: %s is in no row\n", name.c_str());
        if (!options.selection.narrowed()) failures++;
    }
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

std::vector<std::string> known(std::string Signature::*member) {
    std::set<std::string> names;
    for (const Signature &signature : all_signatures()) names.insert(signature.*member);
    return {names.begin(), names.end()};
}

}  // namespace

int main(int argc, char **argv) {
    CLI::App app("hewn, its peers and the machine's limits side by side", "run.sh");
    Options options;
    Selection &selection = options.selection;
    app.add_flag(
        "--quick", selection.quick,
        "one signature of each kind, sizes up to 16 Mi elements, short samples: under a minute");
    app.add_flag("--all", selection.all,
                 "every signature in every layout, size and number of threads: hours")
        ->excludes("--quick");
    app.add_option("--op", selection.ops, "only these operators")
        ->check(CLI::IsMember(known(&Signature::op)));
    app.add_option("--signature", selection.signatures, "only these signatures, e.g. f32_u8")
        ->check(CLI::IsMember(known(&Signature::signature)));
    app.add_option("--layout", selection.layouts, "only these layouts")
        ->check(CLI::IsMember(all_layouts()));
    app.add_option("--elements", selection.elements, "only these sizes, e.g. 16 64Ki 1Mi")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::PositiveNumber);
    app.add_option("--threads", selection.threads, "only these numbers of threads")
        ->check(CLI::Range(1, 256));
    app.add_option("--variant", options.hewn.variant,
                   "force a target (x86_64_avx2) or one variant of hewn");
    app.add_flag("--busy", options.busy,
                 "while another thread spins on the other CPU of the same core; one thread");
#if HEWN_BENCH_HAS_XNNPACK
    app.add_flag("--xnnpack-setup", options.xnnpack_setup,
                 "XNNPACK once more, given the addresses in each call");
#endif
    app.add_option("--without-peer", options.without,
                   "leave a peer out, or go on where it was not there when this was built")
        ->check(CLI::IsMember(peer_words()));
    app.add_flag(
        "--relu", options.relu,
        "quantized_linear_add with the activation relu, as add1 has it in every comparison");
    app.add_flag("--execute", options.hewn.executes,
                 "hewn is given the tensors in each call and checks them, not bound once");
    app.add_flag("--in-pthreadpool", options.hewn.in_pthreadpool,
                 "run hewn in the pool of threads that XNNPACK runs in, instead of its own");
    CLI::Option *const baseline = app.add_option("--baseline", options.baseline,
                                                 "measure beside another build's libhewn.so "
                                                 "instead of the peers: what a change gains")
                                      ->type_name("FILE")
                                      ->check(CLI::ExistingFile);
    app.add_option("--json", options.json, "write the rows as a JSON list")->type_name("FILE");
    app.add_option("--report", options.report, "write everything, for plots.py")->type_name("FILE");
    app.add_option("--onnxruntime", options.onnxruntime, "libonnxruntime.so")
        ->type_name("FILE")
        ->check(CLI::ExistingFile);
    const auto add_peer = [&](const char *option, const std::string &name, std::string &folder) {
        app.add_option(option, folder,
                       name + " as a peer too, which pip installed in this folder (--target)")
            ->type_name("DIR")
            ->check(CLI::ExistingDirectory)
            ->excludes(baseline);
    };
#if HEWN_BENCH_HAS_NUMPY
    add_peer("--pytorch", "PyTorch", options.pytorch);
    add_peer("--openvino", "OpenVINO", options.openvino);
#else
    (void)add_peer;
#endif
    CLI11_PARSE(app, argc, argv);
    try {
        return compare(options);
    } catch (const std::exception &error) {
        std::cerr << "compare: " << error.what() << "\n";
        return EXIT_FAILURE;
    }
}
