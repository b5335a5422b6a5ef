// Group sums in windows: for contiguous rows of one column, and groups whose windows fit in shared memory.
// The first exponent of the windows comes from a sample, which is the same in every block. Elements outside
// the windows go to the planes, so that the sample has an effect on the time, but not on a sum.
#pragma once

#include "common/pdl.cuh"
#include "groups/table.cuh"

namespace gr::groups {

template <class In, class Label> struct WindowSums {
    static constexpr unsigned threads = GR_GROUP_WINDOW_THREADS, each = GR_GROUP_WINDOW_ROWS_PER_THREAD,
                              step = threads * each;
    const gr_group_params &p;
    const In *in;
    const Label *labels;
    const WindowTable<In> table;

    __device__ WindowSums(const gr_group_params &params)
        : p(params), in(reinterpret_cast<const In *>(params.in)),
          labels(reinterpret_cast<const Label *>(params.labels)), table(unsigned(params.groups), params) {
    }

    // Rows of a thread, as they are in memory: to convert them at once would make it wait for the loads.
    struct Batch {
        Label label[each];
        In x[each];

        __device__ void load(const Label *labels, const In *in) {
#pragma unroll
            for (unsigned i = 0; i < each; ++i) {
                label[i] = labels[i * threads];
                x[i] = in[i * threads];
            }
        }
    };

    __device__ static uint64_t group_of(Label label) {
        return uint64_t(int64_t(label)); // a negative label is beyond all groups
    }
    // Adds rows: those whose bit in `valid` is set.
    template <unsigned Count>
    __device__ void add_rows(const In (&x)[Count], const Label (&label)[Count], unsigned valid,
                             const WindowChoice &choice, const PlaneAdder<In> &adder) const {
        unsigned outside = table.add(x, label, valid, choice);
        if (table.mean)
#pragma unroll
            for (unsigned i = 0; i < Count; ++i)
                if (valid >> i & 1)
                    atomicAdd(&table.rows[label[i]], 1u);
        if (outside == 0)
            return;
#pragma unroll
        for (unsigned i = 0; i < Count; ++i)
            if (outside >> i & 1)
                Addends<In>::add_outside(x[i], group_of(label[i]), adder);
    }
    __device__ void add_batch(const Batch &batch, const WindowChoice &choice,
                              const PlaneAdder<In> &adder) const {
        unsigned valid = 0;
#pragma unroll
        for (unsigned i = 0; i < each; ++i)
            valid |= group_of(batch.label[i]) < p.groups ? 1u << i : 0;
        const Label first = __shfl_sync(0xffffffffu, batch.label[0], 0);
        bool together = valid == (1u << each) - 1;
#pragma unroll
        for (unsigned i = 0; i < each; ++i)
            together = together && batch.label[i] == first;
        if (!__all_sync(0xffffffffu, together))
            return add_rows(batch.x, batch.label, valid, choice, adder);
#pragma unroll
        for (unsigned i = 0; i < each; ++i)
            if (!table.add_together(batch.x[i], unsigned(first), choice))
                Addends<In>::add_outside(batch.x[i], group_of(first), adder);
        if (table.mean && threadIdx.x % 32 == 0)
            atomicAdd(&table.rows[first], 32 * each);
    }

    // The rows of a block.
    struct Share {
        uint64_t first, count, batches;
    };
    __device__ Share share() const {
        const uint64_t first = blockIdx.x * p.share, rest = p.length - (first < p.length ? first : p.length);
        const uint64_t count = rest < p.share ? rest : p.share;
        return {first, count, count / step};
    }
    __device__ Batch first_batch(const Share &share) const {
        Batch batch = {};
        if (share.batches > 0)
            batch.load(labels + share.first + threadIdx.x, in + share.first + threadIdx.x);
        return batch;
    }
    // Adds the rows of the block, of which the first batch is loaded.
    __device__ void sum(const Share &share, Batch batch, const WindowChoice &choice,
                        const PlaneAdder<In> &adder) const {
        const auto [first, count, batches] = share;
        const Label *label = labels + first + threadIdx.x;
        const In *x = in + first + threadIdx.x;
        for (uint64_t i = 0; i < batches; ++i) {
            const Batch now = batch;
            label += step;
            x += step;
            if (i + 1 < batches)
                batch.load(label, x);
            add_batch(now, choice, adder);
        }
        for (uint64_t i = batches * step + threadIdx.x; i < count; i += threads) {
            const In element[] = {in[first + i]};
            const Label label[] = {labels[first + i]};
            add_rows(element, label, group_of(label[0]) < p.groups, choice, adder);
        }
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
    windows.table.clear();
    pdl_as_comments::pdl_wait();
    const auto share = windows.share();
    const auto batch = windows.first_batch(share); // in flight while the windows are chosen
    const WindowChoice chosen = choose_windows(p, windows.in);
    if (threadIdx.x == 0) {
        choice = chosen;
        if (blockIdx.x == 0 && Addends<In>::bins > 0) {
            header_of(p)[GR_GROUP_FIRST] = chosen.first;
            header_of(p)[GR_GROUP_WINDOWS] = chosen.windows;
        }
    }
    __syncthreads();
    windows.sum(share, batch, choice, adder);
    adder.publish();
    windows.store(choice.windows);
}

} // namespace gr::groups
