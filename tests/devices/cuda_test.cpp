// Tests of CUDA devices on fake_cuda.c, which computes nothing: what is launched, the program's own
// contexts and streams, lifetimes, and calls that fail. `Cuda.Graph` can also run on a real card.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "../../bench/gpu/cuda.h"
#include "../../reference/contents.h"
#include "../../reference/variants.h"
#include "../../runtime/gpu/views.h"
#include "drivers.h"

namespace hewn_test {
namespace {

// Returns "compute capability 7.5" for the target "cuda_sm75".
std::string capability_of(const std::string &target) {
    const std::string digits = target.substr(target.size() - 2);
    return "compute capability " + digits.substr(0, 1) + "." + digits.substr(1);
}

// The capability that this build's CUDA target of lowest priority needs.
std::string least_capability() {
    for (const hewn_target_info &target : targets()) {  // in ascending priority
        if (target.device == HEWN_DEVICE_CUDA) return capability_of(target.name);
    }
    return "no target";
}

class FakeCuda : public testing::Test {
protected:
    // The contexts of device 0 in the fake driver.
    static constexpr uintptr_t PRIMARY_CONTEXT = 0x1000, OWN_CONTEXT = 0x2000;
    void *driver_ = nullptr;
    template<class T>
    T &variable(const char *name) {
        return *static_cast<T *>(dlsym(driver_, name));
    }
    void SetUp() override {
        driver_ = dlopen("libcuda.so.1", RTLD_NOW);
        if (!driver_ || !dlsym(driver_, "fake_launches"))
            GTEST_SKIP() << "not run with the fake driver";
        unsetenv("FAKE_CUDA");
    }
    void TearDown() override {
        unsetenv("FAKE_CUDA");
        if (driver_ && dlsym(driver_, "fake_depth")) {
            EXPECT_EQ(reinterpret_cast<int (*)()>(dlsym(driver_, "fake_depth"))(), 0)
                << "a context was left current";
            EXPECT_EQ(variable<int>("fake_misuses"), 0) << "stderr says which";
            for (const char *count : {"fake_contexts", "fake_modules", "fake_copies"})
                EXPECT_EQ(variable<int>(count), 0) << count;
        }
    }
    // Compiles an operator for these tensors, inputs before outputs, and executes it both directly
    // and bound. Returns the number of launches of one run. The operator must give back its scratch
    // memory.
    int launches_of(hewn_device *device, hewn_operator_type type,
                    const std::vector<Tensor *> &inputs, const std::vector<Tensor *> &outputs) {
        const int memory = variable<int>("fake_memory");
        TensorDescs descs;
        for (const auto *tensors : {&inputs, &outputs})
            for (const Tensor *tensor : *tensors) descs.emplace_back(tensor->desc());
        OperatorPtr op;
        const Outcome compiled = compile(Description(type, std::move(descs)), nullptr, op, device);
        EXPECT_EQ(compiled.status, HEWN_STATUS_OK) << compiled;
        for (const bool binds : {false, true}) {
            variable<int>("fake_launches") = 0;
            const Outcome outcome = execute(op.get(), binds, inputs, outputs, nullptr, device);
            EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
        }
        op.reset();
        EXPECT_LE(variable<int>("fake_memory"), memory + 1);  // 1: the tests' own, which is kept
        return variable<int>("fake_launches");
    }
    // Makes a device from the program's own context.
    static Outcome create(uintptr_t context, void *stream, DevicePtr &device) {
        const hewn_cuda_device_desc desc = {
            sizeof desc, reinterpret_cast<void *>(context), stream, nullptr, nullptr, nullptr};
        hewn_device *created = untouched<hewn_device>();
        const Outcome outcome = outcome_of(
            [&](hewn_error *error) { return hewn_create_cuda_device(&desc, &created, error); });
        EXPECT_EQ(outcome.status == HEWN_STATUS_OK, created != untouched<hewn_device>()) << outcome;
        if (outcome.status == HEWN_STATUS_OK) device.reset(created);
        return outcome;
    }
};

TEST_F(FakeCuda, Devices) {
    hewn_device_info info{};
    info.struct_size = sizeof info;
    ASSERT_EQ(hewn_get_device(HEWN_DEVICE_CUDA, 1, &info, nullptr), HEWN_STATUS_OK);
    EXPECT_STREQ(info.name, "Fake 1");
    EXPECT_EQ(info.capability, 75);
    EXPECT_EQ(info.memory, uint64_t(8) << 30);
    EXPECT_EQ(info.missing[0], 0);
    EXPECT_TRUE(says(outcome_of([&](hewn_error *error) {
                         return hewn_get_device(HEWN_DEVICE_CUDA, 2, &info, error);
                     }),
                     "there is no device 2"));
    for (const hewn_target_info &target : targets())
        EXPECT_TRUE(target.device != HEWN_DEVICE_CUDA || target.supported)
            << target.name << ": the first device has it";
    // HEWN_ANY_DEVICE takes a device that has what kernels need.
    setenv("FAKE_CUDA", "old first device", 1);
    DevicePtr device;
    EXPECT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_NO_DEVICE);
    const Outcome outcome = open(HEWN_DEVICE_CUDA, HEWN_ANY_DEVICE, device);
    EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
}

// The variant that is chosen for each device, how many launches an execution makes, and their
// arguments.
TEST_F(FakeCuda, Launches) {
    int &launches = variable<int>("fake_launches"), &modules = variable<int>("fake_modules"),
        &contexts = variable<int>("fake_contexts"), &memory_count = variable<int>("fake_memory"),
        &synchronizations = variable<int>("fake_synchronizations");
    unsigned *grid = &variable<unsigned>("fake_grid"), *block = &variable<unsigned>("fake_block");
    uint64_t *pointers = &variable<uint64_t>("fake_pointers");
    const char *kernel = &variable<char>("fake_kernel");
    for (const auto &[index, target] : {std::pair(0u, "cuda_sm80"), std::pair(1u, "cuda_sm75")}) {
        DevicePtr device;
        ASSERT_EQ(open(HEWN_DEVICE_CUDA, index, device).status, HEWN_STATUS_OK);
        EXPECT_EQ(contexts, 1);
        void *memory = nullptr;
        ASSERT_EQ(hewn_allocate(device.get(), 1 << 20, &memory, nullptr), HEWN_STATUS_OK);
        {
            const Sum sum(device.get(), 4096 + 3), again(device.get(), 100);
            EXPECT_EQ(hewn_operator_variant(sum.op.get()), std::string("add_f32__cuda_sm75"));
            EXPECT_EQ(modules, 2) << "dense and strided, loaded once";
            const uint64_t bytes = (4096 + 3) * 4;
            launches = synchronizations = 0;
            // If all is aligned, one launch computes whole steps and another one the rest.
            ASSERT_EQ(
                sum.run(at(memory, 0, bytes), at(memory, 65536, bytes), at(memory, 131072, bytes))
                    .status,
                HEWN_STATUS_OK);
            EXPECT_EQ(launches, 2);
            EXPECT_EQ(grid[0], 1u);
            const uint64_t base = reinterpret_cast<uintptr_t>(memory) + 4096 * 4;
            for (const uint64_t offset : {0, 65536, 131072})
                EXPECT_TRUE(pointers[0] == base + offset || pointers[1] == base + offset ||
                            pointers[2] == base + offset)
                    << offset;
            // If any tensor is misaligned, even by less than 16 bytes, one launch computes all
            // elements, one per thread.
            for (const uint64_t offset : {4, 8}) {
                for (int t = 0; t < 3; t++) {
                    launches = 0;
                    const uint64_t a = t == 0 ? offset : 0, b = 65536 + (t == 1 ? offset : 0),
                                   c = 131072 + (t == 2 ? offset : 0);
                    ASSERT_EQ(
                        sum.run(at(memory, a, bytes), at(memory, b, bytes), at(memory, c, bytes))
                            .status,
                        HEWN_STATUS_OK);
                    EXPECT_EQ(launches, 1) << "tensor " << t << " at " << offset;
                    EXPECT_EQ(grid[0] * block[0], (4096u + 3 + block[0] - 1) / block[0] * block[0]);
                }
            }
            EXPECT_NE(std::string(kernel).find("kernel"), std::string::npos);
            // The addresses show that tensors overlap.
            EXPECT_EQ(sum.run(at(memory, 4, bytes), at(memory, 65536, bytes), at(memory, 0, bytes))
                          .status,
                      HEWN_STATUS_INVALID_BINDING);
            EXPECT_EQ(launches, 1);
            EXPECT_EQ(synchronizations, 0) << "an execution waits for the device";
            EXPECT_EQ(hewn_synchronize(device.get(), nullptr), HEWN_STATUS_OK);
            EXPECT_EQ(synchronizations, 1);
        }
        {
            const Tensor elements(HEWN_DATA_TYPE_UINT8, {100}),
                scales(HEWN_DATA_TYPE_FLOAT16, {100});
            const hewn_tensor_desc u8 = elements.desc(), f16 = scales.desc();
            OperatorPtr op;
            ASSERT_EQ(compile(Description(HEWN_OPERATOR_DEQUANTIZE_LINEAR, {u8, f16, u8, f16}),
                              nullptr, op, device.get())
                          .status,
                      HEWN_STATUS_OK);
            EXPECT_EQ(hewn_operator_variant(op.get()),
                      std::string("dequantize_linear_u8_f16__") + target);
        }
        hewn_deallocate(device.get(), memory);
        device.reset();
        EXPECT_EQ(modules, 0);
        EXPECT_EQ(contexts, 0);
        EXPECT_EQ(memory_count, 0);
    }
}

// Which layouts are computed by steps. A thread then computes 4 elements (16 bytes of f32), and a
// second launch computes the elements that are left over, one per thread.
TEST_F(FakeCuda, Steps) {
    DevicePtr device;
    void *memory = nullptr;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    ASSERT_EQ(hewn_allocate(device.get(), 1 << 20, &memory, nullptr), HEWN_STATUS_OK);
    struct Launches {
        int count;
        unsigned blocks;  // of the last launch

        bool operator==(const Launches &other) const {
            return count == other.count && blocks == other.blocks;
        }
    };
    using Strides = std::vector<int64_t>;
    const auto quantize = [&](const Strides &sizes, const Strides &x, const Strides &scale,
                              const Strides &y) {
        const Spec in{HEWN_DATA_TYPE_FLOAT32, sizes, x},
            scales{HEWN_DATA_TYPE_FLOAT32, sizes, scale}, out{HEWN_DATA_TYPE_UINT8, sizes, y};
        OperatorPtr op;
        const Outcome compiled =
            compile(Description(HEWN_OPERATOR_QUANTIZE_LINEAR,
                                {in.desc(), scales.desc(), std::nullopt, out.desc()}),
                    nullptr, op, device.get());
        EXPECT_EQ(compiled.status, HEWN_STATUS_OK) << compiled;
        const hewn_buffer_binding inputs[] = {at(memory, 0, 1 << 19), at(memory, 1 << 19, 1 << 18),
                                              at(nullptr, 0, 0)},
                                  output = at(memory, 3 << 18, 1 << 18);
        variable<int>("fake_launches") = 0;
        const Outcome run = outcome_of([&](hewn_error *error) {
            return hewn_execute(op.get(), inputs, 3, &output, 1, nullptr, error);
        });
        EXPECT_EQ(run.status, HEWN_STATUS_OK) << run;
        return Launches{variable<int>("fake_launches"), variable<unsigned>("fake_grid")};
    };
    constexpr unsigned THREADS = 256;
    // One scale for each row, for each column, and for each of three channels.
    const Launches steps = {1, 64 * 1024 / 4 / THREADS}, each = {1, 64 * 1024 / THREADS};
    EXPECT_EQ(quantize({64, 1024}, {1024, 1}, {1, 0}, {1024, 1}), steps);
    EXPECT_EQ(quantize({64, 1024}, {1024, 1}, {0, 1}, {1024, 1}), steps);
    EXPECT_EQ(quantize({4 * THREADS, 3}, {3, 1}, {0, 1}, {3, 1}), (Launches{1, 3}));
    EXPECT_EQ(quantize({4 * THREADS + 3, 3}, {3, 1}, {0, 1}, {3, 1}), (Launches{2, 1}));
    // Rows with gaps between them: rows that are whole steps, rows that are not, and rows that
    // begin between steps. Then more dimensions.
    EXPECT_EQ(quantize({64, 1024}, {1088, 1}, {0, 0}, {1028, 1}), steps);
    EXPECT_EQ(quantize({128, 510}, {512, 1}, {0, 0}, {516, 1}), (Launches{1, 255}));
    EXPECT_EQ(quantize({64, 1024}, {1025, 1}, {0, 0}, {1024, 1}), each);
    EXPECT_EQ(
        quantize({4, 2, 8, 1024}, {30000, 9000, 1028, 1}, {1, 0, 1, 0}, {30000, 9000, 1028, 1}),
        each);
    // The input is transposed and the output is not.
    EXPECT_EQ(quantize({1024, 64}, {1, 1024}, {0, 0}, {64, 1}), each);
    hewn_deallocate(device.get(), memory);
}

// A target that is forced by name applies to every operator. If an operator has no variant for that
// target, the variant for the next lower target runs.
TEST_F(FakeCuda, ForcedTargets) {
    const Tensor tensor(HEWN_DATA_TYPE_FLOAT32, {4});
    const hewn_tensor_desc desc = tensor.desc();
    const Description description(HEWN_OPERATOR_ADD, {desc, desc, desc});
    const hewn_compile_options options = compile_options("cuda_sm80");
    DevicePtr device;
    OperatorPtr op;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    ASSERT_EQ(compile(description, &options, op, device.get()).status, HEWN_STATUS_OK);
    EXPECT_EQ(hewn_operator_variant(op.get()), std::string("add_f32__cuda_sm75"));
    op.reset();
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 1, device).status, HEWN_STATUS_OK);
    const Outcome outcome = compile(description, &options, op, device.get());
    EXPECT_EQ(outcome.status, HEWN_STATUS_NO_VARIANT);
    EXPECT_TRUE(
        says(outcome, "'cuda_sm80' cannot run here: this device lacks compute capability 8.0"))
        << outcome;
}

// Four launches: the range, the scale, the zero point, the output. An f16 input takes one more
// launch before them, which widens it to f32.
TEST_F(FakeCuda, DynamicQuantization) {
    if (!find_variant("dynamic_quantize_linear_f32_u8__cuda_sm75"))
        GTEST_SKIP() << "a build without the kernel";
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    const auto launches = [&](hewn_data_type type, int64_t elements) {
        Tensor x(type, {elements}), y(HEWN_DATA_TYPE_UINT8, {elements}),
            scale(HEWN_DATA_TYPE_FLOAT32, {1}), zero_point(HEWN_DATA_TYPE_UINT8, {1});
        return launches_of(device.get(), HEWN_OPERATOR_DYNAMIC_QUANTIZE_LINEAR, {&x},
                           {&y, &scale, &zero_point});
    };
    EXPECT_EQ(launches(HEWN_DATA_TYPE_FLOAT32, 64), 4);
    EXPECT_EQ(launches(HEWN_DATA_TYPE_FLOAT16, 64), 5);
    EXPECT_EQ(launches(HEWN_DATA_TYPE_FLOAT32, 0), 2);
    EXPECT_EQ(launches(HEWN_DATA_TYPE_FLOAT16, 0), 2);
}

// Tensors of sub-byte types, and f16 tensors next to f32 ones: each such tensor takes one more
// launch, which converts it. A sub-byte output with gaps takes two more launches instead of one.
TEST_F(FakeCuda, ConvertedTypes) {
    if (!find_variant("dequantize_linear_i8_f32__cuda_sm75") ||
        !find_variant("quantize_linear_f32_u8__cuda_sm75"))
        GTEST_SKIP() << "a build without the kernels";
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    const auto launches = [&](hewn_operator_type type, const DataTypes &types,
                              const std::vector<int64_t> &output_strides = {1}) {
        Tensor x(types[0], {64}), scale(types[1], {64}, {0}), zero_point(types[2], {64}, {0}),
            y(types[3], {64}, output_strides);
        return launches_of(device.get(), type, {&x, &scale, &zero_point}, {&y});
    };
    const hewn_data_type f32 = HEWN_DATA_TYPE_FLOAT32, f16 = HEWN_DATA_TYPE_FLOAT16,
                         u8 = HEWN_DATA_TYPE_UINT8, i4 = HEWN_DATA_TYPE_INT4,
                         u2 = HEWN_DATA_TYPE_UINT2;
    EXPECT_EQ(launches(HEWN_OPERATOR_DEQUANTIZE_LINEAR, {i4, f32, i4, f32}), 3);
    EXPECT_EQ(launches(HEWN_OPERATOR_DEQUANTIZE_LINEAR, {u8, f32, u8, f16}), 2);
    EXPECT_EQ(launches(HEWN_OPERATOR_QUANTIZE_LINEAR, {f16, f32, u8, u8}), 2);
    EXPECT_EQ(launches(HEWN_OPERATOR_QUANTIZE_LINEAR, {f32, f32, u2, u2}), 3);
    EXPECT_EQ(launches(HEWN_OPERATOR_QUANTIZE_LINEAR, {f32, f32, u2, u2}, {3}), 4);
}

// Compile refuses tensors whose scratch memory would have a size that overflows.
TEST_F(FakeCuda, HugeScratch) {
    if (!find_variant("quantize_linear_f32_u8__cuda_sm75"))
        GTEST_SKIP() << "a build without the kernel";
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    const int64_t sizes[] = {2}, far[] = {(int64_t(1) << 62) - 2}, zero[] = {0};
    const auto desc = [&](hewn_data_type type, const int64_t *strides) {
        return hewn_tensor_desc{sizeof(hewn_tensor_desc), type, 1, sizes, strides, nullptr};
    };
    const Tensor y(HEWN_DATA_TYPE_UINT8, {2});
    OperatorPtr op;
    const Outcome outcome =
        compile(Description(HEWN_OPERATOR_QUANTIZE_LINEAR,
                            {desc(HEWN_DATA_TYPE_FLOAT16, far), desc(HEWN_DATA_TYPE_FLOAT32, zero),
                             desc(HEWN_DATA_TYPE_UINT8, zero), y.desc()}),
                nullptr, op, device.get());
    EXPECT_EQ(outcome.status, HEWN_STATUS_OUT_OF_MEMORY) << outcome;
    EXPECT_TRUE(says(outcome, "no device has the memory to convert such tensors")) << outcome;
}

// A `precision` takes one more pass, which computes the quotients. Operands of other types are
// converted before that pass.
TEST_F(FakeCuda, Precision) {
    if (!find_variant("quantize_linear_f32_u8__cuda_sm75"))
        GTEST_SKIP() << "a build without the kernel";
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    const auto launches = [&](hewn_data_type x_type, hewn_data_type scale_type) {
        Tensor x(x_type, {64}), scale(scale_type, {64}, {0}), y(HEWN_DATA_TYPE_UINT8, {64});
        OperatorPtr op;
        const Description description(HEWN_OPERATOR_QUANTIZE_LINEAR,
                                      {x.desc(), scale.desc(), y.desc(), y.desc()},
                                      {HEWN_PRECISION_FLOAT16});
        EXPECT_EQ(compile(description, nullptr, op, device.get()).status, HEWN_STATUS_OK);
        variable<int>("fake_launches") = 0;
        Tensor zero_point(HEWN_DATA_TYPE_UINT8, {64});
        EXPECT_EQ(
            execute(op.get(), false, {&x, &scale, &zero_point}, {&y}, nullptr, device.get()).status,
            HEWN_STATUS_OK);
        return variable<int>("fake_launches");
    };
    EXPECT_EQ(launches(HEWN_DATA_TYPE_FLOAT32, HEWN_DATA_TYPE_FLOAT32), 2);
    EXPECT_EQ(launches(HEWN_DATA_TYPE_INT32, HEWN_DATA_TYPE_FLOAT32), 3);
    EXPECT_GE(launches(HEWN_DATA_TYPE_FLOAT16, HEWN_DATA_TYPE_FLOAT16), 4);
}

// The PTX of every variant contains its kernels, and a launch passes every argument, in every
// layout.
TEST_F(FakeCuda, EveryKernel) {
    int &launches = variable<int>("fake_launches");
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    Random random("FakeCuda");
    for (const Variant &variant : all_variants()) {
        if (variant.device() != HEWN_DEVICE_CUDA) continue;
        for (int i = 0; i < 40; i++) {
            Problem problem =
                i % 2 ? random_problem(variant.op(), variant.types(), random, 3000)
                      : make_problem(variant.op(), variant.types(), {random.integer(2, 5000)},
                                     per_tensor(variant.op()), random);
            const hewn_compile_options options = compile_options(variant.name.c_str());
            OperatorPtr op;
            Outcome outcome = compile(problem.description(), &options, op, device.get());
            ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << variant.name << ": " << outcome;
            launches = 0;
            outcome = execute(op.get(), problem, nullptr, device.get());
            ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << variant.name << ": " << outcome;
            // Two launches for a part of each pass. A short last block is a part of its own, and an
            // activation of QUANTIZED_LINEAR_ADD is a pass of its own.
            const bool clamps = problem.op == HEWN_OPERATOR_QUANTIZED_LINEAR_ADD &&
                                !problem.attributes.empty() && problem.attributes[0];
            EXPECT_LE(launches, 2 * (problem.block_sizes().empty() ? 1 : 2) * (clamps ? 2 : 1));
            EXPECT_EQ(launches > 0, element_count(problem.output.sizes) > 0);
        }
    }
}

// Tensors of 2^30 elements and more, and strides of 2^32, take several launches, so that each
// launch's indices fit in 32 bits.
TEST_F(FakeCuda, Huge) {
    int &launches = variable<int>("fake_launches");
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    const auto run = [&](const std::vector<int64_t> &sizes, const std::vector<int64_t> &strides,
                         hewn_data_type type = HEWN_DATA_TYPE_INT8) {
        int64_t span = 1;
        for (size_t d = 0; d < sizes.size(); d++) span += (sizes[d] - 1) * strides[d];
        span *= int64_t(element_bytes(type));
        const hewn_tensor_desc desc = {sizeof desc,  type,           uint32_t(sizes.size()),
                                       sizes.data(), strides.data(), nullptr};
        const Description description(HEWN_OPERATOR_ADD, {desc, desc, desc});
        OperatorPtr op;
        EXPECT_EQ(compile(description, nullptr, op, device.get()).status, HEWN_STATUS_OK);
        // Addresses without memory: the fake driver does not access them.
        const auto memory = [](uint64_t address) {
            return reinterpret_cast<void *>(uintptr_t(address));
        };
        const hewn_buffer_binding inputs[] = {at(memory(uint64_t(1) << 40), 0, uint64_t(span)),
                                              at(memory(uint64_t(2) << 40), 0, uint64_t(span))};
        const hewn_buffer_binding output = at(memory(uint64_t(3) << 40), 0, uint64_t(span));
        launches = 0;
        EXPECT_EQ(hewn_execute(op.get(), inputs, 2, &output, 1, nullptr, nullptr), HEWN_STATUS_OK);
        return launches;
    };
    EXPECT_EQ(run({int64_t(1) << 20}, {1}), 1);
    EXPECT_EQ(run({int64_t(1) << 33}, {1}), 16);
    EXPECT_EQ(run({int64_t(1) << 33}, {1}, HEWN_DATA_TYPE_INT64), 32) << "32-bit words are counted";
    EXPECT_EQ(run({(1 << 30) + 16}, {1}), 2) << "halves are aligned";
    EXPECT_EQ(run({(1 << 30) + 8}, {1}), 3)
        << "the second half is shorter: whole steps, and the rest by itself";
    EXPECT_EQ(run({4, 1 << 20}, {int64_t(1) << 32, 1}), 4);
    EXPECT_EQ(run({1 << 20, 4}, {1, int64_t(1) << 32}), 4);
    EXPECT_EQ(run({2, 2, 2, 2, 2, 2, 2, 2},
                  {1 << 14, 1 << 12, 1 << 10, 1 << 8, 1 << 6, 1 << 4, 1 << 2, 1}),
              1);
}

// The most elements that a tensor can have, in place. The first launch fails on purpose, because
// there would be too many.
TEST_F(FakeCuda, Largest) {
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    const int64_t elements = INT64_MAX;
    const hewn_tensor_desc desc = {sizeof desc, HEWN_DATA_TYPE_INT8, 1, &elements, nullptr,
                                   nullptr};
    const Description description(HEWN_OPERATOR_ADD, {desc, desc, desc});
    OperatorPtr op;
    ASSERT_EQ(compile(description, nullptr, op, device.get()).status, HEWN_STATUS_OK);
    const hewn_buffer_binding binding =
        at(reinterpret_cast<void *>(uintptr_t(1) << 40), 0, uint64_t(elements));
    const hewn_buffer_binding inputs[] = {binding, binding};
    setenv("FAKE_CUDA", "launch", 1);
    EXPECT_EQ(hewn_execute(op.get(), inputs, 2, &binding, 1, nullptr, nullptr),
              HEWN_STATUS_DEVICE_FAILED);
    unsetenv("FAKE_CUDA");
    EXPECT_EQ(variable<unsigned>("fake_grid") * variable<unsigned>("fake_block"), (1u << 29) / 16);
}

// Two devices at the same time: the objects of each device are used and given back in that device's
// own context.
TEST_F(FakeCuda, TwoDevices) {
    DevicePtr devices[2];
    void *memory[2] = {};
    for (const uint32_t i : {0u, 1u}) {
        ASSERT_EQ(open(HEWN_DEVICE_CUDA, i, devices[i]).status, HEWN_STATUS_OK);
        ASSERT_EQ(hewn_allocate(devices[i].get(), 1024, &memory[i], nullptr), HEWN_STATUS_OK);
    }
    for (const uint32_t i : {0u, 1u}) {
        const Sum sum(devices[i].get(), 64);
        ASSERT_EQ(
            sum.run(at(memory[i], 0, 256), at(memory[i], 256, 256), at(memory[i], 512, 256)).status,
            HEWN_STATUS_OK);
        EXPECT_EQ(variable<uintptr_t>("fake_context"), PRIMARY_CONTEXT + i);
        EXPECT_EQ(hewn_synchronize(devices[i].get(), nullptr), HEWN_STATUS_OK);
        hewn_deallocate(devices[i].get(), memory[i]);
    }
    devices[1].reset();
    EXPECT_EQ(variable<int>("fake_contexts"), 1);
    EXPECT_EQ(hewn_synchronize(devices[0].get(), nullptr), HEWN_STATUS_OK)
        << "the other device's context was given back";
}

// Copies use the device's stream, and have happened when the call returns.
TEST_F(FakeCuda, Copies) {
    int stream = 0;
    for (void *const of_device : {static_cast<void *>(nullptr), static_cast<void *>(&stream)}) {
        DevicePtr device;
        ASSERT_EQ(create(OWN_CONTEXT, of_device, device).status, HEWN_STATUS_OK);
        void *memory = nullptr;
        ASSERT_EQ(hewn_allocate(device.get(), 64, &memory, nullptr), HEWN_STATUS_OK);
        int value = 42, back = 0;
        EXPECT_EQ(hewn_write(device.get(), memory, 8, &value, sizeof value, nullptr),
                  HEWN_STATUS_OK);
        EXPECT_EQ(variable<int>("fake_copies"), 0) << "a write is not waited for";
        value = 1;
        EXPECT_EQ(hewn_read(device.get(), memory, 8, &back, sizeof back, nullptr), HEWN_STATUS_OK);
        EXPECT_EQ(variable<int>("fake_copies"), 0) << "a read is not waited for";
        EXPECT_EQ(back, 42);
        hewn_deallocate(device.get(), memory);
    }
}

TEST_F(FakeCuda, OwnContextAndStream) {
    DevicePtr device;
    int stream = 0;
    EXPECT_TRUE(says(create(0, &stream, device), "the thread has no current one"));
    EXPECT_TRUE(says(create(reinterpret_cast<uintptr_t>(&stream), &stream, device),
                     "context is no context"));
    ASSERT_EQ(create(OWN_CONTEXT, &stream, device).status, HEWN_STATUS_OK);
    EXPECT_EQ(variable<int>("fake_contexts"), 0)
        << "the application's context is not retained as the primary one";
    void *memory = nullptr;
    ASSERT_EQ(hewn_allocate(device.get(), 1024, &memory, nullptr), HEWN_STATUS_OK);
    const Sum sum(device.get(), 64);
    ASSERT_EQ(sum.run(at(memory, 0, 256), at(memory, 256, 256), at(memory, 512, 256)).status,
              HEWN_STATUS_OK);
    EXPECT_EQ(variable<void *>("fake_stream"), &stream);
    EXPECT_EQ(variable<uintptr_t>("fake_context"), OWN_CONTEXT);
    variable<void *>("fake_synchronized") = nullptr;
    EXPECT_EQ(hewn_synchronize(device.get(), nullptr), HEWN_STATUS_OK);
    EXPECT_EQ(variable<void *>("fake_synchronized"), &stream);
    setenv("FAKE_CUDA", "host pointers", 1);
    const Outcome outcome = sum.run(at(memory, 0, 256), at(memory, 256, 256), at(memory, 512, 256));
    EXPECT_EQ(outcome.status, HEWN_STATUS_INVALID_BINDING);
    EXPECT_TRUE(says(outcome, "OutputTensor: the binding's buffer is not memory that CUDA knows"))
        << outcome;
    setenv("FAKE_CUDA", "launch", 1);
    const Outcome launch = sum.run(at(memory, 0, 256), at(memory, 256, 256), at(memory, 512, 256));
    EXPECT_EQ(launch.status, HEWN_STATUS_DEVICE_FAILED);
    EXPECT_TRUE(says(launch, "CUDA_ERROR_LAUNCH_FAILED")) << launch;
    EXPECT_EQ(hewn_synchronize(device.get(), nullptr), HEWN_STATUS_DEVICE_FAILED);
    unsetenv("FAKE_CUDA");
    hewn_deallocate(device.get(), memory);
}

// On a GPU that can access the program's pageable memory, an address that the driver does not know
// is not an error.
TEST_F(FakeCuda, PageableMemory) {
    float a[64] = {}, b[64] = {}, c[64];
    for (const auto &[mode, status] : {std::pair("host pointers", HEWN_STATUS_INVALID_BINDING),
                                       std::pair("pageable", HEWN_STATUS_OK)}) {
        DevicePtr device;
        setenv("FAKE_CUDA", mode, 1);
        ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
        const Sum sum(device.get(), 64);
        setenv("FAKE_CUDA", "host pointers", 1);
        const Outcome outcome = sum.run(at(a, 0, 256), at(b, 0, 256), at(c, 0, 256));
        EXPECT_EQ(outcome.status, status) << mode << ": " << outcome;
    }
}

// If the device's context cannot be entered, every function returns an error and calls no function
// of the driver in the context that happens to be current.
TEST_F(FakeCuda, LostContext) {
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    void *memory = nullptr, *other = this;
    ASSERT_EQ(hewn_allocate(device.get(), 1024, &memory, nullptr), HEWN_STATUS_OK);
    const Sum sum(device.get(), 64);
    const hewn_tensor_desc desc = sum.tensor.desc();
    const Description description(HEWN_OPERATOR_ADD, {desc, desc, desc});
    const int launches = variable<int>("fake_launches"),
              memory_count = variable<int>("fake_memory");
    float value = 1;
    const auto lost = [&](const char *what, const Outcome &outcome) {
        EXPECT_EQ(outcome.status, HEWN_STATUS_DEVICE_FAILED) << what;
        EXPECT_TRUE(says(outcome, "cuCtxPushCurrent failed: CUDA_ERROR_INVALID_CONTEXT"))
            << what << ": " << outcome;
    };
    const auto call = [&](const char *what, const auto &function) {
        lost(what, outcome_of([&](hewn_error *error) { return function(device.get(), error); }));
    };
    setenv("FAKE_CUDA", "context", 1);
    {
        OperatorPtr op;
        lost("compile", compile(description, nullptr, op, device.get()));
    }
    lost("execute", sum.run(at(memory, 0, 256), at(memory, 256, 256), at(memory, 512, 256)));
    call("allocate",
         [&](hewn_device *on, hewn_error *error) { return hewn_allocate(on, 64, &other, error); });
    call("write", [&](hewn_device *on, hewn_error *error) {
        return hewn_write(on, memory, 0, &value, 4, error);
    });
    call("read", [&](hewn_device *on, hewn_error *error) {
        return hewn_read(on, memory, 0, &value, 4, error);
    });
    call("synchronize",
         [](hewn_device *on, hewn_error *error) { return hewn_synchronize(on, error); });
    hewn_deallocate(device.get(), memory);
    unsetenv("FAKE_CUDA");
    EXPECT_EQ(other, this) << "a refused call wrote";
    EXPECT_EQ(variable<int>("fake_launches"), launches);
    ASSERT_EQ(variable<int>("fake_memory"), memory_count);
    hewn_deallocate(device.get(), memory);
}

TEST_F(FakeCuda, Failures) {
    DevicePtr device;
    const auto provoke = [&](const char *mode, hewn_status status, const std::string &text) {
        setenv("FAKE_CUDA", mode, 1);
        const Outcome outcome = open(HEWN_DEVICE_CUDA, HEWN_ANY_DEVICE, device);
        unsetenv("FAKE_CUDA");
        EXPECT_EQ(outcome.status, status) << mode;
        EXPECT_TRUE(says(outcome, text)) << outcome;
    };
    provoke("empty", HEWN_STATUS_NO_DEVICE, "the driver has no device");
    provoke("old device", HEWN_STATUS_NO_DEVICE, "lacks " + least_capability());
    provoke("memory", HEWN_STATUS_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY");
    EXPECT_EQ(variable<int>("fake_contexts"), 0) << "a failed device keeps its context";

    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    const Tensor tensor(HEWN_DATA_TYPE_FLOAT32, {4});
    const hewn_tensor_desc desc = tensor.desc();
    const Description description(HEWN_OPERATOR_ADD, {desc, desc, desc});
    OperatorPtr op;
    setenv("FAKE_CUDA", "old driver", 1);
    const Outcome outcome = compile(description, nullptr, op, device.get());
    EXPECT_EQ(outcome.status, HEWN_STATUS_NO_DEVICE);
    EXPECT_TRUE(says(outcome, "the driver is too old ptxas fatal: line 1 line 2")) << outcome;
    unsetenv("FAKE_CUDA");
    EXPECT_EQ(compile(description, nullptr, op, device.get()).status, HEWN_STATUS_OK)
        << "a failure is not remembered";
    void *memory = this;
    EXPECT_EQ(hewn_allocate(device.get(), uint64_t(9) << 30, &memory, nullptr),
              HEWN_STATUS_OUT_OF_MEMORY);
    EXPECT_EQ(memory, this) << "a refused call wrote";
    op.reset();
    device.reset();
    EXPECT_EQ(variable<int>("fake_contexts"), 0) << "a refused compile keeps the device";
}

// A quantization whose scale and zero point are constants.
struct WithConstants {
    const Tensor x{HEWN_DATA_TYPE_FLOAT32, {4}}, y{HEWN_DATA_TYPE_UINT8, {4}};
    const Spec scale{HEWN_DATA_TYPE_FLOAT32, {4}, {0}}, zero_point{HEWN_DATA_TYPE_UINT8, {4}, {0}};
    float scale_value = 0.5f;
    uint8_t zero_point_value = 3;
    OperatorPtr op;

    Outcome compiled(hewn_device *device) {
        const hewn_buffer_binding constants[] = {at(nullptr, 0, 0), at(&scale_value, 0, 4),
                                                 at(&zero_point_value, 0, 1)};
        hewn_compile_options options = compile_options();
        options.constants = constants;
        options.constant_count = 3;
        return compile(Description(HEWN_OPERATOR_QUANTIZE_LINEAR,
                                   {x.desc(), scale.desc(), zero_point.desc(), y.desc()}),
                       &options, op, device);
    }
    // Binds the operator to memory that holds the input and, from byte 64 on, the output.
    Outcome bound(void *memory, BoundOperatorPtr &result) const {
        const hewn_buffer_binding inputs[] = {at(memory, 0, 16), at(nullptr, 0, 0),
                                              at(nullptr, 0, 0)},
                                  output = at(memory, 64, 4);
        return bind_operator(op.get(), inputs, 3, &output, 1, nullptr, result);
    }
};

// Constants are in the device's memory, which the operator gives back, even if its compilation
// fails.
TEST_F(FakeCuda, Constants) {
    DevicePtr device;
    ASSERT_EQ(open(HEWN_DEVICE_CUDA, 0, device).status, HEWN_STATUS_OK);
    const int before = variable<int>("fake_memory");
    WithConstants quantize;
    for (const auto &[mode, status] :
         {std::pair<const char *, hewn_status>{"memory", HEWN_STATUS_OUT_OF_MEMORY},
          {"launch", HEWN_STATUS_DEVICE_FAILED},  // of the copy, which is waited for
          {"old driver", HEWN_STATUS_NO_DEVICE}}) {
        setenv("FAKE_CUDA", mode, 1);
        const Outcome outcome = quantize.compiled(device.get());
        unsetenv("FAKE_CUDA");
        EXPECT_EQ(outcome.status, status) << mode << ": " << outcome;
        EXPECT_EQ(variable<int>("fake_memory"), before) << mode;
    }
    ASSERT_EQ(quantize.compiled(device.get()).status, HEWN_STATUS_OK);
    EXPECT_EQ(variable<int>("fake_memory"), before + 1);
    quantize.op.reset();
    EXPECT_EQ(variable<int>("fake_memory"), before);
    device.reset();
    EXPECT_EQ(variable<int>("fake_contexts"), 0) << "a refused compile keeps the device";
}

// The run of a bound operator makes launches as an execution does, and reports when they fail.
TEST_F(FakeCuda, Bound) {
    bool fails = false;
    const hewn_cuda_device_desc desc = {
        sizeof desc,
        reinterpret_cast<void *>(OWN_CONTEXT),
        nullptr,
        [](void *context, size_t bytes, size_t) {
            return *static_cast<bool *>(context) ? nullptr : std::malloc(bytes);
        },
        [](void *, void *memory) { std::free(memory); },
        &fails};
    hewn_device *created = nullptr;
    ASSERT_EQ(hewn_create_cuda_device(&desc, &created, nullptr), HEWN_STATUS_OK);
    DevicePtr device(created);
    void *memory = nullptr;
    ASSERT_EQ(hewn_allocate(device.get(), 1024, &memory, nullptr), HEWN_STATUS_OK);
    WithConstants quantize;
    ASSERT_EQ(quantize.compiled(device.get()).status, HEWN_STATUS_OK);
    BoundOperatorPtr bound;
    fails = true;
    EXPECT_EQ(quantize.bound(memory, bound).status, HEWN_STATUS_OUT_OF_MEMORY);
    fails = false;
    ASSERT_EQ(quantize.bound(memory, bound).status, HEWN_STATUS_OK);
    const auto run = [&] {
        return outcome_of([&](hewn_error *error) { return hewn_run(bound.get(), error); });
    };
    const int launches = variable<int>("fake_launches");
    EXPECT_EQ(run().status, HEWN_STATUS_OK);
    EXPECT_GT(variable<int>("fake_launches"), launches);
    for (const char *mode : {"launch", "context"}) {
        setenv("FAKE_CUDA", mode, 1);
        EXPECT_EQ(run().status, HEWN_STATUS_DEVICE_FAILED) << mode;
        unsetenv("FAKE_CUDA");
    }
    EXPECT_EQ(run().status, HEWN_STATUS_OK);
    hewn_deallocate(device.get(), memory);
}

// Compile and the operator give back what they allocate through the program's hooks, even if the
// driver refuses a kernel.
TEST_F(FakeCuda, HooksAreBalanced) {
    int live = 0;
    const hewn_cuda_device_desc desc = {sizeof desc,
                                        reinterpret_cast<void *>(OWN_CONTEXT),
                                        nullptr,
                                        [](void *context, size_t bytes, size_t) {
                                            ++*static_cast<int *>(context);
                                            return std::malloc(bytes);
                                        },
                                        [](void *context, void *memory) {
                                            --*static_cast<int *>(context);
                                            std::free(memory);
                                        },
                                        &live};
    hewn_device *created = nullptr;
    ASSERT_EQ(hewn_create_cuda_device(&desc, &created, nullptr), HEWN_STATUS_OK);
    DevicePtr device(created);
    const Tensor tensor(HEWN_DATA_TYPE_FLOAT32, {4});
    const hewn_tensor_desc f32 = tensor.desc();
    const Description description(HEWN_OPERATOR_ADD, {f32, f32, f32});
    OperatorPtr op;
    const int before = live;
    setenv("FAKE_CUDA", "old driver", 1);
    EXPECT_EQ(compile(description, nullptr, op, device.get()).status, HEWN_STATUS_NO_DEVICE);
    unsetenv("FAKE_CUDA");
    EXPECT_EQ(live, before);
    EXPECT_EQ(compile(description, nullptr, op, device.get()).status, HEWN_STATUS_OK);
    EXPECT_GT(live, before);
    op.reset();
    device.reset();
    EXPECT_EQ(live, 0);
}

TEST_F(FakeCuda, EveryCallFails) {
    const int before = variable<int>("fake_memory");
    for (const bool lost : {false, true}) {
        // hewn leaves a context when all work is done, so it needs no status for that. It also
        // works without a device's name, memory and attributes.
        std::set<std::string> untold = {"cuCtxPopCurrent_v2"};
        if (!lost)
            untold.insert({"cuDeviceGetAttribute", "cuDeviceGetName", "cuDeviceTotalMem_v2"});
        fail_every_call(driver_, HEWN_DEVICE_CUDA, lost, untold, [&] {
            EXPECT_EQ(variable<int>("fake_memory"), before);
            EXPECT_EQ(variable<int>("fake_modules"), 0);
            EXPECT_EQ(variable<int>("fake_contexts"), 0);
        });
    }
}

// An execution and a run of a bound operator are captured in the program's graph. Nothing is
// launched during the capture, and everything whenever the graph is launched. On a real card the
// results are compared as well.
TEST(Cuda, Graph) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) GTEST_SKIP() << "no CUDA driver: libcuda.so.1 is not there";
    const int *launches = static_cast<int *>(dlsym(driver, "fake_launches"));
    const hewn_bench::Cuda cuda;
    const hewn_cuda_device_desc desc = {sizeof desc, cuda.context(), cuda.stream(),
                                        nullptr,     nullptr,        nullptr};
    hewn_device *created = nullptr;
    ASSERT_EQ(hewn_create_cuda_device(&desc, &created, nullptr), HEWN_STATUS_OK);
    const DevicePtr device(created);
    constexpr int64_t COUNT = 4096 + 3;  // takes a launch of each form
    constexpr uint64_t BYTES = COUNT * 4, NEXT = 32768;
    const Sum sum(created, COUNT);
    void *memory = nullptr;
    ASSERT_EQ(hewn_allocate(created, 3 * NEXT, &memory, nullptr), HEWN_STATUS_OK);
    const hewn_buffer_binding a = at(memory, 0, BYTES), b = at(memory, NEXT, BYTES),
                              c = at(memory, 2 * NEXT, BYTES), inputs[] = {a, c};
    // The graph computes c = a + b, then c = a + c.
    std::vector<float> values(COUNT);
    std::iota(values.begin(), values.end(), 0.0f);
    for (const hewn_buffer_binding &input : {a, b})
        ASSERT_EQ(hewn_write(created, memory, input.offset, values.data(), BYTES, nullptr),
                  HEWN_STATUS_OK);
    BoundOperatorPtr bound;
    ASSERT_EQ(bind_operator(sum.op.get(), inputs, 2, &c, 1, nullptr, bound).status, HEWN_STATUS_OK);
    const int before = launches ? *launches : 0;
    const hewn_bench::Cuda::Graph graph(cuda, [&] {
        EXPECT_EQ(sum.run(a, b, c).status, HEWN_STATUS_OK);
        EXPECT_EQ(hewn_run(bound.get(), nullptr), HEWN_STATUS_OK);
    });
    EXPECT_EQ(launches ? *launches : before, before);
    for (int i = 1; i <= 3; i++) {
        graph.launch();
        ASSERT_EQ(hewn_synchronize(created, nullptr), HEWN_STATUS_OK);
        EXPECT_EQ(launches ? *launches : before + 4 * i, before + 4 * i);
    }
    std::vector<float> result(COUNT);
    ASSERT_EQ(hewn_read(created, memory, c.offset, result.data(), BYTES, nullptr), HEWN_STATUS_OK);
    for (int64_t i = 0; i < COUNT && !launches; i++) ASSERT_EQ(result[size_t(i)], 3.0f * float(i));
    hewn_deallocate(created, memory);
}

// This test needs a process whose devices are too old from the start, because hewn looks for a
// machine's best device only once.
TEST(FakeCudaOfOldDevices, Targets) {
    const char *mode = std::getenv("FAKE_CUDA");
    if (!mode || std::string(mode) != "old device")
        GTEST_SKIP() << "not run with FAKE_CUDA='old device'";
    for (const hewn_target_info &target : targets()) {
        if (target.device != HEWN_DEVICE_CUDA) continue;
        EXPECT_EQ(target.supported, 0) << target.name;
        EXPECT_EQ(target.missing, capability_of(target.name));
    }
    // A device from the program's own context is refused as well, and the context is neither
    // retained nor released.
    hewn_device *device = nullptr;
    const hewn_cuda_device_desc desc = {sizeof desc, reinterpret_cast<void *>(uintptr_t(0x2000)),
                                        nullptr,     nullptr,
                                        nullptr,     nullptr};
    const Outcome outcome = outcome_of(
        [&](hewn_error *error) { return hewn_create_cuda_device(&desc, &device, error); });
    EXPECT_EQ(outcome.status, HEWN_STATUS_NO_DEVICE);
    EXPECT_TRUE(
        says(outcome, "the device has compute capability 7.0, hewn needs " + least_capability()))
        << outcome;
    EXPECT_EQ(*static_cast<int *>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_contexts")), 0);
}

// This test needs a process in which cuInit fails. FAKE_CUDA says so before the process starts.
TEST(FakeCudaWithoutDevice, Open) {
    const char *mode = std::getenv("FAKE_CUDA");
    if (!mode || std::string(mode) != "no device")
        GTEST_SKIP() << "not run with FAKE_CUDA='no device'";
    DevicePtr device;
    const Outcome outcome = open(HEWN_DEVICE_CUDA, 0, device);
    EXPECT_EQ(outcome.status, HEWN_STATUS_NO_DEVICE);
    EXPECT_TRUE(says(outcome, "cuInit failed: CUDA_ERROR_NO_DEVICE")) << outcome;
    hewn_device *created = untouched<hewn_device>();
    const hewn_cuda_device_desc desc = {sizeof desc, reinterpret_cast<void *>(uintptr_t(0x2000)),
                                        nullptr,     nullptr,
                                        nullptr,     nullptr};
    const Outcome own = outcome_of(
        [&](hewn_error *error) { return hewn_create_cuda_device(&desc, &created, error); });
    EXPECT_EQ(own.status, HEWN_STATUS_NO_DEVICE);
    EXPECT_TRUE(says(own, "cuInit failed: CUDA_ERROR_NO_DEVICE")) << own;
    EXPECT_EQ(created, untouched<hewn_device>());
}

}  // namespace
}  // namespace hewn_test
