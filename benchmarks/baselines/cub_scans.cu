// CUB's scans and segmented sums as peers of the benchmark: compiled by the benchmark itself, with the nvcc
// that it finds. Each function enqueues one, or without `temp` only says in *temp_bytes how much of it CUB
// needs.
#include <cstdint>
#include <cstring>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>

extern "C" const char *peer_scan(const char *dtype, int64_t n, const void *in, void *out, void *temp,
                                 size_t *temp_bytes, cudaStream_t stream) {
    cudaError_t code = cudaErrorInvalidValue;
    const auto scan = [&](auto of) {
        using T = decltype(of);
        return cub::DeviceScan::InclusiveSum(temp, *temp_bytes, static_cast<const T *>(in),
                                             static_cast<T *>(out), n, stream);
    };
    if (strcmp(dtype, "float32") == 0)
        code = scan(float());
    else if (strcmp(dtype, "float64") == 0)
        code = scan(double());
    else if (strcmp(dtype, "int32") == 0)
        code = scan(int32_t());
    return code == cudaSuccess ? nullptr : cudaGetErrorString(code);
}

extern "C" const char *peer_segments(int64_t segments, const float *in, float *out, const int64_t *offsets,
                                     void *temp, size_t *temp_bytes, cudaStream_t stream) {
    const cudaError_t code =
        cub::DeviceSegmentedReduce::Sum(temp, *temp_bytes, in, out, segments, offsets, offsets + 1, stream);
    return code == cudaSuccess ? nullptr : cudaGetErrorString(code);
}
