// Group sums in windows: for contiguous rows of one column, and groups whose windows fit in shared memory. A
// window is an integer per group of two or three 32-bit words in shared memory, for elements of 20 exponents:
// an element costs one atomic addition to the lowest word, and one to each further word that changes. The
// first exponent comes from a sample, which is the same in every block. Elements outside the windows go to
// the planes, so that the sample has an effect on the time, but not on a sum.
#pragma once

#include "common/pdl.cuh"
#include "common/shared_array.cuh"
#include "groups/addends.cuh"
#include "groups/planes.cuh"
#include "groups/sample.cuh"

namespace gr::groups {

template <class In, class Label> struct WindowSums {
    using Traits = Addends<In>;
    using Addend = typename Traits::Addend;
    using Adder = PlaneAdder<In, SeldomUsedPlanes<In>>;
    static constexpr unsigned threads = GR_GROUP_WINDOW_THREADS, each = GR_GROUP_WINDOW_ROWS_PER_THREAD,
                              step = threads * each;
    const gr_group_params &p;
    const In *in;
    const Label *labels;
    uint32_t *words; // [window][word][group]
    uint32_t *rows;  // [group]: of means

    __device__ WindowSums(const gr_group_params &params)
        : p(params), in(reinterpret_cast<const In *>(params.in)),
          labels(reinterpret_cast<const Label *>(params.labels)), words(shared_array<uint32_t>()),
          rows(words + params.windows * Traits::words * params.groups) {
    }
    __device__ bool mean() const {
        return p.options & GR_GROUP_MEAN;
    }
    __device__ void clear() const {
        const unsigned count = (p.windows * Traits::words + mean()) * unsigned(p.groups);
        for (unsigned i = threadIdx.x; i < (count + 3) / 4; i += threads) // the launch rounds up
            reinterpret_cast<uint4 *>(words)[i] = {};
    }

    __device__ void add_words(Addend addend, uint64_t group, unsigned window) const {
        uint32_t *at = words + (window * Traits::words * uint32_t(p.groups) + uint32_t(group));
        uint32_t carry = 0;
#pragma unroll
        for (unsigned i = 0; i < Traits::words; ++i) {
            const uint32_t word = Traits::word(addend, i), part = word + carry;
            carry = part < word;
            if (i == 0 || part != 0) {
                const uint32_t old = atomicAdd(at, part);
                carry += old + part < part;
            }
            at += p.groups;
        }
    }

    // Adds an element. With `together`, all lanes of the warp have rows of one group, mostly one window too.
    __device__ void add(In x, uint64_t group, const WindowChoice &choice, const Adder &adder,
                        bool together) const {
        const unsigned above = Traits::above(x, choice.first);
        const bool inside = above < choice.windows * Traits::exponents;
        if (!inside)
            Traits::add_outside(x, group, adder);
        const unsigned window = above >= Traits::exponents;
        if (!together) {
            if (inside)
                add_words(Traits::addend(x, above - window * Traits::exponents), group, window);
            return;
        }
#pragma unroll
        for (unsigned w = 0; w < GR_GROUP_MAX_WINDOWS; ++w) {
            const bool takes = inside && window == w;
            if (w < choice.windows && __any_sync(0xffffffffu, takes)) {
                const Addend all =
                    Traits::warp_sum(takes ? Traits::addend(x, above - w * Traits::exponents) : Addend());
                if (threadIdx.x % 32 == 0)
                    add_words(all, group, w);
            }
        }
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
    __device__ void add_batch(const Batch &batch, const WindowChoice &choice, const Adder &adder) const {
#pragma unroll
        for (unsigned i = 0; i < each; ++i) {
            const bool together =
                __all_sync(0xffffffffu, batch.label[i] == __shfl_sync(0xffffffffu, batch.label[i], 0));
            const uint64_t group = group_of(batch.label[i]);
            if (group < p.groups) {
                add(batch.x[i], group, choice, adder, together);
                if (mean() && !together)
                    atomicAdd(&rows[group], 1u);
                if (mean() && together && threadIdx.x % 32 == 0)
                    atomicAdd(&rows[group], 32u);
            }
        }
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
                        const Adder &adder) const {
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
            const uint64_t group = group_of(labels[first + i]);
            if (group >= p.groups)
                continue;
            add(in[first + i], group, choice, adder, false);
            if (mean())
                atomicAdd(&rows[group], 1u);
        }
    }

    // Writes the windows in use, and the numbers of rows, to the slab of the block.
    __device__ void store(unsigned windows) const {
        const unsigned groups = unsigned(p.groups), all = p.windows * Traits::words * groups;
        uint32_t *slab = reinterpret_cast<uint32_t *>(p.slabs) + blockIdx.x * uint64_t(p.slab_words);
        copy(slab, words, windows * Traits::words * groups);
        if (mean())
            copy(slab + all, words + all, groups);
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
    SeldomUsedPlanes<In> used{used_in_block};
    const typename WindowSums<In, Label>::Adder adder{p, used};
    if (threadIdx.x < 3)
        used_in_block[threadIdx.x] = 0;
    pdl_as_comments::pdl_launch_dependents();
    windows.clear();
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
