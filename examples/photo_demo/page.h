// The demo's page: one HTML file that explains the pictures. The pictures are embedded in it, so it
// can be opened from disk or sent to somebody without other files. main.cpp fills in the Page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace photo_demo {

struct Figure {
    std::string file;  // a PNG in the page's folder
    std::string title, caption;
    int64_t width, height;
};

// One operator that was run: a line of the table on the terminal and on the page.
struct Row {
    std::string operator_name, signature, variant;
    std::string what;  // the data: "photo, per channel"
    double milliseconds, gigabytes_per_second, percent_of_memcpy;
    size_t differing;     // the number of results that differ from the reference
    std::string command;  // a command that computes the same with the tool
};

struct Page {
    std::vector<std::string> introduction, measurement;  // paragraphs
    std::vector<Figure> figures;
    std::vector<Row> rows;
    // A paragraph about the commands.
    std::string by_hand;
    // Commands before and after those of the rows.
    std::vector<std::string> prepare;
    std::vector<std::string> compare;
};

// The text as one word of a shell's command line, quoted if necessary.
std::string shell_word(const std::string &text);

// Writes folder/index.html from the page and the PNGs in the folder.
void write_page(const std::string &folder, const Page &page);

}  // namespace photo_demo
