// The results of a comparison, and how `compare` shows them: as a table on the terminal, and as two
// JSON files.
#pragma once

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "measure.h"
#include "rows.h"

namespace hewn_bench {

struct PeerResult {
    std::string name;
    double gbps;
    // hewn's speed divided by the peer's.
    Ratio ratio;
    // The number of elements that differ from hewn's result, which is exact.
    int64_t differing = 0;
};

struct RowResult {
    Row row;
    std::string variant;
    // The bytes that a call reads and writes, and hewn's nanoseconds of a call.
    double bytes, hewn_ns;
    int rounds;
    double memcpy_gbps, vector_copy_gbps, streaming_copy_gbps, read_gbps;
    std::vector<PeerResult> peers;

    double hewn_gbps() const { return bytes / hewn_ns; }
    // The speed of the fastest copy of as many bytes.
    double limit_gbps() const {
        return std::max({memcpy_gbps, vector_copy_gbps, streaming_copy_gbps});
    }
};

struct Report {
    std::map<std::string, std::string> machine, versions;
    std::vector<std::string> peers;  // the columns of the table
    std::vector<RowResult> rows;
    std::map<std::string, double> compile_ns;  // by operator
};

void print_header(const Report &report);
void print_row(const Report &report, const RowResult &row);
// Prints the machine's limits, the compile times, how many of a peer's results differ from hewn's,
// and the rows that a peer wins.
void print_summary(const Report &report);

// A list with an object for each row and peer (--json).
nlohmann::json rows_json(const Report &report);
// The whole report (--report), which report/plots.py and report/docs.py read.
nlohmann::json full_json(const Report &report);
// Writes a file, which appears whole or not at all. Throws std::runtime_error.
void write_json(const nlohmann::json &json, const std::string &path);

}  // namespace hewn_bench
