// The provider as ONNX Runtime loads it, with one change: KernelContext_ParallelFor runs nothing,
// reports an error and prints "refused".
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "../onnxruntime_abi.h"
#include "../ort.h"

using hewn_ort::kApiVersion;

static OrtApi api;

static const OrtApi *changed_api(uint32_t) noexcept { return &api; }

static OrtStatus *refuse(const OrtKernelContext *, void (*)(void *, size_t), size_t, size_t,
                         void *) noexcept {
    std::puts("refused");
    std::fflush(stdout);
    return api.CreateStatus(ORT_FAIL, "no threads");
}

// The provider's function of this name.
template<class Function>
static Function *original(Function *, const char *name) {
    void *const library = dlopen(HEWN_PROVIDER, RTLD_NOW | RTLD_LOCAL);
    void *const function = library ? dlsym(library, name) : nullptr;
    if (!function) std::fprintf(stderr, "%s\n", dlerror()), std::abort();
    return reinterpret_cast<Function *>(function);
}

extern "C" OrtStatus *CreateEpFactories(const char *name, const OrtApiBase *base,
                                        const OrtLogger *logger, OrtEpFactory **factories,
                                        size_t limit, size_t *count) {
    api = *base->GetApi(kApiVersion);
    api.KernelContext_ParallelFor = refuse;
    static OrtApiBase changed;
    changed = {changed_api, base->GetVersionString};
    return original(CreateEpFactories, "CreateEpFactories")(name, &changed, logger, factories,
                                                            limit, count);
}

extern "C" OrtStatus *ReleaseEpFactory(OrtEpFactory *factory) {
    return original(ReleaseEpFactory, "ReleaseEpFactory")(factory);
}
