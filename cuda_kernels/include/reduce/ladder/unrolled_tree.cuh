// The completely unrolled tree in shared memory that v5 teaches, for the rungs after it.
#pragma once

namespace gr::reduce::ladder {

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

} // namespace gr::reduce::ladder
