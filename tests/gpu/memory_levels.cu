// Latency and bandwidth of shared memory, L1, L2 and device memory, and the cost of bank conflicts. Prints a
// JSON file for benchmarks/results: nvcc -O3 -arch=sm_90 memory_levels.cu -o memory_levels && ./memory_levels
// 2026-11-28
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

constexpr int LINE = 32; // words in 128 bytes
constexpr int STEPS = 2048;

// A chain of dependent loads: each element is the index of the next one. One thread, cycles per load.
template <bool SHARED, bool IN_L1>
__global__ void chase(const uint32_t *chain, uint32_t words, int warm_up, uint32_t first, float *cycles,
                      uint32_t *end) {
    __shared__ uint32_t copy[SHARED ? 4096 : 1];
    if (SHARED)
        for (uint32_t i = 0; i < words; ++i)
            copy[i] = chain[i];
    uint32_t at = first;
    auto step = [&] {
        if (SHARED)
            at = copy[at];
        else if (IN_L1)
            asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(at) : "l"(chain + at) : "memory");
        else
            asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(chain + at) : "memory");
    };
    for (int i = 0; i < warm_up; ++i)
        step();
    const long long start = clock64();
#pragma unroll 16
    for (int i = 0; i < STEPS; ++i)
        step();
    *end = at; // needed, so that the loads are
    *cycles = static_cast<float>(clock64() - start) / STEPS;
}

// Each lane reads words that lie `stride` apart, so that `stride` lanes share a bank. Loads are volatile, as
// ptxas would do the same load once.
__global__ void __launch_bounds__(1024) strided(int rounds, int stride, float *out) {
    __shared__ float words[32 * 32];
    words[threadIdx.x] = threadIdx.x;
    __syncthreads();
    const uint32_t address =
        static_cast<uint32_t>(__cvta_generic_to_shared(words + threadIdx.x % 32 * stride % 1024));
    float sum = 0, value;
#pragma unroll 32
    for (int i = 0; i < rounds; ++i) {
        asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(value) : "r"(address));
        sum += value;
    }
    if (sum == 0.5f) // never; so that the loads are needed
        out[0] = sum;
}

// All threads read 16 bytes at a time, the same words of shared memory again and again or device memory once.
__global__ void __launch_bounds__(1024) read_shared(int rounds, float *out) {
    __shared__ float4 words[1024];
    words[threadIdx.x] = make_float4(1, 2, 3, 4);
    __syncthreads();
    const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(words + threadIdx.x));
    float sum = 0;
#pragma unroll 32
    for (int i = 0; i < rounds; ++i) {
        float4 v;
        asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                     : "r"(address));
        sum += v.x;
    }
    if (sum == 0.5f)
        out[0] = sum;
}

__global__ void __launch_bounds__(512) read_device(const float4 *from, uint64_t vectors, float *out) {
    float sum = 0;
#pragma unroll 8
    for (uint64_t i = blockIdx.x * 512ull + threadIdx.x; i < vectors; i += gridDim.x * 512ull) {
        const float4 v = __ldcs(from + i);
        sum += v.x + v.y + v.z + v.w;
    }
    if (sum == 0.5f)
        out[0] = sum;
}

static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

template <class Launch> static double seconds(Launch launch) {
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    std::vector<double> times;
    for (int i = 0; i < 11; ++i) {
        float ms;
        cudaEventRecord(start);
        launch();
        cudaEventRecord(stop);
        cudaEventSynchronize(stop);
        cudaEventElapsedTime(&ms, start, stop);
        times.push_back(ms / 1e3);
    }
    return median(times);
}

// A chain through all lines of `words` words: a full period of a linear congruence.
static void make_chain(uint32_t *device, uint32_t words) {
    const uint32_t lines = words / LINE;
    std::vector<uint32_t> chain(words);
    for (uint32_t i = 0; i < lines; ++i)
        chain[static_cast<size_t>(i) * LINE] = (1664525u * i + 1013904223u) % lines * LINE;
    cudaMemcpy(device, chain.data(), words * 4ull, cudaMemcpyHostToDevice);
}

template <bool SHARED, bool IN_L1>
static double latency(uint32_t *chain, uint32_t words, bool cached, float *cycles, uint32_t *end) {
    make_chain(chain, words);
    const int warm_up = cached ? static_cast<int>(words / LINE) : 16;
    std::vector<double> times;
    for (uint32_t i = 0; i < 11; ++i) {
        const uint32_t first = i * (words / LINE / 11) * LINE;
        chase<SHARED, IN_L1><<<1, 1>>>(chain, words, warm_up, first, cycles, end);
        float each;
        cudaMemcpy(&each, cycles, sizeof each, cudaMemcpyDeviceToHost);
        times.push_back(each);
    }
    return median(times);
}

int main(int count, char **arguments) {
    cudaDeviceProp device;
    if (cudaGetDeviceProperties(&device, 0) != cudaSuccess)
        return 1;
    const bool quick = count > 2 && !strcmp(arguments[2], "quick"); // on the simulator
    const uint32_t many = device.multiProcessorCount, largest = quick ? 1u << 16 : 1u << 28;
    const int rounds = quick ? 32 : 1 << 16;
    float *room;
    uint32_t *chain, *end;
    cudaMalloc(&room, 4);
    cudaMalloc(&end, 4);
    cudaMalloc(&chain, largest * 4ull);
    const double shared = latency<true, false>(chain, 4096, true, room, end);
    const double l1 = latency<false, true>(chain, 8192, true, room, end);
    const double l2 = latency<false, false>(chain, quick ? 1 << 14 : 1 << 21, true, room, end);
    const double memory = latency<false, false>(chain, largest, false, room, end);
    const double one = seconds([&] { read_shared<<<many * 2, 1024>>>(rounds, room); });
    const double twice = seconds([&] { read_shared<<<many * 2, 1024>>>(2 * rounds, room); });
    const double from_memory = seconds(
        [&] { read_device<<<many * 4, 512>>>(reinterpret_cast<float4 *>(chain), largest / 4, room); });
    printf("{\n  \"schema\": 1,\n  \"device\": \"%s\",\n  \"date\": \"%s\",\n", device.name,
           count > 1 ? arguments[1] : "");
    printf(
        "  \"method\": \"tests/gpu/memory_levels.cu, medians of 11: cycles of a load that depends on the one "
        "before,"
        " one thread; GB/s of loads of 16 bytes by all threads; ways: lanes of a warp that share a bank, time"
        " of a load relative to 1\",\n");
    printf("  \"latency_cycles\": {\"shared\": %.1f, \"l1\": %.1f, \"l2\": %.1f, \"device\": %.1f},\n",
           shared, l1, l2, memory);
    printf("  \"gb_per_s\": {\"shared\": %.0f, \"device\": %.0f},\n",
           16.0 * 1024 * many * 2 * rounds / (twice - one) / 1e9, 4.0 * largest / from_memory / 1e9);
    printf("  \"rows\": [\n");
    double without = 0;
    for (int stride = 1; stride <= 32; stride *= 2) {
        const double less = seconds([&] { strided<<<many * 2, 1024>>>(rounds / 4, stride, room); });
        const double more = seconds([&] { strided<<<many * 2, 1024>>>(rounds / 2, stride, room); });
        without = stride == 1 ? more - less : without;
        printf("    {\"ways\": %d, \"time\": %.2f}%s\n", stride, (more - less) / without,
               stride < 32 ? "," : "");
    }
    printf("  ]\n}\n");
    return cudaDeviceSynchronize() != cudaSuccess;
}
