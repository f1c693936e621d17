// The demo's page: one HTML file that explains the pictures. The pictures are embedded in it, so it
// can be opened from disk or sent to somebody without anything else. main.cpp fills the Page.
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
    size_t differing;     // results that are not those of the reference
    std::string command;  // does the same by hand
};

struct Page {
    std::vector<std::string> introduction, measurement;  // paragraphs
    std::vector<Figure> figures;
    std::vector<Row> rows;
    std::string by_hand;               // what the commands read and write
    std::vector<std::string> prepare;  // commands before those of the rows,
    std::vector<std::string> compare;  // and after them
};

// A word of a shell's command line.
std::string shell_word(const std::string &text);

// Writes folder/index.html from the page and the PNGs in the folder.
void write_page(const std::string &folder, const Page &page);

}  // namespace photo_demo
