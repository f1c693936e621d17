// The queue of a Direct3D 12 device: command lists that the device submits itself, one at a time,
// and copies through staging memory. Only d3d12.cpp includes this file, because it sets how
// Microsoft's headers are read.
#pragma once

#include <d3d12.h>
#include <pthread.h>

#include <cstring>

#include "../base/error.h"

namespace hewn::d3d12 {

inline hewn_status status_of(HRESULT code) {
    return code == E_OUTOFMEMORY ? HEWN_STATUS_OUT_OF_MEMORY : HEWN_STATUS_DEVICE_FAILED;
}

// Turns a code into a status and reports a failure. `status` is the status of a failure, unless it
// is OK; the status then follows from the code.
inline hewn_status checked(HRESULT code, const char *what, hewn_error *error,
                           hewn_status status = HEWN_STATUS_OK) {
    if (SUCCEEDED(code)) return HEWN_STATUS_OK;
    if (status == HEWN_STATUS_OK) status = status_of(code);
    return fail(error, status, "D3D12: %s failed with code 0x%08lx", what, (unsigned long)code);
}

// The form in which the system's functions take the address of a result.
template<class T>
void **out(T **object) {
    return reinterpret_cast<void **>(object);
}

template<class T>
void release_object(T *&object) {
    if (object) object->Release();
    object = nullptr;
}

inline HRESULT create_buffer(ID3D12Device *device, D3D12_HEAP_TYPE type, uint64_t bytes,
                             ID3D12Resource **resource) {
    D3D12_HEAP_PROPERTIES heap = {};
    heap.Type = type;
    D3D12_RESOURCE_DESC desc = {};
    desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
    desc.Width = bytes;
    desc.Height = desc.DepthOrArraySize = desc.MipLevels = 1;
    desc.SampleDesc.Count = 1;
    desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
    if (type == D3D12_HEAP_TYPE_DEFAULT) desc.Flags = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    const D3D12_RESOURCE_STATES state =
        type == D3D12_HEAP_TYPE_UPLOAD     ? D3D12_RESOURCE_STATE_GENERIC_READ
        : type == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                           : D3D12_RESOURCE_STATE_COMMON;
    return device->CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &desc, state, nullptr,
                                           IID_ID3D12Resource, out(resource));
}

constexpr uint64_t kStagingBytes = 4 << 20;

// Lists whose commands share an allocator. The allocator can be used again when all of them have
// run.
struct Batch {
    ID3D12CommandAllocator *allocator;
    uint32_t lists;
    uint64_t end;  // the fence's value after the last list
};
constexpr uint32_t kListsOfBatch = 128;

// An object begins as zeros, because a device is allocated so. create() must come first.
class Queue {
public:
    // Uses the program's queue or, if it is null, makes one of its own. Takes references to the
    // device and the queue. release() must follow, even if this fails.
    hewn_status create(ID3D12Device *device, ID3D12CommandQueue *queue, hewn_error *error) {
        pthread_mutex_init(&mutex_, nullptr);
        device_ = device;
        device_->AddRef();
        queue_ = queue;
        if (queue_) queue_->AddRef();
        return create_objects(error);
    }

    // Waits for the device's own work, and gives everything back.
    void release() {
        if (fence_ && event_) wait(nullptr);
        release_object(upload_);
        release_object(readback_);
        release_object(list_);
        for (Batch &batch : batches_) release_object(batch.allocator);
        release_object(fence_);
        if (event_) CloseHandle(event_);
        release_object(queue_);
        release_object(device_);
        pthread_mutex_destroy(&mutex_);
    }

    // Opens a list to record into. If this succeeds, the queue stays locked until submit().
    hewn_status begin(ID3D12GraphicsCommandList **list, hewn_error *error) {
        pthread_mutex_lock(&mutex_);
        const hewn_status status = begin_list(error);
        if (status != HEWN_STATUS_OK) pthread_mutex_unlock(&mutex_);
        *list = list_;
        return status;
    }
    // Closes the list, submits it and unlocks the queue, even if it fails.
    hewn_status submit(hewn_error *error) {
        const hewn_status status = submit_list(error);
        pthread_mutex_unlock(&mutex_);
        return status;
    }

    // Waits until the device's own work has ended.
    hewn_status synchronize(hewn_error *error) {
        pthread_mutex_lock(&mutex_);
        const hewn_status status = wait(error);
        pthread_mutex_unlock(&mutex_);
        return status;
    }

    // Copies to memory, and from it. The copy is complete when the function returns.
    hewn_status write(ID3D12Resource *memory, uint64_t offset, const void *from, uint64_t bytes,
                      hewn_error *error) {
        return in_parts(bytes, [&](uint64_t done, uint64_t part) {
            return write_part(memory, offset + done, static_cast<const char *>(from) + done, part,
                              error);
        });
    }
    hewn_status read(ID3D12Resource *memory, uint64_t offset, void *to, uint64_t bytes,
                     hewn_error *error) {
        return in_parts(bytes, [&](uint64_t done, uint64_t part) {
            return read_part(memory, offset + done, static_cast<char *>(to) + done, part, error);
        });
    }

private:
    ID3D12Device *device_;
    ID3D12CommandQueue *queue_;
    pthread_mutex_t mutex_;  // guards the members that follow
    Batch batches_[2];       // one is filled while the other one runs
    uint32_t batch_;         // the one that is filled
    ID3D12GraphicsCommandList *list_;
    ID3D12Fence *fence_;
    HANDLE event_;
    ID3D12Resource *upload_, *readback_;
    uint64_t fence_value_;

    hewn_status create_objects(hewn_error *error) {
        D3D12_COMMAND_QUEUE_DESC desc = {};
        desc.Type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
        HRESULT code = S_OK;
        if (queue_) queue_->GetDesc(&desc);
        else code = device_->CreateCommandQueue(&desc, IID_ID3D12CommandQueue, out(&queue_));
        HEWN_CHECK(checked(code, "ID3D12Device::CreateCommandQueue", error));
        for (Batch &batch : batches_) {
            HEWN_CHECK(checked(device_->CreateCommandAllocator(
                                   desc.Type, IID_ID3D12CommandAllocator, out(&batch.allocator)),
                               "ID3D12Device::CreateCommandAllocator", error));
        }
        code = device_->CreateCommandList(0, desc.Type, batches_[0].allocator, nullptr,
                                          IID_ID3D12GraphicsCommandList, out(&list_));
        if (SUCCEEDED(code)) code = list_->Close();
        HEWN_CHECK(checked(code, "ID3D12Device::CreateCommandList", error));
        HEWN_CHECK(
            checked(device_->CreateFence(0, D3D12_FENCE_FLAG_NONE, IID_ID3D12Fence, out(&fence_)),
                    "ID3D12Device::CreateFence", error));
        code = create_buffer(device_, D3D12_HEAP_TYPE_UPLOAD, kStagingBytes, &upload_);
        if (SUCCEEDED(code))
            code = create_buffer(device_, D3D12_HEAP_TYPE_READBACK, kStagingBytes, &readback_);
        HEWN_CHECK(checked(code, "ID3D12Device::CreateCommittedResource", error));
        event_ = CreateEventA(nullptr, FALSE, FALSE, nullptr);
        return event_ ? hewn_status(HEWN_STATUS_OK) : checked(E_OUTOFMEMORY, "CreateEvent", error);
    }

    // The following functions are called with the mutex held.

    // Waits until the fence has reached the value, and resets the allocators of lists that have
    // run.
    hewn_status wait_until(uint64_t value, hewn_error *error) {
        HRESULT code = S_OK;
        if (fence_->GetCompletedValue() < value) {
            code = fence_->SetEventOnCompletion(value, event_);
            if (SUCCEEDED(code)) WaitForSingleObject(event_, INFINITE);
        }
        if (SUCCEEDED(code)) code = device_->GetDeviceRemovedReason();
        for (Batch &batch : batches_) {
            if (FAILED(code) || batch.lists == 0 || batch.end > value) continue;
            code = batch.allocator->Reset();
            if (SUCCEEDED(code)) batch.lists = 0;
        }
        return checked(code, "waiting for the queue", error);
    }

    // Has the queue signal the fence after everything that was submitted. If that fails, the next
    // wait tries again. Until then nobody may wait for that value, which would take forever, or
    // release what the lists use.
    hewn_status signal(hewn_error *error) {
        const uint64_t end = batches_[batch_].end;
        if (end <= fence_value_) return HEWN_STATUS_OK;
        const HRESULT code = queue_->Signal(fence_, end);
        if (SUCCEEDED(code)) fence_value_ = end;
        return checked(code, "ID3D12CommandQueue::Signal", error);
    }

    // Waits for all of the device's own work.
    hewn_status wait(hewn_error *error) {
        HEWN_CHECK(signal(error));
        return wait_until(fence_value_, error);
    }

    hewn_status begin_list(hewn_error *error) {
        if (batches_[batch_].lists >= kListsOfBatch) {
            const uint32_t other = 1 - batch_;
            HEWN_CHECK(signal(error));
            HEWN_CHECK(wait_until(batches_[other].end, error));
            batch_ = other;
        }
        return checked(list_->Reset(batches_[batch_].allocator, nullptr),
                       "ID3D12GraphicsCommandList::Reset", error);
    }

    hewn_status submit_list(hewn_error *error) {
        const HRESULT code = list_->Close();
        HEWN_CHECK(checked(code, "ID3D12GraphicsCommandList::Close", error));
        ID3D12CommandList *lists[] = {list_};
        queue_->ExecuteCommandLists(1, lists);
        Batch &batch = batches_[batch_];
        batch.lists++;
        batch.end = fence_value_ + 1;
        return signal(error);
    }

    // Copies a part, at most as large as the staging memory. The copy is complete when this
    // returns, for two reasons: the next part uses the same staging memory, and another queue may
    // read what was written, which nothing else would order after the copy. Between lists, buffers
    // fall back to the common state, from which they take any other.
    hewn_status copy(ID3D12Resource *to, uint64_t to_offset, ID3D12Resource *from,
                     uint64_t from_offset, uint64_t bytes, hewn_error *error) {
        HEWN_CHECK(begin_list(error));
        list_->CopyBufferRegion(to, to_offset, from, from_offset, bytes);
        HEWN_CHECK(submit_list(error));
        return wait(error);
    }

    hewn_status write_part(ID3D12Resource *memory, uint64_t offset, const void *from,
                           uint64_t bytes, hewn_error *error) {
        void *staging = nullptr;
        const D3D12_RANGE none = {0, 0};
        HEWN_CHECK(checked(upload_->Map(0, &none, &staging), "ID3D12Resource::Map", error));
        memcpy(staging, from, size_t(bytes));
        upload_->Unmap(0, nullptr);
        return copy(memory, offset, upload_, 0, bytes, error);
    }

    hewn_status read_part(ID3D12Resource *memory, uint64_t offset, void *to, uint64_t bytes,
                          hewn_error *error) {
        HEWN_CHECK(copy(readback_, 0, memory, offset, bytes, error));
        void *staging = nullptr;
        const D3D12_RANGE all = {0, SIZE_T(bytes)}, none = {0, 0};
        HEWN_CHECK(checked(readback_->Map(0, &all, &staging), "ID3D12Resource::Map", error));
        memcpy(to, staging, size_t(bytes));
        readback_->Unmap(0, &none);
        return HEWN_STATUS_OK;
    }

    // Calls copy_part(done, bytes) for each part of a copy, until one fails. A part has at most
    // kStagingBytes bytes.
    template<class CopyPart>
    hewn_status in_parts(uint64_t bytes, const CopyPart &copy_part) {
        hewn_status status = HEWN_STATUS_OK;
        pthread_mutex_lock(&mutex_);
        for (uint64_t done = 0; done < bytes && status == HEWN_STATUS_OK; done += kStagingBytes)
            status = copy_part(done, bytes - done < kStagingBytes ? bytes - done : kStagingBytes);
        pthread_mutex_unlock(&mutex_);
        return status;
    }
};

}  // namespace hewn::d3d12
