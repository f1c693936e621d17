// Tests which variant an operator runs on: the one that dispatch picks, or one that is forced, by
// the options of compile or by the environment's HEWN_VARIANT. Names that cannot be forced are
// errors.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "../../reference/problems.h"
#include "../../reference/variants.h"
#include "../support/execution.h"
#include "../support/runnable.h"

namespace hewn_test {
namespace {

// Sets the environment's HEWN_VARIANT for one scope, or unsets it if `value` is null.
class Environment {
public:
    explicit Environment(const char *value) {
        if (const char *old = std::getenv("HEWN_VARIANT")) old_ = old;
        set(value);
    }
    ~Environment() { set(old_ ? old_->c_str() : nullptr); }

private:
    static void set(const char *value) {
#if defined(_WIN32)
        _putenv_s("HEWN_VARIANT", value ? value : "");
#else
        if (value) setenv("HEWN_VARIANT", value, 1);
        else unsetenv("HEWN_VARIANT");
#endif
    }
    std::optional<std::string> old_;
};

class Forcing : public testing::Test {
protected:
    // Compiles ADD f32.
    Outcome add(const char *variant) {
        const hewn_compile_options options = compile_options(variant);
        const int64_t size = 4;
        const hewn_tensor_desc tensor{sizeof tensor, HEWN_DATA_TYPE_FLOAT32, 1, &size, nullptr,
                                      nullptr};
        return compile(Description(HEWN_OPERATOR_ADD, {tensor, tensor, tensor}), &options, op);
    }
    std::string ran() const { return hewn_operator_variant(op.get()); }
    // The variant of ADD f32 that runs on `target`.
    static std::string on(const std::string &target) { return "add_f32__" + target; }

    Environment no_environment{nullptr};
    OperatorPtr op;
};

TEST_F(Forcing, ListsAreComplete) {
    std::set<std::string> built, listed;
    for (const Variant &variant : listed_variants()) built.insert(variant.name);
    for (uint32_t i = 0; i < hewn_variant_count(); i++) {
        hewn_variant_info info{};
        info.struct_size = sizeof info;
        ASSERT_EQ(hewn_get_variant(i, &info), HEWN_STATUS_OK);
        EXPECT_EQ(info.name,
                  std::string(info.operator_name) + "_" + info.signature + "__" + info.target);
        EXPECT_TRUE(listed.insert(info.name).second) << info.name << " is listed twice";
    }
    EXPECT_EQ(built, listed);
    hewn_variant_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(hewn_get_variant(hewn_variant_count(), &info), HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(hewn_get_variant(UINT32_MAX, &info), HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(hewn_get_variant(0, nullptr), HEWN_STATUS_INVALID_ARGUMENT);
    info.struct_size = 8;
    EXPECT_EQ(hewn_get_variant(0, &info), HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(info.name, nullptr) << "a refused call wrote its result";
}

TEST_F(Forcing, ShorterStructsAreRefused) {
    hewn_target_info target{};
    target.struct_size = offsetof(hewn_target_info, device);
    EXPECT_EQ(hewn_get_target(0, &target), HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(target.name, nullptr) << "a refused call wrote its result";
    hewn_variant_info variant{};
    variant.struct_size = offsetof(hewn_variant_info, device);
    EXPECT_EQ(hewn_get_variant(0, &variant), HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(variant.name, nullptr) << "a refused call wrote its result";
}

TEST_F(Forcing, TargetsAscendInPriority) {
    ASSERT_GT(hewn_target_count(), 0u);
    const auto all = targets();
    ASSERT_EQ(all.size(), hewn_target_count());
    for (size_t i = 0; i < all.size(); i++) {
        EXPECT_EQ(all[i].supported == 1, all[i].missing[0] == '\0') << all[i].name;
        EXPECT_NE(all[i].halide_target[0], '\0');
        EXPECT_TRUE(i == 0 || all[i - 1].priority < all[i].priority) << all[i].name;
    }
    hewn_target_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(hewn_get_target(hewn_target_count(), &info), HEWN_STATUS_INVALID_ARGUMENT);
    EXPECT_EQ(hewn_get_target(0, nullptr), HEWN_STATUS_INVALID_ARGUMENT);
    info.struct_size = 8;
    EXPECT_EQ(hewn_get_target(0, &info), HEWN_STATUS_INVALID_ARGUMENT);
}

#if defined(__linux__) && defined(__x86_64__)
// A target runs here exactly if the system names the features that it needs, by Linux's words for
// them. If the library no longer recognized a target, the other tests would only skip it.
TEST_F(Forcing, TargetsRunWhereTheirFeaturesAre) {
    const std::string sse41 = "sse4_1", avx2 = sse41 + " avx avx2 fma bmi2 f16c",
                      avx512 = avx2 + " bmi1 avx512f avx512cd avx512vl avx512dq avx512bw",
                      vnni = avx512 + " avx512_vnni", fp16 = avx512 + " avx512_fp16";
    const std::map<std::string, std::string> needs = {{"x86_64_sse41", sse41},
                                                      {"x86_64_avx2", avx2},
                                                      {"x86_64_avx512", avx512},
                                                      {"x86_64_avx512_vnni", vnni},
                                                      {"x86_64_avx512_fp16", fp16}};
    std::ifstream cpuinfo("/proc/cpuinfo");
    std::string line;
    while (std::getline(cpuinfo, line) && line.rfind("flags", 0) != 0) {
    }
    std::istringstream words(line);
    const std::set<std::string> flags{std::istream_iterator<std::string>(words), {}};
    if (flags.count("fpu") == 0) GTEST_SKIP() << "/proc/cpuinfo has no flags";
    for (const hewn_target_info &target : targets()) {
        if (target.device != HEWN_DEVICE_CPU) continue;
        ASSERT_EQ(needs.count(target.name), 1u) << target.name << ": write down what it needs";
        std::istringstream needed(needs.at(target.name));
        bool runs = true;
        for (std::string flag; needed >> flag;) runs &= flags.count(flag) > 0;
        EXPECT_EQ(target.supported == 1, runs)
            << target.name << " lacks '" << target.missing << "'";
    }
}
#endif

// Whether this chip runs AVX-512's vectors in halves. It is a Zen 4 then.
bool runs_in_halves() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_is("amdfam19h");
#else
    return false;
#endif
}

// Exactly one variant of each kernel is picked: of those that run here, the one with the highest
// priority that counts on this chip.
TEST_F(Forcing, PicksTheHighestPriority) {
    std::map<std::string, int32_t> priority;
    for (const auto &target : targets()) priority[target.name] = target.priority;
    const auto counts = [&](const std::string &kernel, const std::string &target) {
        const int64_t in_halves = plan_knobs().at(kernel + "__" + target).at("priority_in_halves");
        return in_halves > 0 && runs_in_halves() ? in_halves : priority[target];
    };
    std::map<std::string, std::string> picked, best;
    for (uint32_t i = 0; i < hewn_variant_count(); i++) {
        hewn_variant_info info{};
        info.struct_size = sizeof info;
        ASSERT_EQ(hewn_get_variant(i, &info), HEWN_STATUS_OK);
        if (info.device != HEWN_DEVICE_CPU) continue;
        const std::string kernel = std::string(info.operator_name) + "_" + info.signature;
        if (info.supported &&
            (best[kernel].empty() || counts(kernel, info.target) > counts(kernel, best[kernel])))
            best[kernel] = info.target;
        if (info.picked) {
            EXPECT_TRUE(picked.emplace(kernel, info.target).second) << kernel << " is picked twice";
        }
    }
    EXPECT_EQ(picked, best);
    ASSERT_EQ(add(nullptr).status, HEWN_STATUS_OK);
    EXPECT_EQ(ran(), on(best["add_f32"]));
    ASSERT_EQ(add("").status, HEWN_STATUS_OK) << "an empty name forces nothing";
    EXPECT_EQ(ran(), on(best["add_f32"]));
}

TEST_F(Forcing, TargetAndVariantNames) {
    for (const std::string &variant : runnable_variants("add", "f32")) {
        for (const char *name : {find_variant(variant)->target, variant.c_str()}) {
            ASSERT_EQ(add(name).status, HEWN_STATUS_OK) << name;
            EXPECT_EQ(ran(), variant);
        }
    }
}

// The name of a target applies to every operator. If the target leaves a kernel to the ones below
// it (`only` in lists/targets.py), that is no error. It is one if no target has the kernel, also if
// this build was told to leave it out.
TEST_F(Forcing, TargetNamesApplyToEveryOperator) {
    std::set<std::pair<std::string, std::string>> kernels = {{"add", "f16"}, {"add", "i64"}};
    for (const Variant &variant : all_variants())
        kernels.emplace(variant.operator_name, variant.signature);
    Random random("Forcing.TargetNames");
    for (const auto &[operator_name, signature] : kernels) {
        const hewn_operator_type type = parse_operator(operator_name);
        const Problem problem = random_problem(type, operand_types(type, signature), random, 100);
        const std::string kernel = operator_name + "_" + signature;
        std::string expected;
        for (const auto &target : targets()) {  // in ascending priority
            if (target.device != HEWN_DEVICE_CPU || !target.supported) continue;
            if (find_variant(kernel + "__" + target.name)) expected = kernel + "__" + target.name;
            const Environment environment(target.name);
            const Outcome outcome = compile(problem.description(), nullptr, op);
            if (expected.empty()) {
                EXPECT_EQ(outcome.status, HEWN_STATUS_NO_VARIANT) << target.name << " " << kernel;
                EXPECT_NE(outcome.message.find(target.name), std::string::npos) << outcome;
                EXPECT_NE(outcome.message.find("no kernel " + kernel), std::string::npos)
                    << outcome;
            } else {
                EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
                EXPECT_EQ(ran(), expected) << target.name;
            }
        }
    }
}

TEST_F(Forcing, EnvironmentForcesWhatOptionsLeaveOpen) {
    const auto variants = runnable_variants("add", "f32");
    for (const std::string &variant : variants) {
        const Environment environment(find_variant(variant)->target);
        for (const char *open : {static_cast<const char *>(nullptr), ""}) {
            ASSERT_EQ(add(open).status, HEWN_STATUS_OK);
            EXPECT_EQ(ran(), variant);
        }
        // Options come before the environment.
        ASSERT_EQ(add(find_variant(variants.back())->target).status, HEWN_STATUS_OK);
        EXPECT_EQ(ran(), variants.back());
    }
    {
        const Environment empty("");
        EXPECT_EQ(add(nullptr).status, HEWN_STATUS_OK) << "an empty name forces nothing";
    }
    const Environment unknown("x86_64_mmx");
    const Outcome outcome = add(nullptr);
    EXPECT_EQ(outcome.status, HEWN_STATUS_NO_VARIANT);
    EXPECT_NE(outcome.message.find("x86_64_mmx"), std::string::npos) << outcome;
    EXPECT_NE(outcome.message.find("its targets: " + std::string(targets()[0].name)),
              std::string::npos)
        << outcome;
    EXPECT_NE(outcome.message.find("HEWN_VARIANT"), std::string::npos) << outcome;
    const Outcome by_option = add("x86_64_mmx");
    EXPECT_EQ(by_option.message.find("HEWN_VARIANT"), std::string::npos) << by_option;
}

// Messages are one line of UTF-8, whatever they quote, and end before a character for which there
// is no room. outcome_of() checks all messages.
TEST_F(Forcing, MessagesArePlainText) {
    const auto quotes = [&](const std::string &variant, const std::string &as) {
        const Outcome outcome = add(variant.c_str());
        EXPECT_EQ(outcome.status, HEWN_STATUS_NO_VARIANT);
        EXPECT_NE(outcome.message.find(as), std::string::npos) << outcome;
    };
    quotes("x86_64_\r\nmmx", "x86_64_  mmx");
    quotes("\x1b[31mred\x7f", " [31mred ");
    quotes("\xc2\x80|\xc2\x9f|\xc2\xa0", "  |  |\xc2\xa0");
    quotes("caf\xe9", "caf?");
    quotes("\xed\xa0\x80|\xc0\xaf|\xf4\x90\x80\x80|\xe2\x82", "???|??|????|??");
    for (const char *character : {"a", "\xc3\xa9", "\xe6\xbc\xa2", "\xf0\x9f\x98\x80",
                                  "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
        for (size_t before = 0; before < 4; before++) {
            std::string variant(before, 'x');
            while (variant.size() < 300) variant += character;
            const Outcome outcome = add(variant.c_str());
            EXPECT_EQ(outcome.message.find('?'), std::string::npos) << outcome;
            EXPECT_GT(outcome.message.size() + std::strlen(character), size_t(255)) << outcome;
        }
    }
}

// `picked` says what compile takes if nothing is forced. It does not depend on the environment.
TEST_F(Forcing, EnvironmentDoesNotChangePicked) {
    const auto picked = [] {
        std::vector<int32_t> flags;
        for (const Variant &variant : built_variants())
            flags.push_back(find_variant(variant.name)->picked);
        return flags;
    };
    const auto before = picked();
    const Environment environment("x86_64_sse41");
    EXPECT_EQ(picked(), before);
}

TEST_F(Forcing, Unknown) {
    for (const char *name : {"x86_64_mmx", "x86_64_sse4", "x86_64_sse411", "X86_64_SSE41",
                             "add_f32", "add_f32__", "add_f33__x86_64_sse41", "nonsense"}) {
        const Outcome outcome = add(name);
        EXPECT_EQ(outcome.status, HEWN_STATUS_NO_VARIANT) << name;
        EXPECT_NE(outcome.message.find(name), std::string::npos) << outcome;
    }
    // Far longer than the message.
    EXPECT_EQ(add(std::string(10000, 'x').c_str()).status, HEWN_STATUS_NO_VARIANT);
}

// The name that is suggested for a mistyped one can be forced: it is a target, or a variant of this
// kernel and of this device.
TEST_F(Forcing, SuggestsTheNearest) {
    for (const auto &target : targets()) {
        if (target.device != HEWN_DEVICE_CPU || !find_variant(on(target.name))) continue;
        for (const std::string &name : {std::string(target.name), on(target.name)}) {
            std::string mistyped = name;
            mistyped.insert(4, "y");
            const Outcome outcome = add(mistyped.c_str());
            EXPECT_NE(outcome.message.find("did you mean " + name + "?"), std::string::npos)
                << outcome;
        }
    }
    const Outcome outcome = add("nonsense");
    EXPECT_EQ(outcome.message.find("did you mean"), std::string::npos) << outcome;
    EXPECT_NE(outcome.message.find(targets()[0].name), std::string::npos) << outcome;
}

// To force a variant of another kernel is an error. It is not ignored.
TEST_F(Forcing, NotFitting) {
    for (const Variant &variant : built_variants()) {
        if (variant.operator_name == "add" && variant.signature == "f32") continue;
        const Outcome outcome = add(variant.name.c_str());
        EXPECT_EQ(outcome.status, HEWN_STATUS_NO_VARIANT) << variant.name;
        EXPECT_NE(outcome.message.find(variant.name), std::string::npos) << outcome;
    }
}

// A target that this machine cannot run is refused, with the feature that the machine lacks. With
// qemu-x86_64 there is always such a target.
TEST_F(Forcing, NotRunnable) {
    size_t refused = 0;
    for (const auto &target : targets()) {
        if (target.supported || target.device != HEWN_DEVICE_CPU) continue;
        refused++;
        const Outcome outcome = add(target.name);
        EXPECT_EQ(outcome.status, HEWN_STATUS_NO_VARIANT) << target.name;
        EXPECT_NE(outcome.message.find(target.missing), std::string::npos) << outcome;
    }
    if (refused == 0) GTEST_SKIP() << "this machine runs every target of this build";
}

// The CPU never takes a GPU's variant, whether there is a GPU or not.
TEST_F(Forcing, AnotherDevices) {
    for (const auto &target : targets()) {
        if (target.device == HEWN_DEVICE_CPU) continue;
        const Outcome outcome = add(target.name);
        EXPECT_EQ(outcome.status, HEWN_STATUS_NO_VARIANT) << target.name;
        EXPECT_NE(outcome.message.find("the device is the CPU"), std::string::npos) << outcome;
    }
}

}  // namespace
}  // namespace hewn_test
