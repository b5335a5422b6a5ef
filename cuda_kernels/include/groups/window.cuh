// Group sums in windows: for contiguous rows of one column, and groups whose windows fit in shared memory.
// The first exponent of the windows comes from a sample, which is the same in every block. Elements outside
// the windows go to the planes, so that the sample has an effect on the time, but not on a sum.
#pragma once

#include "groups/block_rows.cuh"
#include "groups/table.cuh"

namespace gr::groups {

template <class In, class Label> struct WindowSums : BlockRows<In, Label> {
    using Base = BlockRows<In, Label>;
    using Base::each, Base::group_of, Base::load, Base::p, Base::threads;
    using typename Base::Batch;
    using typename Base::Share;
    const WindowTable<In> table;

    __device__ WindowSums(const gr_group_params &params)
        : Base(params, Addends<In>::bins == 0 && params.options & GR_GROUP_REPEATS),
          table(padded_groups(params), params) {
    }

    __device__ void add_outside(In x, unsigned group, const PlaneAdder<In> &adder) const {
        Addends<In>::add_outside(x, group, adder);
    }
    __device__ void add_batch(const Batch &batch, const WindowChoice &choice,
                              const PlaneAdder<In> &adder) const {
        In x[each];
        unsigned group[each], valid = 0;
#pragma unroll
        for (unsigned i = 0; i < each; ++i) {
            const uint64_t label = group_of(batch.label.at(i));
            x[i] = batch.x.at(i);
            group[i] = unsigned(label);
            valid |= i < batch.count && label < p.groups ? 1u << i : 0;
        }
        const unsigned outside = table.add_batch(x, group, valid, choice);
        if (outside == 0)
            return;
#pragma unroll
        for (unsigned i = 0; i < each; ++i)
            if (outside >> i & 1)
                add_outside(x[i], group[i], adder);
    }
    // Adds the rows of the block.
    __device__ void sum(const Share &share, Batch rest, const WindowChoice &choice,
                        const PlaneAdder<In> &adder) const {
        Batch batch = rest;
        for (uint64_t i = 0; i < share.batches; ++i) {
            const Batch now = batch;
            load(share, i, batch);
            add_batch(now, choice, adder);
        }
        add_batch(batch, choice, adder);
    }

    // Writes the windows in use, and the numbers of rows, to the slab of the block.
    __device__ void store(unsigned windows) const {
        constexpr unsigned words = Addends<In>::words;
        const unsigned groups = table.groups, all = p.windows * words * groups;
        uint32_t *slab = reinterpret_cast<uint32_t *>(p.slabs) + blockIdx.x * uint64_t(p.slab_words);
        copy(slab, table.words, windows * words * groups);
        if (table.mean)
            copy(slab + all, table.rows, groups);
    }
    static __device__ void copy(uint32_t *to, const uint32_t *from, unsigned count) {
        unsigned done = 0;
        if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % 16 == 0) {
            done = count / 4 * 4;
            for (unsigned i = threadIdx.x; i < count / 4; i += threads)
                reinterpret_cast<uint4 *>(to)[i] = reinterpret_cast<const uint4 *>(from)[i];
        }
        for (unsigned i = done + threadIdx.x; i < count; i += threads)
            to[i] = from[i];
    }
};

template <class In, class Label> __device__ void sum_in_windows(const gr_group_params &p) {
    __shared__ uint32_t used_in_block[3];
    __shared__ WindowChoice choice;
    const WindowSums<In, Label> windows(p);
    UsedPlanes<In> used{used_in_block};
    const PlaneAdder<In> adder{p, used};
    if (threadIdx.x < 3)
        used_in_block[threadIdx.x] = 0;
    pdl_as_comments::pdl_launch_dependents();
    const auto share = windows.share();
    windows.prefetch(share);
    windows.table.clear_first();
    pdl_as_comments::pdl_wait();
    const auto rest = windows.load_rest(share); // in flight while the windows are chosen
    const WindowChoice chosen = choose_windows(p, windows.in);
    if (threadIdx.x == 0) {
        choice = chosen;
        if (blockIdx.x == 0 && Addends<In>::bins > 0) {
            header_of(p)[GR_GROUP_FIRST] = chosen.first;
            header_of(p)[GR_GROUP_WINDOWS] = chosen.windows;
        }
    }
    __syncthreads();
    if (choice.windows > 1) {
        windows.table.clear_others();
        __syncthreads();
    }
    windows.sum(share, rest, choice, adder);
    adder.publish();
    windows.store(choice.windows);
}

} // namespace gr::groups
