// The kernels for contiguous elements and one result, in a single launch.
//   flat   each thread has GR_FLAT_LOADS_IN_FLIGHT loads of 16 bytes in flight
//   ring   sm_90 on: the copy engine keeps GR_RING_STAGES pieces of each block in flight to shared memory
// Each block publishes its State in a slot; block 0 waits for all of them and combines them in the order of
// the blocks. The result depends on the number of elements, on the address modulo 128 and on nothing else.
#pragma once

#include "common/pdl.cuh"
#include "common/vec16.cuh"
#include "grid/block_state.cuh"
#include "reduce/finish.cuh"
#include "reduce/flat/unaligned_vectors.cuh"

namespace gr::reduce {

using namespace common;
using namespace grid;

#if __CUDA_ARCH__ >= 900
#define GR_HOPPER 1
namespace pdl = common;
#else
namespace pdl = common::pdl_as_comments;
#endif

// The elements before the first line of 128 bytes (head), the vectors of 16 bytes from there on, and the
// elements behind the last one (tail).
struct AlignedSplit {
    uint64_t head, chunks, tail;
};

template <class In, bool ByIndex> __device__ AlignedSplit aligned_split(const gr_flat_params &p) {
    const uint64_t skew = ByIndex ? 0 : (128 - p.in % 128) % 128 / sizeof(In);
    const uint64_t head = skew < p.count ? skew : p.count;
    const uint64_t chunks = (p.count - head) / Vec16<In>::length;
    return {head, chunks, head + chunks * Vec16<In>::length};
}

// The peeled elements at both ends, a thread of the first block for each. They are loaded before the vectors
// and used after them, so that no thread waits for them alone.
template <class F, class In, bool Pair> struct PeeledEnds {
    bool has_head, has_tail;
    DeferredLoad<In> head, tail, second_head, second_tail;

    __device__ PeeledEnds(const gr_flat_params &p, const AlignedSplit &parts)
        : has_head(blockIdx.x == 0 && threadIdx.x < parts.head),
          has_tail(blockIdx.x == 0 && parts.tail + threadIdx.x < p.count) {
        if (has_head) {
            head.load(reinterpret_cast<const In *>(p.in) + threadIdx.x);
            if constexpr (Pair)
                second_head.load(reinterpret_cast<const In *>(p.second) + threadIdx.x);
        }
        if (has_tail) {
            tail.load(reinterpret_cast<const In *>(p.in) + parts.tail + threadIdx.x);
            if constexpr (Pair)
                second_tail.load(reinterpret_cast<const In *>(p.second) + parts.tail + threadIdx.x);
        }
    }
    static __device__ typename F::State state(const DeferredLoad<In> &x, const DeferredLoad<In> &y,
                                              uint64_t position) {
        if constexpr (Pair)
            return F::load(x.element(), y.element());
        else
            return F::load(x.element(), position);
    }
    __device__ typename F::State combined(const gr_flat_params &p, const AlignedSplit &parts,
                                          typename F::State s) const {
        if (has_head)
            s = F::combine(state(head, second_head, p.first + threadIdx.x), s);
        if (has_tail)
            s = F::combine(s, state(tail, second_tail, p.first + parts.tail + threadIdx.x));
        return s;
    }
};

// Computes the result from the State of all elements, by one thread.
template <class F> __device__ void finish(const gr_flat_params &p, typename F::State s) {
    using State = typename F::State;
    using Out = typename F::Out;
    if (p.flags & GR_FLAT_HAS_CARRY)
        s = F::combine(*reinterpret_cast<const State *>(p.carry), s);
    if (!(p.flags & GR_FLAT_FINAL)) {
        *reinterpret_cast<State *>(p.out) = s;
        return;
    }
    if (p.flags & GR_FLAT_HAS_INITIAL)
        s = F::combine(start_state<F>(*reinterpret_cast<const Out *>(p.initial)), s);
    if (p.flags & GR_FLAT_FROM_ZERO)
        s = F::combine(start_state<F>(Out()), s);
    *reinterpret_cast<Out *>(p.out) = finished<F>(s, p.divisor, p.flags);
}

// Grid reduction: from the States of all threads to the result.
template <class F> __device__ void grid_reduce(const gr_flat_params &p, typename F::State s) {
    using State = typename F::State;
    s = block_reduce_state<F>(s);
    if (gridDim.x > 1) {
        if (blockIdx.x != 0) {
            if (threadIdx.x == 0)
                slot_publish(p.slots, blockIdx.x, s);
            return;
        }
        if (threadIdx.x != 0)
            s = F::identity();
        for (unsigned block = threadIdx.x ? threadIdx.x : blockDim.x; block < gridDim.x; block += blockDim.x)
            s = F::combine(s, slot_wait<State>(p.slots, block));
        // Also makes the warps whole again after the loop: shuffles of split ones cost 0.6 us on an H200.
        __syncthreads();
        s = block_reduce_state<F>(s);
    }
    if (threadIdx.x == 0)
        finish<F>(p, s);
}

// Whether F's States have positions, so that vectors must be taken in order.
template <class F, class = void> constexpr bool in_order = false;
template <class F> constexpr bool in_order<F, decltype(void(&F::State::position))> = true;

// At most as many elements as a single block has threads: one for each, at any alignment.
template <class F, class In, bool Pair> __device__ typename F::State few(const gr_flat_params &p) {
    const bool has = threadIdx.x < uint32_t(p.count);
    const In *at = reinterpret_cast<const In *>(p.in) + threadIdx.x;
    if (!p.serialized) {
        if (has && threadIdx.x % (128 / sizeof(In)) == 0)
            pdl::pdl_prefetch(at);
        pdl::pdl_launch_dependents();
        pdl::pdl_wait();
    }
    DeferredLoad<In> x, y;
    if (has) {
        x.load(at);
        if constexpr (Pair)
            y.load(reinterpret_cast<const In *>(p.second) + threadIdx.x);
    }
    if (p.serialized)
        pdl::pdl_launch_dependents();
    return has ? PeeledEnds<F, In, Pair>::state(x, y, p.first + threadIdx.x) : F::identity();
}

// Loads the vectors at from + 16 * number(k).
template <bool Aligned, unsigned N, class In, class Number>
__device__ void load_turn(Vec16<In> (&x)[N], uint64_t from, const Number &number) {
    if constexpr (Aligned) {
#pragma unroll
        for (unsigned k = 0; k < N; ++k)
            x[k] = load_vec16(reinterpret_cast<const Vec16<In> *>(from) + number(k));
    } else {
        UnalignedVectors<FromGlobal, N, In> vectors(x, from % 16);
        vectors.load(
            [&](unsigned k) { return reinterpret_cast<const unsigned char *>(from) + 16 * number(k); });
        vectors.shift();
    }
}

// A block's chunks of one turn are contiguous, as a tile. Where each block has a whole one the last tiles
// come first: a kernel that has just written the array left its end in the L2 cache, where tiles from the
// beginning would take its place.
template <class F, class In, bool Pair, bool ByIndex, bool Aligned>
__device__ typename F::State many(const gr_flat_params &p) {
    constexpr unsigned turns = GR_FLAT_LOADS_IN_FLIGHT, length = Vec16<In>::length;
    const AlignedSplit parts = aligned_split<In, ByIndex>(p);
    const Vec16<In> *chunk = reinterpret_cast<const Vec16<In> *>(p.in + parts.head * sizeof(In));
    const Source<In> other(p.second + parts.head * sizeof(In));
    const unsigned apart = blockDim.x;                             // a power of two
    const uint64_t tile = apart * turns, round = gridDim.x * tile; // of chunks
    const uint64_t whole = parts.chunks & -tile, begin = blockIdx.x * tile;
    const bool backward = !in_order<F> && whole >= round;
    const uint64_t step = backward ? -round : round, position = p.first + parts.head;
    uint64_t first = backward ? whole - tile - begin : begin; // of a tile
    asm volatile("" : "+l"(first)); // known before the wait: it would be computed again behind it

    if (!p.serialized) {
#pragma unroll
        for (unsigned k = 0; k < turns; ++k) { // one thread in eight asks for a line of 128 bytes
            const uint64_t at = first + k * apart + threadIdx.x;
            if (threadIdx.x % 8 == 0 && at < parts.chunks)
                pdl::pdl_prefetch(chunk + at);
        }
        if (p.flags & GR_FLAT_TRIGGER_EARLY)
            pdl::pdl_launch_dependents();
        pdl::pdl_wait();
    }

    const PeeledEnds<F, In, Pair> ends(p, parts);
    typename F::Acc acc = F::init();
    Vec16<In> x[turns], y[Pair ? turns : 1];
    for (; first < whole; first += step) {
        const uint64_t at = first + threadIdx.x;
        if constexpr (Pair) {
#pragma unroll
            for (unsigned k = 0; k < turns; ++k) {
                x[k] = load_vec16(chunk + at + k * apart);
                y[k] = other.vec16_at(at + k * apart);
            }
        } else {
            load_turn<Aligned>(x, uint64_t(chunk), [&](unsigned k) { return at + k * apart; });
        }
        if constexpr (Pair)
            F::template accumulate<turns>(acc, x, y);
        else
            F::template accumulate<turns>(acc, x, position + at * length, apart * length);
    }
    // The last tile may have fewer chunks: it goes to the block that has the fewest whole ones.
    if (whole < parts.chunks && blockIdx.x == gridDim.x - 1) {
        const uint64_t at = whole + threadIdx.x;
        // Threads without a chunk load the last one: behind loads with a condition ptxas may put their uses,
        // so that each waits for the one before.
        const auto number = [&](unsigned k) { return min(at + k * apart, parts.chunks - 1); };
        if constexpr (Pair) {
#pragma unroll
            for (unsigned k = 0; k < turns; ++k) {
                x[k] = load_vec16(chunk + number(k));
                y[k] = other.vec16_at(number(k));
            }
        } else {
            load_turn<Aligned>(x, uint64_t(chunk), number);
        }
        // Each vector is accumulated whether it counts or not, so that no accumulation waits for another.
#pragma unroll
        for (unsigned k = 0; k < turns; ++k) {
            typename F::Acc more = acc;
            if constexpr (Pair)
                F::template accumulate<1>(more, x + k, y + k);
            else
                F::template accumulate<1>(more, x + k, position + (at + k * apart) * length, 0);
            if (at + k * apart < parts.chunks)
                acc = more;
        }
    }
    if (p.serialized || !(p.flags & GR_FLAT_TRIGGER_EARLY))
        pdl::pdl_launch_dependents();
    return ends.combined(p, parts, F::to_state(acc));
}

template <class F, class In, bool Pair, bool ByIndex> __device__ void flat(const gr_flat_params &p) {
    if (p.flags &
        GR_FLAT_FEW) { // to its end by itself: each jump to code that is not there yet costs some 0.05 us
        typename F::State s = few<F, In, Pair>(p);
        s = blockDim.x == 32 ? WarpReduce<F>::of(s, 32) : block_reduce_state<F>(s);
        if (threadIdx.x == 0)
            finish<F>(p, s);
        return;
    }
    if constexpr (ByIndex && sizeof(In) < 16) {
        // Aligned arrays have a loop of their own, whose code and registers are those of aligned loads alone.
        grid_reduce<F>(p,
                       p.in % 16 == 0 ? many<F, In, Pair, true, true>(p) : many<F, In, Pair, true, false>(p));
    } else {
        grid_reduce<F>(p, many<F, In, Pair, ByIndex, true>(p));
    }
}

} // namespace gr::reduce
