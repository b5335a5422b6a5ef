// Exact sums and means of groups in one launch, for few rows of one column. A block has some neighbouring
// groups, whose planes are in shared memory: it reads all labels, and adds the elements of its groups.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "common/shared_array.cuh"
#include "groups/result.cuh"
#include "groups/shared/params.h"

using namespace gr::groups;

// The groups of a block. Addresses are those of an array in shared memory, so that atomic operations are
// those of shared memory.
template <class In> struct BlockGroups {
    unsigned groups;

    __device__ int64_t *planes() const { // [plane][group]
        return gr::common::shared_array<int64_t>();
    }
    __device__ uint32_t *counts() const { // [group]: rows; in the upper half, those of -0
        return reinterpret_cast<uint32_t *>(planes() + groups * Planes<In>::count);
    }
    __device__ uint32_t *specials() const { // [group]: flags
        return counts() + groups;
    }
    // Two additions of 32 bits: the hardware has none of 64 bits in shared memory.
    __device__ void add_to_plane(unsigned plane, unsigned group, int64_t addend) const {
        auto *at = reinterpret_cast<uint32_t *>(planes() + plane * groups + group);
        const uint32_t low = uint32_t(addend), before = atomicAdd(at, low),
                       high = uint32_t(addend >> 32) + (before + low < low);
        if (high != 0)
            atomicAdd(at + 1, high);
    }
};

// Adds an element. Returns the planes that it is added to: the first one, and from bit 8 on, a bit for each.
template <class In> __device__ unsigned add_element(const BlockGroups<In> &to, unsigned group, In x) {
    unsigned first = 0, planes = 0;
    const unsigned flags = Planes<In>::add(x, [&](unsigned plane, int64_t addend) {
        to.add_to_plane(plane, group, addend);
        first = planes == 0 ? plane : first;
        planes |= 1u << (plane - first);
    });
    atomicAdd(to.counts() + group, flags & GR_GROUP_MINUS_ZERO ? 0x10001u : 1u);
    if (flags & ~uint32_t(GR_GROUP_MINUS_ZERO))
        atomicOr(to.specials() + group, flags);
    return planes << 8 | first;
}
template <class In> struct SharedGroups {
    static constexpr unsigned each = GR_GROUP_ROWS_PER_THREAD;
    using Traits = Planes<In>;
    using Bits = typename Traits::Bits;

    const gr_group_params &p;
    const uint64_t first; // group of the block
    const BlockGroups<In> own;
    UsedPlanes<In> &used;

    // Zeroes shared memory; for a block.
    __device__ void clear() const {
        const unsigned words = own.groups * (Traits::count * 2 + 2);
        auto *all = reinterpret_cast<uint4 *>(own.planes());
        for (unsigned i = threadIdx.x; i < (words + 3) / 4; i += blockDim.x)
            all[i] = {};
    }
    __device__ void add(In x, unsigned group) const {
        const unsigned to = add_element(own, group, x);
#pragma unroll
        for (unsigned i = 0; i < 3; ++i)
            if (to >> (8 + i) & 1)
                used.mark((to & 255) + i);
    }
    // Adds the rows of the block's groups; for a block.
    __device__ void add_rows() const {
        const In *in = reinterpret_cast<const In *>(p.in);
        const bool eager = p.length <= GR_SHARED_GROUPS_EAGER_ROWS;
        for (unsigned base = threadIdx.x; base < p.length; base += each * blockDim.x) {
            uint64_t label[each];
            In x[each];
            if (eager)
#pragma unroll
                for (unsigned i = 0; i < each; ++i)
                    if (const unsigned row = base + i * blockDim.x; row < p.length)
                        x[i] = in[int64_t(row) * p.along_stride];
            load_labels(p, base, blockDim.x, label);
            if (!eager)
#pragma unroll
                for (unsigned i = 0; i < each; ++i)
                    if (label[i] - first < own.groups)
                        x[i] = in[int64_t(base + i * blockDim.x) * p.along_stride];
#pragma unroll
            for (unsigned i = 0; i < each; ++i)
                if (label[i] - first < own.groups)
                    add(x[i], unsigned(label[i] - first));
        }
    }
    // Rounds the sum of a group.
    __device__ void finish(const uint32_t *used_in_block, unsigned group) const {
        constexpr uint64_t sign = 1ull << (Traits::format.precision - 1 + Traits::format.exponent_bits);
        const bool mean = p.options & GR_GROUP_MEAN;
        const uint32_t rows = own.counts()[group] & 0xffff, minus_zeros = own.counts()[group] >> 16;
        Bits *const out = reinterpret_cast<Bits *>(p.out) + first + group;
        if (rows == 0) {
            *out = *reinterpret_cast<const Bits *>(p.empty_result);
            return;
        }
        uint64_t bits = sign;
        if (rows != minus_zeros && !gr_exact_special(own.specials()[group], 1, Traits::format, &bits)) {
            GroupResult<In, true> results(p, used_in_block);
            results.planes = own.planes();
            results.results = own.groups;
            bits = results.round(group, 0, 0, 0, mean ? rows : 1, true);
        }
        *out = static_cast<Bits>(bits);
    }
};

template <class In> __device__ void sum_shared_groups(const gr_shared_groups_params &q) {
    __shared__ uint32_t used_in_block[3];
    UsedPlanes<In> used{used_in_block};
    const SharedGroups<In> sums{q.rows, uint64_t(blockIdx.x) * q.groups, {q.groups}, used};
    pdl_as_comments::pdl_launch_dependents();
    if (threadIdx.x < 3)
        used_in_block[threadIdx.x] = 0;
    sums.clear();
    __syncthreads();
    pdl_as_comments::pdl_wait();
    sums.add_rows();
    used.collect();
    __syncthreads();
    for (unsigned group = threadIdx.x; group < q.groups && sums.first + group < q.rows.groups;
         group += blockDim.x)
        sums.finish(used_in_block, group);
}

#define GR_SHARED_GROUPS_ENTRY(name, In)                                                                     \
    GR_ENTRY((GR_SHARED_GROUPS_MAX_THREADS), group_shared_##name, __grid_constant__ gr_shared_groups_params, \
             sum_shared_groups<In>)
GR_SHARED_GROUPS_ENTRY(f32, float)
GR_SHARED_GROUPS_ENTRY(f64, double)
GR_SHARED_GROUPS_ENTRY(f16, gr_f16)
GR_SHARED_GROUPS_ENTRY(bf16, gr_bf16)
