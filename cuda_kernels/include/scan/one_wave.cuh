// Scans of lines that a few blocks share, all of which run at once (one wave). Each block publishes the total
// of its piece to each block behind it, in one node for each pair of blocks, and clears the nodes that it has
// read. So a block waits once, for all blocks before it, and memory that was zero is zero again. Rule 3 of
// docs/contributing/waiting-for-blocks.md says why the wait ends. The order of additions is that of
// line_order.cuh: results have the bits of the persistent kernel.
#pragma once

#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "scan/line_order.cuh"
#include "scan/lookback_poll.cuh"

namespace gr::scan {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// Elements are loaded as In. A block of 2, 4, 8 or 16 warps has as many shares of the line: of a tile, a
// whole tile, or two.
template <class F, class In> struct OneWaveScan {
    using State = typename F::State;
    using Out = typename F::Out;
    static constexpr unsigned each = GR_PERSISTENT_VECTORS, length = 16 / sizeof(Out),
                              share = 32 * each * length, max_warps = GR_ONE_WAVE_MAX_THREADS / 32,
                              node = node_bytes<State>,
                              polls = (sizeof(State) < 16 ? GR_ONE_WAVE_LINE_BLOCKS
                                                          : GR_ONE_WAVE_PAIR_LINE_BLOCKS) /
                                      32; // nodes per lane

    // What the warps of a block share.
    struct Shared {
        State totals[max_warps];
        State tiles, shares; // what is before the block: tiles, and shares of its tile
    };

    const gr_one_wave_scan_params &p;
    Shared &shared;
    const unsigned lane, warp, warps;
    unsigned block; // of the line
    const In *in;   // of the warp's share
    Out *out;
    uint64_t slots;
    unsigned count;      // of elements in the warp's share
    unsigned char *held; // the share: elements, then results

    __device__ OneWaveScan(const gr_one_wave_scan_params &params, Shared &of_block, unsigned char *bytes)
        : p(params), shared(of_block), lane(threadIdx.x % 32), warp(threadIdx.x / 32), warps(blockDim.x / 32),
          held(bytes + warp * (share * sizeof(Out))) {
        const unsigned number = p.first + blockIdx.x, line = number / p.blocks;
        block = number - line * p.blocks;
        const uint64_t first = uint64_t(block * warps + warp) * share;
        in = reinterpret_cast<const In *>(p.in) + int64_t(line) * p.line_stride + first;
        out = reinterpret_cast<Out *>(p.out) + uint64_t(line) * (p.length + p.initial) + p.initial + first;
        slots = p.slots + uint64_t(line) * (p.blocks * (p.blocks - 1) / 2 * node);
        count = first < p.length ? unsigned(min(uint64_t(share), p.length - first)) : 0;
    }
    // The node through which block `from` publishes to block `to`.
    __device__ uint64_t slot(unsigned to, unsigned from) const {
        return slots + (to * (to - 1) / 2 + from) * node;
    }
    static __device__ State load_state(In x) {
        if constexpr (std::is_same<In, Out>::value)
            return F::load(x);
        else
            return F::load(Out(widen(x)));
    }
    template <class T> __device__ Vec<T, length> *vectors() const {
        return reinterpret_cast<Vec<T, length> *>(held);
    }
    // Brings a share into the L2 cache, which is allowed before pdl_wait().
    __device__ void prefetch() const {
        prefetch_bytes(in, count * sizeof(In), lane, 32);
    }
    // Moves a share to shared memory, with zeros behind its end.
    __device__ void load() const {
        In *to = reinterpret_cast<In *>(held);
        if (reinterpret_cast<uint64_t>(in) % sizeof(Vec<In, length>) == 0) {
            const unsigned rest = count % length, whole = count - rest; // elements that are no vector
            Vec<In, length> x[each];
            In last = In();
#pragma unroll
            for (unsigned v = 0; v < each; ++v) {
                const unsigned i = v * 32 + lane;
                x[v] = Vec<In, length>();
                if (i * length < whole)
                    x[v] = reinterpret_cast<const Vec<In, length> *>(in)[i];
            }
            if (lane < rest)
                last = in[whole + lane];
#pragma unroll
            for (unsigned v = 0; v < each; ++v)
                vectors<In>()[v * 32 + lane] = x[v];
            __syncwarp();
            if (lane < rest)
                to[whole + lane] = last;
        } else {
#pragma unroll 10
            for (unsigned i = lane; i < share; i += 32)
                to[i] = i < count ? in[i] : In();
        }
        __syncwarp();
    }
    __device__ void store() const {
        __syncwarp();
        const Out *from = reinterpret_cast<const Out *>(held);
        if (reinterpret_cast<uint64_t>(out) % sizeof(Vec<Out, length>) == 0) {
            const unsigned rest = count % length, whole = count - rest;
#pragma unroll
            for (unsigned v = 0; v < each; ++v)
                if ((v * 32 + lane) * length < whole)
                    reinterpret_cast<Vec<Out, length> *>(out)[v * 32 + lane] = vectors<Out>()[v * 32 + lane];
            if (lane < rest)
                out[whole + lane] = from[whole + lane];
        } else {
#pragma unroll 5
            for (unsigned i = lane; i < count; i += 32)
                out[i] = from[i];
        }
    }

    // Waits for the totals of the blocks before this one, and puts them together; by the first warp.
    __device__ void look_back() const {
        State x[polls];
        bool all;
#pragma unroll
        for (unsigned i = 0; i < polls; ++i)
            x[i] = F::identity();
        do {
            all = true;
#pragma unroll
            for (unsigned i = 0; i < polls; ++i)
                if (i * 32 + lane < block)
                    all = node_poll(slot(block, i * 32 + lane), x[i]) && all;
        } while (!all);
        __syncwarp();
#pragma unroll
        for (unsigned i = 0; i < polls; ++i)
            if (i * 32 + lane < block)
                node_clear<State>(slot(block, i * 32 + lane));
        // The last blocks before this one, which are less than 32. A loop with x[i] would put x in memory.
        State part = x[0];
        if (block >= 32)
            part = polls > 2 && block >= 64 ? x[polls - 1] : x[1];
        Prefix<F> tiles = no_prefix<F>(), shares = tiles;
        State one = F::identity(), two = one; // tiles behind those of whole lanes of the persistent kernel
#pragma unroll
        for (unsigned step = 1; step < 32; step *= 2) {
            if (step >= p.blocks)
                break;
            const State group = shuffle_from(part, block & 31 & ~(2 * step - 1));
            const unsigned group_warps = step * warps;
            if (block & step) {
                if (group_warps < WARPS_PER_TILE)
                    shares.prepend(group);
                else if (group_warps == WARPS_PER_TILE)
                    one = group;
                else if (group_warps == 2 * WARPS_PER_TILE)
                    two = group;
                else
                    tiles.prepend(group);
            }
            part = F::combine(part, shuffle_down(part, step));
            x[0] = F::combine(x[0], shuffle_down(x[0], step));
        }
        if (block >= 32) {
            if (polls > 2 && block >= 64)
                x[0] = F::combine(x[0], sum_aligned<F>(x[1], 32));
            tiles.prepend(x[0]);
        }
        if (block * warps & 2 * WARPS_PER_TILE)
            tiles.append(two);
        if (block * warps & WARPS_PER_TILE)
            tiles.append(one);
        if (lane == 0) {
            shared.tiles = tiles.state;
            shared.shares = shares.state;
        }
    }

    __device__ void run() const {
        load();
        Vec<In, length> x[each];
#pragma unroll
        for (unsigned v = 0; v < each; ++v)
            x[v] = vectors<In>()[lane * each + v];
        State sum;
#pragma unroll
        for (unsigned v = 0; v < each; ++v)
#pragma unroll
            for (unsigned k = 0; k < length; ++k)
                sum = v == 0 && k == 0 ? load_state(x[v].at[k]) : F::combine(sum, load_state(x[v].at[k]));
        sum = scan_lanes<F>(sum, lane);
        const State of_lanes = shuffle_up(sum, 1);
        if (lane == 31)
            shared.totals[warp] = sum;
        __syncthreads();
        const unsigned later = block + 1 + threadIdx.x;
        if (block + 1 + warp * 32 < p.blocks) {
            const State whole = shuffle_from(sum_aligned<F>(shared.totals[lane & (warps - 1)], warps), 0);
            for (unsigned to = later; to < p.blocks; to += blockDim.x)
                node_publish(slot(to, block), whole);
        }
        if (warp == 0)
            look_back();
        __syncthreads();
        Prefix<F> before = no_prefix<F>(), inside = before;
        if (block * warps >= WARPS_PER_TILE)
            before.append(shared.tiles);
        if (block * warps % WARPS_PER_TILE > 0)
            inside.append(shared.shares);
        const State *totals = shared.totals;
        if (warp >= WARPS_PER_TILE) { // the second tile of a block
            before.append(
                F::combine(F::combine(F::combine(totals[0], totals[1]), F::combine(totals[2], totals[3])),
                           F::combine(F::combine(totals[4], totals[5]), F::combine(totals[6], totals[7]))));
            totals += WARPS_PER_TILE;
        }
        append_shares(inside, totals, warp % WARPS_PER_TILE);
        if (lane > 0)
            inside.append(of_lanes);
        if (inside.has)
            before.append(inside.state);
        bool has = before.has;
        sum = before.state;
#pragma unroll
        for (unsigned v = 0; v < each; ++v) {
            Vec<Out, length> result;
#pragma unroll
            for (unsigned k = 0; k < length; ++k) {
                const State one = load_state(x[v].at[k]);
                sum = has || v > 0 || k > 0 ? F::combine(sum, one) : one;
                result.at[k] = F::finish(sum);
            }
            vectors<Out>()[lane * each + v] = result;
        }
        store();
        if (p.initial && block == 0 && threadIdx.x == 0)
            out[-1] = F::finish(F::identity());
    }
};

template <class F, class In = typename F::Out>
__device__ void scan_one_wave(const gr_one_wave_scan_params &p) {
    using Work = OneWaveScan<F, In>;
    extern __shared__ __align__(128) unsigned char shares[];
    __shared__ alignas(16) unsigned char shared[sizeof(typename Work::Shared)];
    const Work work(p, *reinterpret_cast<typename Work::Shared *>(shared), shares);
    pdl_launch_dependents();
    work.prefetch();
    pdl_wait();
    work.run();
}

#define GR_BRIEF_ENTRY(op, dtype, ...)                                                                       \
    GR_ENTRY((GR_ONE_WAVE_MAX_THREADS), brief_##op##_##dtype, gr_one_wave_scan_params,                       \
             scan_one_wave<__VA_ARGS__>)

#endif

} // namespace gr::scan
