/* Shuffles, votes and shared-memory atomics in full warps. One block of 256 threads. */
#include <stdint.h>

typedef unsigned long long u64;

/* out[t] is a hash of every shuffle of one value, so that a single wrong lane changes it. */
extern "C" __global__ void shuffles(const u64 *in, u64 *out, u64 n) {
    const unsigned t = threadIdx.x;
    if (t >= n)
        return;
    const unsigned value = (unsigned)in[t];
    u64 fold = 0;
#pragma unroll
    for (int width = 2; width <= 32; width *= 2) {
#pragma unroll
        for (unsigned distance = 0; distance < 32; distance += 3) {
            fold = fold * 31 + __shfl_up_sync(0xffffffffu, value, distance, width);
            fold = fold * 31 + __shfl_down_sync(0xffffffffu, value, distance, width);
            fold = fold * 31 + __shfl_xor_sync(0xffffffffu, value, distance, width);
            fold = fold * 31 + __shfl_sync(0xffffffffu, value, distance, width);
            fold = fold * 31 + __shfl_sync(0xffffffffu, value, value >> distance, width);
        }
    }
    out[t] = fold;
}

extern "C" __global__ void votes(const u64 *in, u64 *out, u64 n) {
    const unsigned t = threadIdx.x;
    if (t >= n)
        return;
    const u64 value = in[t];
    u64 fold = 0;
    for (unsigned bit = 0; bit < 16; bit++) {
        const int yes = (value >> bit & 1) != 0, often = (value >> bit & 15) != 0;
        fold = fold * 31 + __ballot_sync(0xffffffffu, yes);
        fold = fold * 31 + (__any_sync(0xffffffffu, yes) ? 3 : 1);
        fold = fold * 31 + (__all_sync(0xffffffffu, often) ? 5 : 7);
        const unsigned half = t % 32 < 16 ? 0x0000ffffu : 0xffff0000u;
        fold = fold * 31 + __ballot_sync(half, often);
        fold = fold * 31 + (__all_sync(half, often) ? 5 : 7);
    }
    out[t] = fold;
}

/* Divergence of several kinds; every path ends in the same store. */
extern "C" __global__ void diverge(const u64 *in, u64 *out, u64 n) {
    const unsigned t = threadIdx.x;
    if (t >= n)
        return;
    u64 x = in[t];
    for (unsigned i = 0; i < t % 13; i++) {
        x = x * 6364136223846793005ull + i;
        if (x & 1)
            x ^= x >> 7;
        else if (x & 2) {
            for (u64 j = x & 7; j > 0; j--)
                x += j * i;
        } else {
            if (x % 5 == 0)
                continue;
            x = ~x;
        }
        if ((x & 0xff) == 3)
            break;
    }
    switch (t % 5) {
    case 0:
        x += 1;
    case 1:
        x *= 3;
        break;
    case 2:
        out[t] = x / (t + 1);
        return;
    default:
        x -= t;
    }
    out[t] = x;
}

extern "C" __global__ void shared_atomics(const u64 *in, u64 *out, u64 n) {
    __shared__ unsigned bins[32];
    __shared__ int least, most;
    __shared__ u64 sum;
    const unsigned t = threadIdx.x;
    if (t < 32)
        bins[t] = 0;
    if (t == 0) {
        least = 0x7fffffff;
        most = -0x7fffffff - 1;
        sum = 0;
    }
    __syncthreads();
    if (t < n) {
        atomicAdd(&bins[in[t] % 32], 1u);
        atomicMin(&least, (int)in[t]);
        atomicMax(&most, (int)in[t]);
        atomicAdd(&sum, in[t]);
        atomicXor(&bins[t % 7], 0u);
    }
    __syncthreads();
    out[t] = sum + bins[t % 32] + ((u64)(unsigned)least << 32) + (unsigned)most;
}

extern "C" __global__ void doubles(const u64 *in, u64 *out, u64 n) {
    __shared__ double tree[256];
    const unsigned t = threadIdx.x;
    tree[t] = t < n ? (double)(long long)in[t] * 1e-3 : 0.0;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            tree[t] += tree[t + s];
        __syncthreads();
    }
    out[t] = (u64)__double_as_longlong(t == 0 ? tree[0] : sqrt(fabs(tree[t])) / (t + 0.5));
}
