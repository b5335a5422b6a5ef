// Blocks that share global memory, by the name that is given: with an order between them, or without.
#include <cooperative_groups.h>
#include <cstring>

#include "check.h"

constexpr int BLOCKS = 6, THREADS = 64, RELAYS = 3000;
__device__ unsigned arrived;
__device__ volatile int flag;

// A pass of a reduction in place: a block overwrites what another one has yet to read.
__global__ void in_place(float *partial) {
    float sum = partial[blockIdx.x * 2] + partial[blockIdx.x * 2 + 1];
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

template <bool FENCE> __global__ void last_block(const float *in, float *partial, float *out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = in[blockIdx.x];
        if (FENCE)
            __threadfence();
        last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x)
        atomicAdd(out, partial[threadIdx.x]);
}

__global__ void whole_grid(float *a, float *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    a[i] = 1.5f * i;
    cooperative_groups::this_grid().sync();
    b[i] = a[n - 1 - i];
    cooperative_groups::this_grid().sync();
    a[i] = -b[i];
}

__global__ void hand_over(float *a, float *b) {
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        a[0] = 2.5f;
        __threadfence();
        flag = 1;
    } else {
        while (!flag)
            ;
        b[blockIdx.x] = a[0];
    }
}

// Each block waits for the one before it, as the look-back of a scan does: more blocks than can be resident.
__global__ void relay(volatile int *sums) {
    if (threadIdx.x)
        return;
    while (blockIdx.x > 0 && sums[blockIdx.x - 1] == 0)
        ;
    sums[blockIdx.x] = (blockIdx.x > 0 ? sums[blockIdx.x - 1] : 0) + 1;
}

// All blocks write the same value; the counts are atomic.
__global__ void benign(float *a, int *bins) {
    a[0] = 1.0f;
    atomicAdd(&bins[threadIdx.x % 4], 1);
    a[1 + blockIdx.x] += 0.5f;
}

__global__ void bytes(char *to) {
    to[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x; // bytes of one word are not one place
    if (threadIdx.x == 0)
        to[1000] = 3 + blockIdx.x;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    float *a, *b;
    CHECK(cudaMalloc(&a, 4096));
    CHECK(cudaMalloc(&b, 4096));
    CHECK(cudaMemset(a, 1, 4096));
    CHECK(cudaMemset(b, 0, 4096));
    if (!strcmp(name, "in place"))
        in_place<<<BLOCKS, THREADS>>>(a);
    if (!strcmp(name, "unfenced"))
        last_block<false><<<BLOCKS, THREADS>>>(a, a + 100, b);
    if (!strcmp(name, "bytes"))
        bytes<<<BLOCKS, THREADS>>>((char *)a);
    if (!strcmp(name, "ordered")) {
        last_block<true><<<BLOCKS, THREADS>>>(a, a + 100, b);
        void *arguments[] = {&a, &b};
        CHECK(cudaLaunchCooperativeKernel((const void *)whole_grid, BLOCKS, THREADS, arguments, 0, 0));
        hand_over<<<BLOCKS, THREADS>>>(a, b);
        int *sums, last;
        CHECK(cudaMalloc(&sums, RELAYS * sizeof(int)));
        CHECK(cudaMemset(sums, 0, RELAYS * sizeof(int)));
        relay<<<RELAYS, 32>>>(sums);
        CHECK(cudaMemcpy(&last, sums + RELAYS - 1, sizeof last, cudaMemcpyDeviceToHost));
        EXPECT(last == RELAYS);
        benign<<<BLOCKS, THREADS>>>(a, (int *)b);
        in_place<<<1, THREADS>>>(a); // two launches order the passes
        in_place<<<1, THREADS>>>(a);
    }
    CHECK(cudaDeviceSynchronize());
    return 0;
}
