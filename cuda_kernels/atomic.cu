// atomic: block sums combined by one atomic operation a block, beside the ladder.
//
// One pass instead of two: no partial results, no second launch. The host puts the identity into the result
// first. The price: blocks finish in any order, so that a floating-point sum may differ in its last bits from
// run to run; integer sums do not. The hardware's float addition in memory also takes subnormals for zero.
#include <cstdint>

#include "block_reduce.cuh"

__device__ void atomic_combine(float *result, float x) {
    atomicAdd(result, x);
}
__device__ void atomic_combine(double *result, double x) {
    atomicAdd(result, x);
}
__device__ void atomic_combine(int64_t *result, int64_t x) {
    atomicAdd(reinterpret_cast<unsigned long long *>(result), static_cast<unsigned long long>(x));
}

template <class Op, class In, class Acc> __device__ void reduce(const In *in, Acc *out, uint64_t n) {
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;

    Acc x = Op::identity();
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
        x = Op::combine(x, in[i]);

    x = block_reduce<Op>(x);
    if (threadIdx.x == 0)
        atomic_combine(out, x);
}

#define GR_RUNG atomic
#include "instantiate.cuh"
