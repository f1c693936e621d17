// The classes of the package's functions and objects. Library computes a call of an operator's
// function; Operator and BoundOperator are hewn.Operator and hewn.BoundOperator. The module has no
// state of its own: the package makes one Library, which has the operator table and a cache of
// compiled operators.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "problem.h"

namespace hewn_python {

// An execution on at most this many bytes keeps the GIL. It takes about a microsecond.
constexpr uint64_t HOLD_GIL_BYTES = 16384;

class Library {
public:
    // `rows` is {operator's number: (its tensors' names in Python, Row::mixed)}. make(like, shape,
    // dtype) makes an array of the framework of `like`. error(status, message) makes the exception.
    Library(nb::dict rows, nb::object make, nb::object error);

    // Computes a call of an operator's function, and returns its outputs. `inputs` and `options`
    // are as for Arguments.
    nb::object call(int type, nb::tuple inputs, nb::tuple options);
    // The row of the operator table for the operator with that number.
    const Row &row(int type) const;
    // The array for the first output: `out`, or a new one if that is None.
    nb::object output(nb::handle out, nb::handle like, const Shape &shape,
                      hewn_data_type type) const;
    // What a call returns. If the operator has more outputs than one, the others are made here, and
    // the result is a tuple of all. Otherwise it is `first`.
    nb::object with_others(Problem &problem, nb::object first, nb::handle like) const;
    // Raises the failure as hewn.Error.
    [[noreturn]] void raise(const Failure &failure) const;

    // For the garbage collector, because this object and the package's functions refer to each
    // other.
    static int traverse(PyObject *self, visitproc visit, void *arg);
    static int clear(PyObject *self);

private:
    using Cached = std::shared_ptr<const hewn::Operator>;
    std::vector<Row> rows_;
    nb::object make_, error_;
    // The names of data types, by number.
    std::vector<nb::str> names_;
    // Guards cache_.
    std::mutex mutex_;
    // Compiled operators, by Problem::key. Compiling takes longer than executing 1000 elements.
    std::unordered_map<std::string, Cached> cache_;

    Cached compiled(const Problem &problem, const std::string &variant, int threads);
};

// hewn.Operator: an operator that is compiled once, for arrays of fixed sizes, strides and types.
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
    // The problem for which it was compiled.
    std::optional<Problem> problem_;
    // Which inputs are constants.
    std::vector<bool> constants_;
    std::optional<hewn::Operator> op_;

    std::vector<size_t> free_inputs() const;
    void take(Problem &problem, size_t i, nb::handle given, const char *name) const;
    void take_all(Problem &problem, nb::args inputs, nb::handle out, nb::object &result) const;
};

// hewn.BoundOperator: an operator that is bound to its arrays, which it keeps alive.
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
