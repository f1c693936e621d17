// Tests of the CPU device's allocator hooks: all memory that they give comes back, and if they give
// none, the call ends with a status.
#include <gtest/gtest.h>
#include <hewn/hewn.hpp>

#include <cstdlib>
#include <map>

#include "../../reference/contents.h"
#include "../../reference/problems.h"
#include "../../reference/variants.h"
#include "../support/check.h"
#include "../support/executors.h"
#include "../support/runnable.h"

namespace hewn_test {
namespace {

// Hooks that count allocations, check their alignment, and refuse the allocation number `fail_at`.
struct Heap {
    int allocations = 0, fail_at = -1;
    // The memory that was given, and the block that it lies in.
    std::map<void *, void *> live;

    static void *HEWN_CALL allocate(void *context, size_t bytes, size_t alignment) {
        auto *heap = static_cast<Heap *>(context);
        EXPECT_GT(bytes, 0u);
        // It is at least that of an int32_t, because nothing that the library keeps on the CPU
        // needs less.
        EXPECT_TRUE(alignment >= 4 && (alignment & (alignment - 1)) == 0 && alignment <= 64)
            << alignment;
        if (heap->allocations++ == heap->fail_at) return nullptr;
        // The memory is aligned to what was asked for, and to nothing more.
        void *block = std::malloc(bytes + 2 * alignment);
        const uintptr_t address = reinterpret_cast<uintptr_t>(block);
        uintptr_t aligned = (address + alignment - 1) / alignment * alignment;
        if (aligned / alignment % 2 == 0) aligned += alignment;
        void *memory = reinterpret_cast<void *>(aligned);
        std::memset(memory, SENTINEL, bytes);
        heap->live[memory] = block;
        return memory;
    }
    static void HEWN_CALL deallocate(void *context, void *memory) {
        auto *heap = static_cast<Heap *>(context);
        const auto found = heap->live.find(memory);
        ASSERT_NE(found, heap->live.end()) << "memory that was not given, or twice";
        std::free(found->second);
        heap->live.erase(found);
    }
    hewn_cpu_device_desc desc() {
        return {sizeof(hewn_cpu_device_desc), allocate, deallocate, this};
    }
    ~Heap() {
        for (const auto &[memory, block] : live) std::free(block);
    }
};

// Problems of every operator, in place and with scratch memory. One of them is planned twice,
// because its rows have too many scales.
std::vector<Problem> problems() {
    Random random("Allocator");
    std::vector<Problem> result;
    for (const OperatorFacts &known : all_operators()) {
        const std::vector<std::string> &signatures = runnable_signatures(known.name);
        if (signatures.empty()) continue;
        const hewn_operator_type op = known.type;
        const DataTypes types = operand_types(op, signatures.front());
        result.push_back(make_problem(op, types, {1000}, per_tensor(op), random));
        result.push_back(make_problem(
            op, types, {4, 30, 3, 5},
            std::vector<std::vector<int64_t>>(free_inputs(op).size(), {1, 4, 600, 120}),
            contiguous_strides({4, 30, 3, 5}), random));
        if (op != HEWN_OPERATOR_QUANTIZE_LINEAR) continue;
        result.push_back(make_problem(op, types, {50, 20}, {{40, 2}, {1, 0}, {1, 0}},
                                      contiguous_strides({50, 20}), random));
    }
    for (Problem &problem : result) fill_inputs(problem, random);
    return result;
}

DevicePtr create(Heap &heap, Outcome &outcome) {
    hewn_device *device = nullptr;
    const hewn_cpu_device_desc desc = heap.desc();
    outcome = outcome_of(
        [&](hewn_error *error) { return hewn_create_cpu_device(&desc, &device, error); });
    EXPECT_EQ(device != nullptr, outcome.status == HEWN_STATUS_OK);
    return DevicePtr(device);
}

TEST(Allocator, GivesMemoryForBindings) {
    Heap heap;
    Outcome outcome;
    {
        const DevicePtr device = create(heap, outcome);
        ASSERT_NE(device, nullptr) << outcome;
        // The hooks are never asked for 0 bytes, also if the caller asks for 0.
        for (const uint64_t bytes : {0, 1, 1000}) {
            const int before = heap.allocations;
            void *memory = nullptr;
            outcome = outcome_of([&](hewn_error *error) {
                return hewn_allocate(device.get(), bytes, &memory, error);
            });
            ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
            EXPECT_EQ(heap.allocations, before + 1);
            EXPECT_EQ(heap.live.count(memory), 1u) << "not the device's memory";
            EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
            hewn_deallocate(device.get(), memory);
            EXPECT_EQ(heap.live.count(memory), 0u);
        }
        heap.fail_at = heap.allocations;
        void *memory = untouched<void>();
        outcome = outcome_of(
            [&](hewn_error *error) { return hewn_allocate(device.get(), 64, &memory, error); });
        EXPECT_EQ(outcome.status, HEWN_STATUS_OUT_OF_MEMORY) << outcome;
        EXPECT_EQ(memory, untouched<void>());
    }
    EXPECT_TRUE(heap.live.empty());
}

TEST(Allocator, IsUsedAndBalanced) {
    for (Problem &problem : problems()) {
        Heap heap;
        {
            Outcome outcome;
            DevicePtr device = create(heap, outcome);
            ASSERT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
            const hewn_compile_options options = compile_options(nullptr, 1);
            OperatorPtr op;
            ASSERT_EQ(compile(problem.description(), &options, op, device.get()).status,
                      HEWN_STATUS_OK);
            EXPECT_GT(heap.allocations, 0) << "the hooks were not called";
            const int compiled = heap.allocations;
            device.reset();  // operators outlive their device
            std::vector<uint8_t> expected = problem.output.memory;
            evaluate_reference(problem, expected);
            const std::vector<hewn_buffer_binding> inputs = problem.bindings();
            const hewn_buffer_binding output = problem.output.binding();
            ASSERT_EQ(hewn_execute(op.get(), inputs.data(), uint32_t(inputs.size()), &output, 1,
                                   nullptr, nullptr),
                      HEWN_STATUS_OK);
            EXPECT_TRUE(output_equals(problem, expected, problem.output.memory));
            EXPECT_EQ(heap.allocations, compiled) << "execute allocated";
            BoundOperatorPtr bound;
            ASSERT_EQ(bind_operator(op.get(), inputs.data(), uint32_t(inputs.size()), &output, 1,
                                    nullptr, bound)
                          .status,
                      HEWN_STATUS_OK);
            EXPECT_EQ(heap.allocations, compiled + 1)
                << "the bound operator is not in the device's memory";
            ASSERT_EQ(hewn_run(bound.get(), nullptr), HEWN_STATUS_OK);
            EXPECT_EQ(heap.allocations, compiled + 1) << "a run allocated";
        }
        EXPECT_TRUE(heap.live.empty()) << heap.live.size() << " blocks were not given back";
    }
}

TEST(Allocator, EachFailureIsAStatus) {
    for (Problem &problem : problems()) {
        int failures = 0;
        for (;; failures++) {
            ASSERT_LT(failures, 1000);
            Heap heap;
            heap.fail_at = failures;
            Outcome outcome;
            {
                const DevicePtr device = create(heap, outcome);
                if (outcome.status == HEWN_STATUS_OK) {
                    const Constants constants(problem);
                    const hewn_compile_options options =
                        constants.added_to(compile_options(nullptr, 1));
                    OperatorPtr op;
                    outcome = compile(problem.description(), &options, op, device.get());
                    BoundOperatorPtr bound;
                    std::vector<hewn_buffer_binding> inputs = problem.bindings();
                    for (size_t i = 0; i < inputs.size(); i++) {
                        if (constants.mask >> i & 1)
                            inputs[i] = {sizeof(hewn_buffer_binding), nullptr, 0, 0};
                    }
                    const hewn_buffer_binding output = problem.output.binding();
                    if (outcome.status == HEWN_STATUS_OK)
                        outcome = bind_operator(op.get(), inputs.data(), uint32_t(inputs.size()),
                                                &output, 1, nullptr, bound);
                }
            }
            EXPECT_TRUE(heap.live.empty())
                << "failing allocation " << failures << " leaked " << heap.live.size();
            if (outcome.status == HEWN_STATUS_OK) break;  // there are fewer allocations
            EXPECT_EQ(outcome.status, HEWN_STATUS_OUT_OF_MEMORY) << outcome;
        }
        EXPECT_GT(failures, 0);
    }
}

// The objects of hewn.hpp give back their memory when they are destroyed, and not before.
TEST(Allocator, ObjectsOfTheCppLayerGiveItBack) {
    if (runnable_variants("add", "f32").empty()) GTEST_SKIP() << "not in this build";
    Heap heap;
    {
        const hewn::TensorDesc f32 = {hewn::DataType::FLOAT32, {4}};
        const hewn::Device device(heap.desc());
        const hewn::Operator add = hewn::compile(hewn::AddDesc{f32, f32, f32}, {}, &device);
        const hewn::DeviceMemory memory(device, 16);
        EXPECT_EQ(heap.live.size(), 3u);
    }
    EXPECT_TRUE(heap.live.empty());
}

// A compile that is refused gives back its memory.
TEST(Allocator, RefusedCompileLeaksNothing) {
    Heap heap;
    {
        Outcome outcome;
        const DevicePtr device = create(heap, outcome);
        ASSERT_EQ(outcome.status, HEWN_STATUS_OK);
        for (Problem &problem : problems()) {
            const hewn_compile_options options = compile_options("no such variant");
            OperatorPtr op;
            EXPECT_EQ(compile(problem.description(), &options, op, device.get()).status,
                      HEWN_STATUS_NO_VARIANT);
        }
    }
    EXPECT_TRUE(heap.live.empty());
}

}  // namespace
}  // namespace hewn_test
