// Scans of lines that a few blocks share, all of which run at once (one wave). Each block publishes the total
// of its piece to each block behind it, in one node for each pair of blocks, and clears the nodes that it has
// read. So a block waits once, for all blocks before it, and memory that was zero is zero again. Rule 3 of
// docs/contributing/waiting-for-blocks.md says why the wait ends.
#pragma once

#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "scan/lookback_poll.cuh"

namespace gr::scan {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// Elements are loaded as In. A warp's share of a piece are GR_ONE_WAVE_VECTORS rows of vectors, one a lane.
template <class F, class In> struct OneWaveScan {
    using State = typename F::State;
    using Out = typename F::Out;
    static constexpr unsigned vectors = GR_ONE_WAVE_VECTORS, length = 16 / sizeof(Out),
                              max_warps = GR_ONE_WAVE_MAX_THREADS / 32,
                              looks = (sizeof(State) < 16 ? GR_ONE_WAVE_LINE_BLOCKS
                                                          : GR_ONE_WAVE_PAIR_LINE_BLOCKS) /
                                      32,
                              node = node_bytes<State>;

    const gr_one_wave_scan_params &p;
    State *totals, *exclusive; // totals of warps; exclusive prefix of the block
    const unsigned lane, warp, warps;
    unsigned block; // of the line
    const In *in;
    Out *out;
    uint64_t slots;
    uint32_t count; // of elements in the block's piece

    __device__ OneWaveScan(const gr_one_wave_scan_params &params, State *states)
        : p(params), totals(states), exclusive(states + max_warps), lane(threadIdx.x % 32),
          warp(threadIdx.x / 32), warps(blockDim.x / 32) {
        const unsigned number = p.first + blockIdx.x, line = number / p.blocks;
        block = number - line * p.blocks;
        const uint64_t piece = uint64_t(blockDim.x) * (vectors * length), first = block * piece;
        in = reinterpret_cast<const In *>(p.in) + int64_t(line) * p.line_stride + first;
        out = reinterpret_cast<Out *>(p.out) + uint64_t(line) * (p.length + p.initial) + p.initial + first;
        slots = p.slots + uint64_t(line) * (p.blocks * (p.blocks - 1) / 2 * node);
        count = uint32_t(min(piece, p.length - first));
    }
    // The node through which block `from` publishes to block `to`.
    __device__ uint64_t slot(unsigned to, unsigned from) const {
        return slots + (to * (to - 1) / 2 + from) * node;
    }
    __device__ unsigned at(unsigned v) const {
        return ((warp * vectors + v) * 32 + lane) * length;
    }
    static __device__ State load_state(In x) {
        if constexpr (std::is_same<In, Out>::value)
            return F::load(x);
        else
            return F::load(Out(widen(x)));
    }
    __device__ void load(Vec<In, length> (&x)[vectors]) const {
        const bool aligned = reinterpret_cast<uint64_t>(in) % sizeof(Vec<In, length>) == 0;
#pragma unroll
        for (unsigned v = 0; v < vectors; ++v) {
            const unsigned i = at(v);
            if (aligned && i + length <= count) {
                x[v] = *reinterpret_cast<const Vec<In, length> *>(in + i);
            } else {
#pragma unroll
                for (unsigned k = 0; k < length; ++k)
                    x[v].at[k] = i + k < count ? in[i + k] : In();
            }
        }
    }
    // The exclusive prefix of this block, by its first warp; valid in lane 0.
    __device__ State look_back() const {
        const unsigned first = lane * looks, has = block > first ? min(block - first, looks) : 0;
        State x[looks];
        bool all;
        do {
            all = true;
#pragma unroll
            for (unsigned k = 0; k < looks; ++k)
                if (k < has)
                    all = node_poll(slot(block, first + k), x[k]) && all;
        } while (!all);
        __syncwarp();
#pragma unroll
        for (unsigned k = 0; k < looks; ++k)
            if (k < has)
                node_clear<State>(slot(block, first + k));
        State sum = x[0];
#pragma unroll
        for (unsigned k = 1; k < looks; ++k)
            if (k < has)
                sum = F::combine(sum, x[k]);
#pragma unroll
        for (unsigned step = 1; step < 32; step *= 2) {
            const State behind = shuffle_down(sum, step);
            if ((lane + step) * looks < block)
                sum = F::combine(sum, behind);
        }
        return sum;
    }

    __device__ void run() const {
        Vec<In, length> x[vectors];
        load(x);
        State sums[vectors], before[vectors];
#pragma unroll
        for (unsigned v = 0; v < vectors; ++v) {
            sums[v] = load_state(x[v].at[0]);
#pragma unroll
            for (unsigned k = 1; k < length; ++k)
                sums[v] = F::combine(sums[v], load_state(x[v].at[k]));
        }
#pragma unroll
        for (unsigned step = 1; step < 32; step *= 2)
#pragma unroll
            for (unsigned v = 0; v < vectors; ++v) {
                const State other = shuffle_up(sums[v], step);
                if (lane >= step)
                    sums[v] = F::combine(other, sums[v]);
            }
        State all = shuffle_from(sums[0], 31);
        before[0] = shuffle_up(sums[0], 1);
#pragma unroll
        for (unsigned v = 1; v < vectors; ++v) {
            before[v] = shuffle_up(sums[v], 1);
            before[v] = lane > 0 ? F::combine(all, before[v]) : all;
            all = F::combine(all, shuffle_from(sums[v], 31));
        }
        if (lane == 0)
            totals[warp] = all;
        __syncthreads();
        State of_warps = lane < warps ? totals[lane] : F::identity();
#pragma unroll
        for (unsigned step = 1; step < max_warps; step *= 2) {
            const State other = shuffle_up(of_warps, step);
            if (lane >= step)
                of_warps = F::combine(other, of_warps);
        }
        const State whole = shuffle_from(of_warps, warps - 1);
        for (unsigned to = block + 1 + threadIdx.x; to < p.blocks; to += blockDim.x)
            node_publish(slot(to, block), whole);
        State carry = shuffle_from(of_warps, warp > 0 ? warp - 1 : 0);
        bool has = warp > 0;
        if (block > 0) {
            if (warp == 0) {
                const State sum = look_back();
                if (lane == 0)
                    *exclusive = sum;
            }
            __syncthreads();
            carry = has ? F::combine(*exclusive, carry) : *exclusive;
            has = true;
        }
        const bool aligned = reinterpret_cast<uint64_t>(out) % sizeof(Vec<Out, length>) == 0;
#pragma unroll
        for (unsigned v = 0; v < vectors; ++v) {
            const bool inner = v > 0 || lane > 0;
            State sum = carry;
            if (inner)
                sum = has ? F::combine(carry, before[v]) : before[v];
            Vec<Out, length> result;
#pragma unroll
            for (unsigned k = 0; k < length; ++k) {
                const State one = load_state(x[v].at[k]);
                sum = has || inner || k > 0 ? F::combine(sum, one) : one;
                result.at[k] = F::finish(sum);
            }
            const unsigned i = at(v);
            if (aligned && i + length <= count) {
                *reinterpret_cast<Vec<Out, length> *>(out + i) = result;
            } else {
#pragma unroll
                for (unsigned k = 0; k < length; ++k)
                    if (i + k < count)
                        out[i + k] = result.at[k];
            }
        }
        if (p.initial && block == 0 && threadIdx.x == 0)
            out[-1] = F::finish(F::identity());
    }
};

template <class F, class In = typename F::Out>
__device__ void scan_one_wave(const gr_one_wave_scan_params &p) {
    using Work = OneWaveScan<F, In>;
    using State = typename F::State;
    __shared__ alignas(16) unsigned char states[(Work::max_warps + 1) * sizeof(State)];
    pdl_launch_dependents();
    pdl_wait();
    const Work work(p, reinterpret_cast<State *>(states));
    work.run();
}

#define GR_BRIEF_ENTRY(op, dtype, ...)                                                                       \
    GR_ENTRY((GR_ONE_WAVE_MAX_THREADS), brief_##op##_##dtype, gr_one_wave_scan_params,                       \
             scan_one_wave<__VA_ARGS__>)

#endif

} // namespace gr::scan
