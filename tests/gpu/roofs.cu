// What the units of a GPU do at most: multiply-adds of float32 a second, and bytes from L1. Prints JSON, for
// python benchmarks/run.py matmul --roofs.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

__global__ void __launch_bounds__(256) multiply_adds(float *out, float a, float b, int rounds) {
    float sums[32];
    for (int i = 0; i < 32; ++i)
        sums[i] = threadIdx.x + i;
    for (int r = 0; r < rounds; ++r)
#pragma unroll
        for (int j = 0; j < 8; ++j)
#pragma unroll
            for (int i = 0; i < 32; ++i)
                sums[i] = fmaf(sums[i], a, b);
    float sum = 0;
    for (int i = 0; i < 32; ++i)
        sum += sums[i];
    if (sum == 12345.678f) // never; so that the sums are needed
        out[0] = sum;
}

// Every block reads the same vectors again and again.
__global__ void __launch_bounds__(1024) reads(const float4 *from, uint32_t vectors, int rounds, float *out) {
    float4 sum = {0, 0, 0, 0};
    for (int r = 0; r < rounds; ++r)
#pragma unroll 8
        for (uint32_t i = threadIdx.x; i < vectors; i += 1024) {
            float4 v;
            asm volatile("ld.global.ca.v4.f32 {%0, %1, %2, %3}, [%4];"
                         : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                         : "l"(from + i));
            sum.x += v.x;
            sum.y += v.y;
            sum.z += v.z;
            sum.w += v.w;
        }
    if (sum.x + sum.y + sum.z + sum.w == 12345.678f)
        out[0] = sum.x;
}

template <class Launch> double seconds(Launch launch) {
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    std::vector<float> times;
    for (int i = 0; i < 12; ++i) {
        float ms;
        cudaEventRecord(start);
        launch();
        cudaEventRecord(stop);
        cudaEventSynchronize(stop);
        cudaEventElapsedTime(&ms, start, stop);
        times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2] / 1e3;
}

int main() {
    const int rounds = 4000, again = 200;
    const uint32_t vectors = 8192; // 128 KiB, which L1 holds
    cudaDeviceProp device;
    cudaGetDeviceProperties(&device, 0);
    const int many = device.multiProcessorCount;
    float *room;
    cudaMalloc(&room, vectors * 16);
    cudaMemset(room, 0, vectors * 16);
    const double ffma = seconds([&] { multiply_adds<<<many * 8, 256>>>(room, 0.999f, 0.001f, rounds); });
    const double l1 =
        seconds([&] { reads<<<many, 1024>>>(reinterpret_cast<const float4 *>(room), vectors, again, room); });
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 1;
    printf("{\"device\": \"%s\", \"ffma_tflop_per_s\": %.2f, \"l1_gb_per_s\": %.0f}\n", device.name,
           2.0 * 8 * 32 * rounds * many * 8 * 256 / ffma / 1e12, 16.0 * vectors * again * many / l1 / 1e9);
    return 0;
}
