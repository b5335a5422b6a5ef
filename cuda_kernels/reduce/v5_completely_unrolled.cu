// v5: completely unrolled.
//
// What v4 still cost: the number of rounds is no constant, so each round has a compare, a shift and a
// branch.
// The change: the block size is a template parameter. The compiler evaluates every `if constexpr` of the tree
// and leaves a straight sequence of additions and barriers. The host selects the entry for the block size.
// What limits it now: there is still one tree with its barriers for every two elements per thread.
// Where it shows: warp instructions per element.
#include <cstdint>

#include "reduce/ladder/unrolled_tree.cuh"

using namespace gr::reduce::ladder;

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
