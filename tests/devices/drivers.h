// Helpers for the tests of devices: opening a device, a sum to run on it, and fake drivers whose
// calls are made to fail one after the other.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "../../reference/problems.h"
#include "../support/check.h"
#include "../support/runnable.h"

namespace hewn_test {

inline Outcome open(hewn_device_kind kind, uint32_t index, DevicePtr &device) {
    hewn_device *opened = nullptr;
    const Outcome outcome = outcome_of(
        [&](hewn_error *error) { return hewn_open_device(kind, index, &opened, error); });
    EXPECT_EQ(outcome.status == HEWN_STATUS_OK, opened != nullptr) << outcome;
    device.reset(opened);
    return outcome;
}

// Whether the outcome's message contains `text`.
inline bool says(const Outcome &outcome, const std::string &text) {
    return outcome.message.find(text) != std::string::npos;
}

// A sum of `count` elements on `device`, ready to run.
struct Sum {
    Tensor tensor;
    OperatorPtr op;

    Sum(hewn_device *device, int64_t count, hewn_data_type type = HEWN_DATA_TYPE_FLOAT32)
        : tensor(type, {count}) {
        const hewn_tensor_desc desc = tensor.desc();
        const Description description(HEWN_OPERATOR_ADD, {desc, desc, desc});
        const Outcome outcome = compile(description, nullptr, op, device);
        EXPECT_EQ(outcome.status, HEWN_STATUS_OK) << outcome;
    }
    Outcome run(const hewn_buffer_binding &a, const hewn_buffer_binding &b,
                const hewn_buffer_binding &output) const {
        const hewn_buffer_binding inputs[] = {a, b};
        return outcome_of([&](hewn_error *error) {
            return hewn_execute(op.get(), inputs, 2, &output, 1, nullptr, error);
        });
    }
};

inline hewn_buffer_binding at(void *memory, uint64_t offset, uint64_t bytes) {
    return {sizeof(hewn_buffer_binding), memory, offset, bytes};
}

// ---- Drivers that fail: fake_*.c ----

// Makes calls of a fake driver fail: one call, or, on a device that is lost, that call and all
// after it. The driver is a fake_*.c, whose variables this class sets and reads.
class Faults {
public:
    explicit Faults(void *driver)
        : at_(variable(driver, "fake_fail_at")),
          calls_(variable(driver, "fake_calls")),
          lost_(variable(driver, "fake_lost")),
          failed_(*static_cast<const char **>(dlsym(driver, "fake_failed"))) {}
    ~Faults() { end(); }

    // From now on calls are counted from 1, and the one with the number `call` fails; 0: none
    // fails.
    void begin(int call, bool lost) {
        calls_ = 0;
        failed_ = nullptr;
        at_ = call;
        lost_ = lost;
    }
    // To be called when only functions without a status are left to call, which destroy objects.
    // Calls stop failing, unless the device was lost.
    void begin_end() {
        calls_with_status_ = calls_;
        at_ = lost_ ? at_ : 0;
    }
    void end() { at_ = lost_ = 0; }
    int calls() const { return calls_; }
    int calls_with_status() const { return calls_with_status_; }
    bool lost() const { return lost_; }
    // The function of the call that failed first; "" if no call failed.
    const char *failed() const { return failed_ ? failed_ : ""; }

private:
    static int &variable(void *driver, const char *name) {
        return *static_cast<int *>(dlsym(driver, name));
    }
    int &at_, &calls_, &lost_, calls_with_status_ = 0;
    const char *&failed_;
};

// Uses a device from opening it to reading back: a sum, executed and bound, then an operator whose
// input of a sub-byte type is converted first. `all` returns the status of the first step that
// fails.
class Run {
public:
    hewn_status all(hewn_device_kind kind, Faults &faults) {
        if (const Outcome outcome = open(kind, 0, device_); outcome.status) return outcome.status;
        hewn_status status = hewn_allocate(device_.get(), 1024, &memory_, nullptr);
        if (status) return status;
        for (const auto step : {&Run::write, &Run::compile_sum, &Run::execute, &Run::bind,
                                &Run::run_bound, &Run::unpack, &Run::synchronize, &Run::read})
            if (!status) status = (this->*step)();
        faults.begin_end();
        if (!faults.lost()) {
            EXPECT_EQ(synchronize(), HEWN_STATUS_OK) << "it stays unusable";
        }
        hewn_deallocate(device_.get(), memory_);
        return status;
    }
    float read_back(size_t i) const { return back_[i]; }

private:
    DevicePtr device_;
    OperatorPtr op_, unpacking_;
    BoundOperatorPtr bound_;
    void *memory_ = nullptr;
    const Tensor tensor_ = Tensor(HEWN_DATA_TYPE_FLOAT32, {64});
    float back_[64] = {};

    hewn_buffer_binding output() const { return at(memory_, 512, 256); }
    std::vector<hewn_buffer_binding> inputs() const {
        return {at(memory_, 0, 256), at(memory_, 256, 256)};
    }
    hewn_status write() {
        float values[64];
        std::iota(std::begin(values), std::end(values), 0.0f);
        return hewn_write(device_.get(), memory_, 0, values, sizeof values, nullptr);
    }
    hewn_status compile_sum() {
        const hewn_tensor_desc desc = tensor_.desc();
        return compile(Description(HEWN_OPERATOR_ADD, {desc, desc, desc}), nullptr, op_,
                       device_.get())
            .status;
    }
    hewn_status execute() {
        const hewn_buffer_binding to = output();
        return hewn_execute(op_.get(), inputs().data(), 2, &to, 1, nullptr, nullptr);
    }
    hewn_status bind() {
        const hewn_buffer_binding to = output();
        return bind_operator(op_.get(), inputs().data(), 2, &to, 1, nullptr, bound_).status;
    }
    hewn_status run_bound() { return hewn_run(bound_.get(), nullptr); }
    hewn_status unpack() {
        const Tensor packed(HEWN_DATA_TYPE_UINT4, {64}), scale(HEWN_DATA_TYPE_FLOAT32, {64}, {0});
        const Description description(HEWN_OPERATOR_DEQUANTIZE_LINEAR,
                                      {packed.desc(), scale.desc(), std::nullopt, tensor_.desc()});
        const hewn_status status = compile(description, nullptr, unpacking_, device_.get()).status;
        if (status == HEWN_STATUS_UNSUPPORTED) return HEWN_STATUS_OK;  // a build without the kernel
        if (status) return status;
        const hewn_buffer_binding to = output(), from[] = {at(memory_, 0, 32), at(memory_, 64, 4),
                                                           at(nullptr, 0, 0)};
        return hewn_execute(unpacking_.get(), from, 3, &to, 1, nullptr, nullptr);
    }
    hewn_status synchronize() { return hewn_synchronize(device_.get(), nullptr); }
    hewn_status read() {
        return hewn_read(device_.get(), memory_, 0, back_, sizeof back_, nullptr);
    }
};

inline hewn_status run_once(hewn_device_kind kind, Faults &faults) {
    return Run().all(kind, faults);
}

inline void expect_cpu_works() {
    const Sum sum(nullptr, 2);
    float a[] = {1, 2}, b[] = {3, 4}, c[2];
    EXPECT_EQ(sum.run(at(a, 0, 8), at(b, 0, 8), at(c, 0, 8)).status, HEWN_STATUS_OK);
    EXPECT_EQ(c[1], 6);
}

// Lets each call of the driver that can fail do so in turn. With `lost`, all calls after it fail
// too, and the calls that give objects back take their turn as well.
//
// Each time, a step must return a status, unless the function that failed is in `untold`. All that
// was taken must have been given back (`expect_clean`), and the device and the CPU must work again.
inline void fail_every_call(void *driver, hewn_device_kind kind, bool lost,
                            const std::set<std::string> &untold,
                            const std::function<void()> &expect_clean) {
    Faults faults(driver);
    faults.begin(0, false);
    ASSERT_EQ(run_once(kind, faults), HEWN_STATUS_OK);
    const int with_status = faults.calls_with_status(), all = lost ? faults.calls() : with_status;
    std::set<std::string> seen_untold;
    for (int call = 1; call <= all; call++) {
        faults.begin(call, lost);
        const hewn_status status = run_once(kind, faults);
        const std::string function = faults.failed();
        SCOPED_TRACE("call " + std::to_string(call) + ", " + function +
                     (lost ? ", and all after it fail" : ", fails"));
        faults.end();
        if (status == HEWN_STATUS_OK && call <= with_status) seen_untold.insert(function);
        EXPECT_NE(status, HEWN_STATUS_KERNEL_FAILED) << "hewn's own fault";
        expect_clean();
        Run again;
        EXPECT_EQ(again.all(kind, faults), HEWN_STATUS_OK);
        EXPECT_EQ(again.read_back(5), 5);
        expect_cpu_works();
    }
    EXPECT_EQ(seen_untold, untold) << "of " << all << " calls";
}

}  // namespace hewn_test
