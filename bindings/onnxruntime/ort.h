// Calls ONNX Runtime's functions. It turns ONNX Runtime's statuses into C++'s exceptions, and,
// where ONNX Runtime calls the provider, exceptions into statuses.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "onnxruntime_abi.h"

namespace hewn_ort {

// The oldest version of the API that has all functions that are called here: those for kernels of
// plugins, and those that read shapes without an allocation.
constexpr uint32_t kApiVersion = 24;
constexpr const char *kProviderName = "HewnExecutionProvider";

// An error of the provider or of ONNX Runtime.
class Failure : public std::exception {
public:
    explicit Failure(std::string message, OrtErrorCode code = ORT_FAIL)
        : message_(std::move(message)), code_(code) {}
    const char *what() const noexcept override { return message_.c_str(); }
    OrtErrorCode code() const { return code_; }

private:
    std::string message_;
    OrtErrorCode code_;
};

// ONNX Runtime's functions. ort(&OrtApi::GetTensorData, value, &data) calls one of them, and throws
// Failure if it returns an error.
class Ort {
public:
    const OrtApi &api;
    const OrtEpApi &ep;

    explicit Ort(const OrtApi &table) : api(table), ep(*table.GetEpApi()) {}

    template<class Function, class... Arguments>
    void operator()(Function OrtApi::*function, Arguments... arguments) const {
        check((api.*function)(arguments...));
    }
    template<class Function, class... Arguments>
    void operator()(Function OrtEpApi::*function, Arguments... arguments) const {
        check((ep.*function)(arguments...));
    }
    // Calls a function, and returns the value that it writes through its last parameter.
    template<class Value, class Function, class Table, class... Arguments>
    Value get(Function Table::*function, Arguments... arguments) const {
        Value value{};
        (*this)(function, arguments..., &value);
        return value;
    }
    // The same, but returns nothing if the function fails, as it does for something absent.
    template<class Value, class Function, class... Arguments>
    std::optional<Value> find(Function OrtApi::*function, Arguments... arguments) const {
        Value value{};
        OrtStatus *const absent = (api.*function)(arguments..., &value);
        if (!absent) return value;
        api.ReleaseStatus(absent);
        return {};
    }
    // Calls function(), and returns a status. For functions that ONNX Runtime calls: no exception
    // leaves them.
    template<class Function>
    OrtStatus *guard(Function &&function) const noexcept {
        try {
            function();
            return nullptr;
        } catch (const Failure &failure) {
            return api.CreateStatus(failure.code(), failure.what());
        } catch (const std::exception &exception) {
            return api.CreateStatus(ORT_FAIL, exception.what());
        }
    }

private:
    void check(OrtStatus *status) const {
        if (!status) return;
        const Failure failure(api.GetErrorMessage(status), api.GetErrorCode(status));
        api.ReleaseStatus(status);
        throw failure;
    }
};

}  // namespace hewn_ort
