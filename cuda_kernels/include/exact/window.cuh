// Exact sums of few contiguous elements by fixed-point accumulators in registers, in a window of exponents
// around those that a block finds first. Elements outside of the window (outliers) go to three doubles of the
// thread.
#pragma once

#include <type_traits>

#include "exact/slots.cuh"
#include "exact/sum.cuh"

namespace gr::exact {

// Keys of numbers are in the order of their magnitudes, that of 0 is 0, and the bits from Point on are the
// exponent. Span neighbouring exponents are in a window, Above of them above the first largest one, and none
// above Last. Of numbers with Room neighbouring ones a double holds the sum of what a thread loads at once.
template <int Point, int Precision, int Bias, int Last, int Span, int Above, int Room> struct Exponents {
    static constexpr unsigned point = Point;
    static constexpr int unit = Bias + Precision - 1; // of exponent 0, in bits below 1
    static constexpr int span = Span;
    static constexpr bool all = Span >= Last; // there are no others
    int least;
    uint32_t lower, upper;

    __device__ void around(uint32_t key) {
        const int top = min(static_cast<int>(key >> Point), Last);
        least = min(max(top + Above + 1 - Span, 1), Last + 1 - Span);
        lower = least > 1 ? (static_cast<uint32_t>(least) << Point) - 1 : 0; // subnormal ones are those of 1
        upper = static_cast<uint32_t>(least + Span) << Point;
    }
    // Of numbers from the one to the other key; `less` is the smaller one that is not 0, minus 1.
    __device__ bool has(uint32_t less, uint32_t most) const {
        return most < upper && less >= lower;
    }
    static __device__ bool fit_together(uint32_t less, uint32_t most) {
        return static_cast<int>(most - less) <= Room << Point;
    }
};

template <class In> struct WindowExponents;
template <> struct WindowExponents<float> : Exponents<23, 24, 127, 254, 32, 4, 24> {
    static __device__ uint32_t key(float x) {
        return __float_as_uint(x) & 0x7fffffff;
    }
};
template <> struct WindowExponents<gr_bf16> : Exponents<7, 8, 127, 254, 40, 4, 39> {
    static __device__ uint32_t key(gr_bf16 x) {
        return __bfloat16_as_ushort(x) & 0x7fff;
    }
};
template <> struct WindowExponents<gr_f16> : Exponents<10, 11, 15, 30, 30, 0, 30> {
    static __device__ uint32_t key(gr_f16 x) {
        return __half_as_ushort(x) & 0x7fff;
    }
};
template <> struct WindowExponents<double> : Exponents<20, 53, 1023, 2034, 36, 4, 0> {
    static __device__ uint32_t key(double x) {
        return (high_bits(x) & 0x7fffffff) | min(static_cast<unsigned>(__double2loint(x)), 1u);
    }
};

// The accumulator of a thread in a window: of float32 and narrower elements the sums of few are exact as
// doubles, and become integers.
template <class In> struct Window : WindowExponents<In> {
    static constexpr unsigned most_bits = 62;
    int64_t sum = 0;
    bool other = false; // than -0
    double scale;

    __device__ void open() {
        scale = power_of_two(this->unit - this->least);
    }
    __device__ void add(double x) {
        other = other || !is_minus_zero(x);
        sum += __double2ll_rn(x * scale);
    }
    __device__ bool has_other() const {
        return other;
    }
    __device__ Whole of_warp() const {
        return warp_total<most_bits>(static_cast<Whole>(sum)); // more than 64 bits
    }
};

// Of float64 a pair as in a bin: a sum that begins at a number larger than any of 130 elements, and what its
// roundings leave out, 2^52 units at most.
template <> struct Window<double> : WindowExponents<double> {
    static constexpr int shift = span - 1 + 9; // of the last bit of the sum
    static constexpr unsigned most_bits = 52 + shift;
    static constexpr uint32_t infinity = 2047u << 20; // its key
    double sum, rest = -0.0;

    __device__ double start() const {
        return 1.5 * power_of_two(least + shift - 1023);
    }
    __device__ void open() {
        sum = start();
    }
    __device__ void add(double x) {
        const double before = sum;
        sum += x;
        rest += x - (sum - before);
    }
    __device__ bool has_other() const {
        return !is_minus_zero(rest);
    }
    __device__ Whole of_warp() const {
        const int exponent = unit - least;
        const double lower = rest * power_of_two(exponent / 2) * power_of_two(exponent - exponent / 2);
        // Neighbouring doubles of one exponent are neighbouring integers.
        const int64_t upper = __double_as_longlong(sum) - __double_as_longlong(start());
        return (static_cast<Whole>(warp_total<52>(upper)) << shift) + warp_total<53>(__double2ll_rn(lower));
    }
};

// Keys of numbers: the smallest one that is not 0, minus 1, and the largest.
struct KeyRange {
    uint32_t less = ~0u, most = 0;

    __device__ void add(uint32_t smallest, uint32_t largest) {
        less = min(less, smallest);
        most = max(most, largest);
    }
    __device__ KeyRange of_warp() const {
        return {~warp_max(~less), warp_max(most)};
    }
};

// The outlier path: a block's sum of its outliers, in digits of 16 bits. An outlier adds its significand to
// three neighbouring digits, one of float64 to five, by atomic additions in shared memory, which are exact in
// any order. Every digit has a word of 32 bits for each lane, in a bank of its own, so the lanes of a warp
// never wait for one another.
template <class V> struct OutlierDigits {
    static constexpr gr_exact_size size = state_size<V>();
    static constexpr unsigned bias = size.below - 150; // of the exponent of a float32
    // Up to the last digit of the greatest element, or of the sum of what a thread loads at once.
    static constexpr unsigned rows = sizeof(V) == 8 ? 134 : 20, lanes = 32, words = rows / 2;
    static constexpr bool many = words > 32; // so that it pays to add up digits of a range alone

    // Of 2,080 elements of a lane at most, digits of 16 bits are less than 2^28.
    static_assert(GR_EXACT_WINDOW_THREADS / 32 * (GR_EXACT_WINDOW_MAX_ELEMENTS + 2) <= 1 << 12,
                  "digits overflow");

    static __device__ int32_t *digits() {
        __shared__ __align__(16) int32_t all[rows * lanes];
        return all;
    }
    static __device__ void clear() {
        int4 *all = reinterpret_cast<int4 *>(digits());
#pragma unroll 8
        for (unsigned i = threadIdx.x; i < rows * lanes / 4; i += blockDim.x)
            all[i] = make_int4(0, 0, 0, 0);
    }
    // Adds significand * 2^(position - size.below) as digits in two's complement, of which the last has the
    // sign.
    static __device__ void add_narrow(int32_t significand, unsigned position) {
        int32_t *digit = digits() + position / 16 * lanes + threadIdx.x % lanes;
        const int64_t shifted = static_cast<int64_t>(significand) * (1 << position % 16);
        const uint32_t lower = static_cast<uint32_t>(shifted);
        atomicAdd(digit, static_cast<int32_t>(lower & 0xffff));
        atomicAdd(digit + lanes, static_cast<int32_t>(lower >> 16));
        atomicAdd(digit + 2 * lanes, static_cast<int32_t>(shifted >> 32));
    }
    static __device__ void add_wide(int64_t significand, unsigned position) {
        int32_t *digit = digits() + position / 16 * lanes + threadIdx.x % lanes;
        const uint32_t upper = static_cast<uint32_t>(significand >> 32);
        const uint64_t lower = static_cast<uint64_t>(significand) << position % 16;
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            atomicAdd(digit + i * lanes, static_cast<int32_t>(lower >> (16 * i) & 0xffff));
        atomicAdd(digit + 4 * lanes,
                  static_cast<int32_t>(__funnelshift_l(
                      upper, static_cast<uint32_t>(static_cast<int32_t>(upper) >> 31), position % 16)));
    }
    // Adds a double, whose bits below those of the least V are 0. The digits of infinities and NaNs do not
    // matter.
    static __device__ void add_double(double x) {
        const uint64_t bits = static_cast<uint64_t>(__double_as_longlong(x));
        const unsigned exponent = static_cast<unsigned>(bits >> 52) & 2047;
        const int64_t magnitude =
            static_cast<int64_t>((bits & 0xfffffffffffffull) | static_cast<uint64_t>(exponent > 0) << 52);
        int position = static_cast<int>(max(exponent, 1u)) + static_cast<int>(size.below) - 1075;
        int64_t significand = static_cast<int64_t>(bits) < 0 ? -magnitude : magnitude;
        if constexpr (sizeof(V) < 8) {
            significand = position > -64 ? significand >> max(0, -position) : 0;
            position = max(position, 0);
        }
        add_wide(significand, static_cast<unsigned>(position));
    }
    static __device__ void add(V x) {
        if constexpr (sizeof(V) == 8) {
            add_double(x);
        } else {
            const uint32_t bits = __float_as_uint(static_cast<float>(x)), exponent = bits >> 23 & 255;
            const int magnitude =
                static_cast<int>((bits & 0x7fffff) | static_cast<uint32_t>(exponent > 0) << 23);
            add_narrow(static_cast<int>(bits) < 0 ? -magnitude : magnitude, max(exponent, 1u) + bias);
        }
    }
    // The first digit of a number, by its key.
    static __device__ unsigned row(uint32_t key) {
        constexpr unsigned above = sizeof(V) == 8 ? size.below - 1075 : bias;
        return (max(key >> WindowExponents<V>::point, 1u) + above) / 16;
    }
    // Moves the digits of outliers in a range to the block's state: four threads add up the lanes of two
    // digits, a word of the state. A sum of what a thread loads at once reaches one digit farther than its
    // elements.
    static __device__ void fold(KeyRange range) {
        const unsigned part = threadIdx.x % 4, first = row(range.less + 1) / 2,
                       last = min(row(range.most) / 2 + 3, words - 1), count = (last - first + 8) / 8 * 8;
        for (unsigned i = threadIdx.x / 4; i < count; i += blockDim.x / 4) {
            const unsigned word = min(first + i, words - 1);
            const int4 *low = reinterpret_cast<const int4 *>(digits()) + word * (lanes / 2);
            int32_t sum[2] = {0, 0};
#pragma unroll
            for (unsigned k = 0; k < 4; ++k) {
                const int4 some =
                    low[k / 2 * (lanes / 4) + ((k + word) % 2) * 4 + part]; // neighbours: other banks
                sum[k / 2] += some.x + some.y + some.z + some.w;
            }
            int64_t all = sum[0] + sum[1] * (int64_t(1) << 16);
            all += __shfl_xor_sync(0xffffffffu, static_cast<long long>(all), 1);
            all += __shfl_xor_sync(0xffffffffu, static_cast<long long>(all), 2);
            if (part == 0 && first + i <= last)
                block_state()[word] = all;
        }
        __syncthreads();
    }
};

// What a thread loads at once of elements side by side, or of pairs, whose products count: V is float64 then.
template <class In, bool Pair> struct Loaded {
    using V = typename std::conditional<Pair, double, In>::type;
    static constexpr bool half = sizeof(In) == 2;
    static constexpr unsigned width = Vec16<In>::length, turns = Pair && half ? GR_EXACT_WINDOW_HALF_DOT_LOADS
                                                                 : Pair       ? GR_EXACT_WINDOW_DOT_LOADS
                                                                 : std::is_same<In, gr_bf16>::value
                                                                     ? GR_EXACT_WINDOW_HALF_LOADS
                                                                     : GR_EXACT_WINDOW_LOADS;
    Vec16<In> x[turns], y[Pair ? turns : 1];

    __device__ V at(unsigned k, unsigned e) const {
        if constexpr (Pair)
            return as_double(x[k].at(e)) * as_double(y[k].at(e));
        else
            return x[k].at(e);
    }
    // Hides the values from the compiler, which would otherwise keep what it computed from each in registers.
    __device__ void forget() {
#pragma unroll
        for (unsigned k = 0; k < turns; ++k)
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) {
                asm volatile("" : "+r"(x[k].words[i]));
                if constexpr (Pair)
                    asm volatile("" : "+r"(y[k].words[i]));
            }
    }
    // Chunks that are not there count as -0.
    __device__ void clear(unsigned k) {
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            x[k].words[i] = half ? 0x80008000 : sizeof(In) == 8 && i % 2 == 0 ? 0 : 0x80000000;
            if constexpr (Pair)
                y[k].words[i] = 0;
        }
    }
};

// The elements of a result, and which of them a block takes: chunks that are contiguous, as neighbours are
// more often alike.
template <class In, bool Pair> struct BlockElements {
    using V = typename Loaded<In, Pair>::V;
    static constexpr unsigned turns = Loaded<In, Pair>::turns;
    const In *in, *second;
    unsigned count, head, chunks, begin, end; // few: the host ensures it

    __device__ BlockElements(const gr_exact_params &p, Offsets base)
        : in(reinterpret_cast<const In *>(p.in + base.in)),
          second(reinterpret_cast<const In *>(p.second + base.second)),
          count(static_cast<unsigned>(p.count)) {
        const uint64_t address = p.in + base.in;
        const unsigned share = p.share;
        const unsigned skew = (16 - address % 16) % 16 / sizeof(In);
        head = min(skew, count);
        chunks = (count - head) / Vec16<In>::length;
        begin = min(blockIdx.y * share, chunks);
        end = min(begin + share, chunks);
    }
    static __device__ unsigned step() {
        return blockDim.x * turns;
    }
    static __device__ unsigned place(unsigned from, unsigned k) {
        return from + k * blockDim.x + threadIdx.x;
    }
    __device__ void prefetch_first() const {
        if (threadIdx.x % 8 == 0) // a line has 128 bytes
#pragma unroll
            for (unsigned k = 0; k < turns; ++k)
                if (place(begin, k) < end)
                    pdl_prefetch(reinterpret_cast<const Vec16<In> *>(in + head) + place(begin, k));
    }
    // Behind the end, the last one of all: ptxas puts loads with a condition where they wait for one another.
    __device__ void load(unsigned from, Loaded<In, Pair> &to) const {
        const Vec16<In> *chunk = reinterpret_cast<const Vec16<In> *>(in + head);
#pragma unroll
        for (unsigned k = 0; k < turns; ++k) {
            const unsigned at = min(place(from, k), chunks - 1);
            to.x[k] = load_vec16(chunk + at);
            if constexpr (Pair)
                to.y[k] = Source<In>(reinterpret_cast<uint64_t>(second + head)).vec16_at(at);
        }
    }
    // One of the few before the first and behind the last chunk, which go to the first block; else -0.
    __device__ bool has_ends() const {
        return blockIdx.y == 0 && chunks * Vec16<In>::length < count;
    }
    __device__ V end_of(unsigned which) const {
        const unsigned at = threadIdx.x + (which == 0 ? 0 : head + chunks * Vec16<In>::length);
        if (at >= (which == 0 ? head : count))
            return V(-0.0f);
        if constexpr (Pair)
            return as_double(in[at]) * as_double(second[at]);
        else
            return in[at];
    }
};

// Adds up the elements that a thread has loaded.
template <class In, bool Pair> struct Group {
    using V = typename Loaded<In, Pair>::V;
    static constexpr unsigned turns = Loaded<In, Pair>::turns, width = Vec16<In>::length;
    uint32_t most = 0, less = ~0u; // keys
    double sum;

    __device__ Group(const Loaded<In, Pair> &loaded) {
        sum = -0.0;
#pragma unroll
        for (unsigned k = 0; k < turns; ++k) {
            double sums[width];
#pragma unroll
            for (unsigned e = 0; e < width; ++e) {
                const V x = loaded.at(k, e);
                sums[e] = as_double(x);
                if constexpr (!WindowExponents<V>::all) {
                    const uint32_t key = WindowExponents<V>::key(x);
                    most = max(most, key);
                    less = min(less, key - 1);
                }
            }
            if constexpr (sizeof(V) < 8) { // as a tree: none waits for all before
#pragma unroll
                for (unsigned n = width / 2; n > 0; n /= 2)
#pragma unroll
                    for (unsigned e = 0; e < n; ++e)
                        sums[e] += sums[e + n];
                sum += sums[0];
            }
        }
    }
    // Adds an element to the window or to the outliers; returns flags.
    static __device__ uint32_t add_one(V x, Window<V> &window, KeyRange &far) {
        const uint32_t key = WindowExponents<V>::key(x);
        if (__builtin_expect(window.has(key - 1, key), 1)) {
            window.add(as_double(x));
            return 0;
        }
        if constexpr (!WindowExponents<V>::all)
            OutlierDigits<V>::add(x);
        far.add(key - 1, key);
        return OUTLIERS | flags_of(as_double(x));
    }
    // Adds all elements of the group; returns flags. `is_there`: of the chunks.
    template <class Chunks>
    __device__ uint32_t add(Loaded<In, Pair> &loaded, Window<V> &window, KeyRange &far,
                            const Chunks &is_there) const {
        constexpr bool narrow = sizeof(V) < 8, all = WindowExponents<V>::all;
        const bool together = narrow && WindowExponents<V>::fit_together(less, most);
        const bool near = all ? isfinite(sum) : window.has(less, most) && (together || !narrow);
        if (__builtin_expect(near, 1)) {
            if constexpr (narrow)
                window.add(sum);
            else
#pragma unroll
                for (unsigned i = 0; i < turns * width; ++i)
                    window.add(loaded.at(i / width, i % width));
            return 0;
        }
        uint32_t flags = OUTLIERS | GR_EXACT_NOT_MINUS_ZERO;
        far.add(less, most);
        if constexpr (all) {
            return flags_of(sum); // infinities and NaNs, whose sum determines the result
        } else {
            if constexpr (narrow) {
                if (!isfinite(sum))
                    return flags_of(sum);
                if (together) {
                    OutlierDigits<V>::add_double(sum);
                    return flags;
                }
            } else if (most >= Window<V>::infinity) {
#pragma unroll
                for (unsigned i = 0; i < turns * width; ++i)
                    flags |= flags_of(loaded.at(i / width, i % width));
                return flags;
            }
            loaded.forget();
#pragma unroll
            for (unsigned k = 0; k < turns; ++k)
                if (is_there(k))
#pragma unroll
                    for (unsigned e = 0; e < width; ++e)
                        OutlierDigits<V>::add(loaded.at(k, e));
            return flags;
        }
    }
};

// The maximum of a block, valid in all threads.
inline __device__ uint32_t block_max(uint32_t x) {
    __shared__ uint32_t greatest[32];
    const unsigned lane = threadIdx.x % 32;
    x = warp_max(x);
    if (blockDim.x == 32)
        return x;
    if (lane == 0)
        greatest[threadIdx.x / 32] = x;
    __syncthreads();
    return warp_max(lane < blockDim.x / 32 ? greatest[lane] : 0);
}

// Adds up a block's elements of a result: the sum is in the first warp; of `flags` all threads have OUTLIERS.
// The sum of the outliers is in the state of the block.
template <class In, bool Pair> __device__ FixedPointSum add_in_window(const BlockElements<In, Pair> &part) {
    using V = typename Loaded<In, Pair>::V;
    __shared__ uint32_t flags[32];
    __shared__ Whole sums[32];
    __shared__ uint2 ranges[32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const bool has_ends = part.has_ends();
    Loaded<In, Pair> loaded;
    if (part.begin < part.end)
        part.load(part.begin, loaded);
    V ends[2] = {V(-0.0f), V(-0.0f)};
    if (has_ends)
        for (unsigned i = 0; i < 2; ++i)
            ends[i] = part.end_of(i);
    Window<V> window;
    uint32_t own_flags = 0;
    KeyRange far; // of outliers
    for (unsigned from = part.begin;; from += part.step()) {
#pragma unroll
        for (unsigned k = 0; k < part.turns; ++k)
            if (part.place(from, k) >= part.end)
                loaded.clear(k);
        const Group<In, Pair> group(loaded);
        if (from == part.begin) {
            const uint32_t most =
                max(group.most, max(WindowExponents<V>::key(ends[0]), WindowExponents<V>::key(ends[1])));
            window.around(WindowExponents<V>::all ? 0 : block_max(most));
            window.open();
            __syncwarp();
        }
        own_flags |=
            group.add(loaded, window, far, [&](unsigned k) { return part.place(from, k) < part.end; });
        if (from + part.step() >= part.end)
            break;
        part.load(from + part.step(), loaded);
    }
    if (has_ends)
#pragma unroll 1
        for (unsigned i = 0; i < 2; ++i) {
            const V x = i == 0 ? ends[0] : ends[1];
            own_flags |= Group<In, Pair>::add_one(x, window, far);
        }

    __syncwarp();
    FixedPointSum sum = {window.of_warp(), window.least - window.unit,
                         warp_or(own_flags | (window.has_other() ? GR_EXACT_NOT_MINUS_ZERO : 0u))};
    constexpr bool ranged = !WindowExponents<V>::all && OutlierDigits<V>::many;
    if (ranged && sum.flags & OUTLIERS)
        far = far.of_warp();
    if (warps > 1) {
        if (lane == 0) {
            flags[warp] = sum.flags;
            sums[warp] = sum.units;
            if (ranged)
                ranges[warp] = make_uint2(far.less, far.most);
        }
        __syncthreads();
        sum.flags = warp_or(lane < warps ? flags[lane] : 0);
        if (warp == 0)
            sum.units = warp_total<window.most_bits + 9>(lane < warps ? sums[lane] : Whole(0));
    }
    if constexpr (!WindowExponents<V>::all)
        if (sum.flags & OUTLIERS) {
            const bool few = 4 * OutlierDigits<V>::words <= blockDim.x; // for a turn of all threads
            if (ranged && !few && warps > 1 && lane < warps)
                far = {ranges[lane].x, ranges[lane].y};
            OutlierDigits<V>::fold(ranged && !few ? far.of_warp() : KeyRange{0, ~0u >> 1});
        }
    return sum;
}

// Adds the digits of the block's state to the result's state, by a warp.
template <unsigned Words> __device__ void add_digits(int64_t *whole) {
#pragma unroll
    for (unsigned i = 0; i < Words - 2; i += 32)
        if (i + threadIdx.x < Words - 2 && block_state()[i + threadIdx.x] != 0)
            add_word(whole + i + threadIdx.x, block_state()[i + threadIdx.x]);
    __syncwarp();
    fence_acq_rel_gpu();
}

// Takes the digits that other blocks have added there, by a warp, and sets them to zero.
template <unsigned Words> __device__ void take_digits(int64_t *whole) {
    constexpr unsigned count = Words - 2, each = (count + 31) / 32;
    unsigned long long taken[each] = {}; // loads in flight at once
    fence_acq_rel_gpu();
#pragma unroll
    for (unsigned k = 0; k < each; ++k)
        if (const unsigned i = threadIdx.x % 32 + 32 * k; i < count)
            taken[k] = atomicExch(reinterpret_cast<unsigned long long *>(whole + i), 0ull);
#pragma unroll
    for (unsigned k = 0; k < each; ++k)
        if (const unsigned i = threadIdx.x % 32 + 32 * k; i < count)
            block_state()[i] += static_cast<int64_t>(taken[k]);
    __syncwarp();
}

// The sum of all blocks of a result, in the first warp of the block that was the last to draw its ticket,
// which thread 0 has in `ticket`. False in all other warps.
template <unsigned Words>
__device__ bool join_sums(const gr_exact_params &p, uint64_t result, unsigned below, unsigned ticket,
                          FixedPointSum &sum) {
    if (gridDim.y == 1)
        return threadIdx.x < 32;
    if (threadIdx.x >= 32)
        return false;
    const unsigned others = gridDim.y - 1;
    int64_t *whole = reinterpret_cast<int64_t *>(p.states) + result * Words;
    const uint64_t slots = p.states + p.results * Words * 8 + result * others * GR_EXACT_SLOT_BYTES;
    ticket = __shfl_sync(0xffffffffu, ticket, 0);
    if (ticket != others) {
        if (sum.flags & OUTLIERS)
            add_digits<Words>(whole);
        if (threadIdx.x == 0)
            slot_of(sum).put(slots + ticket * GR_EXACT_SLOT_BYTES);
        return false;
    }
    // Room for 2^9 sums of 2^111 units at most, and those of float64 have no more than 2^105.
    constexpr unsigned reach = Words == GR_EXACT_NARROW_WORDS ? 16 : 5;
    sum = collect<reach, 124>(slots, others, sum, below);
    if (sum.flags & OUTLIERS)
        take_digits<Words>(whole);
    clear_slots(slots, others);
    return true;
}

// Puts a sum of units and its flags into the block's state, by a warp.
template <unsigned Words> __device__ void put_in_state(const FixedPointSum &sum, unsigned below) {
    __syncwarp(); // others have read flags of what was far
    WarpDigits<Words - 2> digits(block_state());
    digits.add(sum.units, sum.exponent + static_cast<int>(below));
    digits.store_sums(block_state());
    if (threadIdx.x == 0)
        block_state()[Words - 1] = sum.flags & ~OUTLIERS;
}

// Whether a result is nothing but the sum of its elements, near enough to the window.
template <class In> __device__ bool is_plain(const gr_exact_params &p, uint32_t flags) {
    const uint64_t initial = *reinterpret_cast<const typename Bits<sizeof(In)>::type *>(p.initial);
    return !(p.flags & (GR_EXACT_MEAN | GR_EXACT_STATES)) && initial == 0 &&
           (flags & ~GR_EXACT_NOT_MINUS_ZERO) == 0;
}

// gridDim.y blocks share a result, and gridDim.x results there are: in a loop over results ptxas would keep
// 20 registers more, and a multiprocessor one block of 512 threads instead of two.
template <class In, bool Pair> __device__ void sum_in_window(const gr_exact_params &p) {
    using V = typename Loaded<In, Pair>::V;
    constexpr gr_exact_size size = state_size<V>();
    const uint64_t result = blockIdx.x;
    int64_t *state = block_state();
    pdl_launch_dependents();
    // Here, as addresses are computed while the kernel before this one ends.
    const BlockElements<In, Pair> part(p, p.results == 1 ? Offsets{0, 0} : offsets(p.keep, result));
    if (p.results == 1)
        part.prefetch_first();
    for (unsigned i = threadIdx.x; i < size.words; i += blockDim.x)
        state[i] = 0;
    if constexpr (!WindowExponents<V>::all)
        OutlierDigits<V>::clear();
    pdl_wait();
    // The last word of a result's state, of which the sums in slots leave the flags out, counts tickets.
    unsigned ticket = 0;
    if (threadIdx.x == 0 && gridDim.y > 1)
        ticket = draw_ticket(
            reinterpret_cast<unsigned *>(p.states + (result * size.words + size.words - 1) * 8), gridDim.y);
    FixedPointSum sum = add_in_window(part);
    if (!join_sums<size.words>(p, result, size.below, ticket, sum))
        return;
    if (is_plain<In>(p, sum.flags)) {
        if (threadIdx.x == 0)
            put<In>(p, result, round_whole(sum.units, sum.exponent, Format<In>::format));
        return;
    }
    if (is_plain<In>(p, sum.flags & ~OUTLIERS)) {
        WarpDigits<size.words - 2> digits(state);
        digits.add(sum.units, sum.exponent + static_cast<int>(size.below));
        const uint64_t bits = round_digits(digits, state, sum.flags, size.below, 1, Format<In>::format);
        if (threadIdx.x == 0)
            put<In>(p, result, bits);
        return;
    }
    put_in_state<size.words>(sum, size.below);
    __syncwarp();
    finish<In, size.words>(p, result, state, size.below);
}

} // namespace gr::exact
