// The part of CUDA that a program itself uses: a context, a stream, and captured graphs. It
// calls only the driver. So building it needs no toolkit, and tests can use a driver of their own
// (tests/devices/fake_cuda.c). gpu.cpp uses it.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace hewn_bench {

// The driver's functions: their names in the library, and their arguments. Handles are void *.
#define HEWN_BENCH_CUDA_FUNCTIONS(F) \
    F(cuInit, (unsigned)) \
    F(cuDeviceGet, (int *, int)) \
    F(cuDevicePrimaryCtxRetain, (void **, int)) \
    F(cuDevicePrimaryCtxRelease_v2, (int)) \
    F(cuCtxPushCurrent_v2, (void *)) \
    F(cuCtxPopCurrent_v2, (void **)) \
    F(cuStreamCreate, (void **, unsigned)) \
    F(cuStreamDestroy_v2, (void *)) \
    F(cuStreamSynchronize, (void *)) \
    F(cuStreamBeginCapture_v2, (void *, int)) \
    F(cuStreamEndCapture, (void *, void **)) \
    F(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
    F(cuGraphLaunch, (void *, void *)) \
    F(cuGraphExecDestroy, (void *)) \
    F(cuGraphDestroy, (void *)) \
    F(cuMemcpyDtoDAsync_v2, (uint64_t, uint64_t, size_t, void *))

// A context and a stream. Functions throw std::runtime_error with the name of the driver's function
// and its error code.
class Cuda {
public:
    // Makes the first device's primary context current until this object is destroyed, and creates
    // a stream that does not wait for the default one.
    Cuda() {
        void *library = dlopen("libcuda.so.1", RTLD_NOW);
        if (!library) throw std::runtime_error("no CUDA driver: libcuda.so.1 is not there");
#define HEWN_BENCH_CUDA_LOAD(name, arguments) \
    name = reinterpret_cast<int(*) arguments>(dlsym(library, #name)); \
    if (!name) throw std::runtime_error("the CUDA driver lacks " #name);
        HEWN_BENCH_CUDA_FUNCTIONS(HEWN_BENCH_CUDA_LOAD)
#undef HEWN_BENCH_CUDA_LOAD
        constexpr unsigned NON_BLOCKING = 1;
        check(cuInit(0), "cuInit");
        check(cuDeviceGet(&device_, 0), "cuDeviceGet");
        check(cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
        check(cuCtxPushCurrent_v2(context_), "cuCtxPushCurrent");
        check(cuStreamCreate(&stream_, NON_BLOCKING), "cuStreamCreate");
    }
    ~Cuda() {
        void *popped = nullptr;
        cuStreamDestroy_v2(stream_);
        cuCtxPopCurrent_v2(&popped);
        cuDevicePrimaryCtxRelease_v2(device_);
    }
    Cuda(const Cuda &) = delete;
    Cuda &operator=(const Cuda &) = delete;

    void *context() const { return context_; }
    void *stream() const { return stream_; }

    void synchronize() const { check(cuStreamSynchronize(stream_), "cuStreamSynchronize"); }
    // Enqueues a copy from device memory to device memory.
    void copy(void *to, size_t to_offset, const void *from, size_t bytes) const {
        check(cuMemcpyDtoDAsync_v2(reinterpret_cast<uintptr_t>(to) + to_offset,
                                   reinterpret_cast<uintptr_t>(from), bytes, stream_),
              "cuMemcpyDtoDAsync");
    }

    // A captured graph: the work that was enqueued on the stream while it was captured. launch()
    // enqueues it again, as often as wanted. A Graph must be destroyed before its Cuda.
    class Graph {
    public:
        // Captures the work that enqueue() enqueues. If enqueue() throws, the capture is ended.
        template<class Enqueue>
        Graph(const Cuda &cuda, const Enqueue &enqueue) : cuda_(cuda) {
            // The strictest mode: no thread may wait or allocate memory meanwhile.
            constexpr int GLOBAL = 0;
            check(cuda.cuStreamBeginCapture_v2(cuda.stream_, GLOBAL), "cuStreamBeginCapture");
            void *graph = nullptr;
            try {
                enqueue();
            } catch (...) {
                cuda.cuStreamEndCapture(cuda.stream_, &graph);
                throw;
            }
            check(cuda.cuStreamEndCapture(cuda.stream_, &graph), "cuStreamEndCapture");
            const int code = cuda.cuGraphInstantiateWithFlags(&executable_, graph, 0);
            cuda.cuGraphDestroy(graph);
            check(code, "cuGraphInstantiateWithFlags");
        }
        ~Graph() { cuda_.cuGraphExecDestroy(executable_); }
        Graph(const Graph &) = delete;
        Graph &operator=(const Graph &) = delete;

        void launch() const {
            check(cuda_.cuGraphLaunch(executable_, cuda_.stream_), "cuGraphLaunch");
        }

    private:
        const Cuda &cuda_;
        void *executable_ = nullptr;
    };

private:
    static void check(int code, const char *what) {
        if (code != 0)
            throw std::runtime_error(std::string(what) + " failed with code " +
                                     std::to_string(code));
    }

#define HEWN_BENCH_CUDA_MEMBER(name, arguments) int(*name) arguments = nullptr;
    HEWN_BENCH_CUDA_FUNCTIONS(HEWN_BENCH_CUDA_MEMBER)
#undef HEWN_BENCH_CUDA_MEMBER
    int device_ = 0;
    void *context_ = nullptr, *stream_ = nullptr;
};

}  // namespace hewn_bench
