// Kernels that launch kernels: a tree of launches, copies between launches, memory of a kernel, and output.
#include <cstdio>

#include "check.h"

__device__ unsigned nodes;

__global__ void square(const int *in, int *out, int n);

// Each block counts itself, and launches two blocks less deep.
__global__ void grow(int depth, unsigned *of_depth) {
    if (threadIdx.x)
        return;
    atomicAdd(&nodes, 1);
    atomicAdd(&of_depth[depth], 1);
    if (depth > 0)
        grow<<<2, 32>>>(depth - 1, of_depth);
}

// The launches of a stream see what those before have written.
__global__ void steps(int *a, int *b, int n) {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    square<<<(n + 31) / 32, 32, 32 * sizeof(int), stream>>>(a, b, n);
    cudaMemcpyAsync(a, b, n * sizeof(int), cudaMemcpyDeviceToDevice, stream);
    square<<<(n + 31) / 32, 32, 32 * sizeof(int), stream>>>(a, b, n);
    cudaStreamDestroy(stream);
    printf("last error %d %d\n", cudaPeekAtLastError(), cudaGetLastError());
}

__global__ void square(const int *in, int *out, int n) {
    extern __shared__ int part[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    if (i < n)
        out[i] = part[threadIdx.x] * part[threadIdx.x];
}

__global__ void keep(int **pointers) {
    cudaMalloc((void **)&pointers[threadIdx.x], 64);
    pointers[threadIdx.x][15] = threadIdx.x;
}

__global__ void give_back(int **pointers, int *sum) {
    atomicAdd(sum, pointers[threadIdx.x][15]);
    cudaFree(pointers[threadIdx.x]);
}

__global__ void beyond(int *a) {
    square<<<1, 32, 128>>>(a, a + (1 << 20), 32); // out of bounds
}

int main(int argc, char **) {
    enum { DEPTH = 5, N = 100 };
    unsigned *of_depth, total = 0;
    CHECK(cudaMallocManaged(&of_depth, (DEPTH + 1) * sizeof(unsigned)));
    for (int i = 0; i <= DEPTH; i++)
        of_depth[i] = 0;
    grow<<<1, 32>>>(DEPTH, of_depth);
    CHECK(cudaMemcpyFromSymbol(&total, nodes, sizeof total));
    printf("%u nodes:", total);
    for (int i = 0; i <= DEPTH; i++)
        printf(" %u", of_depth[i]);
    printf("\n");

    int *a, **pointers, *sum;
    CHECK(cudaMallocManaged(&a, 2 * N * sizeof(int)));
    for (int i = 0; i < N; i++)
        a[i] = i % 7 - 3;
    steps<<<1, 1>>>(a, a + N, N);
    CHECK(cudaDeviceSynchronize());
    bool right = true;
    for (int i = 0; i < N; i++) {
        const int x = i % 7 - 3;
        right = right && a[i] == x * x && a[N + i] == x * x * x * x;
    }
    CHECK(cudaMalloc(&pointers, 32 * sizeof(int *)));
    CHECK(cudaMallocManaged(&sum, sizeof(int)));
    *sum = 0;
    keep<<<1, 32>>>(pointers);
    give_back<<<1, 32>>>(pointers, sum);
    CHECK(cudaDeviceSynchronize());
    printf("the steps are %s, the sum is %d\n", right ? "right" : "wrong", *sum);
    if (argc > 1) {
        beyond<<<1, 1>>>(a);
        printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    }
    return 0;
}
