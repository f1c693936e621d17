// Runs a model in ONNX Runtime twice, with hewn and with only ONNX Runtime's CPU provider, by ONNX
// Runtime's C API:
//
//     run_model PROVIDER MODEL.onnx
//
// PROVIDER is the absolute path of libonnxruntime_providers_hewn.so or of its DLL. The model must
// have one input, of float32; sizes that it leaves open become 2. Prints which provider has which
// node, and how many bytes of the first output differ.
#include <onnxruntime_c_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

const OrtApi *ort;

void check(OrtStatus *status) {
    if (!status) return;
    std::fprintf(stderr, "%s\n", ort->GetErrorMessage(status));
    std::exit(1);
}

std::basic_string<ORTCHAR_T> path_of(const char *path) { return {path, path + std::strlen(path)}; }

// The device that stands for hewn's provider.
const OrtEpDevice *hewns_device(OrtEnv *env) {
    const OrtEpDevice *const *devices = nullptr;
    size_t count = 0;
    check(ort->GetEpDevices(env, &devices, &count));
    for (size_t i = 0; i < count; i++) {
        if (std::string(ort->EpDevice_EpName(devices[i])) == "HewnExecutionProvider")
            return devices[i];
    }
    return nullptr;
}

// Creates a session with hewn's device. If `device` is null, the session has only the CPU provider.
OrtSession *create_session(OrtEnv *env, const char *model, const OrtEpDevice *device) {
    OrtSessionOptions *options = nullptr;
    check(ort->CreateSessionOptions(&options));
    check(ort->AddSessionConfigEntry(options, "session.record_ep_graph_assignment_info", "1"));
    // An option of hewn's: it takes every node that it can run.
    const char *const key = "claim", *const value = "all";
    if (device)
        check(ort->SessionOptionsAppendExecutionProvider_V2(options, env, &device, 1, &key, &value,
                                                            1));
    OrtSession *session = nullptr;
    check(ort->CreateSession(env, path_of(model).c_str(), options, &session));
    ort->ReleaseSessionOptions(options);
    return session;
}

void print_nodes(const OrtSession *session) {
    const OrtEpAssignedSubgraph *const *parts = nullptr;
    size_t count = 0;
    check(ort->Session_GetEpGraphAssignmentInfo(session, &parts, &count));
    for (size_t i = 0; i < count; i++) {
        const char *provider = nullptr, *type = nullptr;
        const OrtEpAssignedNode *const *nodes = nullptr;
        size_t node_count = 0;
        check(ort->EpAssignedSubgraph_GetEpName(parts[i], &provider));
        check(ort->EpAssignedSubgraph_GetNodes(parts[i], &nodes, &node_count));
        for (size_t k = 0; k < node_count; k++) {
            check(ort->EpAssignedNode_GetOperatorType(nodes[k], &type));
            std::printf("%s: %s\n", provider, type);
        }
    }
}

// Makes the model's input, with values from 0 to 10.
OrtValue *make_input(const OrtSession *session, OrtAllocator *allocator) {
    OrtTypeInfo *type = nullptr;
    const OrtTensorTypeAndShapeInfo *tensor = nullptr;
    size_t rank = 0, bytes = 0;
    check(ort->SessionGetInputTypeInfo(session, 0, &type));
    check(ort->CastTypeInfoToTensorInfo(type, &tensor));
    check(ort->GetDimensionsCount(tensor, &rank));
    std::vector<int64_t> shape(rank);
    check(ort->GetDimensions(tensor, shape.data(), rank));
    ort->ReleaseTypeInfo(type);
    for (int64_t &size : shape) size = size < 0 ? 2 : size;
    OrtValue *value = nullptr;
    check(ort->CreateTensorAsOrtValue(allocator, shape.data(), rank,
                                      ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    void *data = nullptr;
    check(ort->GetTensorMutableData(value, &data));
    check(ort->GetTensorSizeInBytes(value, &bytes));
    for (size_t i = 0; i < bytes / sizeof(float); i++)
        static_cast<float *>(data)[i] = float(i * 37 % 101) / 10;
    return value;
}

// Runs the model and returns the bytes of its first output.
std::vector<unsigned char> run(OrtSession *session) {
    OrtAllocator *allocator = nullptr;
    char *input_name = nullptr, *output_name = nullptr;
    check(ort->GetAllocatorWithDefaultOptions(&allocator));
    check(ort->SessionGetInputName(session, 0, allocator, &input_name));
    check(ort->SessionGetOutputName(session, 0, allocator, &output_name));
    OrtValue *input = make_input(session, allocator), *output = nullptr;
    check(ort->Run(session, nullptr, &input_name, &input, 1, &output_name, 1, &output));
    const void *data = nullptr;
    size_t bytes = 0;
    check(ort->GetTensorData(output, &data));
    check(ort->GetTensorSizeInBytes(output, &bytes));
    const auto *const begin = static_cast<const unsigned char *>(data);
    const std::vector<unsigned char> result(begin, begin + bytes);
    for (OrtValue *value : {input, output}) ort->ReleaseValue(value);
    for (char *name : {input_name, output_name}) allocator->Free(allocator, name);
    return result;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 3) return std::fprintf(stderr, "run_model PROVIDER MODEL.onnx\n"), 2;
    const OrtApiBase *const base = OrtGetApiBase();
    ort = base->GetApi(24);
    if (!ort)
        return std::fprintf(stderr, "ONNX Runtime %s is too old\n", base->GetVersionString()), 1;
    OrtEnv *env = nullptr;
    check(ort->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "run_model", &env));
    check(ort->RegisterExecutionProviderLibrary(env, "hewn", path_of(argv[1]).c_str()));
    std::vector<unsigned char> results[2];
    for (const OrtEpDevice *device : {hewns_device(env), (const OrtEpDevice *)nullptr}) {
        OrtSession *const session = create_session(env, argv[2], device);
        if (device) print_nodes(session);
        results[device != nullptr] = run(session);
        ort->ReleaseSession(session);
    }
    size_t differing = 0;
    for (size_t i = 0; i < results[0].size(); i++) differing += results[0][i] != results[1][i];
    std::printf("ONNX Runtime %s: %zu of %zu bytes differ\n", base->GetVersionString(), differing,
                results[0].size());
    check(ort->UnregisterExecutionProviderLibrary(env, "hewn"));
    ort->ReleaseEnv(env);
}
