// atomic: block sums combined by one atomic operation a block, next to the ladder.
//
// One pass instead of two: no partial results, no second launch. The host puts the identity into the result
// first. The price: blocks finish in any order, so that a floating-point sum or product may differ in its
// last bits from run to run; integer ones do not. The hardware's float addition in memory also takes
// subnormals for zero. It has no multiplication, and no minimum of floats: those take a compare-and-swap
// loop.
#include <cstdint>
#include <type_traits>

#include "reduce/ladder/block_reduce.cuh"
#include "reduce/ladder/ops.cuh"

using namespace gr::reduce::ladder;

// The hardware's own atomic operations. An overload that names the operator is preferred to the template
// below.
using Word64 = unsigned long long;

inline __device__ void atomic_combine(Sum<float>, float *result, float x) {
    atomicAdd(result, x);
}
inline __device__ void atomic_combine(Sum<double>, double *result, double x) {
    atomicAdd(result, x);
}
inline __device__ void atomic_combine(Sum<int64_t>, int64_t *result, int64_t x) {
    atomicAdd(reinterpret_cast<Word64 *>(result), Word64(x));
}
inline __device__ void atomic_combine(Any<int32_t>, int32_t *result, int32_t x) {
    atomicOr(result, x);
}
inline __device__ void atomic_combine(All<int32_t>, int32_t *result, int32_t x) {
    atomicAnd(result, x);
}
#define GR_NATIVE(Op, function)                                                                              \
    inline __device__ void atomic_combine(Op<int32_t>, int32_t *result, int32_t x) {                         \
        function(result, x);                                                                                 \
    }                                                                                                        \
    inline __device__ void atomic_combine(Op<int64_t>, int64_t *result, int64_t x) {                         \
        function(reinterpret_cast<long long *>(result), static_cast<long long>(x));                          \
    }
GR_NATIVE(Min, atomicMin)
GR_NATIVE(Max, atomicMax)
GR_NATIVE(BitwiseAnd, atomicAnd)
GR_NATIVE(BitwiseOr, atomicOr)
GR_NATIVE(BitwiseXor, atomicXor)
#undef GR_NATIVE

// Operators without an atomic instruction: combine with the value read, and store the outcome if memory still
// has that value; else another block was faster, and its result takes part.
template <class Op, class Acc> __device__ void atomic_combine(Op, Acc *result, Acc x) {
    using Word = typename std::conditional<sizeof(Acc) == 8, Word64, unsigned>::type;
    union Bits {
        Word word;
        Acc value;
    };
    Word *place = reinterpret_cast<Word *>(result);
    Bits seen, fresh;
    seen.word = *const_cast<volatile Word *>(place);
    Word expected;
    do {
        expected = seen.word;
        fresh.value = Op::combine(seen.value, x);
        seen.word = atomicCAS(place, expected, fresh.word);
    } while (seen.word != expected); // compared as bits: a NaN is equal to itself here
}

template <class Op, class In, class Acc> __device__ void reduce(const In *in, Acc *out, uint64_t n) {
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;

    Acc x = Op::identity();
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
        x = Op::combine(x, in[i]);

    x = block_reduce<Op>(x);
    if (threadIdx.x == 0)
        atomic_combine(Op(), out, x);
}

#define GR_RUNG atomic
#include "reduce/ladder/instantiate.cuh"
