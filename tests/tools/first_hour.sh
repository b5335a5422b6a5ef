#!/usr/bin/env bash
# A learner's first hour, without a GPU: tests/tools/first_hour.sh [python [folder of published programs]]
# Programs of a folder as printed, such as cuda-kernels/reduce of BBuf/how-to-optim-algorithm-in-cuda; a whole program
# in the style of textbooks, run as it is, and with its race between blocks found and mended (with nvcc);
# a kernel of one's own with a race, which is found and mended; a rung as a file by itself; an exercise, of which an
# answer that is nearly right is refused for its reason, and the right one is not. The package must be installed, with
# its extra nvrtc. tests/ has the details; this, that they go together.
set -euo pipefail
python=${1:-python3} published=${2:+$(realpath "$2")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GPUREDUCE_CACHE_DIR=$work/kept

gpureduce() { "$python" -m gpureduce "$@"; }
says() { grep -qF -- "$1" said || { cat said && echo "does not say '$1'" && exit 1; }; }
refuses() { # a text, a command
    local code=0
    "${@:2}" >said 2>&1 || code=$?
    [[ $code == 1 ]] || { cat said && echo "ended with $code: ${*:2}" && exit 1; }
    says "$1"
    echo "refused: $1"
}
takes() { "${@:2}" >said 2>&1 || { cat said && exit 1; } && says "$1" && echo "taken: $1"; }

for program in ${published:+"$published"/*.cu}; do
    gpureduce run "$program" >said 2>&1 || { cat said && exit 1; }
    echo "as printed: ${program##*/}"
done

cat >program.cu <<'CUDA'
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#define N (1 << 16)
#define THREADS 256

__global__ void reduce(const float *d_in, float *d_out) {
    __shared__ float sdata[THREADS];
    unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = d_in[i];
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        d_out[blockIdx.x] = sdata[0];
}

int main() {
    float *input = (float *)malloc(N * sizeof(float)), *d_input, *d_partial, sum, expected = 0;
    for (int i = 0; i < N; i++)
        expected += input[i] = i % 7 - 2;
    cudaMalloc((void **)&d_input, N * sizeof(float));
    cudaMalloc((void **)&d_partial, N / THREADS * sizeof(float));
    cudaMemcpy(d_input, input, N * sizeof(float), cudaMemcpyHostToDevice);
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventRecord(start);
    reduce<<<N / THREADS, THREADS>>>(d_input, d_partial);
    reduce<<<1, THREADS>>>(d_partial, d_partial);
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    float milliseconds;
    cudaEventElapsedTime(&milliseconds, start, stop);
    cudaMemcpy(&sum, d_partial, sizeof(float), cudaMemcpyDeviceToHost);
    printf("%s %g in %g ms\n", sum == expected ? "the answer is right:" : "the answer is wrong:", sum, milliseconds);
    free(input);
    return 0;
}
CUDA
if "$python" -c 'import sys; from gpureduce._custom import nvcc; sys.exit(nvcc.find() is None)'; then
    takes "the answer is right: 65531 in" gpureduce run program.cu
    takes "no races" gpureduce run --races=global program.cu
    sed -i 's/        d_out\[blockIdx.x\]/        d_out[blockIdx.x \/ 2]/' program.cu
    code=0
    gpureduce run --races=global program.cu >said 2>&1 || code=$?
    [[ $code == 99 ]] && says "program.cu:20" && says "overwrites what another block has written"
    echo "found: a race between blocks"
fi

cat >mine.cu <<'CUDA'
__global__ void mine(const float *in, float *out, unsigned n) {
    __shared__ float slots[256];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    slots[t] = i < n ? in[i] : 0;
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride)
            slots[t] += slots[t + stride];
    }
    if (t < 4)
        out[blockIdx.x] = slots[0];
}
CUDA
refuses "__syncwarp is missing between" gpureduce ladder mine.cu
refuses "mine.cu:11" gpureduce ladder mine.cu
sed -i 's/t < 4/t == 0/' mine.cu
takes "mine: correct, and without races" gpureduce ladder mine.cu --source
says "slots[t] += slots[t + stride];"
sed -i 's/i < n ? in\[i\] : 0/i < n \/ 4 * 4 ? in[i] : 0/' mine.cu
refuses "the last n % 4, which do not fill a vector" gpureduce ladder mine.cu

gpureduce export v7 -o v7.cu
takes "mine: correct" gpureduce ladder v7.cu --elements 2 --grid-size 1024

gpureduce exercise start 3 >/dev/null
refuses "- without races" gpureduce exercise check 3
sed -i 's/        if (t < stride)/        __syncthreads();\n&/' 03_find_the_race.cu
takes "done" gpureduce exercise check 3
gpureduce exercise start 4 >/dev/null
sed -i 's/\[32\]\[32\]/[32][34]/' 04_remove_the_conflicts.cu
refuses "bank conflicts; 0 are enough" gpureduce exercise check 4
sed -i 's/\[32\]\[34\]/[32][33]/' 04_remove_the_conflicts.cu
takes "done" gpureduce exercise check 4
