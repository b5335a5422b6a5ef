// An exact sum: of the elements of a block, of the blocks that share a result, and its single rounding.
#pragma once

#include "common/pdl.cuh"
#include "common/strided_offsets.cuh"
#include "common/vec16.cuh"
#include "exact/finish.cuh"

namespace gr::exact {

// Adds the bins to the block's state, and clears them: a warp sums a bin over all threads.
template <class Bins> __device__ void fold(Bins &mine) {
    int64_t *state = block_state();
    constexpr unsigned rows = Bins::most_threads / 32, at_once = Bins::count > 32 ? rows : 4;
    const unsigned lane = threadIdx.x % 32, last = blockDim.x - 32;
    unsigned char *all = block_bins<Bins>();
    mine.normalize();
    __syncthreads();
    for (unsigned bin = threadIdx.x / 32; bin < Bins::count; bin += blockDim.x / 32) {
        Units sum = {0, 0};
        uint32_t flags = 0;
        bool used = false;
        // Of a block of fewer threads the last ones again: with a condition a load would wait for the one
        // before.
#pragma unroll
        for (unsigned k = 0; k < rows; ++k)
            used = is_used(Bins::look(all, bin, min(32 * k, last) + lane)) || used;
        if (!__any_sync(0xffffffffu, used))
            continue;
#pragma unroll
        for (unsigned first = 0; first < rows; first += at_once) {
            decltype(Bins::look(all, 0, 0)) values[at_once];
#pragma unroll
            for (unsigned k = 0; k < at_once; ++k)
                values[k] = Bins::look(all, bin, min(32 * (first + k), last) + lane);
#pragma unroll
            for (unsigned k = 0; k < at_once; ++k)
                if (first + k < rows && 32 * (first + k) <= last) {
                    flags |= flags_of(values[k]);
                    Bins::count_units(values[k], bin, sum);
                    Bins::empty(all, bin, 32 * (first + k) + lane);
                }
        }
        flags = warp_or(flags);
        sum.low = warp_total<62>(sum.low);
        if constexpr (Bins::high_at > 0)
            sum.high = warp_total<62>(sum.high);
        // A lane for each piece, and one for the flags.
        if (lane < 3)
            add_piece(state, sum.low, Bins::position(bin), lane);
        else if (Bins::high_at > 0 && lane < 6)
            add_piece(state, sum.high, Bins::position(bin) + Bins::high_at, lane - 3);
        else if (lane == 6)
            join_block_flags(state + Bins::size.words - 1, flags);
    }
    __syncthreads();
}

// Counts additions to the bins of a thread, alike in all threads of a block.
template <class Bins> struct Folder {
    Bins &bins;
    unsigned added, most;
    unsigned since = 0; // it was settled

    // Folds the bins unless this number of elements can be added before.
    __device__ void expect(unsigned more) {
        if constexpr (Bins::soon > 0)
            if (since + more > Bins::soon) {
                bins.normalize();
                since = 0;
            }
        if (added + more * Bins::each > most && added > 0) {
            fold(bins);
            added = since = 0;
        }
    }
    __device__ void count(unsigned more) {
        added += more * Bins::each;
        since += more;
    }
};

// Adds the elements of a chunk, or their products.
template <bool Pair, class In, class Bins>
__device__ void add_chunk(Bins &bins, const Vec16<In> &x, const Vec16<In> &y) {
#pragma unroll
    for (unsigned e = 0; e < Vec16<In>::length; e += 2) {
        if constexpr (Pair)
            bins.add_products(x.at(e), y.at(e), x.at(e + 1), y.at(e + 1));
        else if constexpr (Bins::in_pairs)
            bins.add_two(x.at(e), x.at(e + 1));
        else {
            const In one = x.at(e), next = x.at(e + 1);
            bins.add(one);
            bins.add(next);
        }
    }
}

// Contiguous elements: 16 bytes per load; the first block takes the few elements before and behind the
// vectors. `other` is the address of the second elements of pairs, of the same alignment. The number of loads
// in flight per thread is limited by the registers that its bins leave: each vector that it adds is followed
// by the load of another. With 24 loads in flight, the load has no condition, and in the last turn reads the
// same elements again: ptxas 13.0 would load under a condition to other registers, and wait at the end of
// each turn for all loads, to move them.
template <class In, bool Pair, class Bins>
__device__ void add_packed(const gr_exact_params &p, uint64_t address, uint64_t other, Folder<Bins> &folder) {
    constexpr unsigned width = Vec16<In>::length, turns = Bins::loads / (Pair ? 2 : 1);
    constexpr bool many = !Pair && Bins::loads > 4;
    const unsigned threads = blockDim.x;
    const In *in = reinterpret_cast<const In *>(address), *second = reinterpret_cast<const In *>(other);
    const uint64_t skew = (16 - address % 16) % 16 / sizeof(In);
    const uint64_t head = skew < p.count ? skew : p.count, chunks = (p.count - head) / width;
    const uint64_t behind = head + chunks * width;
    const Vec16<In> *chunk = reinterpret_cast<const Vec16<In> *>(in + head) + threadIdx.x;
    const Vec16<In> *pairs = reinterpret_cast<const Vec16<In> *>(second + head) + threadIdx.x;
    const uint64_t step = uint64_t(gridDim.y) * threads * turns;
    uint64_t tile = uint64_t(blockIdx.y) * threads * turns;
    Vec16<In> x[turns], y[Pair ? turns : 1];
    const auto load = [&](uint64_t from, unsigned k) {
        x[k] = load_vec16(chunk + from + k * threads);
        if constexpr (Pair)
            y[k] = load_vec16(pairs + from + k * threads);
    };
    bool whole = tile + threads * turns <= chunks;
    if (whole)
#pragma unroll
        for (unsigned k = 0; k < turns; ++k)
            load(tile, k);
    // Behind the last whole tile. If a tile has many loads, each block takes some vectors, else one takes
    // all.
    const uint64_t rest = many ? chunks / (threads * turns) * (threads * turns) : 0;
    while (whole) {
        const uint64_t next = tile + step;
        const bool more = next + threads * turns <= chunks;
        folder.expect(2 * turns * width + 2); // and for those after the loop
        folder.count(turns * width);
#pragma unroll
        for (unsigned k = 0; k < turns; ++k) {
            add_chunk<Pair>(folder.bins, x[k], y[Pair ? k : 0]);
            if constexpr (many)
                load(more ? next : tile, k);
            else if (more)
                load(next, k);
            if constexpr (Bins::in_order)
                __syncwarp(); // or ptxas puts all loads at the end
        }
        tile = next;
        whole = more;
    }
#pragma unroll 1
    for (uint64_t at = many ? rest + blockIdx.y * threads : tile;
         at + threadIdx.x < chunks && (many || at < tile + threads * turns);
         at += many ? gridDim.y * threads : threads) {
        load(at, 0);
        add_chunk<Pair>(folder.bins, x[0], y[0]);
    }
    if (blockIdx.y > 0)
        return;
    const bool has_head = threadIdx.x < head, has_tail = threadIdx.x < p.count - behind;
#pragma unroll 1
    for (unsigned end = 0; end < 2; ++end) {
        const uint64_t at = threadIdx.x + (end == 0 ? 0 : behind);
        if (!(end == 0 ? has_head : has_tail))
            continue;
        if constexpr (Pair)
            folder.bins.add_product(in[at], second[at]);
        else
            folder.bins.add(in[at]);
    }
}

// Prefetches the first loads of the block while the kernel before this one ends, which leaves memory idle
// from its last load until its result is rounded.
template <class In, bool Pair, class Bins> __device__ void prefetch_first(const gr_exact_params &p) {
    constexpr unsigned line = 128, ahead = Bins::loads / (Pair ? 2 : 1) * 16;
    const uint64_t begin = uint64_t(blockIdx.y) * blockDim.x * ahead, bytes = p.count * sizeof(In);
    const uint64_t end = min(begin + blockDim.x * ahead, bytes);
    for (uint64_t at = begin + threadIdx.x * line; at < end; at += blockDim.x * line) {
        pdl_prefetch(reinterpret_cast<const void *>(p.in + at));
        if constexpr (Pair)
            pdl_prefetch(reinterpret_cast<const void *>(p.second + at));
    }
}

// Adds element number k of a result, in any layout; false if a mask leaves it out.
template <class In, bool Pair, class Bins>
__device__ bool add_element(const gr_exact_params &p, Offsets base, unsigned component, uint64_t k,
                            Bins &bins) {
    if constexpr (Pair) {
        // The parts of a complex product: re re - im im, and re im + im re.
        const unsigned part = p.components == 2 ? k & 1 : 0, of_other = part ^ component;
        const Offsets at = offsets(p.along, k / p.components);
        In x = reinterpret_cast<const In *>(p.in + base.in + at.in)[part];
        if (part == 1 && component == 0)
            x = -x;
        bins.add_product(x, reinterpret_cast<const In *>(p.second + base.second + at.second)[of_other]);
    } else {
        const Offsets at = offsets(p.along, k);
        if ((p.flags & GR_EXACT_MASKED) &&
            *reinterpret_cast<const uint8_t *>(p.second + base.second + at.second) == 0)
            return false;
        bins.add(reinterpret_cast<const In *>(p.in + base.in + at.in)[component]);
    }
    return true;
}

// Elements of any layout, by all threads. Returns the number that this thread has taken.
template <class In, bool Pair, class Bins>
__device__ uint64_t add_each(const gr_exact_params &p, Offsets base, uint64_t result, Folder<Bins> &folder) {
    const unsigned component = static_cast<unsigned>(result % p.components);
    const uint64_t step = uint64_t(gridDim.y) * blockDim.x;
    uint64_t taken = 0;
    for (uint64_t first = uint64_t(blockIdx.y) * blockDim.x; first < p.count; first += step) {
        folder.expect(1);
        folder.count(1);
        if (first + threadIdx.x < p.count)
            taken += add_element<In, Pair>(p, base, component, first + threadIdx.x, folder.bins);
    }
    return taken;
}

// gridDim.y blocks share each result.
template <class In, bool Pair, class Bins> __device__ void sum_exactly(const gr_exact_params &p) {
    int64_t *state = block_state();
    Bins bins(block_bins<Bins>());
    pdl_launch_dependents();
    if ((p.flags & GR_EXACT_PACKED) && p.results == 1)
        prefetch_first<In, Pair, Bins>(p);
    bins.open();
    pdl_wait();
    for (uint64_t result = blockIdx.x; result < p.results; result += gridDim.x) {
        for (unsigned i = threadIdx.x; i < Bins::size.words; i += blockDim.x)
            state[i] = 0;
        __syncthreads();
        const Offsets base = offsets(p.keep, result / p.components);
        Folder<Bins> folder = {bins, 0, p.fold};
        uint64_t taken = 0;
        const uint64_t in = p.in + base.in, second = p.second + base.second;
        if ((p.flags & GR_EXACT_PACKED) && (!Pair || in % 16 == second % 16))
            add_packed<In, Pair>(p, in, second, folder);
        else
            taken = add_each<In, Pair>(p, base, result, folder);
        fold(bins);
        if (p.flags & GR_EXACT_MASKED) {
            taken = static_cast<uint64_t>(warp_total<62>(static_cast<int64_t>(taken)));
            if (threadIdx.x % 32 == 0)
                add_digit(state + Bins::size.words - 2, static_cast<int64_t>(taken));
            __syncthreads();
        }
        const bool whole =
            gridDim.y == 1 || is_last_to_join<Bins::size.words>(reinterpret_cast<int64_t *>(p.states) +
                                                                result * Bins::size.words);
        if (whole && threadIdx.x < 32)
            finish<In, Bins::size.words>(p, result, state, Bins::size.below);
        __syncthreads();
    }
}

} // namespace gr::exact
