// Cumulative sums of which each is exact, and rounded once: threads sum pieces of the columns, blocks make
// the sums of all pieces before each, and threads go on from there and round every sum.
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

// Rounds a float64 of the format's range, once.
template <class In> __device__ uint64_t round_double(double x) {
    const uint64_t bits = static_cast<uint64_t>(__double_as_longlong(x));
    if constexpr (sizeof(In) == 8)
        return bits;
    if constexpr (sizeof(In) == 4)
        return static_cast<uint32_t>(__float_as_int(__double2float_rn(x)));
    constexpr gr_exact_format format = Format<In>::format;
    const gr_exact_decomposed parts = gr_exact_decompose(bits);
    const uint64_t magnitude = static_cast<uint64_t>(parts.value < 0 ? -parts.value : parts.value);
    const gr_exact_leading head = {magnitude << 11, static_cast<int32_t>(parts.position) - 1086, false};
    return gr_exact_round(head, format) | bits >> 63 << (format.precision - 1 + format.exponent_bits);
}

struct TwoSum {
    double sum, error; // a + b rounded, and the rest, which is exact (Knuth)

    __device__ TwoSum(double a, double b) : sum(a + b) {
        const double other = sum - a;
        error = (a - (sum - other)) + (b - other);
    }
};

// A running sum as two float64, of which the second is at most half a unit of the first, and a
// superaccumulator for what they leave out. Most sums are rounded from the two float64 alone.
template <class In> struct SplitSum {
    static constexpr double most = 1.0715086071862673e301; // 2^1000: TwoSum does not overflow below
    double high, low;
    double error; // at least the magnitude of `rest`; infinite: `rest` has all
    Running<In> rest;

    __device__ SplitSum() : high(0), low(0), error(0) {
    }

    // Starts at a state of which carries are not propagated.
    __device__ void load(const int64_t *state) {
        rest.load(state);
        high = take_leading();
        low = abs(high) < most ? take_leading() : 0;
        error = abs(low) * 0x1p-52;
        if (!(abs(high) < most)) { // or infinite, or NaN: `rest` still has it
            high = low = 0;
            error = INFINITY;
        }
    }
    __device__ void store(int64_t *state) {
        flush();
        rest.store(state);
    }

    __device__ void add(double x) {
        const TwoSum first(high, x);
        if (error <= most && abs(first.sum) < most) {
            const TwoSum second(low, first.error);
            const TwoSum both(first.sum, second.sum);
            high = both.sum;
            low = both.error;
            if (second.error != 0)
                add_rest(second.error);
            if (!is_minus_zero(x))
                rest.flags |= GR_EXACT_NOT_MINUS_ZERO;
            return;
        }
        flush();
        rest.add(x);
    }

    // The bits of the sum in the dtype of the elements.
    __device__ uint64_t round() {
        if (high != 0 && is_certain())
            return round_double<In>(high);
        if (error == 0 && high == 0 && (rest.flags & GR_EXACT_NOT_MINUS_ZERO) != 0)
            return 0;
        return round_exactly();
    }

  private:
    // Adds what `rest` has of the leading 53 bits to a float64; 0 if that is infinite or NaN.
    __device__ double take_leading() {
        const uint32_t flags = rest.flags;
        const double leading = __longlong_as_double(static_cast<long long>(rest.round({53, 11})));
        if (leading != 0 && abs(leading) < most) {
            rest.add(-leading);
            rest.flags = flags;
        }
        return leading;
    }
    // Moves both float64 to the superaccumulator.
    __device__ void flush() {
        const uint32_t flags = rest.flags;
        if (error <= most) {
            add_both(1);
            rest.flags = flags;
        }
        high = low = 0;
        error = INFINITY;
    }
    __device__ __noinline__ void add_both(double sign) {
        if (high != 0)
            rest.add(sign * high);
        if (low != 0)
            rest.add(sign * low);
    }
    __device__ __noinline__ void add_rest(double x) {
        rest.add(x);
        error = (error + abs(x)) * (1 + 0x1p-50);
    }
    __device__ __noinline__ uint64_t round_exactly() {
        const uint32_t flags = rest.flags;
        const bool split = error <= most;
        if (split)
            add_both(1);
        rest.flags = flags;
        const uint64_t bits = rest.round(Format<In>::format);
        if (split)
            add_both(-1);
        rest.flags = flags;
        return bits;
    }
    // Whether the exact sum is rounded as `high` is.
    __device__ bool is_certain() const {
        if (low == 0 && error == 0)
            return true;
        if constexpr (sizeof(In) == 8) {
            const double bound = 2 * error + abs(low) * 0x1p-52;
            return high + (low + bound) == high && high + (low - bound) == high;
        } else {
            // The sum is within a unit of `high`, which is not halfway between two results.
            constexpr gr_exact_format format = Format<In>::format;
            constexpr uint64_t half = 1ull << (52 - format.precision);
            const uint64_t bits = static_cast<uint64_t>(__double_as_longlong(high));
            const int exponent = static_cast<int>(bits >> 52 & 2047) - 1023;
            constexpr int least = 2 - (1 << (format.exponent_bits - 1));
            return error <= abs(high) * 0x1p-55 && (bits & (2 * half - 1)) != half && exponent >= least;
        }
    }
};

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
        SplitSum<In> sum;
        each_element<In>(p, piece, [&](uint64_t, double x) { sum.add(x); });
        sum.store(piece.state(p, p.words));
    });
}

// The threads of a block that adds states: each has one word of the states of neighbouring pieces. A column
// is divided into chunks, and a chunk has a block.
struct PrefixThread {
    unsigned word, group, groups;
    uint64_t begin, end; // pieces

    __device__ PrefixThread(const gr_exact_scan_params &p, uint64_t chunk)
        : word(threadIdx.x % p.words), group(threadIdx.x / p.words), groups(blockDim.x / p.words) {
        const uint64_t of_chunk = (p.pieces + p.chunks - 1) / p.chunks,
                       from = min(chunk * of_chunk, p.pieces);
        const uint64_t to = min(from + of_chunk, p.pieces), each = (to - from + groups - 1) / groups;
        begin = min(from + group * each, to);
        end = min(begin + each, to);
    }
    // States are added, but their flags are joined.
    __device__ int64_t join(const gr_exact_scan_params &p, int64_t a, int64_t b) const {
        return word == p.words - 1 ? a | b : a + b;
    }
    // The sum of a word of states, from the first of a column or a block on.
    __device__ int64_t total(const gr_exact_scan_params &p, const int64_t *states, uint64_t from, uint64_t to,
                             unsigned step) const {
        int64_t sum = 0;
#pragma unroll 8
        for (uint64_t i = from; i < to; i += step)
            sum = join(p, sum, states[i * p.words + word]);
        return sum;
    }
};

template <class Make> __device__ void each_chunk(const gr_exact_scan_params &p, const Make &make) {
    for (uint64_t i = blockIdx.x; i < p.lines * p.inner * p.chunks; i += gridDim.x) {
        const uint64_t column = i / p.chunks, chunk = i % p.chunks;
        make(PrefixThread(p, chunk), chunk,
             reinterpret_cast<int64_t *>(p.states) + column * p.pieces * p.words,
             reinterpret_cast<int64_t *>(p.totals) + column * p.chunks * p.words);
        __syncthreads();
    }
}

// Writes the sum of the states of each chunk.
inline __device__ void sum_chunks(const gr_exact_scan_params &p) {
    __shared__ int64_t sums[GR_EXACT_PREFIX_THREADS];
    each_chunk(p, [&](const PrefixThread &own, uint64_t chunk, const int64_t *states, int64_t *totals) {
        sums[threadIdx.x] = own.total(p, states, own.begin, own.end, 1);
        __syncthreads();
        if (own.group == 0)
            totals[chunk * p.words + own.word] = own.total(p, sums, 0, own.groups, 1);
    });
}

// Replaces the state of each piece by the sum of those before it.
inline __device__ void sum_before_pieces(const gr_exact_scan_params &p) {
    constexpr unsigned loads = 8;
    __shared__ int64_t sums[GR_EXACT_PREFIX_THREADS], chunks[GR_EXACT_PREFIX_THREADS];
    each_chunk(p, [&](const PrefixThread &own, uint64_t chunk, int64_t *states, const int64_t *totals) {
        sums[threadIdx.x] = own.total(p, states, own.begin, own.end, 1);
        chunks[threadIdx.x] = chunk == 0 ? 0 : own.total(p, totals, own.group, chunk, own.groups);
        __syncthreads();
        int64_t before = own.total(p, chunks, 0, own.groups, 1);
        before = own.join(p, before, own.total(p, sums, 0, own.group, 1));
        for (uint64_t first = own.begin; first < own.end; first += loads) {
            int64_t state[loads];
#pragma unroll
            for (unsigned k = 0; k < loads; ++k)
                state[k] = states[min(first + k, own.end - 1) * p.words + own.word];
#pragma unroll
            for (unsigned k = 0; k < loads; ++k)
                if (first + k < own.end) {
                    states[(first + k) * p.words + own.word] = before;
                    before = own.join(p, before, state[k]);
                }
        }
    });
}

// Writes all sums of the pieces, each rounded once.
template <class In> __device__ void round_sums(const gr_exact_scan_params &p) {
    using Out = typename Bits<sizeof(In)>::type;
    each_piece(p, [&](const ScanPiece &piece) {
        SplitSum<In> sum;
        if (p.states != 0)
            sum.load(piece.state(p, p.words));
        const uint64_t row = piece.line * (p.length + p.initial) + piece.begin;
        Out *out = reinterpret_cast<Out *>(p.out) + row * p.inner + piece.column;
        if (p.initial) {
            if (piece.begin == 0)
                *out = 0;
            out += p.inner;
        }
        each_element<In>(p, piece, [&](uint64_t i, double x) {
            sum.add(x);
            out[i * p.inner] = static_cast<Out>(sum.round());
        });
    });
}

} // namespace gr::exact
