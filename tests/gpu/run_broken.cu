// Launches one of tests/broken_kernels once: nvcc -DKERNEL=<name> -DKERNEL_FILE='"<path>"' run_broken.cu
#include KERNEL_FILE

#include <vector>

constexpr unsigned BLOCKS = 3, THREADS = 128, N = 300; // as in tests/support/broken.py

int main() {
    std::vector<float> values(N);
    unsigned state = 7;
    for (float &value : values) {
        state = state * 1664525u + 1013904223u;
        value = float(state >> 8) / float(1 << 24);
    }
    float *in = nullptr, *out = nullptr;
    cudaMalloc(&in, N * sizeof(float));
    cudaMalloc(&out, BLOCKS * THREADS * sizeof(float));
    cudaMemcpy(in, values.data(), N * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemset(out, 0, BLOCKS * THREADS * sizeof(float));
    KERNEL<<<BLOCKS, THREADS>>>(in, out, N);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
