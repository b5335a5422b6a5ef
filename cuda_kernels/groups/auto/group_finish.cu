// The last steps of group sums: the integers of a result are added up and rounded once. group_finish reads
// the slabs of the window kernels and the planes, and zeroes planes, counts and flags. group_signs decides
// which sums of 0 are -0.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "exact/finish.cuh"
#include "groups/addends.cuh"

using namespace gr::groups;
using gr::exact::round_whole;
using gr::exact::Whole;

// Adds a number of units to a state, each 2^position in it.
template <unsigned Digits> __device__ void add_to_state(int64_t *state, Whole units, int position) {
    const int64_t parts[] = {static_cast<int64_t>(units & 0xffffffff),
                             static_cast<int64_t>(units >> 32 & 0xffffffff),
                             static_cast<int64_t>(units >> 64)};
    constexpr unsigned last = Digits - 1;
    for (unsigned i = 0; i < 3; ++i) {
        const unsigned at = unsigned(position) + 32 * i;
        const gr_exact_addends pieces = gr_exact_split(parts[i], at);
        for (unsigned k = 0; k < 3; ++k) {
            if (at / 32 + k <= last)
                state[at / 32 + k] += pieces.at[k];
            else if (at / 32 + k == last + 1) // the last digit also has the bits above it, and the sign
                state[last] += int64_t(uint64_t(pieces.at[k]) << 32);
        }
    }
}

// Which planes are in use, and how the sums of all results are added up: the same for the whole grid.
template <class In> struct GroupResult {
    using Traits = Planes<In>;
    static constexpr unsigned few = 4, few_digits = 8;
    const gr_group_params &p;
    uint32_t used[3];
    int first, last; // planes in use; first > last if there are none

    __device__ explicit GroupResult(const gr_group_params &params) : p(params), first(0), last(-1) {
        const uint32_t *header = header_of(p);
#pragma unroll
        for (int i = 2; i >= 0; --i) {
            used[i] = header[GR_GROUP_USED + i];
            if (used[i] != 0) {
                first = 32 * i + __ffs(int(used[i])) - 1;
                last = last >= 0 ? last : 32 * i + 31 - __clz(int(used[i]));
            }
        }
    }
    __device__ bool uses(int plane) const {
        return used[plane / 32] >> plane % 32 & 1;
    }
    __device__ int64_t *plane_at(int plane, uint64_t result) const {
        return reinterpret_cast<int64_t *>(p.planes) + plane * p.results + result;
    }
    static __device__ int position_of(int plane) {
        return Traits::position + int(Traits::bits) * plane;
    }
    // Takes up to `few` planes at once.
    __device__ void take_planes(uint64_t result, int64_t (&value)[few]) const {
#pragma unroll
        for (unsigned i = 0; i < few; ++i)
            value[i] = first + int(i) <= last && uses(first + i) ? *plane_at(first + i, result) : 0;
#pragma unroll
        for (unsigned i = 0; i < few; ++i)
            if (value[i] != 0)
                *plane_at(first + i, result) = 0;
    }
    // The sum by a state of `Words` words whose digit 0 is digit `from` of the state of all exponents.
    template <unsigned Words>
    __device__ uint64_t round_state(uint64_t result, Whole units, int position, uint64_t divisor,
                                    int from) const {
        int64_t state[Words];
        GR_EXACT_NO_UNROLL
        for (unsigned i = 0; i < Words; ++i)
            state[i] = 0;
        state[Words - 1] = GR_EXACT_NOT_MINUS_ZERO;
        if (units != 0)
            add_to_state<Words - 2>(state, units, position - 32 * from);
        GR_EXACT_NO_UNROLL
        for (int plane = first; plane <= last; ++plane) {
            if (!uses(plane))
                continue;
            int64_t *const at = plane_at(plane, result), value = *at;
            if (value != 0) {
                *at = 0;
                add_to_state<Words - 2>(state, value, position_of(plane) - 32 * from);
            }
        }
        const uint32_t below = Traits::size.below - 32 * uint32_t(from); // wraps: it is only subtracted
        return gr_exact_result(state, {Words, below}, divisor, Traits::format);
    }
    // The bits of (units * 2^position + the planes) / divisor; |units| < 2^unit_bits, or 0 with no bits.
    __device__ uint64_t round(uint64_t result, Whole units, int position, int unit_bits,
                              uint64_t divisor) const {
        const bool any = first <= last;
        const int lowest = !any             ? position
                           : unit_bits == 0 ? position_of(first)
                                            : min(position, position_of(first));
        const int highest = max(unit_bits > 0 ? position + unit_bits : 0, any ? position_of(last) + 63 : 0);
        if (divisor == 1 && highest - lowest < 126 && last - first < int(few)) {
            Whole sum = unit_bits > 0 ? units << (position - lowest) : 0;
            if (any) {
                int64_t value[few];
                take_planes(result, value);
#pragma unroll
                for (unsigned i = 0; i < few; ++i)
                    if (first + int(i) <= last)
                        sum += static_cast<Whole>(value[i]) << (position_of(first + i) - lowest);
            }
            return round_whole(sum, lowest - int(Traits::size.below), Traits::format);
        }
        const int from = lowest / 32;
        // The digits that add_to_state writes: of units up to 64 bits above their position, and two more.
        const int top = 2 + max(unit_bits > 0 ? (position + 64) / 32 : 0, any ? position_of(last) / 32 : 0);
        if (top - from < int(few_digits))
            return round_state<few_digits + 2>(result, units, position, divisor, from);
        return round_state<Traits::size.words>(result, units, position, divisor, 0);
    }
    __device__ void put_empty(uint64_t result) const {
        using Bits = typename Traits::Bits;
        reinterpret_cast<Bits *>(p.out)[result] = *reinterpret_cast<const Bits *>(p.empty_result);
    }
    __device__ void finish(uint64_t result, Whole units, int position, int unit_bits, uint64_t rows) const {
        using Bits = typename Traits::Bits;
        constexpr uint64_t sign = 1ull << (Traits::format.precision - 1 + Traits::format.exponent_bits);
        const bool mean = p.options & GR_GROUP_MEAN;
        uint32_t *const flags_at = reinterpret_cast<uint32_t *>(p.flags) + result;
        const uint32_t flags = *flags_at;
        uint64_t bits = round(result, units, position, unit_bits, mean && rows > 0 ? rows : 1), special;
        uint32_t left = 0;
        if (mean && rows == 0)
            return put_empty(result);
        if (gr_exact_special(flags, 1, Traits::format, &special)) {
            bits = special;
        } else if (bits == 0 && flags & GR_GROUP_MINUS_ZERO) {
            bits = sign;
            left = GR_GROUP_OPEN_SIGN;
            atomicAdd(header_of(p) + GR_GROUP_OPEN_SIGNS, 1u);
        }
        if (flags != left)
            *flags_at = left;
        reinterpret_cast<Bits *>(p.out)[result] = static_cast<Bits>(bits);
    }
};

// Results of planes alone: a thread each.
template <class In> __device__ void finish_planes(const gr_group_params &p) {
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const GroupResult<In> results(p);
    const uint64_t result = blockIdx.x * uint64_t(GR_GROUP_THREADS) + threadIdx.x;
    if (result >= p.results)
        return;
    const uint64_t group = result / p.inner % p.groups;
    const uint64_t rows = p.options & GR_GROUP_MEAN ? reinterpret_cast<const uint64_t *>(p.counts)[group] : 0;
    results.finish(result, 0, 0, 0, rows);
}

// Sums of integers wrap; means are of float64.
inline __device__ void finish_integer(const gr_group_params &p, uint64_t result, Whole units, uint64_t rows) {
    uint64_t bits = static_cast<uint64_t>(units);
    if (p.options & GR_GROUP_MEAN && rows == 0) {
        bits = p.empty_result[0];
    } else if (p.options & GR_GROUP_MEAN) {
        int64_t state[Planes<int64_t>::size.words] = {};
        state[Planes<int64_t>::size.words - 1] = GR_EXACT_NOT_MINUS_ZERO;
        add_to_state<Planes<int64_t>::size.words - 2>(state, units, 0);
        bits = gr_exact_result(state, Planes<int64_t>::size, rows, Planes<int64_t>::format);
    }
    reinterpret_cast<uint64_t *>(p.out)[result] = bits;
}

// Sums over the slabs of all blocks: of the words of a group's windows, and of its numbers of rows. 2^32
// words fit in each.
template <unsigned Words> struct SlabSums {
    static constexpr unsigned sharers = GR_GROUP_SLAB_SHARERS, groups = GR_GROUP_THREADS / sharers,
                              windows = GR_GROUP_MAX_WINDOWS, sums = windows * Words + 1,
                              warps = GR_GROUP_THREADS / 32;
    int64_t sum[sums] = {}; // the words of each window; the last word has a sign; then the numbers of rows

    __device__ void add_slabs(const gr_group_params &p, unsigned in_use, uint64_t group, unsigned sharer) {
        const bool mean = p.options & GR_GROUP_MEAN;
        const uint32_t *at = reinterpret_cast<const uint32_t *>(p.slabs) + group;
#pragma unroll 4
        for (unsigned block = sharer; block < p.blocks; block += sharers) {
            const uint32_t *slab = at + block * uint64_t(p.slab_words);
#pragma unroll
            for (unsigned window = 0; window < windows; ++window)
                if (window < in_use)
#pragma unroll
                    for (unsigned word = 0; word < Words; ++word) {
                        const uint32_t x = slab[(window * Words + word) * p.groups];
                        sum[window * Words + word] += word + 1 == Words ? int64_t(int32_t(x)) : int64_t(x);
                    }
            if (mean)
                sum[sums - 1] += slab[p.windows * Words * p.groups];
        }
    }
    // Adds up the sums of all sharers of a group; for all threads of a block. Thread i < `groups` gets those
    // of group i.
    __device__ void combine() {
        __shared__ int64_t partial[sums][warps][groups];
        const unsigned i = threadIdx.x % groups;
#pragma unroll
        for (unsigned k = 0; k < sums; ++k) {
#pragma unroll
            for (unsigned apart = groups; apart < 32; apart *= 2)
                sum[k] += __shfl_xor_sync(0xffffffffu, static_cast<long long>(sum[k]), apart);
            if (threadIdx.x % 32 < groups)
                partial[k][threadIdx.x / 32][i] = sum[k];
        }
        __syncthreads();
        if (threadIdx.x < groups)
#pragma unroll
            for (unsigned k = 0; k < sums; ++k)
#pragma unroll
                for (unsigned warp = 1; warp < warps; ++warp)
                    sum[k] += partial[k][warp][i];
    }
    __device__ Whole window(unsigned number) const {
        Whole all = 0;
#pragma unroll
        for (unsigned word = 0; word < Words; ++word)
            all += static_cast<Whole>(sum[number * Words + word]) << 32 * word;
        return all;
    }
};

// Results of windows: several threads share the slabs of a group.
template <class In> __device__ void finish_windows(const gr_group_params &p) {
    using Sums = SlabSums<Addends<In>::words>;
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const bool is_integer = Addends<In>::bins == 0;
    const unsigned first = header_of(p)[GR_GROUP_FIRST];
    const unsigned windows = is_integer ? 1 : header_of(p)[GR_GROUP_WINDOWS];
    const uint64_t group = blockIdx.x * uint64_t(Sums::groups) + threadIdx.x % Sums::groups;
    Sums sums;
    if (group < p.groups)
        sums.add_slabs(p, windows, group, threadIdx.x / Sums::groups);
    sums.combine();
    if (threadIdx.x >= Sums::groups || group >= p.groups)
        return;
    const Whole units = sums.window(0) + (sums.window(1) << GR_GROUP_WINDOW_EXPONENTS);
    const uint64_t rows = uint64_t(sums.sum[Sums::sums - 1]);
    if constexpr (Addends<In>::bins == 0) {
        finish_integer(p, group, units, rows);
    } else {
        const int position = int(first) + int(Planes<In>::size.below) - Planes<In>::bias;
        const int length_bits = 64 - __clzll(static_cast<long long>(p.length));
        const int unit_bits = Addends<In>::bits + length_bits + (windows > 1 ? GR_GROUP_WINDOW_EXPONENTS : 0);
        GroupResult<In>(p).finish(group, units, position, unit_bits, rows);
    }
}

// Integers of planes: a thread for each result.
__device__ void finish_integers(const gr_group_params &p) {
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const uint64_t result = blockIdx.x * uint64_t(GR_GROUP_THREADS) + threadIdx.x;
    if (result >= p.results)
        return;
    auto *planes = reinterpret_cast<int64_t *>(p.planes) + result;
    Whole units = planes[0];
    uint64_t rows = 0;
    planes[0] = 0;
    if (p.options & GR_GROUP_MEAN) {
        rows = reinterpret_cast<const uint64_t *>(p.counts)[result / p.inner % p.groups];
        units += static_cast<Whole>(planes[p.results]) << 32;
        planes[p.results] = 0;
    }
    finish_integer(p, result, units, rows);
}

// Zeroes what the next call expects to be zero, and gives a sum of 0 with a -0 among its elements its sign:
// it is +0 if another element is not -0.
template <class In> __device__ void settle_signs(const gr_group_params &p) {
    using Bits = typename Planes<In>::Bits;
    constexpr Bits minus_zero = Bits(Bits(1) << (8 * sizeof(Bits) - 1));
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    uint32_t *const header = header_of(p);
    auto *const flags = reinterpret_cast<volatile uint32_t *>(p.flags);
    const uint32_t open = header[GR_GROUP_OPEN_SIGNS];
    if (blockIdx.x == 0 && threadIdx.x < GR_GROUP_HEADER_WORDS && threadIdx.x != GR_GROUP_OPEN_SIGNS &&
        threadIdx.x != GR_GROUP_TICKET)
        header[threadIdx.x] = 0;
    if (p.options & GR_GROUP_MEAN && p.counts != 0)
        for (uint64_t i = blockIdx.x * uint64_t(GR_GROUP_THREADS) + threadIdx.x; i < p.groups;
             i += gridDim.x * uint64_t(GR_GROUP_THREADS))
            reinterpret_cast<uint64_t *>(p.counts)[i] = 0;
    if (open == 0)
        return;
    const Bits *in = reinterpret_cast<const Bits *>(p.in);
    each_element(
        p, [&](int64_t index) { return in[index]; },
        [&](Bits x, uint64_t result, uint64_t, bool) {
            if (x != minus_zero && flags[result] != 0)
                reinterpret_cast<Bits *>(p.out)[result] = 0;
        });
    // The block with the last ticket zeroes the flags, which no other block reads any more.
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicInc(header + GR_GROUP_TICKET, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (!last)
        return;
    for (uint64_t i = threadIdx.x; i < p.results; i += GR_GROUP_THREADS)
        flags[i] = 0;
    if (threadIdx.x == 0)
        header[GR_GROUP_OPEN_SIGNS] = 0;
}

#define GR_GROUP_FINISH(name, In)                                                                            \
    GR_ENTRY((GR_GROUP_THREADS), group_finish_##name, __grid_constant__ gr_group_params, finish_planes<In>)  \
    GR_ENTRY((GR_GROUP_THREADS), group_signs_##name, __grid_constant__ gr_group_params, settle_signs<In>)
#define GR_GROUP_FINISH_WINDOWS(name, In)                                                                    \
    GR_ENTRY((GR_GROUP_THREADS), group_finish_windows_##name, __grid_constant__ gr_group_params,             \
             finish_windows<In>)

GR_GROUP_FINISH(f32, float)
GR_GROUP_FINISH(f16, gr_f16)
GR_GROUP_FINISH(bf16, gr_bf16)
GR_GROUP_FINISH(f64, double)
GR_GROUP_FINISH_WINDOWS(f64, double)
GR_GROUP_FINISH_WINDOWS(i32, int32_t)
GR_GROUP_FINISH_WINDOWS(u32, uint32_t)
GR_GROUP_FINISH_WINDOWS(i64, int64_t)
GR_ENTRY((GR_GROUP_THREADS), group_signs_integers, __grid_constant__ gr_group_params, settle_signs<int64_t>)
GR_GROUP_FINISH_WINDOWS(f32, float)
GR_GROUP_FINISH_WINDOWS(f16, gr_f16)
GR_GROUP_FINISH_WINDOWS(bf16, gr_bf16)
GR_ENTRY((GR_GROUP_THREADS), group_finish_integers, __grid_constant__ gr_group_params, finish_integers)
