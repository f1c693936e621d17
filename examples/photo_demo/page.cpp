#include "page.h"

#include "files.h"

#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string_view>

namespace photo_demo {

namespace {

constexpr char kHead[] = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>hewn on a photograph</title>
<link rel="icon" href="data:,">
<style>
    :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
    body { max-width: 72rem; margin: 0 auto; padding: 1rem; }
    h1, h2 { line-height: 1.2; margin: 2rem 0 .5rem; }
    h1 { font-size: 1.5rem; margin-top: 0; }
    h2 { font-size: 1.2rem; }
    p { max-width: 48rem; margin: .5rem 0; overflow-wrap: break-word; }
    .pictures { display: grid; gap: 1.5rem 1rem; margin: 1rem 0;
                grid-template-columns: repeat(auto-fill, minmax(min(100%, 18rem), 1fr)); }
    figure { margin: 0; min-width: 0; }
    img { display: block; max-width: 100%; height: auto; margin: 0 auto; }
    figcaption { font-size: .9rem; margin-top: .25rem; }
    table { border-collapse: collapse; width: 100%; font-size: .9rem; margin: 1rem 0; }
    th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0;
             border-bottom: 1px solid #8886; }
    td { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
    td.number, th.number { text-align: right; white-space: nowrap; }
    code, pre { font-family: ui-monospace, monospace; font-size: .85rem; }
    pre { overflow-x: auto; padding: .75rem; background: #8882; border-radius: .25rem; }
    @media (max-width: 60rem) {  /* a line for each cell, with its heading */
        thead { display: none; }
        tr, td, td.number { display: block; text-align: left; }
        td { border: 0; padding: 0; }
        td:first-child { font-weight: bold; }
        td + td::before { content: attr(data-heading) ": "; opacity: .7; }
        tr { padding: .5rem 0; }
    }
</style>
<h1>hewn on a photograph</h1>
)html";

std::string escaped(const std::string &text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
        case '&': result += "&amp;"; break;
        case '<': result += "&lt;"; break;
        case '>': result += "&gt;"; break;
        case '"': result += "&quot;"; break;
        default: result += c;
        }
    }
    return result;
}

std::string base64(const std::string &bytes) {
    constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (size_t i = 0; i < bytes.size(); i += 3) {
        const auto byte = [&](size_t k) {
            return i + k < bytes.size() ? uint32_t(uint8_t(bytes[i + k])) : 0;
        };
        const uint32_t bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (size_t k = 0; k < 4; k++)
            text += i + k <= bytes.size() ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
    }
    return text;
}

std::string contents(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (!file || bytes.empty()) throw hewn::cli::InputError(path + ": cannot be read");
    return bytes;
}

std::string paragraphs(const std::vector<std::string> &texts) {
    std::string html;
    for (const std::string &text : texts) html += "<p>" + escaped(text) + "</p>\n";
    return html;
}

std::string figure(const std::string &folder, size_t number, const Figure &figure) {
    return "<figure><img alt=\"" + escaped(figure.title) + "\" width=\"" +
           std::to_string(figure.width) + "\" height=\"" + std::to_string(figure.height) +
           "\" src=\"data:image/png;base64," + base64(contents(folder + "/" + figure.file)) +
           "\">\n<figcaption><strong>" + std::to_string(number) + ". " + escaped(figure.title) +
           ".</strong> " + escaped(figure.caption) + " <code>" + escaped(figure.file) +
           "</code></figcaption></figure>\n";
}

std::string number(const char *format, double value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

std::string table(const std::vector<Row> &rows) {
    struct Column {
        const char *heading;
        bool is_number;
        std::string (*cell)(const Row &);
    };
    static const Column kColumns[] = {
        {"operator", false, [](const Row &row) { return row.operator_name; }},
        {"data", false, [](const Row &row) { return row.what; }},
        {"kernel (variant)", false, [](const Row &row) { return row.variant; }},
        {"time", true, [](const Row &row) { return number("%.2f ms", row.milliseconds); }},
        {"GB/s", true, [](const Row &row) { return number("%.2f", row.gigabytes_per_second); }},
        {"of memcpy", true, [](const Row &row) { return number("%.0f%%", row.percent_of_memcpy); }},
        {"differing results", true, [](const Row &row) { return std::to_string(row.differing); }},
    };
    const auto begin = [](const char *tag, const Column &column) {
        return "<" + std::string(tag) + (column.is_number ? " class=\"number\"" : "");
    };
    std::string html = "<table>\n<thead><tr>";
    for (const Column &column : kColumns)
        html += begin("th", column) + ">" + column.heading + "</th>";
    html += "</tr></thead>\n<tbody>\n";
    for (const Row &row : rows) {
        html += "<tr>";
        for (const Column &column : kColumns)
            html += begin("td", column) + " data-heading=\"" + column.heading + "\">" +
                    escaped(column.cell(row)) + "</td>";
        html += "</tr>\n";
    }
    return html + "</tbody>\n</table>\n";
}

}  // namespace

std::string shell_word(const std::string &text) {
    bool plain = !text.empty();
    for (const char c : text)
        plain = plain && (std::isalnum(static_cast<unsigned char>(c)) ||
                          std::string_view("/._-+,@%").find(c) != std::string_view::npos);
    if (plain) return text;
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

void write_page(const std::string &folder, const Page &page) {
    std::string html = kHead + paragraphs(page.introduction) + "<div class=\"pictures\">\n";
    for (size_t i = 0; i < page.figures.size(); i++) html += figure(folder, i + 1, page.figures[i]);
    html += "</div>\n<h2>What ran, and how fast</h2>\n" + paragraphs(page.measurement) +
            table(page.rows) + "<h2>The same by hand</h2>\n" + paragraphs({page.by_hand}) +
            "<pre id=\"commands\">";
    std::string commands;
    for (const std::string &command : page.prepare) commands += command + "\n";
    for (const Row &row : page.rows)
        commands += "\n# " + row.operator_name + ": " + row.what + "\n" + row.command + "\n";
    commands += "\n";
    for (const std::string &command : page.compare) commands += command + "\n";
    html += escaped(commands) + "</pre>\n</html>\n";

    const std::string path = folder + "/index.html";
    hewn::cli::OutputFile output(path);
    std::ofstream file(output.temporary(), std::ios::binary);
    file << html;
    file.close();
    if (!file) throw hewn::cli::InputError(path + ": cannot be written");
    output.commit();
}

}  // namespace photo_demo
