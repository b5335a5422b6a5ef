// g1: sort and reduce.
//
// What g0 still cost: atomic operations, and the bits, which no two runs have to share.
// The change: elements are sorted by label first. Elements of equal labels keep their order (the sort is
// stable), then a warp sums each group in an order that only its elements define. A radix sort takes a
// pass per 8 bits of the labels: each warp counts the digits of its share, prefix sums of the counts say
// where the elements of each digit and warp go, and each warp puts its elements there.
// What limits it now: traffic. A pass reads and writes all elements and labels, where g0 reads them once.
// And the bits depend on the order of the elements: rows that are shuffled have another sum.
// Where it shows: several times the sectors of g0; no atomics in memory, only those that count in shared
// memory; the same bits for every order of blocks.
#include "groups/rungs.cuh"

using namespace gr::groups;

constexpr unsigned WARPS = GR_GROUP_SORT_WARPS, DIGITS = GR_GROUP_DIGITS;

// The elements of a warp, and a number per digit.
struct Share {
    unsigned warp, lane;
    uint64_t begin, end;
    uint32_t *of_digits; // in memory

    explicit __device__ Share(const gr_group_rung_params &p)
        : warp(blockIdx.x * WARPS + threadIdx.x / 32), lane(threadIdx.x % 32) {
        const uint64_t rows = (p.count + 31) / 32, each = (rows + p.warps - 1) / p.warps * 32;
        begin = warp * each;
        end = min(begin + each, p.count);
        of_digits = reinterpret_cast<uint32_t *>(p.numbers) + uint64_t(warp) * DIGITS;
    }
};

// Labels that are no group's are sorted to the end.
inline __device__ uint32_t key_of(int32_t label, const gr_group_rung_params &p) {
    return uint32_t(min(uint64_t(uint32_t(label)), p.groups));
}
inline __device__ unsigned digit_of(uint32_t key, const gr_group_rung_params &p) {
    return key >> p.shift & (DIGITS - 1);
}

extern "C" __global__ void __launch_bounds__(GR_GROUP_SORT_THREADS) g1_count(const gr_group_rung_params p) {
    __shared__ uint32_t counts[WARPS][DIGITS];
    const Share share(p);
    uint32_t *mine = counts[threadIdx.x / 32];
    for (unsigned digit = share.lane; digit < DIGITS; digit += 32)
        mine[digit] = 0;
    __syncwarp();
    for (uint64_t i = share.begin + share.lane; i < share.end; i += 32)
        atomicAdd(&mine[digit_of(key_of(Rung(p).labels[i], p), p)], 1);
    __syncwarp();
    for (unsigned digit = share.lane; digit < DIGITS; digit += 32)
        share.of_digits[digit] = mine[digit];
}

// One block: a thread takes a digit. Replaces the counts by where the elements start: those of a digit are
// behind all smaller digits, and behind those of the same digit of earlier warps.
extern "C" __global__ void __launch_bounds__(GR_GROUP_SORT_THREADS) g1_starts(const gr_group_rung_params p) {
    uint32_t *numbers = reinterpret_cast<uint32_t *>(p.numbers) + threadIdx.x, count = 0;
    for (unsigned warp = 0; warp < p.warps; ++warp)
        count += numbers[uint64_t(warp) * DIGITS];
    uint32_t start = sum_before_thread<DIGITS>(count);
    for (unsigned warp = 0; warp < p.warps; ++warp) {
        const uint32_t next = start + numbers[uint64_t(warp) * DIGITS];
        numbers[uint64_t(warp) * DIGITS] = start;
        start = next;
    }
}

extern "C" __global__ void __launch_bounds__(GR_GROUP_SORT_THREADS) g1_place(const gr_group_rung_params p) {
    __shared__ uint32_t starts[WARPS][DIGITS];
    const Share share(p);
    uint32_t *mine = starts[threadIdx.x / 32];
    for (unsigned digit = share.lane; digit < DIGITS; digit += 32)
        mine[digit] = share.of_digits[digit];
    __syncwarp();
    for (uint64_t row = share.begin; row < share.end; row += 32) {
        const uint64_t i = row + share.lane;
        const bool exists = i < share.end;
        const uint32_t key = exists ? key_of(Rung(p).labels[i], p) : 0;
        const unsigned digit = exists ? digit_of(key, p) : DIGITS;
        // The lanes with the same digit; an element goes behind those of smaller lanes.
        const unsigned peers = __match_any_sync(~0u, digit),
                       before = __popc(peers & ((1u << share.lane) - 1));
        const uint32_t to = exists ? mine[digit] + before : 0;
        __syncwarp();
        if (exists) {
            reinterpret_cast<uint32_t *>(p.to_labels)[to] = key;
            reinterpret_cast<float *>(p.to_values)[to] = Rung(p).values[i];
            if (before == 0)
                mine[digit] += __popc(peers);
        }
        __syncwarp();
    }
}

// Where the first label stands that is not below this one.
inline __device__ uint64_t lower_bound(const int32_t *labels, uint64_t count, uint64_t label) {
    uint64_t begin = 0, end = count;
    while (begin < end) {
        const uint64_t middle = (begin + end) / 2;
        if (uint32_t(labels[middle]) < label)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

// A warp per group. Which lane adds what, and the tree over the lanes, depend on the number of elements
// alone.
extern "C" __global__ void __launch_bounds__(GR_GROUP_SORT_THREADS) g1_sum_f32(const gr_group_rung_params p) {
    const Rung rung(p);
    const unsigned lane = threadIdx.x % 32;
    for (uint64_t g = first_of_thread() / 32; g < p.groups; g += threads_of_grid() / 32) {
        const uint64_t begin = lower_bound(rung.labels, p.count, g),
                       end = lower_bound(rung.labels, p.count, g + 1);
        float sum = 0;
        for (uint64_t i = begin + lane; i < end; i += 32)
            sum += rung.values[i];
        for (unsigned step = 16; step > 0; step /= 2)
            sum += __shfl_down_sync(~0u, sum, step);
        if (lane == 0)
            rung.out[g] = sum;
    }
}
