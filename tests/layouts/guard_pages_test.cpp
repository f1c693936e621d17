// Tests that no variant reads or writes a byte outside its tensors. Each tensor begins or ends at a
// guard page, and an access to such a page faults. Only for POSIX systems.
#include <gtest/gtest.h>

#include <algorithm>
#include <csetjmp>
#include <csignal>

#include "../../reference/block_problems.h"
#include "../../reference/contents.h"
#include "../../reference/dynamic.h"
#include "../../reference/problems.h"
#include "../../reference/variants.h"
#include "../support/check.h"
#include "../support/execution.h"
#include "../support/mapping.h"
#include "../support/runnable.h"
#include "../support/variant_fixture.h"

namespace hewn_test {
namespace {

sigjmp_buf after_fault;
volatile sig_atomic_t expecting_fault = 0;

void on_fault(int signal) {
    if (expecting_fault) siglongjmp(after_fault, 1);
    std::signal(signal, SIG_DFL);  // not expected: the program ends
}

// Runs call() and says whether it faulted. The call must stay on this thread, because the handler
// runs on the thread that faults.
template<class Call>
bool faults(Call &&call) {
    struct sigaction action {
    }, old_segv, old_bus;
    action.sa_handler = on_fault;
    sigaction(SIGSEGV, &action, &old_segv);
    sigaction(SIGBUS, &action, &old_bus);
    volatile bool faulted = true;  // else undefined after the jump
    if (sigsetjmp(after_fault, 1) == 0) {
        expecting_fault = 1;
        call();
        faulted = false;
    }
    expecting_fault = 0;
    sigaction(SIGSEGV, &old_segv, nullptr);
    sigaction(SIGBUS, &old_bus, nullptr);
    return faulted;
}

class GuardPagesTest : public VariantTest {
protected:
    enum class Flush { begin, end };

    // Executes a problem whose tensors are all copied between guard pages: to the begin or to the
    // end.
    testing::AssertionResult run(Problem &problem, const hewn_operator *op, Flush flush) {
        const auto place = [&](size_t i, uint64_t bytes) {
            return flush == Flush::begin ? pages_[i].first(bytes) : pages_[i].last(bytes);
        };
        std::vector<hewn_buffer_binding> inputs;
        for (size_t i = 0; i < problem.inputs.size(); i++) {
            const Tensor &tensor = *problem.inputs[i];
            uint8_t *memory = place(i, tensor.bytes());
            std::memcpy(memory, tensor.data(), tensor.bytes());
            inputs.push_back({sizeof(hewn_buffer_binding), memory, 0, tensor.bytes()});
        }
        Tensor &output = problem.output;
        uint8_t *memory = place(problem.inputs.size(), output.bytes());
        std::memset(memory, SENTINEL, output.bytes());
        for (size_t i = 0; i < inputs.size(); i++) {
            if (!(problem.in_place >> i & 1)) continue;
            std::memcpy(memory, output.data(), output.bytes());
            inputs[i].buffer = memory;
        }
        const hewn_buffer_binding binding{sizeof(hewn_buffer_binding), memory, 0, output.bytes()};
        std::vector<uint8_t> expected = output.memory;
        evaluate_reference(problem, expected);

        Outcome outcome;
        if (faults([&] {
                outcome = outcome_of([&](hewn_error *error) {
                    return hewn_execute(op, inputs.data(), uint32_t(inputs.size()), &binding, 1,
                                        nullptr, error);
                });
            })) {
            return testing::AssertionFailure() << "an access outside a tensor that "
                                               << (flush == Flush::begin ? "begins" : "ends")
                                               << " at a guard page; " << describe(problem);
        }
        if (outcome.status != HEWN_STATUS_OK) return testing::AssertionFailure() << outcome;
        std::vector<uint8_t> actual = output.memory;
        std::memcpy(actual.data() + output.offset, memory, output.bytes());
        return output_equals(problem, expected, actual);
    }

    testing::AssertionResult run(Problem &problem) {
        const hewn_compile_options options = compile_options(GetParam().name.c_str(), 1);
        OperatorPtr op;
        const Outcome compiled = compile(problem.description(), &options, op);
        if (compiled.status != HEWN_STATUS_OK) return testing::AssertionFailure() << compiled;
        const testing::AssertionResult result = run(problem, op.get(), Flush::begin);
        return result ? run(problem, op.get(), Flush::end) : result;
    }

    // Whether all tensors are present and fit between the guard pages.
    static bool fits(const Problem &problem) {
        return problem.output.bytes() <= CAPACITY &&
               std::all_of(problem.inputs.begin(), problem.inputs.end(),
                           [](const auto &input) { return input && input->bytes() <= CAPACITY; });
    }

private:
    static constexpr size_t CAPACITY = 1 << 18;
    GuardedPages pages_[9] = {
        GuardedPages(CAPACITY), GuardedPages(CAPACITY), GuardedPages(CAPACITY),
        GuardedPages(CAPACITY), GuardedPages(CAPACITY), GuardedPages(CAPACITY),
        GuardedPages(CAPACITY), GuardedPages(CAPACITY), GuardedPages(CAPACITY)};
};

TEST_P(GuardPagesTest, DenseLengths) {
    const Variant &variant = GetParam();
    Random random = this->random();
    std::vector<std::vector<Layout>> layouts = {all_dense(variant.op()), per_tensor(variant.op())};
    for (const auto &layout : layouts) {
        // Enough elements for both forms of quantization.
        for (int64_t length = 1; length <= 520; length++) {
            Problem problem = make_problem(variant.op(), variant.types(), {length}, layout, random);
            for (const Scales scales : {Scales::ordinary, Scales::extraordinary}) {
                fill_inputs(problem, random, scales);
                ASSERT_TRUE(run(problem)) << "length " << length;
            }
            if (variant.op() != HEWN_OPERATOR_ADD) continue;
            problem.in_place = uint32_t(random.integer(1, 3));
            fill_inputs(problem, random);
            ASSERT_TRUE(run(problem)) << "length " << length;
        }
    }
}

// A scale and a zero point for each row, in boxes of many rows. The last box has fewer.
TEST_P(GuardPagesTest, ParametersOfRows) {
    const Variant &variant = GetParam();
    if (!facts(variant.op()).is_linear()) GTEST_SKIP() << "has no scale and zero point of its own";
    Random random = this->random();
    Problem problem = make_problem(variant.op(), variant.types(), {600, 100},
                                   {Layout::dense, Layout::per_row, Layout::per_row}, random);
    for (const Scales scales : {Scales::ordinary, Scales::extraordinary}) {
        fill_inputs(problem, random, scales);
        ASSERT_TRUE(run(problem));
    }
}

// Rows, parameters per axis, and operands that are gathered or scattered.
TEST_P(GuardPagesTest, RandomLayouts) {
    const Variant &variant = GetParam();
    Random random = this->random();
    for (int i = 0; i < 200; i++) {
        Problem problem = random_problem(variant.op(), variant.types(), random, 2000);
        if (element_count(problem.output.sizes) == 0 || !fits(problem)) continue;
        fill_inputs(problem, random);
        ASSERT_TRUE(run(problem)) << "layout " << i << " of HEWN_SEED=" << seed();
    }
}

// Sub-byte types. The last byte may have fewer elements than the others, and rows may begin within
// a byte.
TEST_P(GuardPagesTest, SubByteTypes) {
    const Variant &variant = GetParam();
    Random random = this->random();
    for (const DataTypes &types : variant.all_types()) {
        if (std::none_of(types.begin(), types.end(), sub_byte_bits_of)) continue;
        for (int64_t length = 1; length <= 140; length++) {
            Problem problem =
                make_problem(variant.op(), types, {length}, all_dense(variant.op()), random);
            fill_inputs(problem, random);
            ASSERT_TRUE(run(problem)) << "length " << length;
        }
        for (int i = 0; i < 40; i++) {
            Problem problem = random_problem(variant.op(), types, random, 2000);
            if (element_count(problem.output.sizes) == 0 || !fits(problem)) continue;
            fill_inputs(problem, random);
            ASSERT_TRUE(run(problem)) << "layout " << i << " of HEWN_SEED=" << seed();
        }
    }
}

// The passes of DYNAMIC_QUANTIZE_LINEAR over its input, by steps and by elements, and its small
// outputs.
TEST(GuardPages, DynamicQuantization) {
    const GuardedPages pages[4] = {GuardedPages(4096), GuardedPages(4096), GuardedPages(4096),
                                   GuardedPages(4096)};
    Random random("GuardPages.DynamicQuantization");
    for (const Variant &variant : variants_of("dynamic_quantize_linear")) {
        if (variant.device() != HEWN_DEVICE_CPU || !find_variant(variant.name)->supported) continue;
        for (int64_t length = 1; length <= 520; length++) {
            Dynamic problem({variant.types()[0], variant.types()[1]}, length);
            fill_normal(problem.input, random);
            const Images expected = expected_output(problem);
            const hewn_compile_options options = compile_options(variant.name.c_str(), 1);
            OperatorPtr op;
            ASSERT_EQ(compile(problem.description(), &options, op).status, HEWN_STATUS_OK);
            for (const bool begins : {true, false}) {
                const auto place = [&](size_t i, const Tensor &tensor) {
                    uint8_t *const memory =
                        begins ? pages[i].first(tensor.bytes()) : pages[i].last(tensor.bytes());
                    std::memcpy(memory, tensor.data(), tensor.bytes());
                    return hewn_buffer_binding{sizeof(hewn_buffer_binding), memory, 0,
                                               tensor.bytes()};
                };
                const hewn_buffer_binding input = place(3, problem.input);
                std::vector<hewn_buffer_binding> outputs;
                for (size_t i = 0; i < 3; i++) outputs.push_back(place(i, *problem.outputs()[i]));
                hewn_status status = -1;
                ASSERT_FALSE(faults([&] {
                    status = hewn_execute(op.get(), &input, 1, outputs.data(), 3, nullptr, nullptr);
                })) << variant
                    << ", length " << length;
                ASSERT_EQ(status, HEWN_STATUS_OK);
                for (size_t i = 0; i < 3; i++)
                    std::memcpy(problem.outputs()[i]->data(), outputs[i].buffer,
                                problem.outputs()[i]->bytes());
                ASSERT_EQ(problem.difference(expected), "") << variant << ", length " << length;
            }
        }
    }
}

// The forms `rows` and `largest`, and the blocks that they find the ranges of.
TEST(GuardPages, ChosenScales) {
    const GuardedPages pages[4] = {GuardedPages(65536), GuardedPages(65536), GuardedPages(65536),
                                   GuardedPages(65536)};
    Random random("GuardPages.ChosenScales");
    for (const Variant &variant : runnable_block_variants()) {
        for (int64_t length = 1; length <= 300; length++) {
            const int64_t rows = random.integer(1, 12), block = random.one_in(2) ? length : 16;
            BlockProblem problem = contiguous_blocks(variant.op(), variant.types(), {rows, length},
                                                     {1, block}, random);
            const auto expected = expected_output(problem);
            const hewn_compile_options options = compile_options(variant.name.c_str(), 1);
            OperatorPtr op;
            ASSERT_EQ(compile(problem.description(), &options, op).status, HEWN_STATUS_OK);
            for (const bool begins : {true, false}) {
                const auto place = [&](size_t i, const hewn_buffer_binding &given) {
                    hewn_buffer_binding placed = given;
                    if (!given.buffer) return placed;
                    uint8_t *const memory =
                        begins ? pages[i].first(given.size) : pages[i].last(given.size);
                    std::memcpy(memory, given.buffer, given.size);
                    placed.buffer = memory;
                    return placed;
                };
                std::vector<hewn_buffer_binding> inputs = problem.input_bindings(),
                                                 outputs = problem.bindings();
                inputs[0] = place(3, inputs[0]);
                for (size_t i = 0; i < outputs.size(); i++) outputs[i] = place(i, outputs[i]);
                hewn_status status = -1;
                ASSERT_FALSE(faults([&] {
                    status =
                        hewn_execute(op.get(), inputs.data(), uint32_t(inputs.size()),
                                     outputs.data(), uint32_t(outputs.size()), nullptr, nullptr);
                })) << variant
                    << ", length " << length;
                ASSERT_EQ(status, HEWN_STATUS_OK);
                for (size_t i = 0; i < problem.outputs().size(); i++)
                    std::memcpy(problem.outputs()[i]->data(), outputs[i].buffer,
                                problem.outputs()[i]->bytes());
                ASSERT_EQ(problem.difference(expected), "") << variant << ", length " << length;
            }
        }
    }
}

// A constant that is refused is not read: it has less memory than its description says.
TEST(GuardPages, RefusedConstants) {
    if (runnable_variants("quantize_linear", "f32_u8").empty())
        GTEST_SKIP() << "quantize_linear f32_u8: not in this build";
    const GuardedPages pages(4);
    const Spec x{HEWN_DATA_TYPE_FLOAT32, {4096}}, y{HEWN_DATA_TYPE_UINT8, {4096}};
    const hewn_buffer_binding none = {sizeof none, nullptr, 0, 0},
                              short_scale = {sizeof none, pages.last(4), 0, 4},
                              constants[] = {none, short_scale, none};
    hewn_compile_options options = compile_options();
    options.constants = constants;
    options.constant_count = 3;
    OperatorPtr op;
    Outcome outcome;
    ASSERT_FALSE(faults([&] {
        outcome = compile(Description(HEWN_OPERATOR_QUANTIZE_LINEAR,
                                      {x.desc(), x.desc(), std::nullopt, y.desc()}),
                          &options, op);
    }));
    EXPECT_EQ(outcome.status, HEWN_STATUS_INVALID_BINDING) << outcome;
}

// The guard pages themselves work.
TEST(GuardPages, CatchAnAccess) {
    const GuardedPages pages(100);
    volatile uint8_t *begin = pages.first(100), *end = pages.last(100) + 100;
    EXPECT_FALSE(faults([&] { begin[0] = end[-1]; }));
    EXPECT_TRUE(faults([&] { begin[-1] = 0; }));
    EXPECT_TRUE(faults([&] { begin[0] = end[0]; }));
}

INSTANTIATE_TEST_SUITE_P(, GuardPagesTest, testing::ValuesIn(built_variants()), variant_name);

}  // namespace
}  // namespace hewn_test
