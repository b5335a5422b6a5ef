// Sums of CUB at its three levels of determinism, its sums of segments and its top-k as peers of the
// benchmark `cccl`, which compiles this file with headers of CCCL 3.5 or later. Each function enqueues one
// call. It takes its temporary memory from `temp`, or reports CUDA's out-of-memory error if `temp_bytes` do
// not suffice.
#include <cstdint>
#include <cstring>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_topk.cuh>
#include <cuda/iterator>
#include <cuda/memory_resource>
#include <cuda/std/execution>
#include <cuda/stream_ref>
#include <new>

namespace {

// A memory resource that returns the caller's memory: cudaMallocAsync would be a part of the time that is
// measured.
struct CallersMemory {
    void *memory;
    size_t bytes;

    void *allocate(cuda::stream_ref, size_t size, size_t = 0) {
        return allocate_sync(size);
    }
    void *allocate_sync(size_t size, size_t = 0) {
        if (size > bytes)
            throw std::bad_alloc();
        return memory;
    }
    void deallocate(cuda::stream_ref, void *, size_t, size_t = 0) noexcept {
    }
    void deallocate_sync(void *, size_t, size_t = 0) noexcept {
    }
    friend bool operator==(const CallersMemory &a, const CallersMemory &b) {
        return a.memory == b.memory;
    }
    friend bool operator!=(const CallersMemory &a, const CallersMemory &b) {
        return !(a == b);
    }
    [[maybe_unused]] friend void get_property(const CallersMemory &, cuda::mr::device_accessible) noexcept {
    }
};

template <class... Requirements>
auto environment(cudaStream_t stream, void *temp, size_t temp_bytes, Requirements... requirements) {
    return cuda::std::execution::env{
        cuda::stream_ref{stream},
        cuda::std::execution::prop{cuda::mr::get_memory_resource, CallersMemory{temp, temp_bytes}},
        cuda::execution::require(requirements...)};
}

template <class T, class Level>
cudaError_t sum(const void *in, void *out, int64_t n, void *temp, size_t temp_bytes, cudaStream_t stream,
                Level level) {
    const auto reduce = [&](auto count) {
        return cub::DeviceReduce::Sum(static_cast<const T *>(in), static_cast<T *>(out), count,
                                      environment(stream, temp, temp_bytes, level));
    };
    return n <= INT32_MAX ? reduce(int32_t(n)) : reduce(n); // the type of the count is that of CUB's indices
}

template <class T>
cudaError_t sum_at(const char *level, const void *in, void *out, int64_t n, void *temp, size_t temp_bytes,
                   cudaStream_t stream) {
    namespace determinism = cuda::execution::determinism;
    if (strcmp(level, "gpu_to_gpu") == 0)
        return sum<T>(in, out, n, temp, temp_bytes, stream, determinism::gpu_to_gpu);
    if (strcmp(level, "run_to_run") == 0)
        return sum<T>(in, out, n, temp, temp_bytes, stream, determinism::run_to_run);
    if (strcmp(level, "not_guaranteed") == 0)
        return sum<T>(in, out, n, temp, temp_bytes, stream, determinism::not_guaranteed);
    return cudaErrorInvalidValue;
}

const char *message(cudaError_t code) {
    return code == cudaSuccess ? nullptr : cudaGetErrorString(code);
}

} // namespace

extern "C" int peer_version() {
    return CCCL_VERSION;
}

// Enqueues the sum of n float32 or float64 elements at a level of determinism. Returns null or a message.
extern "C" const char *peer_sum(const char *level, const char *dtype, int64_t n, const void *in, void *out,
                                void *temp, size_t temp_bytes, cudaStream_t stream) {
    if (strcmp(dtype, "float32") == 0)
        return message(sum_at<float>(level, in, out, n, temp, temp_bytes, stream));
    if (strcmp(dtype, "float64") == 0)
        return message(sum_at<double>(level, in, out, n, temp, temp_bytes, stream));
    return "no such dtype";
}

// Enqueues the float32 sums of segments of equal lengths. Returns null or a message.
extern "C" const char *peer_equal_segments(int64_t segments, int length, const float *in, float *out,
                                           void *temp, size_t temp_bytes, cudaStream_t stream) {
    size_t needed = 0;
    cudaError_t code = cub::DeviceSegmentedReduce::Sum(nullptr, needed, in, out, segments, length, stream);
    if (code == cudaSuccess && needed > temp_bytes)
        code = cudaErrorMemoryAllocation;
    if (code == cudaSuccess)
        code = cub::DeviceSegmentedReduce::Sum(temp, needed, in, out, segments, length, stream);
    return message(code);
}

// Enqueues the k largest of n float32 and their int64 positions, in any order. Returns null or a message.
extern "C" const char *peer_top(int64_t n, int64_t k, const float *in, float *values, int64_t *positions,
                                void *temp, size_t temp_bytes, cudaStream_t stream) {
    const auto env = environment(stream, temp, temp_bytes, cuda::execution::determinism::not_guaranteed,
                                 cuda::execution::output_ordering::unsorted);
    return message(cub::DeviceTopK::MaxPairs(in, values, cuda::counting_iterator<int64_t>(0), positions,
                                             int32_t(n), int32_t(k), env));
}
