// s4: look back.
//
// What s3 still cost: a second read of all elements, because a block must know the sum of all elements before
// its own.
// The change: one launch (D. Merrill and M. Garland, "Single-pass Parallel Prefix Scan with Decoupled
// Look-back", 2016). A block takes the next tile, scans it, and publishes its sum. It then looks back, 64
// tiles at a time: it adds the sums of the tiles before its own until it finds a tile that knows the sum of
// all elements up to its end, and publishes that of its own tile. A sum and its kind are one word of 64 bits,
// so that a reader never sees one without the other.
// What limits it now: memory, which is read once and written once, like a copy; and waits, as a tile needs
// the tile before it. The bits: how far a block looks back depends on when others publish, and additions in
// another order round otherwise. The default kernel adds in a tree that the number of tiles alone defines.
// Where it shows: one launch; the sectors of a copy; an atomic operation per tile, for its number.
#include "common/shared_array.cuh"
#include "scan/rungs.cuh"

using namespace gr::scan;

constexpr unsigned THREADS = GR_SCAN_LOOK_BACK_THREADS, TILE = GR_SCAN_LOOK_BACK_TILE;
using Elements = Tile<THREADS, GR_SCAN_LOOK_BACK_EACH>;
static_assert(TILE == Elements::COUNT && GR_SCAN_LOOK_BACK_SHARED == 4 * Elements::WORDS);
enum Kind : uint32_t { NOTHING, OF_TILE, UP_TO_TILE }; // what a sum is of

// The state of a tile: the kind of its sum in the upper half, the sum in the lower one.
inline __device__ void publish(uint64_t *state, Kind kind, float sum) {
    const uint64_t word = uint64_t(kind) << 32 | __float_as_uint(sum);
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(state), "l"(word) : "memory");
}
inline __device__ uint64_t observe(const uint64_t *state) {
    uint64_t word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(state) : "memory");
    return word;
}
inline __device__ Kind kind_of(uint64_t word) {
    return Kind(word >> 32);
}
inline __device__ float sum_of(uint64_t word) {
    return __uint_as_float(uint32_t(word));
}

// Returns the state of the two tiles up to `tile` as one: NOTHING if a sum that is needed is not there yet.
// What stands before the state of tile 0, which is complete, is not used.
inline __device__ uint64_t observe_pair(const uint64_t *states, unsigned tile) {
    const uint64_t near = observe(states + tile), far = observe(states + tile - 1);
    if (kind_of(near) != OF_TILE || kind_of(far) == NOTHING)
        return kind_of(near) == UP_TO_TILE ? near : 0;
    return far >> 32 << 32 | __float_as_uint(sum_of(far) + sum_of(near));
}

// Returns the sum of all elements before a tile. One warp calls it; tile 0 has nothing before it. A lane
// observes two tiles, so that 64 tiles can be done at once after a tile that is complete.
inline __device__ float look_back(const uint64_t *states, unsigned tile) {
    const unsigned lane = threadIdx.x % 32;
    float sum = 0;
    for (unsigned end = tile;; end -= 64) { // the tiles before `end` are left
        uint64_t word = uint64_t(UP_TO_TILE) << 32;
        unsigned complete, used; // lanes that know all before their tiles; lanes up to the first one of these
        do {
            if (2 * lane < end)
                word = observe_pair(states, end - 1 - 2 * lane);
            complete = __ballot_sync(ALL_LANES, kind_of(word) == UP_TO_TILE);
            used = complete ^ (complete - 1); // all lanes if none is complete
        } while ((__ballot_sync(ALL_LANES, kind_of(word) == NOTHING) & used) != 0);
        float x = used >> lane & 1 ? sum_of(word) : 0;
        for (unsigned step = 16; step > 0; step /= 2)
            x += __shfl_down_sync(ALL_LANES, x, step);
        sum = __shfl_sync(ALL_LANES, x, 0) + sum;
        if (complete != 0)
            return sum;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 4) s4_scan_f32(const gr_scan_rung_params p) {
    __shared__ float sums[THREADS / 32], before_tile;
    __shared__ unsigned ticket;
    const Rung rung(p);
    // Tiles in the order in which blocks begin: the tiles before this one are all taken by blocks that run.
    uint64_t *states = reinterpret_cast<uint64_t *>(p.totals) + 1;
    if (threadIdx.x == 0)
        ticket = atomicAdd(reinterpret_cast<unsigned *>(p.totals), 1);
    __syncthreads();
    const unsigned tile = ticket;
    const uint64_t first = uint64_t(tile) * TILE;
    const Elements elements{gr::common::shared_array<float>()};
    const float sum = elements.load(rung.from + first, p.count - first);
    float total;
    const float before = sum_before_thread(sum, sums, total);
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0 && tile > 0)
            publish(states + tile, OF_TILE, total);
        const float all = tile > 0 ? look_back(states, tile) : 0;
        if (threadIdx.x == 0) {
            publish(states + tile, UP_TO_TILE, all + total);
            before_tile = all;
        }
    }
    __syncthreads();
    elements.store(rung.to + first, p.count - first, before_tile + before);
}
