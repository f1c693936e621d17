// hewn in a Direct3D 12 program: it uses the program's device and command list. All tensors are in
// one resource, a pool, at odd offsets. The program records three operators once (QUANTIZE_LINEAR,
// QUANTIZED_LINEAR_ADD, DEQUANTIZE_LINEAR), runs the list twice on different data, and checks every
// byte of the pool.
#ifndef _MSC_VER
// Makes MinGW's headers return structs as Microsoft's compiler does.
#define WIDL_EXPLICIT_AGGREGATE_RETURNS
#endif
#include <d3d12.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <hewn/hewn.hpp>
#include <vector>

namespace {

void check(HRESULT code, const char *what) {
    if (SUCCEEDED(code)) return;
    std::fprintf(stderr, "%s failed with code 0x%08lx\n", what, static_cast<unsigned long>(code));
    std::exit(1);
}
#define CHECK(call) check(call, #call)

ID3D12Resource *make_buffer(ID3D12Device *device, D3D12_HEAP_TYPE type, uint64_t bytes,
                            D3D12_RESOURCE_STATES state) {
    D3D12_HEAP_PROPERTIES heap = {};
    heap.Type = type;
    D3D12_RESOURCE_DESC desc = {};
    desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
    desc.Width = bytes;
    desc.Height = desc.DepthOrArraySize = desc.MipLevels = 1;
    desc.SampleDesc.Count = 1;
    desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    if (type == D3D12_HEAP_TYPE_DEFAULT) desc.Flags = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    ID3D12Resource *resource = nullptr;
    CHECK(device->CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &desc, state, nullptr,
                                          __uuidof(ID3D12Resource),
                                          reinterpret_cast<void **>(&resource)));
    return resource;
}

void transition(ID3D12GraphicsCommandList *list, ID3D12Resource *resource,
                D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after) {
    D3D12_RESOURCE_BARRIER barrier = {};
    barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
    barrier.Transition.pResource = resource;
    barrier.Transition.Subresource = D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES;
    barrier.Transition.StateBefore = before;
    barrier.Transition.StateAfter = after;
    list->ResourceBarrier(1, &barrier);
}

// The number of elements of a tensor, and the offsets of the tensors in the pool in bytes.
constexpr int64_t COUNT = 1001;
enum : uint64_t {
    X = 772,
    SCALE = 8004,
    ZERO = 8011,
    Q = 10001,
    OTHER = 12007,
    SUM = 14003,
    Y = 20012,
    POOL = 1 << 16
};
constexpr float SCALE_VALUE = 0.25f;
constexpr uint8_t ZERO_VALUE = 128;

uint8_t saturated(float value) {
    return uint8_t(std::fmin(std::fmax(std::nearbyint(value), 0.0f), 255.0f));
}

}  // namespace

int main() {
    ID3D12Device *device = nullptr;
    CHECK(D3D12CreateDevice(nullptr, D3D_FEATURE_LEVEL_11_0, __uuidof(ID3D12Device),
                            reinterpret_cast<void **>(&device)));
    D3D12_COMMAND_QUEUE_DESC queue_desc = {};
    queue_desc.Type = D3D12_COMMAND_LIST_TYPE_DIRECT;
    ID3D12CommandQueue *queue = nullptr;
    CHECK(device->CreateCommandQueue(&queue_desc, __uuidof(ID3D12CommandQueue),
                                     reinterpret_cast<void **>(&queue)));
    ID3D12CommandAllocator *allocator = nullptr;
    CHECK(device->CreateCommandAllocator(queue_desc.Type, __uuidof(ID3D12CommandAllocator),
                                         reinterpret_cast<void **>(&allocator)));
    ID3D12GraphicsCommandList *list = nullptr;
    CHECK(device->CreateCommandList(0, queue_desc.Type, allocator, nullptr,
                                    __uuidof(ID3D12GraphicsCommandList),
                                    reinterpret_cast<void **>(&list)));
    ID3D12Fence *fence = nullptr;
    CHECK(device->CreateFence(0, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence),
                              reinterpret_cast<void **>(&fence)));
    ID3D12Resource *const pool =
        make_buffer(device, D3D12_HEAP_TYPE_DEFAULT, POOL, D3D12_RESOURCE_STATE_COMMON);
    ID3D12Resource *const upload =
        make_buffer(device, D3D12_HEAP_TYPE_UPLOAD, POOL, D3D12_RESOURCE_STATE_GENERIC_READ);
    ID3D12Resource *const readback =
        make_buffer(device, D3D12_HEAP_TYPE_READBACK, POOL, D3D12_RESOURCE_STATE_COPY_DEST);
    const HANDLE done = CreateEventA(nullptr, FALSE, FALSE, nullptr);

    try {
        const hewn::Device on = hewn::Device::d3d12(device);
        const hewn::TensorDesc x{hewn::DataType::FLOAT32, {COUNT}},
            q{hewn::DataType::UINT8, {COUNT}};
        const auto scale = hewn::TensorDesc::broadcast_scalar(x.data_type, x.sizes),
                   zero = hewn::TensorDesc::broadcast_scalar(q.data_type, q.sizes);
        const hewn::Operator quantize =
            hewn::compile(hewn::QuantizeLinearDesc{x, scale, zero, q}, {}, &on);
        const hewn::Operator add = hewn::compile(
            hewn::QuantizedLinearAddDesc{q, scale, zero, q, scale, zero, scale, zero, q}, {}, &on);
        const hewn::Operator dequantize =
            hewn::compile(hewn::DequantizeLinearDesc{q, scale, zero, x}, {}, &on);

        // The commands are recorded once. The program handles the states of resources: hewn needs
        // its tensors in the state UNORDERED_ACCESS.
        list->CopyBufferRegion(pool, 0, upload, 0, POOL);
        transition(list, pool, D3D12_RESOURCE_STATE_COPY_DEST,
                   D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
        const auto at = [&](uint64_t offset, uint64_t bytes) {
            return hewn::Binding(pool, bytes, offset);
        };
        const hewn::InputBinding s = at(SCALE, 4), z = at(ZERO, 1);
        quantize.record(list, {at(X, 4 * COUNT), s, z}, {at(Q, COUNT)});
        add.record(list, {at(Q, COUNT), s, z, at(OTHER, COUNT), s, z, s, z}, {at(SUM, COUNT)});
        dequantize.record(list, {at(SUM, COUNT), s, z}, {at(Y, 4 * COUNT)});
        transition(list, pool, D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
                   D3D12_RESOURCE_STATE_COPY_SOURCE);
        list->CopyBufferRegion(readback, 0, pool, 0, POOL);
        CHECK(list->Close());

        for (int run = 0; run < 2; run++) {
            // The bytes outside the tensors must stay 0xa5.
            std::vector<uint8_t> expected(POOL, 0xa5), got(POOL);
            const auto put = [&](uint64_t offset, const auto &value) {
                std::memcpy(&expected[offset], &value, sizeof value);
            };
            put(SCALE, SCALE_VALUE);
            put(ZERO, ZERO_VALUE);
            for (int i = 0; i < COUNT; i++) {
                put(X + 4 * i, float(i - 500) * 0.125f + float(run));
                put(OTHER + i, uint8_t(i * 7 + run));
            }
            void *mapped = nullptr;
            CHECK(upload->Map(0, nullptr, &mapped));
            std::memcpy(mapped, expected.data(), POOL);
            upload->Unmap(0, nullptr);

            ID3D12CommandList *const lists[] = {list};
            queue->ExecuteCommandLists(1, lists);
            CHECK(queue->Signal(fence, uint64_t(run) + 1));
            CHECK(fence->SetEventOnCompletion(uint64_t(run) + 1, done));
            WaitForSingleObject(done, INFINITE);

            // All values are multiples of powers of two, so the sums and products here are exact.
            for (int i = 0; i < COUNT; i++) {
                const uint8_t quantized =
                    saturated((float(i - 500) * 0.125f + float(run)) / SCALE_VALUE + ZERO_VALUE);
                const uint8_t sum =
                    saturated(float(quantized) + float(expected[OTHER + i]) - ZERO_VALUE);
                put(Q + i, quantized);
                put(SUM + i, sum);
                put(Y + 4 * i, (float(sum) - ZERO_VALUE) * SCALE_VALUE);
            }
            CHECK(readback->Map(0, nullptr, &mapped));
            std::memcpy(got.data(), mapped, POOL);
            readback->Unmap(0, nullptr);
            int wrong = 0;
            for (size_t i = 0; i < POOL; i++) wrong += got[i] != expected[i];
            std::printf("run %d: %d of the pool's %d bytes are wrong\n", run, wrong, int(POOL));
            if (wrong) return 1;
        }
        std::printf("recorded once: %s, %s, %s\n", quantize.variant(), add.variant(),
                    dequantize.variant());
    } catch (const hewn::Error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
