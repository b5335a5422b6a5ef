// Rows in the order of their labels, by a radix sort whose order is fixed: digit after digit, a tile counts
// its digits, the counts are added up, and each row goes behind those of smaller digits, of earlier tiles and
// of its tile that come before it. No atomics on memory: the same order on every run.
#include <cstdint>

#include "segments/labels/params.h"

constexpr unsigned threads = GR_LABEL_THREADS, warps = threads / 32, each = GR_LABEL_ROWS_PER_THREAD,
                   digits = 1u << GR_LABEL_DIGIT_BITS;

template <class Bits> __device__ uint32_t key_as(const gr_label_params &p, const unsigned char *at) {
    const uint64_t label = *reinterpret_cast<const Bits *>(at);
    return label & p.sign || label >= p.groups ? uint32_t(p.groups) : uint32_t(label);
}

__device__ uint32_t key_of(const gr_label_params &p, uint64_t row) {
    if (p.labels == 0)
        return reinterpret_cast<const uint32_t *>(p.keys_in)[row];
    const unsigned char *at = reinterpret_cast<const unsigned char *>(p.labels) + int64_t(row) * p.stride;
    switch (p.item_bytes) {
    case 1:
        return key_as<uint8_t>(p, at);
    case 2:
        return key_as<uint16_t>(p, at);
    case 4:
        return key_as<uint32_t>(p, at);
    default:
        return key_as<uint64_t>(p, at);
    }
}

// A warp takes rows side by side, 32 at a time.
__device__ uint64_t row_of(unsigned turn) {
    return uint64_t(blockIdx.x) * (threads * each) + threadIdx.x / 32 * (32 * each) + turn * 32 +
           threadIdx.x % 32;
}

__device__ unsigned digit_of(const gr_label_params &p, uint32_t key) {
    return key >> p.shift & (digits - 1);
}

// The sum of what the threads before this one have, and of all.
__device__ uint32_t sum_before(uint32_t x, uint32_t &all) {
    __shared__ uint32_t of_warps[warps];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t sum = x;
#pragma unroll
    for (unsigned apart = 1; apart < 32; apart *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, sum, apart);
        sum += lane >= apart ? other : 0;
    }
    __syncthreads(); // an earlier call may still be reading
    if (lane == 31)
        of_warps[warp] = sum;
    __syncthreads();
    all = 0;
    uint32_t before = 0;
#pragma unroll
    for (unsigned w = 0; w < warps; ++w) {
        before += w < warp ? of_warps[w] : 0;
        all += of_warps[w];
    }
    return before + sum - x;
}

extern "C" __global__ void __launch_bounds__(threads) label_count(const gr_label_params p) {
    __shared__ uint32_t counts[digits];
    counts[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 4
    for (unsigned turn = 0; turn < each; ++turn)
        if (const uint64_t row = row_of(turn); row < p.rows)
            atomicAdd(&counts[digit_of(p, key_of(p, row))], 1u); // in shared memory, of whole numbers
    __syncthreads();
    reinterpret_cast<uint32_t *>(p.counts)[threadIdx.x * p.tiles + blockIdx.x] = counts[threadIdx.x];
}

// A block for each digit: what tiles have becomes what the tiles before have.
extern "C" __global__ void __launch_bounds__(threads) label_scan(const gr_label_params p) {
    uint32_t *counts = reinterpret_cast<uint32_t *>(p.counts) + blockIdx.x * p.tiles;
    uint32_t total = 0;
    for (uint64_t begin = 0; begin < p.tiles; begin += threads) {
        const uint64_t tile = begin + threadIdx.x;
        uint32_t all;
        const uint32_t before = sum_before(tile < p.tiles ? counts[tile] : 0, all);
        if (tile < p.tiles)
            counts[tile] = total + before;
        total += all;
    }
    if (threadIdx.x == 0)
        reinterpret_cast<uint32_t *>(p.totals)[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(threads) label_place(const gr_label_params p) {
    __shared__ uint32_t counts[warps][digits]; // of a warp's rows so far; then where its first one goes
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (unsigned w = 0; w < warps; ++w)
        counts[w][threadIdx.x] = 0;
    __syncthreads();
    uint32_t keys[each], places[each];
#pragma unroll
    for (unsigned turn = 0; turn < each; ++turn)
        keys[turn] = row_of(turn) < p.rows ? key_of(p, row_of(turn)) : 0;
#pragma unroll
    for (unsigned turn = 0; turn < each; ++turn) {
        const bool there = row_of(turn) < p.rows;
        const unsigned digit = there ? digit_of(p, keys[turn]) : digits;
        const unsigned alike = __match_any_sync(0xffffffffu, digit);
        const unsigned before = __popc(alike & ((1u << lane) - 1));
        if (there)
            places[turn] = counts[warp][digit] + before;
        __syncwarp();
        if (there && before == 0)
            counts[warp][digit] += __popc(alike);
        __syncwarp();
    }
    uint32_t all;
    const uint32_t smaller = sum_before(reinterpret_cast<const uint32_t *>(p.totals)[threadIdx.x], all);
    uint32_t next =
        smaller + reinterpret_cast<const uint32_t *>(p.counts)[threadIdx.x * p.tiles + blockIdx.x];
    for (unsigned w = 0; w < warps; ++w) { // the barriers of the sum came after the last count
        const uint32_t count = counts[w][threadIdx.x];
        counts[w][threadIdx.x] = next;
        next += count;
    }
    __syncthreads();
#pragma unroll
    for (unsigned turn = 0; turn < each; ++turn) {
        const uint64_t row = row_of(turn);
        if (row >= p.rows)
            continue;
        const uint32_t place = counts[warp][digit_of(p, keys[turn])] + places[turn];
        const uint32_t from =
            p.rows_in != 0 ? reinterpret_cast<const uint32_t *>(p.rows_in)[row] : uint32_t(row);
        reinterpret_cast<uint32_t *>(p.keys_out)[place] = keys[turn];
        if (p.rows_out != 0)
            reinterpret_cast<uint32_t *>(p.rows_out)[place] = from;
        else
            reinterpret_cast<int64_t *>(p.out)[p.groups + 1 + place] = from;
    }
}

// Where the rows of each group begin: behind all smaller keys.
extern "C" __global__ void __launch_bounds__(threads) label_offsets(const gr_label_params p) {
    const uint64_t group = uint64_t(blockIdx.x) * threads + threadIdx.x;
    const uint32_t *keys = reinterpret_cast<const uint32_t *>(p.keys_in);
    if (group > p.groups)
        return;
    uint64_t low = 0, high = p.rows;
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (keys[middle] < group)
            low = middle + 1;
        else
            high = middle;
    }
    reinterpret_cast<int64_t *>(p.out)[group] = int64_t(low);
}
