// Checks the memory that a program binds to an operator's tensors, or gives as constants.
#include "bindings.h"

#include <cstring>

namespace hewn {

namespace {

// Checks that `count` bindings, of the tensors from `first` on, have the struct_size of the first
// binding. `kind`, "input" or "output", is for the message.
hewn_status check_equal_sizes(const Problem &problem, const Bindings &bindings, int first,
                              int count, const char *kind, hewn_error *error) {
    for (int i = 0; i < count; i++) {
        if (bindings.has_struct_size(i)) continue;
        return refuse(problem, tensor(problem, first + i), error)(
            "struct_size of the binding differs from the first %s binding's", kind);
    }
    return HEWN_STATUS_OK;
}

// Checks that a tensor that is not bound has no buffer.
hewn_status check_unbound(const Problem &problem, const Tensor &tensor,
                          const hewn_buffer_binding &binding, hewn_error *error) {
    if (!binding.buffer) return HEWN_STATUS_OK;
    return refuse(problem, tensor, error)("has a binding but was %s at compile",
                                          tensor.present ? "given as a constant" : "absent");
}

bool is_output(const Problem &problem, const Tensor &tensor) {
    return &tensor < problem.inputs || &tensor >= problem.inputs + kMaxInputs;
}

// Turns a constant whose elements are all the same into one element that repeats, because kernels
// for one element are faster.
void join_equal_elements(Tensor &tensor, const void *values) {
    const size_t bytes = size_t(tensor.element_bytes);
    const char *const first = static_cast<const char *>(values);
    if (tensor.empty() || tensor.conversion ||
        std::memcmp(first, first + bytes, size_t(tensor.bytes) - bytes) != 0)
        return;
    for (int d = 0; d < tensor.rank; d++) {
        tensor.strides[d] = 0;
        tensor.block_sizes[d] = 1;
    }
    tensor.bytes = bytes;
}

}  // namespace

hewn_status read_constants(const hewn_compile_options &options, Problem &problem,
                           hewn_error *error) {
    if (!options.constants && options.constant_count == 0) return HEWN_STATUS_OK;
    const OperatorInfo &info = *problem.info;
    if (!options.constants || options.constant_count != uint32_t(info.input_count)) {
        return fail(
            error, HEWN_STATUS_INVALID_BINDING,
            "%s: %u bindings of constants given, expected %d, with a null buffer for an input "
            "that is no constant",
            info.dml_name, unsigned(options.constants ? options.constant_count : 0),
            info.input_count);
    }
    if (size_of(*options.constants) < sizeof(hewn_buffer_binding)) {
        return refuse(problem, problem.inputs[0],
                      error)("struct_size of the constant's binding is too small");
    }
    const Bindings constants(options.constants);
    hewn_status status = check_equal_sizes(problem, constants, 0, info.input_count, "input", error);
    for (int i = 0; i < info.input_count && status == HEWN_STATUS_OK; i++) {
        Tensor &tensor = problem.inputs[i];
        const hewn_buffer_binding &binding = constants[i];
        if (!binding.buffer) continue;
        if (!tensor.present) return check_unbound(problem, tensor, binding, error);
        uintptr_t address = 0;
        status = check_binding(problem, tensor, binding,
                               reinterpret_cast<uintptr_t>(binding.buffer), &address, error);
        if (status != HEWN_STATUS_OK) break;
        problem.constants[i] = reinterpret_cast<const void *>(address);
        tensor.constant = true;
        join_equal_elements(tensor, problem.constants[i]);
    }
    return status;
}

uint64_t constant_offset(const Problem &problem, int i) {
    constexpr uint64_t kAlignment = 64;
    uint64_t offset = 0;
    for (int before = 0; before < i; before++) {
        const Tensor &tensor = problem.inputs[before];
        if (tensor.constant) offset += (tensor.bytes + kAlignment - 1) & ~(kAlignment - 1);
    }
    return offset;
}

hewn_status check_binding(const Problem &problem, const Tensor &tensor,
                          const hewn_buffer_binding &binding, uint64_t base, uintptr_t *at,
                          hewn_error *error) {
    const hewn_data_type type = type_of(binding);
    if (type != HEWN_DATA_TYPE_UNKNOWN && type != tensor.type && type != stand_in(tensor.type)) {
        return refuse(problem, tensor, error)(
            "the binding's elements are %s, the description's %s; a pointer and a size are taken "
            "without a type",
            type_name(type), type_name(tensor.type));
    }
    if (!binding.buffer && !tensor.empty()) {
        return refuse(problem, tensor, error)("the binding's buffer is null");
    }
    if (binding.size < tensor.bytes) {
        return refuse(problem, tensor, error)(
            "the binding has %llu bytes, %llu are needed%s", (unsigned long long)binding.size,
            (unsigned long long)tensor.bytes,
            is_output(problem, tensor) || repeats(tensor) ? "" : kRepeatsHint);
    }
    uint64_t address, end;
    if (__builtin_add_overflow(base, binding.offset, &address) ||
        __builtin_add_overflow(address, tensor.bytes, &end) || end > UINTPTR_MAX) {
        return refuse(problem, tensor, error)("the address overflows");
    }
    if (address & uint64_t(tensor.element_bytes - 1)) {
        return refuse(problem, tensor, error)("the address is misaligned, elements have %d bytes",
                                              int(tensor.element_bytes));
    }
    *at = uintptr_t(address);
    return HEWN_STATUS_OK;
}

namespace {

// Checks that an output overlaps another tensor, an input or an earlier output, only where that is
// allowed.
hewn_status check_overlap(const Problem &problem, int output, int other, const Place *places,
                          hewn_error *error) {
    const Tensor &written = tensor(problem, output), &beside = tensor(problem, other);
    const uint64_t out = places[output].address, at = places[other].address;
    if (!is_bound(written) || !is_bound(beside)) return HEWN_STATUS_OK;
    if (places[output].memory != places[other].memory || out + written.bytes <= at ||
        at + beside.bytes <= out)
        return HEWN_STATUS_OK;
    if (problem.info->in_place && at == out && same_byte_strides(written, beside))
        return HEWN_STATUS_OK;
    if (provably_disjoint(written, uintptr_t(out), beside, uintptr_t(at))) return HEWN_STATUS_OK;
    return refuse(problem, written, error)(
        "overlaps %s%s", beside.name,
        problem.info->in_place ? "; allowed in place (same address and strides) or interleaved "
                                 "(equal strides in bytes)"
                               : "; allowed only interleaved (equal strides in bytes)");
}

// Checks the binding of tensor t, and sets its place.
hewn_status locate(const Problem &problem, int t, const hewn_buffer_binding &binding,
                   const Locator &locator, Place *places, hewn_error *error) {
    const Tensor &tensor = hewn::tensor(problem, t);
    if (!is_bound(tensor)) {
        places[t] = t < problem.info->input_count ? locator.unbound[t] : Place{};
        return check_unbound(problem, tensor, binding, error);
    }
    Place base = {0, reinterpret_cast<uintptr_t>(binding.buffer)};
    if (locator.buffer && binding.buffer)
        HEWN_CHECK(locator.buffer(locator.device, problem, tensor, binding, &base, error));
    uintptr_t address = 0;
    HEWN_CHECK(check_binding(problem, tensor, binding, base.address, &address, error));
    places[t] = {base.memory, address};
    return HEWN_STATUS_OK;
}

}  // namespace

hewn_status locate_tensors(const Problem &problem, const Bindings &inputs, const Bindings &outputs,
                           const Locator &locator, Place *places, hewn_error *error) {
    const int first = problem.info->input_count, count = tensor_count(*problem.info);
    HEWN_CHECK(check_equal_sizes(problem, inputs, 0, first, "input", error));
    HEWN_CHECK(check_equal_sizes(problem, outputs, first, count - first, "output", error));
    for (int t = first; t < count; t++) {  // outputs first: inputs are compared with them
        HEWN_CHECK(locate(problem, t, outputs[t - first], locator, places, error));
        for (int before = first; before < t; before++)
            HEWN_CHECK(check_overlap(problem, t, before, places, error));
    }
    for (int i = 0; i < first; i++) {
        HEWN_CHECK(locate(problem, i, inputs[i], locator, places, error));
        for (int t = first; t < count; t++) HEWN_CHECK(check_overlap(problem, t, i, places, error));
    }
    return HEWN_STATUS_OK;
}

}  // namespace hewn
