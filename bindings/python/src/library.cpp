#include "library.h"

#if defined(_WIN32)
#define NOMINMAX
#include <windows.h>
#endif

#include <cstdlib>
#include <cstring>
#include <iterator>

#include "ending.h"

namespace hewn_python {

namespace {
constexpr size_t MOST_CACHED = 1024;

int as_threads(nb::handle threads) {
    if (threads.is_none()) return 0;
    const int64_t value = as_index(threads, "threads");
    if (value < 1 || value > INT32_MAX)
        refuse("threads",
               "is " + text_of(threads) + "; expected 1 to " + std::to_string(INT32_MAX));
    return int(value);
}

// The variant to force: the argument, or else HEWN_VARIANT. The environment variable is read at
// each call, because it may change; the key of the cache includes it.
std::string as_variant(nb::handle variant) {
    if (!variant.is_none()) return text_argument(variant, "variant");
#if defined(_WIN32)  // getenv() of this module's C library would not see changes made by Python
    char environment[256];
    const DWORD length = GetEnvironmentVariableA("HEWN_VARIANT", environment, sizeof environment);
    return {environment, length < sizeof environment ? length : 0};
#else
    const char *environment = std::getenv("HEWN_VARIANT");
    return environment ? environment : "";
#endif
}

// The bindings of all tensors. Constants and absent tensors have no memory.
struct Bindings {
    hewn_buffer_binding bindings[MAX_TENSORS];
    uint64_t bytes = 0;
    uint32_t inputs, outputs;

    explicit Bindings(Problem &problem, const std::vector<bool> &constants = {}) {
        inputs = uint32_t(problem.row().output());
        outputs = uint32_t(problem.row().count()) - inputs;
        for (size_t i = 0; i < inputs + outputs; i++) {
            Tensor &tensor = problem.tensor(i);
            const bool bound = tensor.is_present() && !(i < constants.size() && constants[i]);
            bindings[i] = {sizeof(bindings[i]), bound ? tensor.memory() : nullptr, 0,
                           bound ? tensor.bytes : 0};
            bytes += bindings[i].size;
        }
    }
};

// Calls run(&error), without the GIL if the tensors have many bytes. Throws Failure.
template<class Run>
void check(const Row &row, uint64_t bytes, Run &&run) {
    hewn_error error;
    error.struct_size = sizeof(error);
    hewn_status status;
    if (bytes > HOLD_GIL_BYTES) {
        PyThreadState *const thread = PyEval_SaveThread();
        status = run(&error);
        hewn_take_gil(thread);
    } else {
        status = run(&error);
    }
    if (status != HEWN_STATUS_OK) throw Failure{status, row.in_python(error.message)};
}

void execute(const hewn::Operator &op, Problem &problem, const std::vector<bool> &constants = {}) {
    const Bindings b(problem, constants);
    check(problem.row(), b.bytes, [&](hewn_error *error) {
        return hewn_execute(op.get(), b.bindings, b.inputs, b.bindings + b.inputs, b.outputs,
                            nullptr, error);
    });
}
}  // namespace

// ---- Library ----

Library::Library(nb::dict rows, nb::object make, nb::object error)
    : make_(std::move(make)), error_(std::move(error)) {
    for (const hewn::OperatorInfo &info : hewn::operators()) {
        Row row{info, {}, {}};
        while (row.tensor(row.first_output).role != HEWN_TENSOR_ROLE_OUTPUT) row.first_output++;
        const nb::tuple known = nb::cast<nb::tuple>(rows[nb::int_(info.type)]);
        for (nb::handle name : nb::cast<nb::tuple>(known[0]))
            row.names.push_back(nb::cast<nb::str>(name).c_str());
        for (nb::handle mixed : nb::cast<nb::tuple>(known[1]))
            row.mixed.push_back(nb::cast<bool>(mixed));
        if (row.names.size() != row.count() || row.mixed.size() != row.count() ||
            row.count() > MAX_TENSORS)
            throw std::logic_error("the package is of another operator table");
        rows_.push_back(std::move(row));
    }
    for (hewn_data_type type = 0; type < 32; type++)
        names_.emplace_back(has_name(type) ? name_of(type).c_str() : "");
}

const Row &Library::row(int type) const {
    for (const Row &row : rows_) {
        if (row.info.type == type) return row;
    }
    // This build lacks the operator, or there is none of that number: the library says which.
    try {
        hewn::compile(type, {});
    } catch (const hewn::Error &error) {
        throw Failure{error.status(), error.what()};
    }
    throw std::logic_error("the library has an operator that its table lacks");
}

void Library::raise(const Failure &failure) const {
    // The message is one line, as the library's own are, even if it quotes an argument.
    std::string line = failure.message;
    for (char &c : line) {
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
    }
    const nb::object status = nb::int_(int(failure.status)), message = nb::str(line.c_str());
    PyObject *const arguments[] = {status.ptr(), message.ptr()};
    const nb::object error =
        nb::steal(hewn_call_python(error_.ptr(), arguments, std::size(arguments), nullptr));
    if (!error.is_valid()) throw nb::python_error();
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error.ptr())), error.ptr());
    throw nb::python_error();
}

nb::object Library::output(nb::handle out, nb::handle like, const Shape &shape,
                           hewn_data_type type) const {
    if (!out.is_none()) return nb::borrow(out);
    const nb::object sizes = nb::steal(PyTuple_New(Py_ssize_t(shape.rank)));
    for (uint32_t i = 0; i < shape.rank; i++)
        PyTuple_SetItem(sizes.ptr(), Py_ssize_t(i), PyLong_FromLongLong(shape.sizes[i]));
    PyObject *const arguments[] = {like.ptr(), sizes.ptr(), names_[size_t(type)].ptr()};
    const nb::object made =
        nb::steal(hewn_call_python(make_.ptr(), arguments, std::size(arguments), nullptr));
    if (!made.is_valid()) throw nb::python_error();
    return made;
}

nb::object Library::with_others(Problem &problem, nb::object first, nb::handle like) const {
    const Row &row = problem.row();
    if (row.output() + 1 == row.count()) return first;
    nb::list all;
    all.append(first);
    for (size_t i = row.output() + 1; i < row.count(); i++) {
        if (!problem.writes(i)) continue;
        const nb::object other =
            output(nb::none(), like, problem.other_shape(i), problem.tensor(i).type);
        problem.take_other_output(i, other);
        all.append(other);
    }
    return nb::tuple(all);
}

// Hands the outputs to the caller's arrays, where they were computed in copies.
static void give(const Problem &problem, nb::handle result) {
    const size_t first = problem.row().output();
    if (first + 1 == problem.row().count()) return problem.tensor(first).give(result);
    size_t next = 0;
    for (size_t i = first; i < problem.row().count(); i++)
        if (problem.writes(i))
            problem.tensor(i).give(PyTuple_GetItem(result.ptr(), Py_ssize_t(next++)));
}

Library::Cached Library::compiled(const Problem &problem, const std::string &variant, int threads) {
    std::string key = problem.key(threads, variant);
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = cache_.find(key);
        if (found != cache_.end()) return found->second;
    }
    auto op = std::make_shared<const hewn::Operator>(problem.compile(variant, threads, {}));
    const std::lock_guard<std::mutex> lock(mutex_);
    if (cache_.size() >= MOST_CACHED) cache_.clear();  // few programs have as many layouts
    return cache_.emplace(std::move(key), std::move(op)).first->second;
}

nb::object Library::call(int type, nb::tuple inputs, nb::tuple options) {
    try {
        const Arguments given(row(type), inputs, options);
        Problem problem(row(type), given);
        nb::object result =
            output(given.out, given.inputs[0], problem.shape(), problem.output().type);
        if (!problem.has_output()) problem.take_output(result);
        result = with_others(problem, std::move(result), given.inputs[0]);
        execute(*compiled(problem, as_variant(given.variant), as_threads(given.threads)), problem);
        give(problem, result);
        return result;
    } catch (const Failure &failure) {
        raise(failure);
    }
}

int Library::traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    const Library &library = *nb::inst_ptr<Library>(self);
    Py_VISIT(library.make_.ptr());
    Py_VISIT(library.error_.ptr());
    return 0;
}

int Library::clear(PyObject *self) {
    Library &library = *nb::inst_ptr<Library>(self);
    library.make_.reset();
    library.error_.reset();
    return 0;
}

// ---- Operator ----

namespace {
// Which inputs are constants: numbers, lists and, with `arrays`, arrays of scales and zero points.
std::vector<bool> constants_of(const Problem &problem, bool arrays) {
    std::vector<bool> constants;
    for (size_t i = 0; i < problem.row().output(); i++) {
        const Kind kind = problem.tensor(i).kind;
        constants.push_back(kind == Kind::number || kind == Kind::list ||
                            (problem.row().is_parameter(i) && kind == Kind::array && arrays));
    }
    return constants;
}

std::string layout(const Tensor &tensor) {
    Shape strides;
    strides.rank = tensor.shape.rank;
    std::memcpy(strides.sizes, tensor.own_strides, sizeof(strides.sizes));
    return name_of(tensor.type) + " " + tensor.shape.text() + " with strides " + strides.text();
}

bool lies_alike(const Tensor &a, const Tensor &b) {
    return a.type == b.type && a.shape == b.shape &&
           std::memcmp(a.own_strides, b.own_strides, a.shape.rank * sizeof(a.own_strides[0])) == 0;
}
}  // namespace

Operator::Operator(nb::object library, int type, nb::tuple inputs, nb::tuple options,
                   bool constants)
    : library_object_(std::move(library)), library_(nb::cast<Library &>(library_object_)) {
    try {
        const Arguments given(library_.row(type), inputs, options);
        Problem problem(library_.row(type), given);
        if (!problem.has_output()) problem.describe_contiguous_output();
        constants_ = constants_of(problem, constants);
        op_.emplace(
            problem.compile(as_variant(given.variant), as_threads(given.threads), constants_));
        problem_.emplace(problem);
    } catch (const Failure &failure) {
        library_.raise(failure);
    }
}

// The indices of the inputs that a call is given: arrays that are no constants.
std::vector<size_t> Operator::free_inputs() const {
    std::vector<size_t> free;
    for (size_t i = 0; i < constants_.size(); i++) {
        if (problem_->tensor(i).kind == Kind::array && !constants_[i]) free.push_back(i);
    }
    return free;
}

nb::tuple Operator::inputs() const {
    nb::list names;
    for (size_t i : free_inputs()) names.append(problem_->row().names[i].c_str());
    return nb::tuple(names);
}

void Operator::take(Problem &problem, size_t i, nb::handle given, const char *name) const {
    Tensor tensor;
    take_array(tensor, given, name, /*written=*/i == problem.row().output());
    Tensor &due = problem.tensor(i);
    if (!lies_alike(tensor, due))
        refuse(name, "is " + layout(tensor) + "; compiled for " + layout(due));
    std::memcpy(tensor.strides, due.strides, sizeof(due.strides));
    due = std::move(tensor);
}

void Operator::take_all(Problem &problem, nb::args inputs, nb::handle out,
                        nb::object &result) const {
    const std::vector<size_t> free = free_inputs();
    if (inputs.size() != free.size())
        refuse("inputs",
               std::to_string(inputs.size()) + " given, expected " + std::to_string(free.size()));
    const Row &row = problem.row();
    for (size_t k = 0; k < free.size(); k++)
        take(problem, free[k], inputs[k], row.names[free[k]].c_str());
    result = library_.output(out, inputs[0], problem.shape(), problem.output().type);
    take(problem, row.output(), result, "out");
    result = library_.with_others(problem, std::move(result), inputs[0]);
}

nb::object Operator::call(nb::args inputs, nb::handle out) const {
    try {
        nb::object result;
        Problem problem = *problem_;
        take_all(problem, inputs, out, result);
        execute(*op_, problem, constants_);
        give(problem, result);
        return result;
    } catch (const Failure &failure) {
        library_.raise(failure);
    }
}

// ---- BoundOperator ----

namespace {
// Arrays of sub-byte types are copied at each call, so they cannot be bound.
void refuse_copies(const Problem &problem) {
    for (size_t i = 0; i < problem.row().count(); i++) {
        if (problem.tensor(i).is_copied())
            refuse(problem.row().names[i],
                   "is " + name_of(problem.tensor(i).type) +
                       ", copied at each call, and cannot be bound",
                   HEWN_STATUS_UNSUPPORTED);
    }
}
}  // namespace

BoundOperator::BoundOperator(nb::object op, nb::args inputs, nb::handle out)
    : operator_object_(std::move(op)), operator_(nb::cast<const Operator &>(operator_object_)) {
    try {
        problem_.emplace(*operator_.problem_);
        operator_.take_all(*problem_, inputs, out, result_);
        refuse_copies(*problem_);
        const Bindings b(*problem_, operator_.constants_);
        bytes_ = b.bytes;
        hewn_bound_operator *bound = nullptr;
        check(problem_->row(), 0, [&](hewn_error *error) {
            return hewn_bind(operator_.op_->get(), b.bindings, b.inputs, b.bindings + b.inputs,
                             b.outputs, nullptr, &bound, error);
        });
        bound_.emplace(bound);
    } catch (const Failure &failure) {
        operator_.library_.raise(failure);
    }
}

nb::object BoundOperator::run() const {
    try {
        check(problem_->row(), bytes_,
              [&](hewn_error *error) { return hewn_run(bound_->get(), error); });
        return result_;
    } catch (const Failure &failure) {
        operator_.library_.raise(failure);
    }
}

}  // namespace hewn_python
