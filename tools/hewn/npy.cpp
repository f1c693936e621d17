#include "npy.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "files.h"
#include "names.h"
#include "progress.h"

namespace hewn::cli {

namespace {
// The bytes of the file's data are used unchanged.
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "hewn's .npy reader is for little-endian machines"
#endif

constexpr char MAGIC[] = "\x93NUMPY";
constexpr size_t MAGIC_BYTES = 6;
constexpr size_t CHUNK = size_t(16) << 20;

[[noreturn]] void fail(const std::string &path, const std::string &what) {
    throw InputError(path + ": " + what);
}

// Rewrites a file's header as JSON. The header is a Python dict literal of strings, booleans,
// tuples and integers: the same tree as in JSON, spelled differently. Only the spelling is changed
// here; the parser of JSON then decides whether the header is well-formed.
std::string json_from_python(std::string_view python) {
    std::string json;
    size_t i = 0;
    const auto string_literal = [&](char quote) {
        json += '"';
        for (i++; i < python.size() && python[i] != quote; i++) {
            if (python[i] == '"') json += '\\';
            if (python[i] == '\\' && i + 1 < python.size()) {
                // JSON has no escape \'.
                if (python[++i] != '\'') json += '\\';
            }
            json += python[i];
        }
        if (i < python.size()) json += '"', i++;
    };
    const auto drop_trailing_comma = [&] {
        const size_t last = json.find_last_not_of(" \n\r\t");
        if (last != std::string::npos && json[last] == ',') json[last] = ' ';
    };
    while (i < python.size()) {
        const char c = python[i];
        if (c == '\'' || c == '"') {
            string_literal(c);
        } else if (std::isalpha(static_cast<unsigned char>(c))) {
            size_t end = i;
            while (end < python.size() && std::isalnum(static_cast<unsigned char>(python[end])))
                end++;
            const std::string_view word = python.substr(i, end - i);
            const bool long_suffix =
                word == "L" && i > 0 &&
                std::isdigit(static_cast<unsigned char>(python[i - 1]));  // 3L, as in Python 2
            if (!long_suffix)
                json += word == "True"    ? "true"
                        : word == "False" ? "false"
                        : word == "None"  ? "null"
                                          : std::string(word);
            i = end;
        } else {
            if (c == ')' || c == ']' || c == '}') drop_trailing_comma();
            json += c == '(' ? '[' : c == ')' ? ']' : c;
            i++;
        }
    }
    return json;
}

DataType parse_descr(const std::string &path, const nlohmann::json &descr,
                     std::optional<DataType> untyped) {
    if (!descr.is_string())
        fail(path,
             "is a structured array (its descr is not one string); only plain numbers are "
             "supported");
    const std::string &text = descr.get_ref<const std::string &>();
    const std::string known = "; supported are f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64";
    if (text.size() >= 2 && text.find('O') < 2)
        fail(path, "holds Python objects (descr '" + text + "')" + known);
    if (text.size() != 3 || !std::strchr("<>|=", text[0]))
        fail(path, "has the unknown data type '" + text + "'" + known);

    // As ml_dtypes saves bf16, f8e5m2 and all other small floats. NumPy alone cannot read f1.
    if (text == "<V2" || text == "|V2") return DataType::BFLOAT16;
    if (text == "<f1" || text == "|f1") return DataType::FLOAT8E5M2;
    if (text == "<V1" || text == "|V1") {
        if (untyped) return *untyped;
        fail(path, "holds bytes without a type ('" + text +
                       "'), which are small floats only with dequantize's --input-type or as a "
                       "scale of f8e8m0" +
                       known);
    }
    const char kind = text[1] == 'f' || text[1] == 'i' || text[1] == 'u' ? text[1] : '?';
    const int bits = std::isdigit(static_cast<unsigned char>(text[2])) ? (text[2] - '0') * 8 : 0;
    const std::optional<DataType> type = type_from_name(kind + std::to_string(bits));
    if (!type || *type == DataType::FLOAT64)
        fail(path, "has the data type '" + text + "'" + (type ? " (f64)" : "") +
                       ", which no operator takes" + known +
                       (type ? "; " + astype_hint(DataType::FLOAT32) : ""));
    if (bits > 8 && text[0] == '>')
        fail(path, "is big-endian ('" + text + "'); " + astype_hint(*type));
    if (bits > 8 && text[0] == '|')
        fail(path, "has the data type '" + text + "' without a byte order");
    return *type;
}

Sizes parse_shape(const std::string &path, const nlohmann::json &shape) {
    if (!shape.is_array()) fail(path, "the header's 'shape' is not a tuple");
    Sizes sizes;
    for (const nlohmann::json &size : shape) {
        if (size.is_number_integer() && !size.is_number_unsigned())
            fail(path, "the header's 'shape' holds the negative size " + size.dump());
        if (size.is_number_float() && size.get<double>() >= 0x1p63)
            fail(path, "the header's 'shape' holds the size " + size.dump() + ", which overflows");
        if (!size.is_number_unsigned())
            fail(path, "the header's 'shape' holds something other than integers");
        if (size.get<uint64_t>() > uint64_t(INT64_MAX))
            fail(path, "the header's 'shape' holds the size " + size.dump() + ", which overflows");
        sizes.push_back(size.get<int64_t>());
    }
    if (sizes.size() > HEWN_DIMENSION_COUNT_MAX)
        fail(path, "has " + std::to_string(sizes.size()) + " dimensions; a tensor has at most " +
                       std::to_string(HEWN_DIMENSION_COUNT_MAX));
    return sizes;
}

void read_exactly(std::FILE *file, void *to, size_t bytes, const std::string &path,
                  const std::string &what) {
    if (std::fread(to, 1, bytes, file) != bytes)
        fail(path,
             std::ferror(file) ? std::string("cannot be read: ") + std::strerror(errno) : what);
}

struct Header {
    DataType type;
    Sizes sizes;
    bool fortran_order;
    uint64_t data_offset;
};

// Reads and checks the header. The file is then positioned at its data.
Header read_header(std::FILE *file, uint64_t file_bytes, const std::string &path,
                   std::optional<DataType> untyped) {
    // The magic, the version, and the length of the header: 2 bytes in version 1, 4 later.
    unsigned char start[MAGIC_BYTES + 2], length_bytes[4] = {};
    if (file_bytes < sizeof start)
        fail(path, "is not a .npy file: it has only " + std::to_string(file_bytes) + " bytes");
    read_exactly(file, start, sizeof start, path, "ends inside its first bytes");
    if (std::memcmp(start, MAGIC, MAGIC_BYTES) != 0)
        fail(path, "is not a .npy file: it does not start with \\x93NUMPY");
    const unsigned major = start[6], minor = start[7];
    if (major < 1 || major > 3 || minor != 0)
        fail(path, "has .npy format version " + std::to_string(major) + "." +
                       std::to_string(minor) + "; known are 1.0, 2.0 and 3.0");
    const size_t length_size = major == 1 ? 2 : 4;
    read_exactly(file, length_bytes, length_size, path, "is truncated: it ends before its header");
    const uint64_t header_bytes = length_bytes[0] | length_bytes[1] << 8 | length_bytes[2] << 16 |
                                  uint64_t(length_bytes[3]) << 24;
    const uint64_t data_offset = sizeof start + length_size + header_bytes;
    if (data_offset > file_bytes)
        fail(path, "is truncated: its header should have " + std::to_string(header_bytes) +
                       " bytes, the whole file has " + std::to_string(file_bytes));

    std::string header(size_t(header_bytes), '\0');
    read_exactly(file, header.data(), header.size(), path, "is truncated inside its header");
    const nlohmann::json dict =
        nlohmann::json::parse(json_from_python(header), nullptr, /*allow_exceptions=*/false);
    if (!dict.is_object()) fail(path, "its header is not a Python dict literal");
    for (const char *key : {"descr", "fortran_order", "shape"})
        if (!dict.contains(key)) fail(path, std::string("its header lacks the key '") + key + "'");
    if (dict.size() != 3)
        fail(path, "its header has keys other than 'descr', 'fortran_order' and 'shape'");
    if (!dict["fortran_order"].is_boolean())
        fail(path, "the header's 'fortran_order' is neither True nor False");

    return {parse_descr(path, dict["descr"], untyped), parse_shape(path, dict["shape"]),
            dict["fortran_order"].get<bool>(), data_offset};
}

std::string npy_descr(DataType type) {
    if (type == DataType::BFLOAT16) return "<V2";
    if (is_small_float(type)) return "|V1";
    const size_t bytes = type_bytes(type);
    return (bytes == 1 ? '|' : '<') + std::string(1, type_name(type)[0]) + std::to_string(bytes);
}
}  // namespace

std::string astype_hint(DataType type) {
    const bool foreign = type == DataType::BFLOAT16 || is_small_float(type);
    return "save it with .astype(" +
           (foreign ? "ml_dtypes." + numpy_name(type_name(type)) : "'" + npy_descr(type) + "'") +
           ")";
}

Array load_npy(const std::string &path, std::optional<DataType> untyped) {
    const uint64_t file_bytes = regular_file_size(path);
    const File file = open_file(path, "rb", path);
    const auto [type, sizes, fortran_order, data_offset] =
        read_header(file.get(), file_bytes, path, untyped);
    const std::optional<int64_t> count = element_count(sizes);
    if (!count || *count > INT64_MAX / int64_t(type_bytes(type)))
        fail(path, "the product of its sizes " + to_string(sizes) + " overflows");
    const uint64_t due = uint64_t(*count) * type_bytes(type), present = file_bytes - data_offset;
    if (present < due)
        fail(path, "is truncated: " + to_string(sizes) + " " + std::string(type_name(type)) +
                       " needs " + std::to_string(due) + " bytes of data, the file has " +
                       std::to_string(present));
    if (present > due) fail(path, "has " + std::to_string(present - due) + " bytes after its data");

    Array array = Array::allocate(path, file_type(type), sizes);
    if (fortran_order && *count > 0) {
        int64_t stride = 1;
        for (size_t i = 0; i < sizes.size(); stride *= sizes[i++]) array.strides[i] = stride;
    }
    Progress progress("reading " + path, due);
    for (uint64_t done = 0; done < due;) {
        const size_t bytes = size_t(std::min<uint64_t>(CHUNK, due - done));
        read_exactly(file.get(), array.data.get() + done, bytes, path,
                     "became shorter while it was read");
        progress.advance(bytes);
        done += bytes;
    }
    return array.to_packed(type);
}

void save_npy(const std::string &path, const std::string &name, const Array &array) {
    std::string shape;
    for (int64_t size : array.sizes) shape += std::to_string(size) + ", ";
    // Python spells tuples () (3,) (3, 4).
    if (array.sizes.size() > 1) shape.resize(shape.size() - 2);
    else if (array.sizes.size() == 1) shape.resize(shape.size() - 1);
    std::string header = "{'descr': '" + npy_descr(array.type) +
                         "', 'fortran_order': False, 'shape': (" + shape + "), }";
    // Spaces and a newline end the header, so that the data starts at a multiple of 64 bytes.
    const size_t unpadded = MAGIC_BYTES + 4 + header.size() + 1;
    header.append((64 - unpadded % 64) % 64, ' ');
    header += '\n';
    const char start[] = {
        '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, char(header.size() & 255), char(header.size() >> 8)};

    File file = open_file(path, "wb", name);
    int error = 0;
    const auto write = [&](const void *bytes, size_t count) {
        if (error == 0 && std::fwrite(bytes, 1, count, file.get()) != count) error = errno;
    };
    write(start, sizeof start);
    write(header.data(), header.size());
    Progress progress("writing " + name, array.bytes);
    for (uint64_t done = 0; error == 0 && done < array.bytes;) {
        const size_t bytes = size_t(std::min<uint64_t>(CHUNK, array.bytes - done));
        write(array.data.get() + done, bytes);
        progress.advance(bytes);
        done += bytes;
    }
    // That the disk is full may become known only here.
    if (std::fclose(file.release()) != 0 && error == 0) error = errno;
    if (error != 0) fail(name, std::string("cannot be written: ") + std::strerror(error));
}

}  // namespace hewn::cli
