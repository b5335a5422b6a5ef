// A program as in textbooks: a reduction in shared memory, timed by events, checked on the host.
#include "check.h"

#ifndef THREADS
#define THREADS 256
#endif

__global__ void reduce(const float *in, float *out, unsigned n) {
    __shared__ float part[THREADS];
    unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
    part[tid] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            part[tid] += part[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        out[blockIdx.x] = part[0];
}

int main(int argc, char **argv) {
    unsigned n = argc > 1 ? atoi(argv[1]) : 100000, blocks = (n + THREADS - 1) / THREADS;
    float *in = (float *)malloc(n * sizeof(float)), *out = (float *)malloc(blocks * sizeof(float));
    for (unsigned i = 0; i < n; i++)
        in[i] = i % 7;
    float *d_in, *d_out, milliseconds;
    CHECK(cudaMalloc(&d_in, n * sizeof(float)));
    CHECK(cudaMalloc((void **)&d_out, blocks * sizeof(float)));
    CHECK(cudaMemcpy(d_in, in, n * sizeof(float), cudaMemcpyHostToDevice));
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start));
    reduce<<<blocks, THREADS>>>(d_in, d_out, n);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    CHECK(cudaMemcpy(out, d_out, blocks * sizeof(float), cudaMemcpyDeviceToHost));
    double sum = 0, wanted = 0;
    for (unsigned i = 0; i < blocks; i++)
        sum += out[i];
    for (unsigned i = 0; i < n; i++)
        wanted += in[i];
    printf("%s: %.0f in %.6f ms\n", sum == wanted ? "right" : "wrong", sum, milliseconds);
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    CHECK(cudaDeviceReset());
    return sum != wanted;
}
