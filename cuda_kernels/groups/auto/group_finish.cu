// The last steps of group sums: the integers of a result are added up and rounded once. group_finish reads
// the slabs of the window kernels and the planes, and zeroes planes, counts and flags. group_signs decides
// which sums of 0 are -0.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "groups/result.cuh"

using namespace gr::groups;

// Results of planes alone: a thread each.
template <class In> __device__ void finish_planes(const gr_group_params &p) {
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const GroupResult<In> results(p, header_of(p) + GR_GROUP_USED);
    const uint64_t result = blockIdx.x * uint64_t(GR_GROUP_THREADS) + threadIdx.x;
    if (result >= p.results)
        return;
    const uint64_t group = result / p.inner % p.groups;
    const uint64_t rows = p.options & GR_GROUP_MEAN ? reinterpret_cast<const uint64_t *>(p.counts)[group] : 0;
    results.finish(result, 0, 0, 0, rows);
}

// Sums over the slabs of all blocks: of the words of a group's windows, and of its numbers of rows. 2^32
// words fit in each. A thread adds up the slabs of some blocks, of four groups.
template <unsigned Words> struct SlabSums {
    static constexpr unsigned sharers = GR_GROUP_SLAB_SHARERS, quads = GR_GROUP_THREADS / sharers,
                              groups = GR_GROUP_FINISH_GROUPS, windows = GR_GROUP_MAX_WINDOWS,
                              sums = windows * Words + 1, warps = GR_GROUP_THREADS / 32;
    static_assert(groups == 4 * quads && groups == 32, "a warp has the groups of a block");
    int64_t all[sums]; // the words of each window, then the numbers of rows

    __device__ static void add(int64_t (&sum)[4], const uint4 &words) {
        sum[0] += int32_t(words.x);
        sum[1] += int32_t(words.y);
        sum[2] += int32_t(words.z);
        sum[3] += int32_t(words.w);
    }
    // For all threads of a block; threads of the first warp get the sums of a group each.
    __device__ SlabSums(const gr_group_params &p, unsigned in_use) {
        __shared__ int64_t partial[sums][warps][groups];
        const bool mean = p.options & GR_GROUP_MEAN;
        const unsigned quad = threadIdx.x % quads, sharer = threadIdx.x / quads,
                       stride = padded_groups(p) / 4;
        const unsigned at = blockIdx.x * quads + quad;
        int64_t sum[sums][4] = {};
        if (at < stride) {
            const uint4 *first = reinterpret_cast<const uint4 *>(p.slabs) + at;
#pragma unroll 4
            for (unsigned block = sharer; block < p.blocks; block += sharers) {
                const uint4 *slab = first + block * uint64_t(p.slab_words / 4);
#pragma unroll
                for (unsigned k = 0; k + 1 < sums; ++k)
                    if (k < in_use * Words)
                        add(sum[k], slab[k * stride]);
                if (mean)
                    add(sum[sums - 1], slab[p.windows * Words * stride]);
            }
        }
#pragma unroll
        for (unsigned k = 0; k < sums; ++k)
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) {
#pragma unroll
                for (unsigned apart = quads; apart < 32; apart *= 2)
                    sum[k][i] += __shfl_xor_sync(0xffffffffu, static_cast<long long>(sum[k][i]), apart);
                if (threadIdx.x % 32 < quads)
                    partial[k][threadIdx.x / 32][4 * quad + i] = sum[k][i];
            }
        __syncthreads();
        if (threadIdx.x < groups)
#pragma unroll
            for (unsigned k = 0; k < sums; ++k) {
                all[k] = partial[k][0][threadIdx.x];
#pragma unroll
                for (unsigned warp = 1; warp < warps; ++warp)
                    all[k] += partial[k][warp][threadIdx.x];
            }
    }
    __device__ Whole window(unsigned number) const {
        Whole units = 0;
#pragma unroll
        for (unsigned word = 0; word < Words; ++word)
            units += static_cast<Whole>(all[number * Words + word]) << 32 * word;
        return units;
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
    const uint64_t group = blockIdx.x * uint64_t(Sums::groups) + threadIdx.x;
    const Sums sums(p, windows);
    if (threadIdx.x >= Sums::groups || group >= p.groups)
        return;
    const Whole units = sums.window(0) + (sums.window(1) << GR_GROUP_WINDOW_EXPONENTS);
    const uint64_t rows = uint64_t(sums.all[Sums::sums - 1]);
    if constexpr (Addends<In>::bins == 0) {
        finish_integer(p, group, units, rows);
    } else {
        const int position = int(first) + int(Planes<In>::size.below) - Planes<In>::bias;
        const int length_bits = 64 - __clzll(static_cast<long long>(p.length));
        const int unit_bits = Addends<In>::bits + length_bits + (windows > 1 ? GR_GROUP_WINDOW_EXPONENTS : 0);
        GroupResult<In>(p, header_of(p) + GR_GROUP_USED).finish(group, units, position, unit_bits, rows);
    }
}

// Integers of planes: a thread for each result.
__device__ void finish_integers(const gr_group_params &p) {
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const uint64_t result = blockIdx.x * uint64_t(GR_GROUP_THREADS) + threadIdx.x;
    if (result >= p.results)
        return;
    const uint64_t rows = p.options & GR_GROUP_MEAN
                              ? reinterpret_cast<const uint64_t *>(p.counts)[result / p.inner % p.groups]
                              : 0;
    finish_integer(p, result, take_integer_planes(p, result), rows);
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
        [&](Bits x, uint64_t result, uint64_t, bool, uint64_t) {
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
