// How a block reads its share of contiguous rows of one column: several consecutive rows per thread, with
// vector loads where rows are aligned.
#pragma once

#include "common/pdl.cuh"
#include "common/vec16.cuh"
#include "groups/accumulators.cuh"

namespace gr::groups {

template <class In, class Label> struct BlockRows {
    static constexpr unsigned threads = GR_GROUP_WINDOW_THREADS, each = GR_GROUP_WINDOW_ROWS_PER_THREAD,
                              step = threads * each;
    const gr_group_params &p;
    const In *in;
    const Label *labels;
    const bool repeats; // all rows are one integer

    __device__ BlockRows(const gr_group_params &params, bool repeats)
        : p(params), in(reinterpret_cast<const In *>(params.in)),
          labels(reinterpret_cast<const Label *>(params.labels)), repeats(repeats) {
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
    // Prefetches the first rows of the block, while the kernel before ends and the windows are chosen.
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
};

} // namespace gr::groups
