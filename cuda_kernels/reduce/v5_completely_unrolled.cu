// v5: completely unrolled.
//
// What v4 still cost: the compiler does not know how many rounds there are, so each pays for a compare, a
// shift and a branch.
// The change: the block size is a template parameter. Every `if constexpr` below is settled at compile time;
// what is left is a straight line of adds and barriers. The host picks the entry with the right size.
// What limits it now: still one tree of barriers for every two elements per thread.
// Where it shows: warp instructions an element.
#include <cstdint>

template <class Op, class Acc> __device__ Acc warp_step(Acc *slots, unsigned t, unsigned stride, Acc x) {
    x = Op::combine(x, slots[t + stride]);
    __syncwarp();
    slots[t] = x;
    __syncwarp();
    return x;
}

// The result is valid in thread 0.
template <class Op, unsigned Block, class Acc> __device__ Acc unrolled_tree(Acc *slots, unsigned t, Acc x) {
    slots[t] = x;
    __syncthreads();
    if constexpr (Block >= 1024) {
        if (t < 512)
            slots[t] = x = Op::combine(x, slots[t + 512]);
        __syncthreads();
    }
    if constexpr (Block >= 512) {
        if (t < 256)
            slots[t] = x = Op::combine(x, slots[t + 256]);
        __syncthreads();
    }
    if constexpr (Block >= 256) {
        if (t < 128)
            slots[t] = x = Op::combine(x, slots[t + 128]);
        __syncthreads();
    }
    if constexpr (Block >= 128) {
        if (t < 64)
            slots[t] = x = Op::combine(x, slots[t + 64]);
        __syncthreads();
    }
    if (t < 32) {
        x = warp_step<Op>(slots, t, 32, x);
        x = warp_step<Op>(slots, t, 16, x);
        x = warp_step<Op>(slots, t, 8, x);
        x = warp_step<Op>(slots, t, 4, x);
        x = warp_step<Op>(slots, t, 2, x);
        x = warp_step<Op>(slots, t, 1, x);
    }
    return x;
}

template <class Op, class In, class Acc, unsigned Block>
__device__ void reduce(const In *in, Acc *out, uint64_t n) {
    __shared__ Acc slots[Block];
    const unsigned t = threadIdx.x;
    const uint64_t i = uint64_t(blockIdx.x) * (2 * Block) + t;

    Acc x = Op::identity();
    if (i < n)
        x = Op::combine(x, in[i]);
    if (i + Block < n)
        x = Op::combine(x, in[i + Block]);

    x = unrolled_tree<Op, Block>(slots, t, x);
    if (t == 0)
        out[blockIdx.x] = x;
}

#define GR_RUNG v5
#define GR_TEMPLATE_BLOCK
#include "reduce/ladder/instantiate.cuh"
