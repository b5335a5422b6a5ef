// segment_starts: with which segment each piece begins, by a warp that looks at 32 offsets at a time. It also
// makes the ticket and the nodes zero.
#include <cstdint>

#include "common/pdl.cuh"
#include "segments/params.h"

using namespace gr::common;

extern "C" __global__ void __launch_bounds__(GR_SEGMENT_THREADS) segment_starts(const gr_segment_params p) {
    const uint64_t piece = blockIdx.x * uint64_t(GR_SEGMENT_THREADS / 32) + threadIdx.x / 32;
    const unsigned lane = threadIdx.x % 32;
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    for (uint64_t i = blockIdx.x * uint64_t(GR_SEGMENT_THREADS) + threadIdx.x; i < p.node_words;
         i += gridDim.x * uint64_t(GR_SEGMENT_THREADS))
        reinterpret_cast<uint64_t *>(p.nodes)[i] = 0;
    if (piece > p.chain_pieces)
        return;
    const int64_t *offsets = reinterpret_cast<const int64_t *>(p.offsets);
    const int64_t base = max(int64_t(0), min(offsets[0], int64_t(p.rows)));
    const uint64_t total = max(int64_t(0), min(offsets[p.segments], int64_t(p.rows)) - base);
    const uint64_t items = min((piece * p.each) << p.groups_shift, total + p.segments);
    // The ends among the first `items` rows and ends: ends[j] < items - j for these, and only for these.
    uint64_t low = items - min(items, total), high = min(items, p.segments);
    while (low < high) {
        const uint64_t step = (high - low + 31) / 32, probe = low + (lane + 1) * step - 1;
        const bool before = probe < high && offsets[probe + 1] - base < int64_t(items - probe);
        const unsigned count = __popc(__ballot_sync(0xffffffffu, before));
        high = min(high, low + (count + 1) * step - 1);
        low += count * step;
    }
    if (lane == 0)
        reinterpret_cast<uint64_t *>(p.starts)[piece] = piece < p.chain_pieces ? low : p.segments;
}
