// Accesses shared memory in the patterns of tests/support/shared_patterns.py, to be run under ncu: every
// pattern as an instruction of its own in `loads` and `stores`, and each alone, over and over, in
// `load_again` and `store_again`.
//
// Usage: shared_patterns <file>: for widths 4, 8, 16 each 64 patterns of 32 int32 byte addresses, -1 for a
// lane that takes no part.
#include <cstdio>
#include <vector>

constexpr int PATTERNS = 64, TIMES = 256;

template <int Width> __device__ float load(unsigned address, bool on) {
    float a = 0, b = 0, c = 0, d = 0;
    if constexpr (Width == 4)
        asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p ld.volatile.shared.f32 %0, [%1];}"
                     : "+f"(a)
                     : "r"(address), "r"(unsigned(on)));
    else if constexpr (Width == 8)
        asm volatile("{.reg .pred p; setp.ne.u32 p, %3, 0; @p ld.volatile.shared.v2.f32 {%0, %1}, [%2];}"
                     : "+f"(a), "+f"(b)
                     : "r"(address), "r"(unsigned(on)));
    else
        asm volatile(
            "{.reg .pred p; setp.ne.u32 p, %5, 0; @p ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];}"
            : "+f"(a), "+f"(b), "+f"(c), "+f"(d)
            : "r"(address), "r"(unsigned(on)));
    return a + b + c + d;
}

template <int Width> __device__ void store(unsigned address, bool on) {
    const float x = float(threadIdx.x);
    if constexpr (Width == 4)
        asm volatile(
            "{.reg .pred p; setp.ne.u32 p, %1, 0; @p st.volatile.shared.f32 [%0], %2;}" ::"r"(address),
            "r"(unsigned(on)), "f"(x));
    else if constexpr (Width == 8)
        asm volatile(
            "{.reg .pred p; setp.ne.u32 p, %1, 0; @p st.volatile.shared.v2.f32 [%0], {%2, %2};}" ::"r"(
                address),
            "r"(unsigned(on)), "f"(x));
    else
        asm volatile(
            "{.reg .pred p; setp.ne.u32 p, %1, 0; @p st.volatile.shared.v4.f32 [%0], {%2, %2, %2, %2};}" ::
                "r"(address),
            "r"(unsigned(on)), "f"(x));
}

extern __shared__ __align__(16) unsigned char memory[];

__device__ unsigned base() {
    return unsigned(__cvta_generic_to_shared(memory));
}

template <int Width> __global__ void loads(const int *offsets, float *out) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < PATTERNS; k++) {
        const int offset = offsets[32 * k + threadIdx.x];
        sum += load<Width>(base() + unsigned(offset), offset >= 0);
    }
    out[threadIdx.x] = sum;
}

template <int Width> __global__ void stores(const int *offsets) {
#pragma unroll
    for (int k = 0; k < PATTERNS; k++) {
        const int offset = offsets[32 * k + threadIdx.x];
        store<Width>(base() + unsigned(offset), offset >= 0);
    }
}

template <int Width> __global__ void load_again(const int *offsets, float *out) {
    const int offset = offsets[threadIdx.x];
    float sum = 0;
    for (int k = 0; k < TIMES; k++)
        sum += load<Width>(base() + unsigned(offset), offset >= 0);
    out[threadIdx.x] = sum;
}

template <int Width> __global__ void store_again(const int *offsets) {
    const int offset = offsets[threadIdx.x];
    for (int k = 0; k < TIMES; k++)
        store<Width>(base() + unsigned(offset), offset >= 0);
}

template <int Width> void run(const int *offsets, float *out) {
    loads<Width><<<1, 32, 16384>>>(offsets, out);
    stores<Width><<<1, 32, 16384>>>(offsets);
    for (int k = 0; k < PATTERNS; k++) {
        load_again<Width><<<1, 32, 16384>>>(offsets + 32 * k, out);
        store_again<Width><<<1, 32, 16384>>>(offsets + 32 * k);
    }
}

int main(int count, char **arguments) {
    std::vector<int> offsets(3 * PATTERNS * 32);
    FILE *file = count > 1 ? fopen(arguments[1], "rb") : nullptr;
    if (!file || fread(offsets.data(), sizeof(int), offsets.size(), file) != offsets.size())
        return 2;
    fclose(file);
    int *on_device = nullptr;
    float *out = nullptr;
    cudaMalloc(&on_device, offsets.size() * sizeof(int));
    cudaMalloc(&out, 32 * sizeof(float));
    cudaMemcpy(on_device, offsets.data(), offsets.size() * sizeof(int), cudaMemcpyHostToDevice);
    run<4>(on_device, out);
    run<8>(on_device + PATTERNS * 32, out);
    run<16>(on_device + 2 * PATTERNS * 32, out);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
