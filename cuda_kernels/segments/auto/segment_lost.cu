// Exact sums of the segments whose sums the segment kernels lost, in states of all exponents. Without lost
// sums the blocks end at once.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "segments/lost_sums.cuh"

using namespace gr::segments;
using namespace gr::common;

template <class In> __device__ void sum_lost(const gr_lost_sums_params &p) {
    int64_t *states = gr::exact::block_state(); // of the warps
    constexpr unsigned threads = GR_LOST_SUMS_THREADS, warps = threads / 32;
    __shared__ unsigned later[warps];
    __shared__ bool last;
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    uint32_t *lost = reinterpret_cast<uint32_t *>(p.lost);
    if (lost[0] == 0)
        return;
    const unsigned warp = threadIdx.x / 32;
    const LostSums<In> sums{p, gridDim.y > 1 ? states : states + warp * LostSums<In>::words};
    if (gridDim.y > 1) {
        if (sums.is_lost(blockIdx.x))
            sums.shared_one(blockIdx.x);
    } else {
        for (uint64_t first = uint64_t(blockIdx.x) * threads; first < p.results;
             first += uint64_t(gridDim.x) * threads) {
            const unsigned own = sums.short_ones(first + 32 * warp);
            if (threadIdx.x % 32 == 0)
                later[warp] = own;
            __syncthreads();
            for (unsigned w = 0; w < warps; ++w)
                for (unsigned rest = later[w]; rest != 0; rest &= rest - 1)
                    sums.long_one(states, first + 32 * w + __ffs(int(rest)) - 1);
            __syncthreads();
        }
    }
    // The block with the last ticket zeroes the word, which no other block reads any more.
    const unsigned blocks = gridDim.x * gridDim.y;
    if (threadIdx.x == 0)
        last = atomicInc(lost + 1, blocks - 1) == blocks - 1;
    __syncthreads();
    if (last && threadIdx.x == 0)
        lost[0] = 0;
}

#define GR_LOST_SUMS_ENTRY(name, In)                                                                         \
    GR_ENTRY((GR_LOST_SUMS_THREADS), segment_lost_##name, gr_lost_sums_params, sum_lost<In>)
GR_LOST_SUMS_ENTRY(f32, float)
GR_LOST_SUMS_ENTRY(f64, double)
GR_LOST_SUMS_ENTRY(f16, gr_f16)
GR_LOST_SUMS_ENTRY(bf16, gr_bf16)
