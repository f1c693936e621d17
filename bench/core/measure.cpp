#include "measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "settle.h"

namespace hewn_bench {
namespace {

double now_ns() {
    using namespace std::chrono;
    return double(duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

// The nanoseconds that this many calls take together.
double timed(const Runner &run, int64_t calls) {
    const double start = now_ns();
    run(calls);
    return now_ns() - start;
}

// Runs at least `calls` calls that do not count, so that caches and pages are as this contender
// leaves them. With several threads, the first calls after a pause may wait for whole ticks (4 or 8
// ms), because the kernels of some virtual machines wake a thread on the CPU of the thread that
// wakes it. So contenders with several threads warm up for more than a few ticks.
void warm_up(const Runner &run, int64_t calls, int threads) {
    constexpr double kTicksNs = 20e6;
    const double start = now_ns();
    do run(calls);
    while (threads > 1 && now_ns() - start < kTicksNs);
}

// The number of calls that take about `sample_ns`.
int64_t calls_of_a_sample(const Runner &run, double sample_ns, int threads) {
    warm_up(run, 1, threads);
    for (int64_t calls = 1;;) {
        const double ns = std::max(timed(run, calls), 1.0);
        if (ns > sample_ns / 4)
            return std::max<int64_t>(1, int64_t(double(calls) * sample_ns / ns));
        calls = std::max(calls * 2, int64_t(double(calls) * sample_ns / ns / 3));
    }
}

// Takes a sample: the nanoseconds of one of these calls.
double sample(const Runner &run, int64_t calls, int threads) {
    warm_up(run, std::max<int64_t>(1, calls / 16), threads);
    return timed(run, calls) / double(calls);
}

double median(std::vector<double> values) {
    const size_t n = values.size();
    std::sort(values.begin(), values.end());
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace

double Samples::median_ns() const {
    std::vector<double> taken;
    for (const double ns : call_ns) {
        if (!std::isnan(ns)) taken.push_back(ns);
    }
    return median(taken);
}

void measure(std::vector<Samples *> contenders, int threads, const Effort &effort) {
    struct Plan {
        int64_t calls;
        int samples;
    };
    std::vector<Plan> plans;
    int rounds = 0;
    settle();
    for (const Samples *contender : contenders) {
        const int64_t calls = calls_of_a_sample(contender->run, effort.sample_ns, threads);
        const double ns = std::max(effort.sample_ns, calls == 1 ? timed(contender->run, 1) : 0);
        // Before each sample there is a call that does not count.
        const double cost = calls == 1 ? 2 * ns : ns;
        const int samples =
            std::clamp(int(effort.contender_ns / cost), effort.min_rounds, effort.max_rounds);
        plans.push_back({calls, samples});
        rounds = std::max(rounds, samples);
        if (threads > 1) settle();
    }
    // The first contender is hewn. It takes part in every round, because each ratio needs its
    // sample.
    plans[0].samples = rounds;
    for (Samples *contender : contenders)
        contender->call_ns.assign(size_t(rounds), std::numeric_limits<double>::quiet_NaN());
    // Each round has another order, because a contender leaves its data in the caches (or, with
    // streaming stores, does not), which must not always help the same successor.
    std::vector<size_t> order(contenders.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::mt19937 random(1);
    for (int round = 0; round < rounds; round++) {
        std::shuffle(order.begin(), order.end(), random);
        for (const size_t i : order) {
            const auto due = [&](int r) { return int64_t(r) * plans[i].samples / rounds; };
            if (due(round + 1) == due(round)) continue;
            contenders[i]->call_ns[size_t(round)] =
                sample(contenders[i]->run, plans[i].calls, threads);
            if (threads > 1) settle();
        }
    }
}

namespace {

// The quantile `q` of the sorted values, interpolated linearly between two of them.
double quantile(const std::vector<double> &sorted, double q) {
    const double at = q * double(sorted.size() - 1);
    const size_t below = size_t(at), above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - double(below)) * (sorted[above] - sorted[below]);
}

// The median, and its 95 % bootstrap interval.
Ratio median_interval(const std::vector<double> &values) {
    constexpr int kResamples = 2000;
    std::mt19937 random(0);
    std::uniform_int_distribution<size_t> draw(0, values.size() - 1);
    std::vector<double> medians, resample(values.size());
    for (int i = 0; i < kResamples; i++) {
        for (double &value : resample) value = values[draw(random)];
        medians.push_back(median(resample));
    }
    std::sort(medians.begin(), medians.end());
    return {median(values), quantile(medians, 0.025), quantile(medians, 0.975)};
}

}  // namespace

Ratio ratio(const Samples &numerator, const Samples &denominator) {
    std::vector<double> quotients;
    for (size_t i = 0; i < numerator.call_ns.size(); i++) {
        const double quotient = numerator.call_ns[i] / denominator.call_ns[i];
        if (!std::isnan(quotient)) quotients.push_back(quotient);
    }
    return median_interval(quotients);
}

double measure_alone(const Runner &run, const Effort &effort) {
    Samples samples{run, {}};
    measure({&samples}, 1, effort);
    return samples.median_ns();
}

}  // namespace hewn_bench
