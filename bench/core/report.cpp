#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace hewn_bench {
namespace {

std::string format(const char *pattern, double value) {
    char text[64];
    std::snprintf(text, sizeof text, pattern, value);
    return text;
}

std::string elements_text(int64_t elements) {
    if (elements % (1024 * 1024) == 0) return std::to_string(elements / (1024 * 1024)) + " Mi";
    if (elements % 1024 == 0) return std::to_string(elements / 1024) + " Ki";
    return std::to_string(elements);
}

// The number with three significant digits.
std::string short_number(double value) {
    return format(value < 9.995 ? "%.2f" : value < 99.95 ? "%.1f" : "%.0f", value);
}

std::string ratio_text(const Ratio &ratio) {
    return short_number(ratio.median) + " " + short_number(ratio.low) + "-" +
           short_number(ratio.high);
}

constexpr char ROW_FORMAT[] = "%-20s %-9s %-17s %7s %3s %9s %6s", PEER_FORMAT[] = "  %-18s";

}  // namespace

void print_header(const Report &report) {
    for (const auto &[key, value] : report.machine)
        std::printf("%-13s %s\n", key.c_str(), value.c_str());
    for (const auto &[key, value] : report.versions)
        std::printf("%-13s %s\n", key.c_str(), value.c_str());
    std::printf(
        "\nA peer's column: hewn's speed over the peer's (above 1: hewn is faster), the median and "
        "its 95 %% interval;\n"
        "* the peer's result is not exact, - the peer has no such operation.\n\n");
    std::printf(ROW_FORMAT, "operator", "signature", "layout", "elem.", "thr", "hewn GB/s",
                "limit");
    for (const std::string &peer : report.peers) std::printf(PEER_FORMAT, peer.c_str());
    std::printf("\n");
}

void print_row(const Report &report, const RowResult &result) {
    const Row &row = result.row;
    const bool call = row.elements < 1024;  // shown in nanoseconds, because the call itself counts
    std::printf(
        ROW_FORMAT, row.op.c_str(), row.signature.c_str(), row.layout.c_str(),
        elements_text(row.elements).c_str(), std::to_string(row.threads).c_str(),
        (call ? format("%.1f ns", result.hewn_ns) : short_number(result.hewn_gbps())).c_str(),
        (call ? "" : format("%.0f %%", 100 * result.hewn_gbps() / result.limit_gbps())).c_str());
    for (const std::string &name : report.peers) {
        std::string text = "-";
        for (const PeerResult &peer : result.peers) {
            if (peer.name == name) text = ratio_text(peer.ratio) + (peer.differing ? "*" : "");
        }
        std::printf(PEER_FORMAT, text.c_str());
    }
    std::printf("\n");
    std::fflush(stdout);
}

void print_summary(const Report &report) {
    std::printf("\nThe machine's limits, GB/s read and written\n%10s %3s %7s %12s %15s %6s\n",
                "bytes", "thr", "memcpy", "vector copy", "streaming copy", "read");
    // One row for each number of threads and power of two of bytes.
    std::map<std::pair<int, int>, const RowResult *> limits;
    for (const RowResult &row : report.rows) {
        if (row.bytes >= 4096)
            limits.emplace(std::make_pair(row.row.threads, std::ilogb(row.bytes)), &row);
    }
    for (const auto &[key, row] : limits) {
        std::printf(
            "%10.0f %3d %7s %12s %15s %6s\n", row->bytes, key.first,
            short_number(row->memcpy_gbps).c_str(), short_number(row->vector_copy_gbps).c_str(),
            short_number(row->streaming_copy_gbps).c_str(), short_number(row->read_gbps).c_str());
    }
    if (!report.compile_ns.empty()) {
        std::printf("\ncompile and destroy:");
        for (const auto &[op, ns] : report.compile_ns)
            std::printf("  %s %.2f us", op.c_str(), ns / 1000);
        std::printf("\n");
    }
    std::map<std::string, double> differing;  // the largest share in a row
    for (const RowResult &row : report.rows) {
        for (const PeerResult &peer : row.peers) {
            double &share = differing[peer.name + " " + row.row.op + " " + row.row.signature];
            share = std::max(share, 100 * double(peer.differing) / double(row.row.elements));
        }
    }
    std::printf("\nResults that differ from hewn's, which are exact, in %% of the elements\n");
    for (const auto &[name, share] : differing) {
        if (share > 0) std::printf("  %-50s %.2g\n", name.c_str(), share);
    }
    std::printf("\nRows in which a peer is faster (the interval's upper end below 1):\n");
    bool none = true;
    for (const RowResult &row : report.rows) {
        for (const PeerResult &peer : row.peers) {
            if (peer.ratio.high >= 1) continue;
            none = false;
            std::printf("  %s %s %s %s, %d thread(s): %s of %s\n", row.row.op.c_str(),
                        row.row.signature.c_str(), row.row.layout.c_str(),
                        elements_text(row.row.elements).c_str(), row.row.threads,
                        ratio_text(peer.ratio).c_str(), peer.name.c_str());
        }
    }
    if (none) std::printf("  none\n");
}

nlohmann::json rows_json(const Report &report) {
    nlohmann::json list = nlohmann::json::array();
    for (const RowResult &row : report.rows) {
        for (const PeerResult &peer : row.peers) {
            list.push_back({{"op", row.row.op},
                            {"signature", row.row.signature},
                            {"layout", row.row.layout},
                            {"elements", row.row.elements},
                            {"threads", row.row.threads},
                            {"hewn_gbps", row.hewn_gbps()},
                            {"peer", peer.name},
                            {"peer_gbps", peer.gbps},
                            {"ratio", peer.ratio.median},
                            {"ratio_low", peer.ratio.low},
                            {"ratio_high", peer.ratio.high},
                            {"limit_gbps", row.limit_gbps()},
                            {"variant", row.variant}});
        }
    }
    return list;
}

nlohmann::json full_json(const Report &report) {
    nlohmann::json rows = nlohmann::json::array();
    for (const RowResult &row : report.rows) {
        nlohmann::json peers = nlohmann::json::array();
        for (const PeerResult &peer : row.peers) {
            peers.push_back({{"peer", peer.name},
                             {"gbps", peer.gbps},
                             {"ratio", peer.ratio.median},
                             {"ratio_low", peer.ratio.low},
                             {"ratio_high", peer.ratio.high},
                             {"differing", peer.differing}});
        }
        rows.push_back({{"op", row.row.op},
                        {"signature", row.row.signature},
                        {"layout", row.row.layout},
                        {"elements", row.row.elements},
                        {"threads", row.row.threads},
                        {"variant", row.variant},
                        {"bytes", row.bytes},
                        {"rounds", row.rounds},
                        {"hewn_ns", row.hewn_ns},
                        {"hewn_gbps", row.hewn_gbps()},
                        {"memcpy_gbps", row.memcpy_gbps},
                        {"vector_copy_gbps", row.vector_copy_gbps},
                        {"streaming_copy_gbps", row.streaming_copy_gbps},
                        {"read_gbps", row.read_gbps},
                        {"limit_gbps", row.limit_gbps()},
                        {"peers", peers}});
    }
    return {{"machine", report.machine},
            {"versions", report.versions},
            {"compile_ns", report.compile_ns},
            {"rows", rows}};
}

void write_json(const nlohmann::json &json, const std::string &given) {
    namespace fs = std::filesystem;
    const std::string path = fs::is_symlink(given) ? fs::weakly_canonical(given).string() : given;
    const bool replaces = !fs::exists(path) || fs::is_regular_file(path);  // false for /dev/null
    const std::string part = replaces ? path + ".part" : path;
    std::ofstream file(part);
    file << json.dump(1) << "\n";
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path);
    if (replaces) fs::rename(part, path);
}

}  // namespace hewn_bench
