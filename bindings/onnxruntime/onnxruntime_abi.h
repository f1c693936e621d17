// The part of ONNX Runtime's binary interface that the provider and the benchmark use: types,
// numbers, and places in the tables of functions. The tables are those of version 24, to which
// later versions only append. ONNX Runtime's own headers have 558 KB, and are in no wheel and no
// package of Debian's. bindings/onnxruntime/tests/abi_test.sh compares this file with them if
// HEWN_ONNXRUNTIME_INCLUDE names their folder.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(_WIN32)
#define ORT_API_CALL __stdcall
#else
#define ORT_API_CALL
#endif

// ---- Handles and numbers ----

#define HEWN_HANDLE(name) typedef struct name name
HEWN_HANDLE(OrtAllocator);
HEWN_HANDLE(OrtDataTransferImpl);
HEWN_HANDLE(OrtEnv);
HEWN_HANDLE(OrtEpDevice);
HEWN_HANDLE(OrtEpGraphSupportInfo);
HEWN_HANDLE(OrtGraph);
HEWN_HANDLE(OrtHardwareDevice);
HEWN_HANDLE(OrtKernelContext);
HEWN_HANDLE(OrtKernelDef);
HEWN_HANDLE(OrtKernelDefBuilder);
HEWN_HANDLE(OrtKernelInfo);
HEWN_HANDLE(OrtKernelRegistry);
HEWN_HANDLE(OrtKeyValuePairs);
HEWN_HANDLE(OrtLogger);
HEWN_HANDLE(OrtMemoryInfo);
HEWN_HANDLE(OrtNode);
HEWN_HANDLE(OrtNodeComputeContext);
HEWN_HANDLE(OrtNodeFusionOptions);
HEWN_HANDLE(OrtOpAttr);
HEWN_HANDLE(OrtRunOptions);
HEWN_HANDLE(OrtSession);
HEWN_HANDLE(OrtSessionOptions);
HEWN_HANDLE(OrtStatus);
HEWN_HANDLE(OrtTensorTypeAndShapeInfo);
HEWN_HANDLE(OrtTypeInfo);
HEWN_HANDLE(OrtValue);
HEWN_HANDLE(OrtValueInfo);
#undef HEWN_HANDLE

// The enumerations have a fixed type, because ONNX Runtime has more numbers than are named here.
enum OrtErrorCode : int { ORT_OK = 0, ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2 };
enum OrtLoggingLevel : int { ORT_LOGGING_LEVEL_FATAL = 4 };
enum OrtAllocatorType : int { OrtArenaAllocator = 1 };
enum OrtMemType : int { OrtMemTypeDefault = 0 };
enum OrtOpAttrType : int { ORT_OP_ATTR_UNDEFINED = 0, ORT_OP_ATTR_INT = 1 };
enum OrtHardwareDeviceType : int { OrtHardwareDeviceType_CPU = 0 };
enum ONNXTensorElementDataType : int {
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED = 0,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 = 2,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 = 3,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16 = 4,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16 = 5,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 = 6,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 = 7,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 = 10,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32 = 12,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64 = 13,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 = 16,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN = 17,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ = 18,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2 = 19,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ = 20,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4 = 21,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4 = 22,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1 = 23,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2 = 24,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2 = 25,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0 = 26
};

// ---- Structs that a provider implements ----

// Each struct begins with the version of the API for which it was written. ONNX Runtime does not
// read members that later versions have added. Such members, and unused ones, are null here.

struct OrtEp {
    uint32_t ort_version_supported;
    const char *(ORT_API_CALL *GetName)(const OrtEp *) noexcept;
    OrtStatus *(ORT_API_CALL *GetCapability)(OrtEp *, const OrtGraph *,
                                             OrtEpGraphSupportInfo *) noexcept;
    OrtStatus *(ORT_API_CALL *Compile)(OrtEp *, const OrtGraph **, const OrtNode **, size_t,
                                       struct OrtNodeComputeInfo **, OrtNode **) noexcept;
    void(ORT_API_CALL *ReleaseNodeComputeInfos)(OrtEp *, struct OrtNodeComputeInfo **,
                                                size_t) noexcept;
    void *unused[8];  // layouts, dynamic options, begin and end of a run, allocator, stream, ...
    OrtStatus *(ORT_API_CALL *GetKernelRegistry)(OrtEp *, const OrtKernelRegistry **) noexcept;
    void *concurrent_runs;
    void *later[32];
};

struct OrtEpFactory {
    uint32_t ort_version_supported;
    const char *(ORT_API_CALL *GetName)(const OrtEpFactory *) noexcept;
    const char *(ORT_API_CALL *GetVendor)(const OrtEpFactory *) noexcept;
    OrtStatus *(ORT_API_CALL *GetSupportedDevices)(OrtEpFactory *, const OrtHardwareDevice *const *,
                                                   size_t, OrtEpDevice **, size_t,
                                                   size_t *) noexcept;
    OrtStatus *(ORT_API_CALL *CreateEp)(OrtEpFactory *, const OrtHardwareDevice *const *,
                                        const OrtKeyValuePairs *const *, size_t,
                                        const OrtSessionOptions *, const OrtLogger *,
                                        OrtEp **) noexcept;
    void(ORT_API_CALL *ReleaseEp)(OrtEpFactory *, OrtEp *) noexcept;
    uint32_t(ORT_API_CALL *GetVendorId)(const OrtEpFactory *) noexcept;
    const char *(ORT_API_CALL *GetVersion)(const OrtEpFactory *) noexcept;
    void *compatibility;
    OrtStatus *(ORT_API_CALL *CreateAllocator)(OrtEpFactory *, const OrtMemoryInfo *,
                                               const OrtKeyValuePairs *, OrtAllocator **) noexcept;
    void(ORT_API_CALL *ReleaseAllocator)(OrtEpFactory *, OrtAllocator *) noexcept;
    OrtStatus *(ORT_API_CALL *CreateDataTransfer)(OrtEpFactory *, OrtDataTransferImpl **) noexcept;
    bool(ORT_API_CALL *IsStreamAware)(const OrtEpFactory *) noexcept;
    void *unused[5];  // stream, incompatibilities, external memory, custom operators
    void *later[32];
};

struct OrtKernelImpl {
    uint32_t ort_version_supported;
    uint32_t flags;  // for ONNX Runtime's own use; 0
    OrtStatus *(ORT_API_CALL *Compute)(OrtKernelImpl *, OrtKernelContext *) noexcept;
    void(ORT_API_CALL *Release)(OrtKernelImpl *) noexcept;
    void *packing[2];
    void *later[16];
};
typedef OrtStatus *(ORT_API_CALL *OrtKernelCreateFunc)(void *, const OrtKernelInfo *,
                                                       OrtKernelImpl **);

struct OrtNodeComputeInfo {
    uint32_t ort_version_supported;
    OrtStatus *(ORT_API_CALL *CreateState)(OrtNodeComputeInfo *, OrtNodeComputeContext *, void **);
    OrtStatus *(ORT_API_CALL *Compute)(OrtNodeComputeInfo *, void *, OrtKernelContext *);
    void(ORT_API_CALL *ReleaseState)(OrtNodeComputeInfo *, void *);
    void *later[16];
};

// ---- Tables of ONNX Runtime's functions. Their places count from 0 ----

#define HEWN_UNUSED(from, to) void *from_##from##_to_##to[to - from + 1]
#define HEWN_STATUS(name, ...) OrtStatus *(ORT_API_CALL * name)(__VA_ARGS__) noexcept

struct OrtEpApi {
    HEWN_STATUS(CreateEpDevice, OrtEpFactory *, const OrtHardwareDevice *, const OrtKeyValuePairs *,
                const OrtKeyValuePairs *, OrtEpDevice **);
    HEWN_UNUSED(1, 1);
    HEWN_STATUS(EpGraphSupportInfo_AddNodesToFuse, OrtEpGraphSupportInfo *, const OrtNode *const *,
                size_t, const OrtNodeFusionOptions *);
    HEWN_STATUS(EpGraphSupportInfo_AddSingleNode, OrtEpGraphSupportInfo *, const OrtNode *);
    HEWN_UNUSED(4, 17);
    HEWN_STATUS(CreateKernelRegistry, OrtKernelRegistry **);
    void(ORT_API_CALL *ReleaseKernelRegistry)(OrtKernelRegistry *);
    HEWN_STATUS(KernelRegistry_AddKernel, OrtKernelRegistry *, const OrtKernelDef *,
                OrtKernelCreateFunc, void *);
    HEWN_STATUS(CreateKernelDefBuilder, OrtKernelDefBuilder **);
    void(ORT_API_CALL *ReleaseKernelDefBuilder)(OrtKernelDefBuilder *);
    HEWN_STATUS(KernelDefBuilder_SetOperatorType, OrtKernelDefBuilder *, const char *);
    HEWN_STATUS(KernelDefBuilder_SetDomain, OrtKernelDefBuilder *, const char *);
    HEWN_STATUS(KernelDefBuilder_SetSinceVersion, OrtKernelDefBuilder *, int, int);
    HEWN_STATUS(KernelDefBuilder_SetExecutionProvider, OrtKernelDefBuilder *, const char *);
    HEWN_UNUSED(27, 30);
    HEWN_STATUS(KernelDefBuilder_AddInputOutputMutableAliases, OrtKernelDefBuilder *, const int *,
                const int *, size_t);
    HEWN_STATUS(KernelDefBuilder_Build, OrtKernelDefBuilder *, OrtKernelDef **);
    void(ORT_API_CALL *ReleaseKernelDef)(OrtKernelDef *);
    HEWN_UNUSED(34, 42);
    HEWN_STATUS(KernelInfo_GetEp, const OrtKernelInfo *, const OrtEp **);
};

struct OrtApi {
    OrtStatus *(ORT_API_CALL *CreateStatus)(OrtErrorCode, const char *) noexcept;
    OrtErrorCode(ORT_API_CALL *GetErrorCode)(const OrtStatus *) noexcept;
    const char *(ORT_API_CALL *GetErrorMessage)(const OrtStatus *) noexcept;
    HEWN_STATUS(CreateEnv, OrtLoggingLevel, const char *, OrtEnv **);
    HEWN_UNUSED(4, 7);
    HEWN_STATUS(CreateSessionFromArray, const OrtEnv *, const void *, size_t,
                const OrtSessionOptions *, OrtSession **);
    HEWN_STATUS(Run, OrtSession *, const OrtRunOptions *, const char *const *,
                const OrtValue *const *, size_t, const char *const *, size_t, OrtValue **);
    HEWN_STATUS(CreateSessionOptions, OrtSessionOptions **);
    HEWN_UNUSED(11, 21);
    HEWN_STATUS(SetSessionLogSeverityLevel, OrtSessionOptions *, int);
    HEWN_UNUSED(23, 23);
    HEWN_STATUS(SetIntraOpNumThreads, OrtSessionOptions *, int);
    HEWN_STATUS(SetInterOpNumThreads, OrtSessionOptions *, int);
    HEWN_UNUSED(26, 48);
    HEWN_STATUS(CreateTensorWithDataAsOrtValue, const OrtMemoryInfo *, void *, size_t,
                const int64_t *, size_t, ONNXTensorElementDataType, OrtValue **);
    HEWN_UNUSED(50, 50);
    HEWN_STATUS(GetTensorMutableData, OrtValue *, void **);
    HEWN_UNUSED(52, 54);
    HEWN_STATUS(CastTypeInfoToTensorInfo, const OrtTypeInfo *, const OrtTensorTypeAndShapeInfo **);
    HEWN_UNUSED(56, 59);
    HEWN_STATUS(GetTensorElementType, const OrtTensorTypeAndShapeInfo *,
                ONNXTensorElementDataType *);
    HEWN_STATUS(GetDimensionsCount, const OrtTensorTypeAndShapeInfo *, size_t *);
    HEWN_STATUS(GetDimensions, const OrtTensorTypeAndShapeInfo *, int64_t *, size_t);
    HEWN_UNUSED(63, 68);
    HEWN_STATUS(CreateCpuMemoryInfo, OrtAllocatorType, OrtMemType, OrtMemoryInfo **);
    HEWN_UNUSED(70, 85);
    HEWN_STATUS(KernelInfoGetAttribute_int64, const OrtKernelInfo *, const char *, int64_t *);
    HEWN_UNUSED(87, 89);
    HEWN_STATUS(KernelContext_GetInput, const OrtKernelContext *, size_t, const OrtValue **);
    HEWN_STATUS(KernelContext_GetOutput, OrtKernelContext *, size_t, const int64_t *, size_t,
                OrtValue **);
    HEWN_UNUSED(92, 92);
    void(ORT_API_CALL *ReleaseStatus)(OrtStatus *);
    HEWN_UNUSED(94, 94);
    void(ORT_API_CALL *ReleaseSession)(OrtSession *);
    void(ORT_API_CALL *ReleaseValue)(OrtValue *);
    HEWN_UNUSED(97, 97);
    void(ORT_API_CALL *ReleaseTypeInfo)(OrtTypeInfo *);
    HEWN_UNUSED(99, 99);
    void(ORT_API_CALL *ReleaseSessionOptions)(OrtSessionOptions *);
    HEWN_UNUSED(101, 229);
    HEWN_STATUS(KernelInfo_GetInputCount, const OrtKernelInfo *, size_t *);
    HEWN_STATUS(KernelInfo_GetOutputCount, const OrtKernelInfo *, size_t *);
    HEWN_UNUSED(232, 233);
    HEWN_STATUS(KernelInfo_GetInputTypeInfo, const OrtKernelInfo *, size_t, OrtTypeInfo **);
    HEWN_STATUS(KernelInfo_GetOutputTypeInfo, const OrtKernelInfo *, size_t, OrtTypeInfo **);
    HEWN_UNUSED(236, 248);
    HEWN_STATUS(KernelInfoGetConstantInput_tensor, const OrtKernelInfo *, size_t, int *,
                const OrtValue **);
    HEWN_UNUSED(250, 271);
    HEWN_STATUS(ReadOpAttr, const OrtOpAttr *, OrtOpAttrType, void *, size_t, size_t *);
    HEWN_UNUSED(273, 273);
    HEWN_STATUS(KernelContext_ParallelFor, const OrtKernelContext *, void (*)(void *, size_t),
                size_t, size_t, void *);
    HEWN_UNUSED(275, 288);
    HEWN_STATUS(GetValueInfoName, const OrtValueInfo *, const char **);
    HEWN_STATUS(GetValueInfoTypeInfo, const OrtValueInfo *, const OrtTypeInfo **);
    HEWN_UNUSED(291, 297);
    void(ORT_API_CALL *GetKeyValuePairs)(const OrtKeyValuePairs *, const char *const **,
                                         const char *const **, size_t *);
    HEWN_UNUSED(299, 299);
    void(ORT_API_CALL *ReleaseKeyValuePairs)(OrtKeyValuePairs *);
    HEWN_UNUSED(301, 306);
    OrtHardwareDeviceType(ORT_API_CALL *HardwareDevice_Type)(const OrtHardwareDevice *);
    HEWN_UNUSED(308, 316);
    const OrtEpApi *(ORT_API_CALL *GetEpApi)();
    HEWN_UNUSED(318, 322);
    HEWN_STATUS(ValueInfo_GetValueProducer, const OrtValueInfo *, const OrtNode **, size_t *);
    HEWN_STATUS(ValueInfo_GetValueNumConsumers, const OrtValueInfo *, size_t *);
    HEWN_STATUS(ValueInfo_GetValueConsumers, const OrtValueInfo *, const OrtNode **, int64_t *,
                size_t);
    HEWN_STATUS(ValueInfo_GetInitializerValue, const OrtValueInfo *, const OrtValue **);
    HEWN_UNUSED(327, 329);
    HEWN_STATUS(ValueInfo_IsGraphOutput, const OrtValueInfo *, bool *);
    HEWN_STATUS(ValueInfo_IsConstantInitializer, const OrtValueInfo *, bool *);
    HEWN_UNUSED(332, 343);
    HEWN_STATUS(Graph_GetNumNodes, const OrtGraph *, size_t *);
    HEWN_STATUS(Graph_GetNodes, const OrtGraph *, const OrtNode **, size_t);
    HEWN_UNUSED(346, 349);
    HEWN_STATUS(Node_GetOperatorType, const OrtNode *, const char **);
    HEWN_STATUS(Node_GetDomain, const OrtNode *, const char **);
    HEWN_STATUS(Node_GetSinceVersion, const OrtNode *, int *);
    HEWN_STATUS(Node_GetNumInputs, const OrtNode *, size_t *);
    HEWN_STATUS(Node_GetInputs, const OrtNode *, const OrtValueInfo **, size_t);
    HEWN_STATUS(Node_GetNumOutputs, const OrtNode *, size_t *);
    HEWN_STATUS(Node_GetOutputs, const OrtNode *, const OrtValueInfo **, size_t);
    HEWN_UNUSED(357, 360);
    HEWN_STATUS(Node_GetAttributeByName, const OrtNode *, const char *, const OrtOpAttr **);
    HEWN_UNUSED(362, 362);
    HEWN_STATUS(OpAttr_GetType, const OrtOpAttr *, OrtOpAttrType *);
    HEWN_UNUSED(364, 367);
    HEWN_STATUS(Node_GetEpName, const OrtNode *, const char **);
    HEWN_UNUSED(369, 377);
    HEWN_STATUS(GetTensorData, const OrtValue *, const void **);
    HEWN_STATUS(GetSessionOptionsConfigEntries, const OrtSessionOptions *, OrtKeyValuePairs **);
    HEWN_UNUSED(380, 389);
    bool(ORT_API_CALL *TensorTypeAndShape_HasShape)(const OrtTensorTypeAndShapeInfo *) noexcept;
    HEWN_UNUSED(391, 391);
    HEWN_STATUS(KernelInfo_GetOperatorDomain, const OrtKernelInfo *, char *, size_t *);
    HEWN_STATUS(KernelInfo_GetOperatorType, const OrtKernelInfo *, char *, size_t *);
    HEWN_STATUS(KernelInfo_GetOperatorSinceVersion, const OrtKernelInfo *, int *);
    HEWN_UNUSED(395, 413);
    HEWN_STATUS(GetTensorElementTypeAndShapeDataReference, const OrtValue *,
                ONNXTensorElementDataType *, const int64_t **, size_t *);
};
#undef HEWN_UNUSED
#undef HEWN_STATUS

struct OrtApiBase {
    const OrtApi *(ORT_API_CALL *GetApi)(uint32_t version) noexcept;
    const char *(ORT_API_CALL *GetVersionString)() noexcept;
};
