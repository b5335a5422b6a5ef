// Programs that fail, by the name that is given: each in its own way.
#include <cstring>
#include <cuda_runtime.h>

#include "check.h"

__global__ void write(int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = n; // without a check of the bound
}

__global__ void reverse(int *out) {
    __shared__ int part[64];
    part[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = part[63 - threadIdx.x]; // without a barrier
}

__global__ void forever(volatile int *flag) {
    while (*flag == 0)
        ;
}

__global__ void spin(int *out) {
    for (unsigned i = 1; i; i |= 1)
        out[0] += i;
}

// An instruction that is not simulated; the other kernels are.
__global__ void video(int *out) {
    asm("vadd2.s32.s32.s32 %0, %1, %1, %1;" : "=r"(out[threadIdx.x]) : "r"(threadIdx.x));
}

__global__ void silent() {
    printf("nobody sees this\n");
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    int *d, h;
    CHECK(cudaMalloc(&d, 64 * sizeof(int)));
    CHECK(cudaMemset(d, 0, 64 * sizeof(int)));
    if (!strcmp(name, "race"))
        reverse<<<1, 64>>>(d);
    if (!strcmp(name, "bounds"))
        write<<<2, 48>>>(d, 7);
    if (!strcmp(name, "unchecked")) { // nobody asks whether it failed
        write<<<1, 2000>>>(d, 7);
        return 0;
    }
    if (!strcmp(name, "deadlock"))
        forever<<<1, 32>>>(d);
    if (!strcmp(name, "spin"))
        spin<<<1, 32>>>(d);
    if (!strcmp(name, "video"))
        video<<<1, 32>>>(d);
    if (!strcmp(name, "host"))
        return d[3];
    if (!strcmp(name, "abort"))
        abort();
    if (!strcmp(name, "silent")) {
        silent<<<1, 1>>>();
        return 0;
    }
    if (!strcmp(name, "echo")) {
        char line[80];
        while (fgets(line, sizeof line, stdin))
            printf("%s>%s", argv[2], line);
        return 7;
    }
    printf("launch: %s\n", cudaGetErrorName(cudaGetLastError()));
    printf("synchronize: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    printf("copy: %s\n", cudaGetErrorName(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost)));
    printf("allocate: %s\n", cudaGetErrorName(cudaMalloc(&d, 4)));
    write<<<1, 1>>>(d, 1);
    printf("again: %s\n", cudaGetErrorName(cudaGetLastError()));
    return 0;
}
