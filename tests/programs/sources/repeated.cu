// Launches that repeat: with an effect, without one, and without one until the host changes what they read.
#include "check.h"

__global__ void count(int *total) { // each launch has an effect
    atomicAdd(total, 1);
}

__global__ void square(const int *in, int *out, int n) { // the second launch has none
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int k = 0; k < 50; k++)
        sum += in[i % n] * in[(i + k) % n];
    out[i] = sum;
}

__global__ void say(int number) {
    if (threadIdx.x == 0)
        printf("number %d\n", number);
}

int main() {
    enum { N = 64 };
    int *total, *shared, *in, *out, h[N], back[N];
    CHECK(cudaMalloc(&total, sizeof(int)));
    CHECK(cudaMalloc(&in, sizeof h));
    CHECK(cudaMalloc(&out, sizeof h));
    CHECK(cudaMallocManaged(&shared, sizeof h));
    CHECK(cudaMemset(total, 0, sizeof(int)));
    for (int i = 0; i < N; i++)
        h[i] = shared[i] = i;
    CHECK(cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice));
    for (int i = 0; i < 20; i++)
        count<<<1, 32>>>(total);
    for (int i = 0; i < 20; i++)
        square<<<1, N>>>(in, out, N);
    for (int i = 0; i < 20; i++) {
        shared[3] = i / 5; // by the host, without a call of the runtime
        square<<<1, 32>>>(shared + 3, shared + 8, 1);
    }
    h[0] = 100;
    CHECK(cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice));
    for (int i = 0; i < 3; i++)
        square<<<1, N>>>(in, out, N);
    for (int i = 0; i < 4; i++)
        say<<<1, 32>>>(7);
    CHECK(cudaMemcpy(h, total, sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
    printf("%d %d %d %d\n", h[0], back[0], back[5], shared[8]);
    return 0;
}
