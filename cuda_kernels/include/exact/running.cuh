// Cumulative sums of which each is exact, and rounded once: threads sum pieces of the columns, a block per
// column makes the sums of all pieces before each, and threads go on from there and round every sum.
#pragma once

#include "common/vec16.cuh"
#include "exact/finish.cuh"

namespace gr::exact {

// A superaccumulator whose carries are propagated by each addition: two's complement in digits of 32 bits.
// A thread has one in its local memory.
template <unsigned Words, unsigned Below> struct RunningSum {
    static constexpr unsigned count = Words - 2;
    uint32_t digit[count];
    uint32_t flags;
    unsigned low; // Digits before this one are 0.
    unsigned top; // Digits from this one on are copies of the sign.

    __device__ RunningSum() : flags(0), low(count), top(0) {
#pragma unroll 1
        for (unsigned i = 0; i < count; ++i)
            digit[i] = 0;
    }

    // Starts at a state of which carries are not propagated.
    __device__ void load(const int64_t *state) {
        int64_t carry = 0;
        flags = static_cast<uint32_t>(state[Words - 1]);
#pragma unroll 1
        for (unsigned i = 0; i < count; ++i) {
            carry += state[i];
            digit[i] = static_cast<uint32_t>(carry);
            low = digit[i] != 0 ? min(low, i) : low;
            carry >>= 32;
        }
        top = count;
    }

    __device__ void store(int64_t *state) const {
#pragma unroll 1
        for (unsigned i = 0; i + 1 < count; ++i)
            state[i] = digit[i];
        state[count - 1] = static_cast<int32_t>(digit[count - 1]);
        state[Words - 2] = 0;
        state[Words - 1] = flags;
    }

    __device__ void add(double x) {
        const gr_exact_decomposed parts = gr_exact_decompose(static_cast<uint64_t>(__double_as_longlong(x)));
        flags |= parts.flags;
        if (parts.value == 0)
            return;
        // The lowest bits of a float64 are 0 in a dtype that has a narrow state.
        const int position = static_cast<int>(parts.position) - 1075 + static_cast<int>(Below);
        const int64_t value = position < 0 ? parts.value / (int64_t(1) << -position) : parts.value;
        const unsigned at = static_cast<unsigned>(max(position, 0));
        const gr_exact_addends pieces = gr_exact_split(value, at);
        unsigned i = at / 32;
        low = min(low, i);
        int64_t carry = 0;
#pragma unroll
        for (unsigned k = 0; k < 3; ++k, ++i) {
            carry += static_cast<int64_t>(digit[i]) + pieces.at[k];
            digit[i] = static_cast<uint32_t>(carry);
            carry >>= 32;
        }
#pragma unroll 1
        for (; carry != 0 && i < count; ++i) {
            carry += static_cast<int64_t>(digit[i]);
            digit[i] = static_cast<uint32_t>(carry);
            carry >>= 32;
        }
        top = max(top, i);
    }

    // The bits of the sum in a format; a sum of -0 alone is -0.
    __device__ uint64_t round(gr_exact_format format) {
        const uint64_t sign = 1ull << (format.precision - 1 + format.exponent_bits);
        uint64_t bits;
        if (gr_exact_special(flags, 1, format, &bits))
            return bits;
        const uint32_t extension = digit[count - 1] >> 31 ? ~0u : 0;
        unsigned first = low; // the first digit that is not 0
#pragma unroll 1
        while (first < count && digit[first] == 0)
            ++first;
        if (first == count)
            return flags & GR_EXACT_NOT_MINUS_ZERO ? 0 : sign;
#pragma unroll 1
        while (top > first + 1 && digit[top - 1] == extension)
            --top;
        // Negation complements the digits, but for the first one.
        const auto magnitude = [&](unsigned i) -> uint64_t {
            const uint32_t own = digit[i] ^ extension;
            return i == first ? static_cast<uint32_t>(own - extension) : own;
        };
        const uint64_t middle = top >= first + 2 ? magnitude(top - 2) : 0;
        const uint64_t last = top >= first + 3 ? magnitude(top - 3) : 0;
        const gr_exact_leading head =
            gr_exact_leading_of_digits(magnitude(top - 1), middle, last, first + 3 < top, top, Below);
        return gr_exact_round(head, format) | (extension != 0 ? sign : 0);
    }
};

template <class In> constexpr bool is_wide = sizeof(In) > 4;
template <class In>
using Running = RunningSum<is_wide<In> ? GR_EXACT_WIDE_WORDS : GR_EXACT_NARROW_WORDS,
                           is_wide<In> ? GR_EXACT_WIDE_BELOW : GR_EXACT_NARROW_BELOW>;

// A piece of a column: its first element, and how many there are.
struct ScanPiece {
    uint64_t column, line, begin, length;
    int64_t offset; // of the first element, in components

    // Pieces of neighbouring columns are next to each other, so that neighbouring threads read neighbours.
    __device__ ScanPiece(const gr_exact_scan_params &p, uint64_t number) {
        const uint64_t inner = number % p.inner, row = number / p.inner;
        const uint64_t piece = row % p.pieces;
        line = row / p.pieces;
        column = inner;
        begin = piece * p.piece;
        length = min(p.piece, p.length - begin);
        offset = static_cast<int64_t>(line) * p.line_stride + static_cast<int64_t>(begin) * p.along_stride +
                 static_cast<int64_t>(inner / p.components) * p.inner_stride +
                 static_cast<int64_t>(inner % p.components);
    }
    __device__ int64_t *state(const gr_exact_scan_params &p, unsigned words) const {
        const uint64_t number = (line * p.inner + column) * p.pieces + begin / p.piece;
        return reinterpret_cast<int64_t *>(p.states) + number * words;
    }
};

// Calls use(i, x) with the elements of a piece; four loads are in flight.
template <class In, class Use>
__device__ void each_element(const gr_exact_scan_params &p, const ScanPiece &piece, const Use &use) {
    constexpr unsigned loads = 4;
    const In *in = reinterpret_cast<const In *>(p.in) + piece.offset;
    for (uint64_t first = 0; first < piece.length; first += loads) {
        In x[loads];
#pragma unroll
        for (unsigned k = 0; k < loads; ++k) {
            const uint64_t i = min(first + k, piece.length - 1);
            x[k] = in[static_cast<int64_t>(i) * p.along_stride];
        }
#pragma unroll
        for (unsigned k = 0; k < loads; ++k)
            if (first + k < piece.length)
                use(first + k, as_double(x[k]));
    }
}

template <class Make> __device__ void each_piece(const gr_exact_scan_params &p, const Make &make) {
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x, count = p.lines * p.pieces * p.inner;
    for (uint64_t number = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; number < count; number += step)
        make(ScanPiece(p, number));
}

// Writes the state of each piece.
template <class In> __device__ void sum_pieces(const gr_exact_scan_params &p) {
    each_piece(p, [&](const ScanPiece &piece) {
        Running<In> sum;
        each_element<In>(p, piece, [&](uint64_t, double x) { sum.add(x); });
        sum.store(piece.state(p, Running<In>::count + 2));
    });
}

// Replaces the state of each piece by the sum of those before it. A block has a column at a time; each thread
// has one word of the states of neighbouring pieces.
inline __device__ void sum_before_pieces(const gr_exact_scan_params &p) {
    constexpr unsigned loads = 8;
    __shared__ int64_t totals[GR_EXACT_PREFIX_THREADS];
    const unsigned word = threadIdx.x % p.words, group = threadIdx.x / p.words, groups = blockDim.x / p.words;
    const bool is_flags = word == p.words - 1;
    const auto joined = [&](int64_t a, int64_t b) { return is_flags ? a | b : a + b; };
    const uint64_t each = (p.pieces + groups - 1) / groups;
    const uint64_t begin = min(group * each, p.pieces), end = min(begin + each, p.pieces);
    for (uint64_t column = blockIdx.x; column < p.lines * p.inner; column += gridDim.x) {
        int64_t *states = reinterpret_cast<int64_t *>(p.states) + column * p.pieces * p.words + word;
        int64_t total = 0;
#pragma unroll 8
        for (uint64_t i = begin; i < end; ++i)
            total = joined(total, states[i * p.words]);
        totals[threadIdx.x] = total;
        __syncthreads();
        int64_t before = 0;
        for (unsigned i = 0; i < group; ++i)
            before = joined(before, totals[i * p.words + word]);
        for (uint64_t first = begin; first < end; first += loads) {
            int64_t own[loads];
#pragma unroll
            for (unsigned k = 0; k < loads; ++k)
                own[k] = states[min(first + k, end - 1) * p.words];
#pragma unroll
            for (unsigned k = 0; k < loads; ++k)
                if (first + k < end) {
                    states[(first + k) * p.words] = before;
                    before = joined(before, own[k]);
                }
        }
        __syncthreads();
    }
}

// Writes all sums of the pieces, each rounded once.
template <class In> __device__ void round_sums(const gr_exact_scan_params &p) {
    using Out = typename Bits<sizeof(In)>::type;
    each_piece(p, [&](const ScanPiece &piece) {
        Running<In> sum;
        if (p.states != 0)
            sum.load(piece.state(p, Running<In>::count + 2));
        const uint64_t row = piece.line * (p.length + p.initial) + piece.begin;
        Out *out = reinterpret_cast<Out *>(p.out) + row * p.inner + piece.column;
        if (p.initial) {
            if (piece.begin == 0)
                *out = 0;
            out += p.inner;
        }
        each_element<In>(p, piece, [&](uint64_t i, double x) {
            sum.add(x);
            out[i * p.inner] = static_cast<Out>(sum.round(Format<In>::format));
        });
    });
}

} // namespace gr::exact
