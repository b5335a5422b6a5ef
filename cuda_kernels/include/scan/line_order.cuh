// The order of additions in a contiguous line of several tiles, which follows from its length alone. A thread
// adds up GR_PERSISTENT_VECTORS consecutive vectors element by element. The 32 sums of a warp are one share,
// WARPS_PER_TILE shares are a tile, GR_PERSISTENT_LANE_TILES tiles have one lane of the warp that scans the
// sums of tiles. Shares, tiles and these lanes are added up in aligned pairs, pairs of pairs and so on.
#pragma once

#include "scan/prefix.cuh"
#include "scan/scan.cuh"

namespace gr::scan {

enum { WARPS_PER_TILE = GR_PERSISTENT_THREADS / 32 };

// Appends the shares before share `warp` of a tile, as far as `totals` has them: from the largest aligned
// group to the smallest.
template <class F>
__device__ void append_shares(Prefix<F> &before, const typename F::State *totals, unsigned warp) {
    if (warp & 4)
        before.append(F::combine(F::combine(totals[0], totals[1]), F::combine(totals[2], totals[3])));
    if (warp & 2)
        before.append(F::combine(totals[warp & 4], totals[(warp & 4) + 1]));
    if (warp & 1)
        before.append(totals[warp - 1]);
}

} // namespace gr::scan
