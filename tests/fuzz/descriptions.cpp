// Fuzzes hewn_compile with any structs, levels and options, while the device's memory hook fails
// from some call on. Each call must end with a status, must write nothing if it refuses, and must
// give back all memory that it took.
#include <hewn/hewn.h>

#include <array>
#include <cstdlib>
#include <string>

#include "../../reference/variants.h"
#include "fuzz.h"

namespace {

using hewn_fuzz::Input, hewn_fuzz::fail;

// The device's memory hooks. `until_failure` counts down the calls until there is no memory any
// more; 0: there always is.
struct Hooks {
    unsigned until_failure;
    int live = 0;
    bool failed = false;

    static void *HEWN_CALL allocate(void *context, size_t bytes, size_t alignment) {
        Hooks &hooks = *static_cast<Hooks *>(context);
        if (bytes > size_t(64) << 20) fail("compile asks for " + std::to_string(bytes) + " bytes");
        if (hooks.until_failure == 1) return hooks.failed = true, nullptr;
        if (hooks.until_failure) hooks.until_failure--;
        void *memory =
            std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
        hooks.live += memory != nullptr;
        return memory;
    }
    static void HEWN_CALL deallocate(void *context, void *memory) {
        static_cast<Hooks *>(context)->live -= memory != nullptr;
        std::free(memory);
    }
};

// A tensor's description, with the arrays that it points to. Most are such that the operator
// accepts them.
struct Tensor {
    std::array<int64_t, 16> sizes, strides, block_sizes;
    hewn_tensor_desc desc;

    Tensor(Input &input, hewn_data_type type, const Tensor *like) {
        for (int64_t &size : sizes) size = input.size();
        uint32_t rank = uint32_t(input.below(9));
        if (like && !input.one_in(16)) sizes = like->sizes, rank = like->desc.dimension_count;
        if (rank <= 8) set_strides(input, rank);
        for (int64_t &block : block_sizes) block = input.one_in(4) ? input.size() : 1;
        if (input.one_in(64)) rank = input.take<uint32_t>();
        if (input.one_in(32)) type = input.take<int32_t>();
        desc = {sizeof desc,
                type,
                rank,
                input.one_in(64) ? nullptr : sizes.data(),
                input.one_in(2) ? strides.data() : nullptr,
                input.one_in(6) ? block_sizes.data() : nullptr};
        if (input.one_in(64)) desc.struct_size = input.take<uint32_t>();
    }

private:
    // Contiguous strides, some of which are 0, and now and then any number.
    void set_strides(Input &input, uint32_t rank) {
        const uint8_t repeats = input.take<uint8_t>() & input.take<uint8_t>();
        strides = {};
        uint64_t stride = 1;
        for (uint32_t d = rank; d-- > 0; stride *= uint64_t(sizes[d]))
            strides[d] = input.one_in(16) ? input.size() : repeats >> d & 1 ? 0 : int64_t(stride);
    }
};

// Names to force: those of targets and of some variants, and names that are neither.
const std::vector<std::string> &names() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> names = {"x86_64", "none", "__", ""};
        hewn_target_info target = {};
        target.struct_size = sizeof target;
        for (uint32_t i = 0; i < hewn_target_count(); i++)
            if (hewn_get_target(i, &target) == HEWN_STATUS_OK) names.push_back(target.name);
        hewn_variant_info variant = {};
        variant.struct_size = sizeof variant;
        for (uint32_t i = 0; i < hewn_variant_count(); i += 7)
            if (hewn_get_variant(i, &variant) == HEWN_STATUS_OK) names.push_back(variant.name);
        return names;
    }();
    return all;
}

constexpr hewn_feature_level LEVELS[] = {HEWN_FEATURE_LEVEL_NEWEST, HEWN_FEATURE_LEVEL_1_0,
                                         HEWN_FEATURE_LEVEL_2_1,    HEWN_FEATURE_LEVEL_3_1,
                                         HEWN_FEATURE_LEVEL_5_1,    HEWN_FEATURE_LEVEL_6_3,
                                         HEWN_FEATURE_LEVEL_6_4,    HEWN_FEATURE_LEVEL_HEWN};

// Options of compile, with the arrays that they point to.
struct Options {
    alignas(64) std::array<uint8_t, 4096> memory;
    std::vector<hewn_buffer_binding> constants;
    hewn_compile_options options = {};

    explicit Options(Input &input) {
        memory.fill(input.take<uint8_t>());
        for (size_t i = input.below(12); i > 0; i--) {
            const size_t offset = input.one_in(4) ? input.below(64) : 0;
            constants.push_back({sizeof(hewn_buffer_binding),
                                 input.one_in(3) ? nullptr : memory.data(), offset,
                                 memory.size() - offset});
        }
        options = {sizeof options,
                   input.one_in(16) ? input.take<int32_t>() : input.pick(LEVELS),
                   input.one_in(2) ? nullptr : input.pick(names()).c_str(),
                   input.one_in(4) ? input.take<int32_t>() : 0,
                   nullptr,
                   nullptr,
                   input.one_in(2) ? constants.data() : nullptr,
                   uint32_t(constants.size())};
        if (!options.constants && !input.one_in(8)) options.constant_count = 0;
        if (input.one_in(32)) options.struct_size = input.take<uint32_t>() % sizeof options;
    }
};

// One call of hewn_compile, whose arguments are taken from the input.
void compile(Input &input, hewn_device *device, const Hooks &hooks) {
    const Options options(input);
    const hewn_test::Variant &variant = input.pick(hewn_test::listed_variants());
    const hewn_test::DataTypes types = variant.types();
    std::vector<Tensor> tensors;
    tensors.reserve(types.size());
    std::array<const void *, 16> own = {};
    const size_t count = types.size();
    for (size_t i = 0; i < count; i++) {
        tensors.emplace_back(input, types[i], i ? &tensors[0] : nullptr);
        own[1 + i] = input.one_in(16) ? nullptr : &tensors[i].desc;
    }
    uint32_t struct_size = uint32_t((1 + count) * sizeof own[0]);
    if (input.one_in(32)) struct_size = input.take<uint32_t>() % uint32_t(sizeof own);
    std::memcpy(own.data(), &struct_size, sizeof struct_size);
    const hewn_operator_desc desc = {sizeof desc,
                                     input.one_in(32) ? input.take<int32_t>() : variant.op(),
                                     input.one_in(64) ? nullptr : own.data()};
    // Attributes lie after the tensors: two choices of QUANTIZE_LINEAR, or an activation and its
    // parameters.
    if (input.one_in(8)) {
        std::array<int32_t, 8> attributes = {int32_t(input.below(10)), input.one_in(16)};
        for (size_t i = 1; i < attributes.size(); i++)
            if (input.one_in(4)) attributes[i] = input.take<int32_t>();
        std::memcpy(&own[1 + count], attributes.data(), sizeof attributes);
        struct_size += uint32_t(sizeof attributes);
        std::memcpy(own.data(), &struct_size, sizeof struct_size);
    }

    static char untouched;
    hewn_operator *op = reinterpret_cast<hewn_operator *>(&untouched);
    hewn_error error = {sizeof error, HEWN_STATUS_OK, {}};
    const hewn_status status =
        hewn_compile(device, &desc, input.one_in(16) ? nullptr : &options.options, &op, &error);
    if (status == HEWN_STATUS_OK) {
        if (!*hewn_operator_variant(op)) fail("an operator without a variant");
        return hewn_destroy_operator(op);
    }
    if (reinterpret_cast<char *>(op) != &untouched) fail("a refused call wrote its result");
    if (error.status != status || !error.message[0]) fail("a refusal without a reason");
    if (status == HEWN_STATUS_OUT_OF_MEMORY && !hooks.failed) fail("no memory, with memory");
}

}  // namespace

HEWN_FUZZ(descriptions) {
    Input input(data, size);
    Hooks hooks{unsigned(input.below(16))};
    const hewn_cpu_device_desc desc = {sizeof desc, Hooks::allocate, Hooks::deallocate, &hooks};
    hewn_device *device = nullptr;
    if (hewn_create_cpu_device(&desc, &device, nullptr) == HEWN_STATUS_OK) {
        compile(input, device, hooks);
        hewn_destroy_device(device);
    }
    if (hooks.live) fail(std::to_string(hooks.live) + " allocations are left");
}
