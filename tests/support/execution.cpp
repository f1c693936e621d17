// Calls the library's functions and checks what they promise (execution.h).
#include "execution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../../reference/variants.h"

namespace hewn_test {

namespace {

// Whether a text is valid UTF-8 without control characters.
bool is_printable(const std::string &text) {
    constexpr uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};  // that needs this many bytes
    for (size_t i = 0; i < text.size();) {
        const uint8_t first = uint8_t(text[i]);
        const size_t bytes = first < 0x80   ? 1
                             : first < 0xc0 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                                            : 4;
        if (bytes == 0 || i + bytes > text.size()) return false;
        uint32_t number = bytes == 1 ? first : first & (0xffu >> (bytes + 1));
        for (size_t k = 1; k < bytes; k++) {
            if ((uint8_t(text[i + k]) & 0xc0) != 0x80) return false;
            number = number << 6 | (uint8_t(text[i + k]) & 0x3f);
        }
        const bool surrogate = number >= 0xd800 && number <= 0xdfff,
                   control = number < 0x20 || (number >= 0x7f && number < 0xa0);
        if (number < LEAST[bytes] || number > 0x10ffff || surrogate || control) return false;
        i += bytes;
    }
    return true;
}

}  // namespace

Outcome outcome_of(hewn_status (*call)(const void *context, hewn_error *), const void *context) {
    hewn_error error;
    std::memset(&error, SENTINEL, sizeof error);
    error.struct_size = sizeof error;
    hewn_error before = error;
    const hewn_status status = call(context, &error);
    if (status == HEWN_STATUS_OK) {
        EXPECT_EQ(std::memcmp(&error, &before, sizeof error), 0)
            << "a successful call wrote into its hewn_error";
        return {};
    }
    EXPECT_EQ(error.struct_size, sizeof error);
    EXPECT_EQ(error.status, status) << "the error's status differs from the returned one";
    const void *end = std::memchr(error.message, 0, sizeof error.message);
    EXPECT_NE(end, nullptr) << "the message has no terminating NUL";
    if (!end) return {status, ""};
    EXPECT_NE(error.message[0], '\0') << "an empty message";
    EXPECT_TRUE(is_printable(error.message))
        << "a message that is not one line of UTF-8: " << error.message;
    return {status, error.message};
}

hewn_compile_options compile_options(const char *variant, int32_t max_threads) {
    return {sizeof(hewn_compile_options),
            HEWN_FEATURE_LEVEL_NEWEST,
            variant,
            max_threads,
            nullptr,
            nullptr,
            nullptr,
            0};
}

namespace {

constexpr hewn_buffer_binding NOT_BOUND = {sizeof(hewn_buffer_binding), nullptr, 0, 0};

uint32_t parameters_of(const Problem &problem) {
    uint32_t parameters = 0;
    for (size_t i = 0; i < problem.inputs.size(); i++)
        parameters |= uint32_t(facts(problem.op).is_parameter(i)) << i;
    return parameters;
}

}  // namespace

Constants::Constants(const Problem &problem, uint32_t chosen) : bindings(problem.bindings()) {
    for (size_t i = 0; i < bindings.size(); i++) {
        if (chosen >> i & 1 && bindings[i].buffer) mask |= 1u << i;
        else bindings[i] = NOT_BOUND;
    }
}

Constants::Constants(const Problem &problem) : Constants(problem, parameters_of(problem)) {}

hewn_compile_options Constants::added_to(hewn_compile_options options) const {
    options.constants = bindings.data();
    options.constant_count = uint32_t(bindings.size());
    return options;
}

Outcome compile(const Description &description, const hewn_compile_options *options,
                OperatorPtr &op, hewn_device *device) {
    hewn_operator *handle = untouched<hewn_operator>();
    Outcome outcome = outcome_of([&](hewn_error *error) {
        return hewn_compile(device, description.get(), options, &handle, error);
    });
    EXPECT_EQ(outcome.status == HEWN_STATUS_OK, handle != untouched<hewn_operator>()) << outcome;
    op.reset(outcome.status == HEWN_STATUS_OK ? handle : nullptr);
    return outcome;
}

Outcome bind_operator(const hewn_operator *op, const hewn_buffer_binding *inputs,
                      uint32_t input_count, const hewn_buffer_binding *outputs,
                      uint32_t output_count, const hewn_execute_options *options,
                      BoundOperatorPtr &bound) {
    hewn_bound_operator *handle = untouched<hewn_bound_operator>();
    const Outcome outcome = outcome_of([&](hewn_error *error) {
        return hewn_bind(op, inputs, input_count, outputs, output_count, options, &handle, error);
    });
    EXPECT_EQ(outcome.status == HEWN_STATUS_OK, handle != untouched<hewn_bound_operator>())
        << outcome;
    bound.reset(outcome.status == HEWN_STATUS_OK ? handle : nullptr);
    return outcome;
}

// ---- Devices ------------------------------------------------------------------------------------

hewn_device *device_for(const char *variant) {
    static std::map<hewn_device_kind, DevicePtr> devices;
    const hewn_device_kind kind = kind_of_variant(variant);
    if (kind == HEWN_DEVICE_CPU) return nullptr;
    DevicePtr &device = devices[kind];
    if (!device) {
        hewn_device *opened = nullptr;
        const Outcome outcome = outcome_of(
            [&](hewn_error *error) { return hewn_open_device(kind, 0, &opened, error); });
        if (outcome.status != HEWN_STATUS_OK) throw std::runtime_error(outcome.message);
        device.reset(opened);
    }
    return device.get();
}

namespace {

// Copies of tensors in a device's memory, with the sentinels around their elements, for one
// execution. All are in one allocation, because a copy to the device or back takes longer than a
// small problem. Each copy has the same alignment as its tensor.
class DeviceCopies {
public:
    DeviceCopies(hewn_device *device, std::vector<Tensor *> tensors)
        : device_(device), tensors_(std::move(tensors)) {
        for (const Tensor *tensor : tensors_) {
            offsets_.push_back((image_.size() + 63) / 64 * 64 +
                               reinterpret_cast<uintptr_t>(tensor->memory.data()) % 64);
            image_.resize(offsets_.back());
            image_.insert(image_.end(), tensor->memory.begin(), tensor->memory.end());
        }
        Allocation &at = allocations()[device];
        if (at.bytes < image_.size()) {
            hewn_deallocate(device, at.memory);
            at.bytes = 2 * image_.size();
            succeeds([&](hewn_error *error) {
                return hewn_allocate(device, at.bytes, &at.memory, error);
            });
        }
        memory_ = at.memory;
        succeeds([&](hewn_error *error) {
            return hewn_write(device, memory_, 0, image_.data(), image_.size(), error);
        });
    }
    hewn_buffer_binding binding(const Tensor *tensor) const {
        const size_t i =
            size_t(std::find(tensors_.begin(), tensors_.end(), tensor) - tensors_.begin());
        return {sizeof(hewn_buffer_binding), memory_, offsets_[i] + tensor->offset,
                tensor->bytes()};
    }
    // Copies the device's memory back into all tensors.
    void read_back() {
        succeeds([&](hewn_error *error) {
            return hewn_read(device_, memory_, 0, image_.data(), image_.size(), error);
        });
        for (size_t i = 0; i < tensors_.size(); i++) {
            std::vector<uint8_t> &memory = tensors_[i]->memory;
            std::copy_n(image_.begin() + std::ptrdiff_t(offsets_[i]), memory.size(),
                        memory.begin());
        }
    }

private:
    struct Allocation {
        void *memory = nullptr;
        size_t bytes = 0;
    };
    // One for each device. It is kept, because thousands of small problems use it.
    static std::map<hewn_device *, Allocation> &allocations() {
        static std::map<hewn_device *, Allocation> allocations;
        return allocations;
    }
    template<class Call>
    static void succeeds(const Call &call) {
        const Outcome outcome = outcome_of(call);
        EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    }
    hewn_device *device_;
    std::vector<Tensor *> tensors_;
    std::vector<size_t> offsets_;
    std::vector<uint8_t> image_;
    void *memory_ = nullptr;
};

Outcome execute_or_run(const hewn_operator *op, bool binds,
                       const std::vector<hewn_buffer_binding> &inputs,
                       const std::vector<hewn_buffer_binding> &outputs,
                       const hewn_execute_options *options) {
    const uint32_t count = uint32_t(inputs.size()), output_count = uint32_t(outputs.size());
    if (!binds)
        return outcome_of([&](hewn_error *error) {
            return hewn_execute(op, inputs.data(), count, outputs.data(), output_count, options,
                                error);
        });
    BoundOperatorPtr bound;
    const Outcome outcome =
        bind_operator(op, inputs.data(), count, outputs.data(), output_count, options, bound);
    if (outcome.status != HEWN_STATUS_OK) return outcome;
    return outcome_of([&](hewn_error *error) { return hewn_run(bound.get(), error); });
}

}  // namespace

size_t way_of(const Problem &problem) { return std::hash<std::string>()(describe(problem)); }

Outcome execute(const hewn_operator *op, Problem &problem, const hewn_execute_options *options,
                hewn_device *device, uint32_t constants) {
    std::vector<hewn_buffer_binding> inputs = problem.bindings();
    hewn_buffer_binding output = problem.output.binding();
    std::optional<DeviceCopies> copies;
    if (device) {
        std::vector<Tensor *> tensors = {&problem.output};
        const auto on_its_own = [&](size_t i) {
            return problem.inputs[i] && !(problem.in_place >> i & 1);
        };
        for (size_t i = 0; i < inputs.size(); i++) {
            if (on_its_own(i)) tensors.push_back(&*problem.inputs[i]);
        }
        copies.emplace(device, std::move(tensors));
        output = copies->binding(&problem.output);
        for (size_t i = 0; i < inputs.size(); i++) {
            if (on_its_own(i)) inputs[i] = copies->binding(&*problem.inputs[i]);
            else if (problem.inputs[i]) inputs[i] = output;
        }
    }
    for (size_t i = 0; i < inputs.size(); i++) {
        if (constants >> i & 1) inputs[i] = NOT_BOUND;
    }
    const Outcome outcome = execute_or_run(op, way_of(problem) % 2 == 1, inputs, {output}, options);
    if (copies) copies->read_back();
    return outcome;
}

Outcome execute(const hewn_operator *op, bool binds, const std::vector<Tensor *> &inputs,
                const std::vector<Tensor *> &outputs, const hewn_execute_options *options,
                hewn_device *device, uint32_t constants) {
    std::vector<Tensor *> all = outputs;
    all.insert(all.end(), inputs.begin(), inputs.end());
    all.erase(std::remove(all.begin(), all.end(), nullptr), all.end());
    std::optional<DeviceCopies> copies;
    if (device) copies.emplace(device, all);
    const auto bindings = [&](const std::vector<Tensor *> &tensors) {
        std::vector<hewn_buffer_binding> result;
        for (Tensor *tensor : tensors)
            result.push_back(!tensor  ? NOT_BOUND
                             : copies ? copies->binding(tensor)
                                      : tensor->binding());
        return result;
    };
    std::vector<hewn_buffer_binding> bound = bindings(inputs);
    for (size_t i = 0; i < bound.size(); i++) {
        if (constants >> i & 1) bound[i] = NOT_BOUND;
    }
    const Outcome outcome = execute_or_run(op, binds, bound, bindings(outputs), options);
    if (copies) copies->read_back();
    return outcome;
}

}  // namespace hewn_test
