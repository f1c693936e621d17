// The entry points of the library that ONNX Runtime loads, its factory and its execution provider.
// ONNX Runtime calls CreateEpFactories once, and then creates a Provider for each session. The
// provider chooses nodes (graph.h), and their kernels run operations (operation.h).
#include <hewn/hewn.h>

#include <charconv>
#include <memory>
#include <string>
#include <string_view>

#include "graph.h"
#include "operation.h"
#include "ort.h"

namespace hewn_ort {
namespace {

// ---- Options ----

struct Options {
    Choice choice;
    Settings settings;
};

[[noreturn]] void refuse_option(std::string_view key, std::string_view value, const char *due) {
    throw Failure(
        "hewn's option " + std::string(key) + ": " + std::string(value) + " is not " + due,
        ORT_INVALID_ARGUMENT);
}

bool is_target_here(std::string_view name) {
    hewn_target_info info = {};
    info.struct_size = sizeof info;
    for (uint32_t i = 0; hewn_get_target(i, &info) == HEWN_STATUS_OK; i++) {
        if (info.device == HEWN_DEVICE_CPU && name == info.name) return info.supported;
    }
    return false;
}

void read_operators(std::string_view value, std::set<std::string> &names) {
    for (size_t begin = 0; begin <= value.size();) {
        const size_t end = std::min(value.find(',', begin), value.size());
        const std::string name(value.substr(begin, end - begin));
        bool known = false;
        for (const Operator &op : operators()) known |= op.name == name && !op.between;
        if (!known) refuse_option("operators", name, "one of hewn's, by ONNX's name");
        names.insert(name);
        begin = end + 1;
    }
}

void read_option(std::string_view key, std::string_view value, Options &options) {
    if (key == "claim") {
        if (value != "all" && value != "beside") refuse_option(key, value, "beside or all");
        options.choice.all = value == "all";
    } else if (key == "operators") {
        read_operators(value, options.choice.operators);
    } else if (key == "target") {
        if (!is_target_here(value)) refuse_option(key, value, "a target that runs here");
        options.choice.target = options.settings.target = value;
    } else if (key == "threads") {
        const char *const end = value.data() + value.size();
        const auto [rest, error] = std::from_chars(value.data(), end, options.settings.max_threads);
        if (error != std::errc() || rest != end || options.settings.max_threads < 0)
            refuse_option(key, value, "a number");
    } else {
        refuse_option(key, value, "known: there are claim, operators, target and threads");
    }
}

// Reads the options of this provider, which ONNX Runtime keeps among those of the session.
Options read_options(const Ort &ort, const OrtSessionOptions *session) {
    auto *const entries =
        ort.get<OrtKeyValuePairs *>(&OrtApi::GetSessionOptionsConfigEntries, session);
    const std::unique_ptr<OrtKeyValuePairs, void (*)(OrtKeyValuePairs *)> owner(
        entries, ort.api.ReleaseKeyValuePairs);
    const char *const *keys = nullptr, *const *values = nullptr;
    size_t count = 0;
    ort.api.GetKeyValuePairs(entries, &keys, &values, &count);
    constexpr std::string_view prefix = "ep.hewnexecutionprovider.";
    Options options;
    for (size_t i = 0; i < count; i++) {
        const std::string_view key = keys[i];
        if (key.substr(0, prefix.size()) == prefix)
            read_option(key.substr(prefix.size()), values[i], options);
    }
    return options;
}

// ---- Objects that ONNX Runtime runs ----

// The kernel of a single node. ONNX Runtime plans the memory of its outputs, so that a sum can run
// in place.
struct Kernel : OrtKernelImpl {
    Kernel(const Ort &owner, Description description, const Settings &settings)
        : OrtKernelImpl{}, ort(owner), operation(owner, std::move(description), settings) {
        ort_version_supported = kApiVersion;
        Compute = [](OrtKernelImpl *self, OrtKernelContext *context) noexcept {
            const Kernel &kernel = *static_cast<Kernel *>(self);
            return kernel.ort.guard([&] { kernel.operation.run(context); });
        };
        Release = [](OrtKernelImpl *self) noexcept { delete static_cast<Kernel *>(self); };
    }
    const Ort &ort;
    const Operation operation;
};

// Several nodes that run as one operation.
struct FusedNode : OrtNodeComputeInfo {
    FusedNode(const Ort &owner, Description description, const Settings &settings)
        : OrtNodeComputeInfo{}, ort(owner), operation(owner, std::move(description), settings) {
        ort_version_supported = kApiVersion;
        CreateState = [](OrtNodeComputeInfo *self, OrtNodeComputeContext *,
                         void **state) -> OrtStatus * {
            *state = self;
            return nullptr;
        };
        Compute = [](OrtNodeComputeInfo *self, void *, OrtKernelContext *context) {
            const FusedNode &node = *static_cast<FusedNode *>(self);
            return node.ort.guard([&] { node.operation.run(context); });
        };
        ReleaseState = [](OrtNodeComputeInfo *, void *) {};
    }
    const Ort &ort;
    const Operation operation;
};

// ---- The provider ----

struct Provider : OrtEp {
    Provider(const Ort &owner, const OrtKernelRegistry *kernels, Options given);

    const Ort &ort;
    const OrtKernelRegistry *const registry;
    const Options options;

    void choose_nodes(const OrtGraph *graph, OrtEpGraphSupportInfo *support) const {
        for (const Taken &nodes : taken_nodes(ort, graph, options.choice)) {
            if (nodes.size() == 1)
                ort(&OrtEpApi::EpGraphSupportInfo_AddSingleNode, support, nodes[0]);
            else
                ort(&OrtEpApi::EpGraphSupportInfo_AddNodesToFuse, support, nodes.data(),
                    nodes.size(), nullptr);
        }
    }
    OrtNodeComputeInfo *compile(const OrtGraph *graph, const OrtNode *fused) const {
        return new FusedNode(ort, describe_fused(ort, graph, fused, options.choice.target),
                             options.settings);
    }
};

Provider::Provider(const Ort &owner, const OrtKernelRegistry *kernels, Options given)
    : OrtEp{}, ort(owner), registry(kernels), options(std::move(given)) {
    ort_version_supported = kApiVersion;
    GetName = [](const OrtEp *) noexcept { return kProviderName; };
    GetCapability = [](OrtEp *self, const OrtGraph *graph,
                       OrtEpGraphSupportInfo *support) noexcept {
        const Provider &provider = *static_cast<Provider *>(self);
        return provider.ort.guard([&] { provider.choose_nodes(graph, support); });
    };
    Compile = [](OrtEp *self, const OrtGraph **graphs, const OrtNode **fused, size_t count,
                 OrtNodeComputeInfo **infos, OrtNode **) noexcept {
        const Provider &provider = *static_cast<Provider *>(self);
        return provider.ort.guard([&] {
            for (size_t i = 0; i < count; i++) infos[i] = provider.compile(graphs[i], fused[i]);
        });
    };
    ReleaseNodeComputeInfos = [](OrtEp *, OrtNodeComputeInfo **infos, size_t count) noexcept {
        for (size_t i = 0; i < count; i++) delete static_cast<FusedNode *>(infos[i]);
    };
    GetKernelRegistry = [](OrtEp *self, const OrtKernelRegistry **registry) noexcept {
        *registry = static_cast<Provider *>(self)->registry;
        return static_cast<OrtStatus *>(nullptr);
    };
}

// ---- The factory ----

struct Factory : OrtEpFactory {
    explicit Factory(const OrtApi &api);
    ~Factory() {
        if (registry) ort.ep.ReleaseKernelRegistry(registry);
    }

    const Ort ort;
    OrtKernelRegistry *registry = nullptr;
    std::string version;

    void set_names();
    void set_devices();
    void set_memory();
    void register_kernels();
    void register_kernel(const Operator &op, int since_version);
    OrtKernelDef *define(const Operator &op, int since_version) const;
    OrtKernelImpl *make_kernel(const OrtKernelInfo *info) const;
};

Factory::Factory(const OrtApi &api) : OrtEpFactory{}, ort(api) {
    ort_version_supported = kApiVersion;
    set_names();
    set_devices();
    set_memory();
    register_kernels();
}

void Factory::set_names() {
    const uint32_t packed = hewn_version();
    version = std::to_string(packed >> 16) + '.' + std::to_string(packed >> 8 & 255) + '.' +
              std::to_string(packed & 255);
    GetName = [](const OrtEpFactory *) noexcept { return kProviderName; };
    GetVendor = [](const OrtEpFactory *) noexcept { return "hewn"; };
    GetVendorId = [](const OrtEpFactory *) noexcept { return uint32_t(0); };
    GetVersion = [](const OrtEpFactory *self) noexcept {
        return static_cast<const Factory *>(self)->version.c_str();
    };
}

void Factory::set_devices() {
    GetSupportedDevices = [](OrtEpFactory *self, const OrtHardwareDevice *const *devices,
                             size_t count, OrtEpDevice **supported, size_t limit,
                             size_t *found) noexcept {
        const Ort &ort = static_cast<Factory *>(self)->ort;
        *found = 0;
        return ort.guard([&] {
            for (size_t i = 0; i < count && *found < limit; i++) {
                if (ort.api.HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
                ort(&OrtEpApi::CreateEpDevice, self, devices[i], nullptr, nullptr,
                    &supported[*found]);
                ++*found;
            }
        });
    };
    CreateEp = [](OrtEpFactory *self, const OrtHardwareDevice *const *,
                  const OrtKeyValuePairs *const *, size_t, const OrtSessionOptions *session,
                  const OrtLogger *, OrtEp **result) noexcept {
        const Factory &factory = *static_cast<Factory *>(self);
        return factory.ort.guard([&] {
            *result =
                new Provider(factory.ort, factory.registry, read_options(factory.ort, session));
        });
    };
    ReleaseEp = [](OrtEpFactory *, OrtEp *provider) noexcept {
        delete static_cast<Provider *>(provider);
    };
}

// Tensors stay in ONNX Runtime's own memory, so these functions provide nothing. They must exist,
// because ONNX Runtime calls them without a check for null.
void Factory::set_memory() {
    CreateAllocator = [](OrtEpFactory *, const OrtMemoryInfo *, const OrtKeyValuePairs *,
                         OrtAllocator **allocator) noexcept {
        *allocator = nullptr;
        return static_cast<OrtStatus *>(nullptr);
    };
    ReleaseAllocator = [](OrtEpFactory *, OrtAllocator *) noexcept {};
    CreateDataTransfer = [](OrtEpFactory *, OrtDataTransferImpl **transfer) noexcept {
        *transfer = nullptr;
        return static_cast<OrtStatus *>(nullptr);
    };
    IsStreamAware = [](const OrtEpFactory *) noexcept { return false; };
}

void Factory::register_kernels() {
    ort(&OrtEpApi::CreateKernelRegistry, &registry);
    for (const Operator &op : operators()) {
        for (const int version : op.versions) {
            if (!op.between) register_kernel(op, version);
        }
    }
}

OrtKernelDef *Factory::define(const Operator &op, int since_version) const {
    auto *const builder = ort.get<OrtKernelDefBuilder *>(&OrtEpApi::CreateKernelDefBuilder);
    const std::unique_ptr<OrtKernelDefBuilder, void (*)(OrtKernelDefBuilder *)> owner(
        builder, ort.ep.ReleaseKernelDefBuilder);
    ort(&OrtEpApi::KernelDefBuilder_SetOperatorType, builder, op.name.c_str());
    ort(&OrtEpApi::KernelDefBuilder_SetDomain, builder, op.domain.c_str());
    ort(&OrtEpApi::KernelDefBuilder_SetSinceVersion, builder, since_version, since_version);
    ort(&OrtEpApi::KernelDefBuilder_SetExecutionProvider, builder, kProviderName);
    std::vector<int> inputs;
    for (size_t i = 0; i < op.inputs && op.in_place; i++) {
        if (op.is_data(i)) inputs.push_back(int(i));
    }
    const std::vector<int> outputs(inputs.size(), 0);
    if (!inputs.empty())
        ort(&OrtEpApi::KernelDefBuilder_AddInputOutputMutableAliases, builder, inputs.data(),
            outputs.data(), inputs.size());
    return ort.get<OrtKernelDef *>(&OrtEpApi::KernelDefBuilder_Build, builder);
}

void Factory::register_kernel(const Operator &op, int since_version) {
    const std::unique_ptr<OrtKernelDef, void (*)(OrtKernelDef *)> definition(
        define(op, since_version), ort.ep.ReleaseKernelDef);
    const OrtKernelCreateFunc create = [](void *state, const OrtKernelInfo *info,
                                          OrtKernelImpl **kernel) noexcept {
        const Factory &factory = *static_cast<Factory *>(state);
        return factory.ort.guard([&] { *kernel = factory.make_kernel(info); });
    };
    ort(&OrtEpApi::KernelRegistry_AddKernel, registry,
        const_cast<const OrtKernelDef *>(definition.get()), create, this);
}

OrtKernelImpl *Factory::make_kernel(const OrtKernelInfo *info) const {
    const auto *const ep = ort.get<const OrtEp *>(&OrtEpApi::KernelInfo_GetEp, info);
    const Options &options = static_cast<const Provider *>(ep)->options;
    return new Kernel(ort, describe_kernel(ort, info, options.choice.target), options.settings);
}

OrtStatus *refuse_old(const OrtApiBase &base) {
    const std::string message = "hewn's execution provider needs ONNX Runtime 1." +
                                std::to_string(kApiVersion) + " or later; this is " +
                                base.GetVersionString();
    return base.GetApi(1)->CreateStatus(ORT_FAIL, message.c_str());
}

}  // namespace
}  // namespace hewn_ort

#if defined(_WIN32)
#define HEWN_ORT_EXPORT extern "C" __declspec(dllexport)
#else
#define HEWN_ORT_EXPORT extern "C" __attribute__((visibility("default")))
#endif

HEWN_ORT_EXPORT OrtStatus *CreateEpFactories(const char *, const OrtApiBase *base,
                                             const OrtLogger *, OrtEpFactory **factories,
                                             size_t limit, size_t *count) {
    using namespace hewn_ort;
    *count = 0;
    const OrtApi *const api = base->GetApi(kApiVersion);
    if (!api) return refuse_old(*base);
    if (limit < 1)
        return api->CreateStatus(ORT_INVALID_ARGUMENT, "there is no room for hewn's factory");
    try {
        factories[0] = new Factory(*api);
        *count = 1;
        return nullptr;
    } catch (const std::exception &exception) {
        return api->CreateStatus(ORT_FAIL, exception.what());
    }
}

HEWN_ORT_EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *factory) {
    delete static_cast<hewn_ort::Factory *>(factory);
    hewn_shutdown();
    return nullptr;
}
