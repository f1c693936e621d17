// Finds the name that was probably meant by a mistyped one, for messages such as "did you mean
// x86_64_avx2?". The library uses it for targets and variants, the command line for all other
// names. It allocates nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hewn {

class Nearest {
public:
    // `given` and the names are not copied, so they must outlive the object.
    explicit Nearest(const char *given)
        : given_(given),
          length_(std::strlen(given)),
          distance_(length_ < 2 ? 0 : std::max<size_t>(length_ / 4, 1)) {}

    // Compares one more name with the given one.
    void consider(const char *name) {
        const size_t length = std::strlen(name);
        if (length_ == 0 || length_ > kMost || length > kMost) return;
        const size_t distance = contains(name, length) ? 1 : edits(name, length);
        // The shortest of several names at the same distance wins: avx512 means x86_64_avx512, not
        // x86_64_avx512_vnni.
        if (distance > distance_ || (distance == distance_ && best_ && length >= best_length_))
            return;
        best_ = name;
        best_length_ = length;
        distance_ = distance;
    }

    // Returns the nearest name; null if none is near enough. At most a quarter of the given
    // characters may be wrong. If two or three are given, one may be wrong; if only one is given,
    // only its case may differ.
    const char *name() const { return best_; }

private:
    static constexpr size_t kMost = 80;  // longer names match nothing

    const char *given_, *best_ = nullptr;
    size_t length_, best_length_ = 0, distance_;

    static char lower(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

    bool same(size_t i, const char *name, size_t j) const {
        return lower(given_[i]) == lower(name[j]);
    }

    // Whether the given text is a part of the name and has at least 3 characters.
    bool contains(const char *name, size_t length) const {
        for (size_t first = 0; length_ > 2 && first + length_ <= length; first++) {
            size_t i = 0;
            while (i < length_ && same(i, name, first + i)) i++;
            if (i == length_) return true;
        }
        return false;
    }

    // Returns how many characters must be inserted, removed, replaced or exchanged with their
    // neighbour (the restricted Damerau-Levenshtein distance). Of the usual table only three rows
    // are kept: rows[i % 3][j] is the distance between the first i characters of the given text and
    // the first j of the name.
    size_t edits(const char *name, size_t length) const {
        uint8_t rows[3][kMost + 1];
        for (size_t j = 0; j <= length; j++) rows[0][j] = uint8_t(j);
        for (size_t i = 1; i <= length_; i++) {
            uint8_t *const row = rows[i % 3];
            const uint8_t *const above = rows[(i + 2) % 3], *const before = rows[(i + 1) % 3];
            row[0] = uint8_t(i);
            for (size_t j = 1; j <= length; j++) {
                const bool replaced = !same(i - 1, name, j - 1);
                int least = std::min(above[j - 1] + replaced, std::min(above[j], row[j - 1]) + 1);
                if (i > 1 && j > 1 && same(i - 1, name, j - 2) && same(i - 2, name, j - 1))
                    least = std::min(least, before[j - 2] + 1);
                row[j] = uint8_t(least);
            }
        }
        return rows[length_ % 3][length];
    }
};

}  // namespace hewn
