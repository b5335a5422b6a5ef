// Group sums in windows: for contiguous rows of one column, and groups whose windows fit in shared memory.
// The first exponent of the windows comes from a sample, which is the same in every block. Elements outside
// the windows go to the planes, so that the sample has an effect on the time, but not on a sum.
#pragma once

#include "common/pdl.cuh"
#include "common/vec16.cuh"
#include "groups/table.cuh"

namespace gr::groups {

template <class In, class Label> struct WindowSums {
    static constexpr unsigned threads = GR_GROUP_WINDOW_THREADS, each = GR_GROUP_WINDOW_ROWS_PER_THREAD,
                              step = threads * each;
    const gr_group_params &p;
    const In *in;
    const Label *labels;
    const WindowTable<In> table;
    const bool repeats; // all rows are one integer

    __device__ WindowSums(const gr_group_params &params)
        : p(params), in(reinterpret_cast<const In *>(params.in)),
          labels(reinterpret_cast<const Label *>(params.labels)), table(padded_groups(params), params),
          repeats(Addends<In>::bins == 0 && params.options & GR_GROUP_REPEATS) {
    }

    // Consecutive rows of a thread, as they are in memory: to convert them at once would make it wait for the
    // loads.
    template <class T> struct Rows {
        static constexpr unsigned words = each * sizeof(T) / 4, part_words = words < 4 ? words : 4;
        using Part = common::Packed<T, part_words>;
        Part parts[words / part_words];

        __device__ static bool is_aligned(const T *from) {
            return reinterpret_cast<uintptr_t>(from) % sizeof(Part) == 0;
        }
        __device__ void load(const T *from, bool aligned) {
            if (!aligned)
                return load_some(from, each);
#pragma unroll
            for (unsigned k = 0; k < words / part_words; ++k)
                parts[k] = reinterpret_cast<const Part *>(from)[k];
        }
        // Loads rows up to `count`; the others are 0.
        __device__ void load_some(const T *from, unsigned count) {
            Elements loaded;
#pragma unroll
            for (unsigned i = 0; i < each; ++i)
                loaded.element[i] = i < count ? from[i] : T();
            take(loaded);
        }
        __device__ void fill(T x) {
            Elements all;
#pragma unroll
            for (unsigned i = 0; i < each; ++i)
                all.element[i] = x;
            take(all);
        }
        __device__ T at(unsigned i) const {
            return parts[i / Part::length].at(i % Part::length);
        }

      private:
        union Elements {
            T element[each];
            Part parts[words / part_words];
            __device__ Elements() {
            }
        };
        __device__ void take(const Elements &loaded) {
#pragma unroll
            for (unsigned k = 0; k < words / part_words; ++k)
                parts[k] = loaded.parts[k];
        }
    };
    struct Batch {
        Rows<Label> label;
        Rows<In> x;
        unsigned count; // rows of the thread
    };

    __device__ static uint64_t group_of(Label label) {
        return uint64_t(int64_t(label)); // a negative label is beyond all groups
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
    // The rows of a block.
    struct Share {
        uint64_t first, count, batches;
        bool aligned; // vector loads are possible
    };
    __device__ Share share() const {
        const uint64_t first = blockIdx.x * p.share, rest = p.length - (first < p.length ? first : p.length);
        const uint64_t count = rest < p.share ? rest : p.share;
        const bool aligned =
            Rows<Label>::is_aligned(labels + first) && (repeats || Rows<In>::is_aligned(in + first));
        return {first, count, count / step, aligned};
    }
    // Asks for the first rows of the block, while the kernel before ends and the windows are chosen.
    __device__ void prefetch(const Share &share) const {
        const uint64_t rows = min(share.count, uint64_t(GR_GROUP_WINDOW_PREFETCHED_ROWS));
        if (!repeats)
            prefetch(in + share.first, rows);
        prefetch(labels + share.first, rows);
    }
    template <class T> __device__ static void prefetch(const T *from, uint64_t rows) {
        constexpr unsigned line = 128 / sizeof(T);
        for (uint64_t i = threadIdx.x * line; i < rows; i += threads * line)
            pdl_as_comments::pdl_prefetch(from + i);
    }
    __device__ void load(const Share &share, uint64_t number, Batch &batch) const {
        const uint64_t row = share.first + number * step + threadIdx.x * each;
        batch.label.load(labels + row, share.aligned);
        if (!repeats) // else they are as in the batch before
            batch.x.load(in + row, share.aligned);
        batch.count = each;
    }
    // The rows after the last whole batch, which come first.
    __device__ Batch load_rest(const Share &share) const {
        const uint64_t before = share.batches * step + threadIdx.x * each,
                       rest = share.count - min(share.count, before), row = share.first + before;
        Batch batch;
        batch.count = unsigned(min(rest, uint64_t(each)));
        batch.label.load_some(labels + row, batch.count);
        if (repeats)
            batch.x.fill(in[0]);
        else
            batch.x.load_some(in + row, batch.count);
        return batch;
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
