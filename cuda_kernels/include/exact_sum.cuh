// An exact sum of a block's elements, of the blocks that share a result, and its one rounding.
#pragma once

#include "chunk.cuh"
#include "exact_join.cuh"
#include "exact_products.cuh"
#include "general_offsets.cuh"

inline __device__ int64_t warp_sum(int64_t x) {
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2)
        x += __shfl_down_sync(0xffffffffu, static_cast<long long>(x), offset);
    return x;
}
inline __device__ uint32_t warp_or(uint32_t x) {
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2)
        x |= __shfl_xor_sync(0xffffffffu, x, offset);
    return x;
}

// Moves what is in the bins into the block's state: a warp sums a bin over all threads.
template <class Bins> __device__ void fold(Bins &mine) {
    int64_t *state = block_state();
    mine.settle();
    __syncthreads();
    for (unsigned bin = threadIdx.x / 32; bin < Bins::count; bin += blockDim.x / 32) {
        Units sum = {0, 0};
        uint32_t flags = 0;
        for (unsigned thread = threadIdx.x % 32; thread < blockDim.x; thread += 32)
            flags |= Bins::take(block_bins<Bins>(), bin, thread, sum);
        if (!__any_sync(0xffffffffu, flags != 0))
            continue;
        flags = warp_or(flags);
        sum.low = warp_sum(sum.low);
        if constexpr (Bins::has_high)
            sum.high = warp_sum(sum.high);
        if (threadIdx.x % 32 == 0) {
            join_flags(state + Bins::size.words - 1, flags);
            add_pieces(state, sum.low, Bins::position(bin));
            if constexpr (Bins::has_high)
                add_pieces(state, sum.high, Bins::position(bin) + 48);
        }
    }
    __syncthreads();
}

// Counts additions to the bins of a thread, alike in all threads of a block.
template <class Bins> struct Folder {
    Bins &bins;
    unsigned added, most;

    // Makes room for so many elements.
    __device__ void expect(unsigned more) {
        if (added + more * Bins::each > most && added > 0) {
            fold(bins);
            added = 0;
        }
    }
    __device__ void count(unsigned more) {
        added += more * Bins::each;
    }
};

// Elements side by side: 16 bytes a load, and the few before and behind them by the first block. `other` is
// where the second elements of pairs lie, alike to the boundaries of 16 bytes.
template <class In, bool Pair, class Bins>
__device__ void add_packed(const gr_exact_params &p, uint64_t address, uint64_t other, Folder<Bins> &folder) {
    constexpr unsigned width = Chunk<In>::length, turns = GR_EXACT_IN_FLIGHT;
    const unsigned threads = blockDim.x;
    const In *in = reinterpret_cast<const In *>(address), *second = reinterpret_cast<const In *>(other);
    const uint64_t skew = (16 - address % 16) % 16 / sizeof(In);
    const uint64_t head = skew < p.count ? skew : p.count, chunks = (p.count - head) / width;
    const uint64_t behind = head + chunks * width;
    const Chunk<In> *chunk = reinterpret_cast<const Chunk<In> *>(in + head);
    const Chunk<In> *pairs = reinterpret_cast<const Chunk<In> *>(second + head);
    const uint64_t step = uint64_t(gridDim.y) * threads * turns;
    uint64_t tile = uint64_t(blockIdx.y) * threads * turns;
    const auto add = [&](const Chunk<In> &x, const Chunk<In> &y) {
#pragma unroll
        for (unsigned e = 0; e < width; ++e)
            if constexpr (Pair)
                folder.bins.add_product(x.at(e), y.at(e));
            else
                folder.bins.add(x.at(e));
    };
    for (; tile + threads * turns <= chunks; tile += step) {
        Chunk<In> x[turns], y[Pair ? turns : 1];
        folder.expect(2 * turns * width + 2); // and for those after the loop
        folder.count(turns * width);
#pragma unroll
        for (unsigned k = 0; k < turns; ++k) {
            x[k] = load_chunk(chunk + tile + threadIdx.x + k * threads);
            if constexpr (Pair)
                y[k] = load_chunk(pairs + tile + threadIdx.x + k * threads);
        }
#pragma unroll
        for (unsigned k = 0; k < turns; ++k)
            add(x[k], y[Pair ? k : 0]);
    }
#pragma unroll 1
    for (uint64_t at = tile + threadIdx.x; at < chunks && at < tile + threads * turns; at += threads) {
        Chunk<In> y;
        if constexpr (Pair)
            y = load_chunk(pairs + at);
        add(load_chunk(chunk + at), y);
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

// Adds element number k of a result, wherever it lies; false where a mask leaves it out.
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

// Elements that lie anyhow, by all threads. Returns how many this one has taken.
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

// What the result is rounded to.
template <class In> struct Format;
template <> struct Format<float> { static constexpr gr_exact_format format = {24, 8}; };
template <> struct Format<double> { static constexpr gr_exact_format format = {53, 11}; };
template <> struct Format<gr_f16> { static constexpr gr_exact_format format = {11, 5}; };
template <> struct Format<gr_bf16> { static constexpr gr_exact_format format = {8, 8}; };

// Rounds the result that a state holds.
template <class In, class Bins>
__device__ void finish(const gr_exact_params &p, uint64_t result, int64_t *state) {
    const uint64_t counted = static_cast<uint64_t>(state[Bins::size.words - 2]);
    const double initial = as_double(reinterpret_cast<const In *>(p.initial)[result % p.components]);
    gr_exact_add(state, Bins::size, static_cast<uint64_t>(__double_as_longlong(initial)));
    const uint64_t divisor = !(p.flags & GR_EXACT_MEAN) ? 1 : p.flags & GR_EXACT_MASKED ? counted : p.count;
    const uint64_t bits = gr_exact_result(state, Bins::size, divisor, Format<In>::format);
    reinterpret_cast<typename Bits<sizeof(In)>::type *>(p.out)[result] =
        static_cast<typename Bits<sizeof(In)>::type>(bits);
}

// gridDim.y blocks share each result.
template <class In, bool Pair, class Bins> __device__ void sum_exactly(const gr_exact_params &p) {
    int64_t *state = block_state();
    Bins bins(block_bins<Bins>());
    bins.open();
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
            taken = static_cast<uint64_t>(warp_sum(static_cast<int64_t>(taken)));
            if (threadIdx.x % 32 == 0)
                add_word(state + Bins::size.words - 2, static_cast<int64_t>(taken));
            __syncthreads();
        }
        const bool whole =
            gridDim.y == 1 || is_last_to_join<Bins::size.words>(reinterpret_cast<int64_t *>(p.states) +
                                                                result * Bins::size.words);
        if (whole && threadIdx.x == 0)
            finish<In, Bins>(p, result, state);
        __syncthreads();
    }
}

#define GR_EXACT_ENTRY(name, In, pair, threads, ...)                                                         \
    extern "C" __global__ void __launch_bounds__(threads) name(const gr_exact_params p) {                    \
        sum_exactly<In, pair, __VA_ARGS__>(p);                                                               \
    }
