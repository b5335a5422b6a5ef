// Exact sums of few elements side by side: a thread adds in a register, around the exponents that a block
// meets first. What lies far from them goes to the block's state at once, bit by bit.
#pragma once

#include "exact_sum.cuh"

// Exponents of a dtype, and as many neighbouring ones as a register holds `adds` elements of.
template <unsigned Bias, unsigned Precision, unsigned Span, unsigned Above, unsigned Last> struct Exponents {
    static constexpr unsigned span = Span, unit = Bias + Precision - 1; // of exponent 0, in bits below 1
    unsigned least;

    // Leaves some room above the largest exponent of the first elements.
    __device__ void around(unsigned top) {
        const int wanted = static_cast<int>(min(top, Last) + Above + 1) - static_cast<int>(span);
        least = static_cast<unsigned>(min(max(wanted, 1), static_cast<int>(Last + 1 - span)));
    }
    __device__ bool has(unsigned exponent) const { // subnormal numbers are those of exponent 1
        return max(exponent, 1u) - least < span;
    }
};

// A sum of float32 or bfloat16 in a double: 128 elements take 7 bits, and those of an element the rest.
template <class In, unsigned Precision>
struct NarrowWindow : Exponents<127, Precision, 46 - Precision, 3, 254> {
    static constexpr bool has_high = false;
    double sum = -0.0;

    __device__ static unsigned exponent_of(In x) {
        return __float_as_uint(x) >> 23 & 255;
    }
    __device__ bool add(In element) {
        const float x = element;
        if (x != 0 && !this->has(exponent_of(element)))
            return false;
        sum += x;
        return true;
    }
    __device__ uint32_t flags() const {
        return flags_of(sum);
    }
    __device__ Units units() const {
        return {
            __double2ll_rn(sum * power_of_two(static_cast<int>(this->unit) - static_cast<int>(this->least))),
            0};
    }
};

template <class In> struct Window;
template <> struct Window<float> : NarrowWindow<float, 24> {};
template <> struct Window<gr_bf16> : NarrowWindow<gr_bf16, 8> {};

// Of float16 all exponents are near.
template <> struct Window<gr_f16> {
    static constexpr bool has_high = false;
    static constexpr unsigned unit = 24, least = 0;
    double sum = -0.0;

    __device__ static unsigned exponent_of(gr_f16) {
        return 0;
    }
    __device__ void around(unsigned) {
    }
    __device__ bool add(gr_f16 x) {
        sum += __half2float(x);
        return true;
    }
    __device__ uint32_t flags() const {
        return flags_of(sum);
    }
    __device__ Units units() const {
        return {__double2ll_rn(sum * power_of_two(24)), 0};
    }
};

// Of float64 a pair, as a bin is. What 2,048 of the largest add up to is less than infinity.
template <> struct Window<double> : Exponents<1023, 53, 32, 4, 2034> {
    static constexpr bool has_high = true;
    double2 sum = {-0.0, 0.0};

    __device__ static unsigned exponent_of(double x) {
        return high_bits(x) >> 20 & 2047;
    }
    __device__ bool add(double x) {
        if (x != 0 && !has(exponent_of(x)))
            return false;
        sum = pair_sum(sum, x);
        return true;
    }
    __device__ uint32_t flags() const {
        return flags_of(sum.x);
    }
    __device__ Units units() const {
        return pair_units(sum, static_cast<int>(unit) - static_cast<int>(least));
    }
};

// Adds a number to the block's state; out of line, as it is rare.
template <class In> __device__ __noinline__ void add_apart(double x) {
    constexpr gr_exact_size size = state_size<In>();
    const gr_exact_parts parts = gr_exact_take_apart(static_cast<uint64_t>(__double_as_longlong(x)));
    join_flags(block_state() + size.words - 1, parts.flags);
    if (parts.value == 0)
        return;
    const int position = static_cast<int>(parts.position) - 1075 + static_cast<int>(size.below);
    // What lies below the last bit of a float32 is 0.
    const int64_t value = position < 0 ? parts.value / (int64_t(1) << -position) : parts.value;
    add_pieces(block_state(), value, position < 0 ? 0 : static_cast<unsigned>(position));
}

// What a thread has loaded of elements side by side.
template <class In> struct Loaded {
    static constexpr unsigned turns = GR_EXACT_WINDOW_LOADS, width = Chunk<In>::length;
    const In *in;
    uint64_t count, head, chunks, behind;
    Chunk<In> x[turns];

    __device__ Loaded(uint64_t address, uint64_t elements)
        : in(reinterpret_cast<const In *>(address)), count(elements) {
        const uint64_t skew = (16 - address % 16) % 16 / sizeof(In);
        head = skew < count ? skew : count;
        chunks = (count - head) / width;
        behind = head + chunks * width;
    }
    // All blocks of a result take turns.
    __device__ static uint64_t place(uint64_t turn) {
        return (turn * gridDim.y + blockIdx.y) * blockDim.x + threadIdx.x;
    }
    // From a turn on; where there are no more chunks, the last one again.
    __device__ void load(uint64_t turn) {
        const Chunk<In> *chunk = reinterpret_cast<const Chunk<In> *>(in + head);
#pragma unroll
        for (unsigned k = 0; k < turns; ++k)
            x[k] = load_chunk(chunk + min(place(turn + k), chunks - 1));
    }
    __device__ unsigned top() const {
        unsigned top = 0;
#pragma unroll
        for (unsigned k = 0; k < turns; ++k)
#pragma unroll
            for (unsigned e = 0; e < width; ++e)
                top = max(top, Window<In>::exponent_of(x[k].at(e)));
        return top;
    }
    __device__ void add(uint64_t turn, Window<In> &window) const {
#pragma unroll
        for (unsigned k = 0; k < turns; ++k)
            if (place(turn + k) < chunks)
#pragma unroll
                for (unsigned e = 0; e < width; ++e)
                    if (!window.add(x[k].at(e)))
                        add_apart<In>(as_double(x[k].at(e)));
    }
    // The few before the first and behind the last chunk.
    __device__ void add_ends(Window<In> &window) const {
#pragma unroll 1
        for (unsigned end = 0; end < 2; ++end) {
            const uint64_t at = threadIdx.x + (end == 0 ? 0 : behind);
            if (at < (end == 0 ? head : count) && !window.add(in[at]))
                add_apart<In>(as_double(in[at]));
        }
    }
};

// Whether a result is nothing but the sum of a block's elements.
template <class In> __device__ bool is_plain(const gr_exact_params &p) {
    const uint64_t initial = *reinterpret_cast<const typename Bits<sizeof(In)>::type *>(p.initial);
    return gridDim.y == 1 && !(p.flags & GR_EXACT_MEAN) && initial == 0;
}

// Adds up a block's elements of a result in its state; or, where that is all and in reach of the window,
// rounds it. False then.
template <class In>
__device__ bool add_in_window(const gr_exact_params &p, uint64_t result, uint64_t address) {
    __shared__ uint32_t tops[32], flags[32];
    __shared__ int64_t lows[32], highs[32];
    constexpr gr_exact_size size = state_size<In>();
    int64_t *state = block_state();
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    Loaded<In> loaded(address, p.count);
    const uint64_t step = uint64_t(gridDim.y) * blockDim.x;
    const bool any = blockIdx.y * uint64_t(blockDim.x) < loaded.chunks;
    if (any)
        loaded.load(0);
    unsigned top = any ? loaded.top() : loaded.count > 0 ? Window<In>::exponent_of(loaded.in[0]) : 0;
    top = warp_max(top);
    if (lane == 0)
        tops[warp] = top;
    __syncthreads();
    Window<In> window;
    window.around(warp_max(lane < warps ? tops[lane] : 0));
    if (any)
        loaded.add(0, window);
    for (uint64_t turn = Loaded<In>::turns; turn * step < loaded.chunks; turn += Loaded<In>::turns) {
        loaded.load(turn);
        loaded.add(turn, window);
    }
    if (blockIdx.y == 0)
        loaded.add_ends(window);

    __syncwarp();
    Units sum = window.units();
    uint32_t all = warp_or(window.flags());
    sum.low = warp_sum(sum.low);
    if (Window<In>::has_high)
        sum.high = warp_sum(sum.high);
    if (warps > 1) {
        if (lane == 0) {
            flags[warp] = all;
            lows[warp] = sum.low;
            highs[warp] = sum.high;
        }
        __syncthreads();
        if (warp > 0)
            return true;
        all = warp_or(lane < warps ? flags[lane] : 0);
        sum.low = warp_sum(lane < warps ? lows[lane] : 0);
        if (Window<In>::has_high)
            sum.high = warp_sum(lane < warps ? highs[lane] : 0);
    }
    // What was added apart is in the state, with flags.
    if (is_plain<In>(p) && state[size.words - 1] == 0 && all <= GR_EXACT_OTHER) {
        if (lane == 0)
            put<In>(p, result,
                    round_units(sum, static_cast<int>(window.least) - static_cast<int>(Window<In>::unit),
                                Format<In>::format));
        return false;
    }
    if (lane == 0) {
        const unsigned position = size.below - Window<In>::unit + window.least;
        state[size.words - 1] |= all;
        store_pieces(state, sum.low, position);
        if (Window<In>::has_high)
            store_pieces(state, sum.high, position + 48);
    }
    __syncwarp();
    return true;
}

// gridDim.y blocks share each result.
template <class In> __device__ void sum_in_window(const gr_exact_params &p) {
    constexpr gr_exact_size size = state_size<In>();
    int64_t *state = block_state();
    if (p.results == 1 && threadIdx.x % 8 == 0) { // a line has 128 bytes
        const uint64_t bytes = p.count * sizeof(In);
        for (unsigned k = 0; k < GR_EXACT_WINDOW_LOADS; ++k) {
            const uint64_t at = 16 * Loaded<In>::place(k);
            if (at < bytes)
                prefetch(reinterpret_cast<const void *>(p.in + at));
        }
    }
    let_next_in();
    wait_for_previous();
    for (uint64_t result = blockIdx.x; result < p.results; result += gridDim.x) {
        for (unsigned i = threadIdx.x; i < size.words; i += blockDim.x)
            state[i] = 0;
        const uint64_t base = p.results == 1 ? 0 : offsets(p.keep, result).in;
        bool whole = add_in_window<In>(p, result, p.in + base);
        if (gridDim.y > 1) {
            __syncthreads();
            whole = is_last_to_join<size.words>(reinterpret_cast<int64_t *>(p.states) + result * size.words);
        }
        if (whole && threadIdx.x < 32)
            finish<In, size.words>(p, result, state, size.below);
        if (result + gridDim.x < p.results)
            __syncthreads();
    }
}

#define GR_EXACT_WINDOW(name, In)                                                                            \
    extern "C" __global__ void __launch_bounds__(GR_EXACT_WINDOW_THREADS) name(const gr_exact_params p) {    \
        sum_in_window<In>(p);                                                                                \
    }
