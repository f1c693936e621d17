// Tests of bench/run.sh --busy, which keeps the other CPU of the core busy.
#include "../../bench/core/busy.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <stdexcept>
#include <string>

namespace {

TEST(BusyNeighbour, FindsTheOtherCpuInLinuxsList) {
    using hewn_bench::other_cpu;
    EXPECT_EQ(other_cpu("0,64", 0), 64);
    EXPECT_EQ(other_cpu("0,64", 64), 0);
    EXPECT_EQ(other_cpu("2-3", 2), 3);
    EXPECT_EQ(other_cpu("2-3", 3), 2);
    EXPECT_EQ(other_cpu("0-1,8-9", 0), 1);
    EXPECT_EQ(other_cpu("5", 5), -1);
    EXPECT_EQ(other_cpu("", 0), -1);
}

TEST(BusyNeighbour, SpinsBesideThisThreadOrIsRefused) {
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    try {
        const hewn_bench::BusyNeighbour neighbour;
        cpu_set_t own;
        ASSERT_EQ(sched_getaffinity(0, sizeof own, &own), 0);
        EXPECT_EQ(CPU_COUNT(&own), 1);
        EXPECT_TRUE(CPU_ISSET(sched_getcpu(), &own));
        EXPECT_NE(neighbour.cpu(), sched_getcpu());
    } catch (const std::runtime_error &error) {
        const std::string message = error.what();
        EXPECT_TRUE(message.find("has no other CPU") != std::string::npos ||
                    message.find("may not run on CPU") != std::string::npos)
            << message;
    }
    cpu_set_t after;
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&allowed, &after));
}

}  // namespace
