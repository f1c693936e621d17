// What the package's functions and objects do. The module keeps nothing: a Library, which the
// package makes one of, has the table and what was compiled.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "problem.h"

namespace hewn_python {

constexpr uint64_t HOLD_GIL_BYTES = 16384;  // less takes about a microsecond

class Library {
public:
    // rows: {operator's number: (its tensors' names in Python, Row::mixed)}; make(like, shape,
    // dtype): an array of like's framework; error(status, message): the exception.
    Library(nb::dict rows, nb::object make, nb::object error);

    // An operator's function. options: see struct Options.
    nb::object call(int type, nb::tuple inputs, nb::tuple options);
    const Row &row(int type) const;
    // `out`, or a new array for it.
    nb::object output(nb::handle out, nb::handle like, const Shape &shape,
                      hewn_data_type type) const;
    // `first`; where the operator has other outputs, which are made here, a tuple of them all.
    nb::object with_others(Problem &problem, nb::object first, nb::handle like) const;
    [[noreturn]] void raise(const Failure &failure) const;

    // For the garbage collector: the package's functions and this know each other.
    static int traverse(PyObject *self, visitproc visit, void *arg);
    static int clear(PyObject *self);

private:
    using Cached = std::shared_ptr<const hewn::Operator>;
    std::vector<Row> rows_;  // by number
    nb::object make_, error_;
    std::vector<nb::str> names_;  // of data types, by number
    std::mutex mutex_;            // of the cache: compiling takes longer than running 1000 elements
    std::unordered_map<std::string, Cached> cache_;

    Cached compiled(const Problem &problem, const std::string &variant, int threads);
};

// hewn.Operator: compiled once, for arrays of fixed sizes, strides and types.
class Operator {
public:
    Operator(nb::object library, int type, nb::tuple inputs, nb::tuple options, bool constants);

    nb::object call(nb::args inputs, nb::handle out) const;
    const char *variant() const { return op_->variant(); }
    // The names of the arrays that a call takes.
    nb::tuple inputs() const;

private:
    friend class BoundOperator;
    nb::object library_object_;
    const Library &library_;
    std::optional<Problem> problem_;  // what it was compiled for
    std::vector<bool> constants_;
    std::optional<hewn::Operator> op_;

    std::vector<size_t> free_inputs() const;
    void take(Problem &problem, size_t i, nb::handle given, const char *name) const;
    void take_all(Problem &problem, nb::args inputs, nb::handle out, nb::object &result) const;
};

// hewn.BoundOperator: an operator with its arrays, which it keeps.
class BoundOperator {
public:
    BoundOperator(nb::object op, nb::args inputs, nb::handle out);

    nb::object run() const;

private:
    nb::object operator_object_;
    const Operator &operator_;
    nb::object result_;
    std::optional<Problem> problem_;
    uint64_t bytes_ = 0;
    std::optional<hewn::BoundOperator> bound_;
};

}  // namespace hewn_python
