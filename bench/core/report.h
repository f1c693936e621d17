// The results of a comparison: the table, and the two JSON files.
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
    Ratio ratio;            // hewn's GB/s over the peer's
    int64_t differing = 0;  // elements that differ from hewn's result, which is exact
};

struct RowResult {
    Row row;
    std::string variant;
    double bytes, hewn_ns;
    int rounds;
    double memcpy_gbps, vector_copy_gbps, streaming_copy_gbps, read_gbps;
    std::vector<PeerResult> peers;

    double hewn_gbps() const { return bytes / hewn_ns; }
    // The fastest copy that moves as many bytes.
    double limit_gbps() const {
        return std::max({memcpy_gbps, vector_copy_gbps, streaming_copy_gbps});
    }
};

struct Report {
    std::map<std::string, std::string> machine, versions;
    std::vector<std::string> peers;  // the columns
    std::vector<RowResult> rows;
    std::map<std::string, double> compile_ns;  // by operator
};

void print_header(const Report &report);
void print_row(const Report &report, const RowResult &row);
// Prints the machine's limits, the compile times and the rows that a peer wins.
void print_summary(const Report &report);

// A list with an object for each row and peer.
nlohmann::json rows_json(const Report &report);
// Everything, for the plots.
nlohmann::json full_json(const Report &report);
// The file appears whole or not at all.
void write_json(const nlohmann::json &json, const std::string &path);

}  // namespace hewn_bench
