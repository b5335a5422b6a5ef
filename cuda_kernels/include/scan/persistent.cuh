// Scans of long contiguous lines by persistent, warp-specialized blocks. One thread brings tiles into a
// pipeline in shared memory and stores results from it, by bulk copies (TMA). Some warps add up a tile as
// soon as it has arrived and publish the sum; others compute the results in place when the tile's prefix is
// known. Prefixes are computed for 128 tiles at a time: a warp of the block with the first tile of such a
// chunk adds up the sums as they are published, in an order that does not depend on timing, and publishes the
// prefix of each tile. If each tile reads the sums before it by itself, as in lookback_tree.cuh, all tiles
// ask for the same few lines of the L2 cache, which costs 35 ns per tile on an H200: 417 us for 2^26 float32,
// of which a copy takes 128. With a warp for each chunk the scan takes 139. A tile stays in the pipeline for
// some 14 us, most of the time waiting for its prefix; with a stage that is empty until the next tile has
// left, the scan takes 157.
#pragma once

#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "scan/line_order.cuh"
#include "scan/lookback_poll.cuh"

namespace gr::scan {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// Waits until a barrier's phase number `turn`, counted from 0, has ended.
inline __device__ void barrier_wait(uint32_t barrier, uint64_t turn) {
    ptx::mbarrier_wait_parity(barrier, uint32_t(turn) & 1);
}

// Whether it has ended.
inline __device__ bool barrier_passed(uint32_t barrier, uint64_t turn) {
    return ptx::mbarrier_test_wait_parity(barrier, uint32_t(turn) & 1);
}

enum {
    GR_LINE_NONE = 0,
    GR_LINE_IN = 1,
    GR_LINE_OUT = 2
}; // the directions in which a tile is copied in bulk

struct LineTile {
    uint64_t line, t; // t: its place in the line, or none
    uint32_t bulk;
};

// Elements are loaded as In, into the stage of the pipeline that their results take.
template <class F, class In> struct PersistentScan {
    using State = typename F::State;
    using Out = typename F::Out;
    static constexpr bool pair = sizeof(State) == 16;
    static constexpr unsigned blocks =
        pair ? GR_PERSISTENT_PAIR_BLOCKS_PER_SM : GR_PERSISTENT_BLOCKS_PER_SM; // of a multiprocessor
    static constexpr unsigned threads = GR_PERSISTENT_THREADS, warps = threads / 32,
                              stages = pair ? GR_PERSISTENT_PAIR_STAGES : GR_PERSISTENT_STAGES,
                              length = 16 / sizeof(Out), each = GR_PERSISTENT_VECTORS * length,
                              tile = threads * each, in_bytes = tile * sizeof(In), node = node_bytes<State>;
    static constexpr uint64_t none = ~0ull;

    // What the warps of a block share.
    struct Shared {
        uint64_t known[stages];  // mbarrier: the tile of the stage is known
        uint64_t full[stages];   // mbarrier: its elements have arrived
        uint64_t summed[stages]; // mbarrier: the prefix of each thread in the tile is known
        uint64_t before[stages]; // mbarrier: the exclusive prefix of the tile is known
        uint64_t done[stages];   // mbarrier: its results are in shared memory
        uint64_t pushed[2], popped[2];
        LineTile tiles[stages], chunks[2];
    };

    const gr_persistent_scan_params &p;
    Shared &shared;
    State *prefixes, *totals, *parts; // of stages; of warps, twice; of stages and threads
    unsigned char *ring;
    const unsigned lane, warp, thread; // thread: its number among the threads that sum, or that finish

    __device__ PersistentScan(const gr_persistent_scan_params &params, Shared &of_block, State *states,
                              unsigned char *bytes)
        : p(params), shared(of_block), prefixes(states), totals(states + stages),
          parts(reinterpret_cast<State *>(bytes + stages * GR_PERSISTENT_TILE_BYTES)), ring(bytes),
          lane(threadIdx.x % 32), warp(threadIdx.x / 32), thread(threadIdx.x % threads) {
    }

    __device__ void open() const {
        for (unsigned s = 0; s < stages; ++s) {
            ptx::mbarrier_init(shared_address(&shared.known[s]), 1);
            ptx::mbarrier_init(shared_address(&shared.full[s]), 1);
            ptx::mbarrier_init(shared_address(&shared.summed[s]), threads);
            ptx::mbarrier_init(shared_address(&shared.before[s]), 1);
            ptx::mbarrier_init(shared_address(&shared.done[s]), threads);
        }
        for (unsigned q = 0; q < 2; ++q) {
            ptx::mbarrier_init(shared_address(&shared.pushed[q]), 1);
            ptx::mbarrier_init(shared_address(&shared.popped[q]), 1);
        }
        ptx::fence_mbarrier_init();
    }

    // Brings one of the first tiles into the L2 cache, which is allowed before pdl_wait().
    __device__ void prefetch() const {
        const LineTile of = tile_of(blockIdx.x);
        prefetch_bytes(in_of(of), count_of(of) * sizeof(In), threadIdx.x, blockDim.x);
    }

    __device__ Out *held(unsigned stage) const {
        return reinterpret_cast<Out *>(ring + stage * GR_PERSISTENT_TILE_BYTES);
    }
    __device__ const In *in_of(const LineTile &of) const {
        return reinterpret_cast<const In *>(p.in) + int64_t(of.line) * p.line_stride + of.t * tile;
    }
    __device__ Out *out_of(const LineTile &of) const {
        return reinterpret_cast<Out *>(p.out) + of.line * (p.length + p.initial) + p.initial + of.t * tile;
    }
    __device__ unsigned count_of(const LineTile &of) const {
        return unsigned(min(uint64_t(tile), p.length - of.t * tile));
    }
    __device__ uint64_t nodes_of(uint64_t line) const {
        return p.nodes + GR_NODES_OFFSET + line * p.line_nodes * node;
    }
    __device__ uint64_t before_at(const LineTile &of) const {
        return nodes_of(of.line) + (p.line_tiles + of.t) * node;
    }

    // ---- the thread that loads and stores ----

    __device__ LineTile tile_of(uint64_t number) const {
        LineTile of = {0, none, GR_LINE_NONE};
        if (number >= p.tiles)
            return of;
        of.line = p.line_tiles == p.tiles ? 0 : number / p.line_tiles;
        of.t = number - of.line * p.line_tiles;
        if (count_of(of) == tile)
            of.bulk = (reinterpret_cast<uint64_t>(in_of(of)) % 16 == 0 ? GR_LINE_IN : 0) |
                      (reinterpret_cast<uint64_t>(out_of(of)) % 16 == 0 ? GR_LINE_OUT : 0);
        return of;
    }
    // Takes the tile of this ticket into a stage; returns whether there is such a tile.
    __device__ bool load(uint64_t j, uint64_t number, unsigned &pushes) const {
        const unsigned s = j % stages;
        const LineTile of = tile_of(number);
        shared.tiles[s] = of;
        ptx::mbarrier_arrive(shared_address(&shared.known[s]));
        const uint32_t full = shared_address(&shared.full[s]);
        if (of.bulk & GR_LINE_IN) {
            ptx::mbarrier_arrive_expect_tx(full, in_bytes);
            ptx::cp_async_bulk(shared_address(held(s)), in_of(of), in_bytes, full);
        } else {
            ptx::mbarrier_arrive(full);
        }
        if (of.t == none || of.t % GR_PERSISTENT_CHUNK == 0) {
            // A block that begins a third chunk waits until its first chunk is done, whose tiles have all
            // begun.
            const unsigned q = pushes % 2;
            if (pushes >= 2)
                barrier_wait(shared_address(&shared.popped[q]), pushes / 2 - 1);
            shared.chunks[q] = of;
            ptx::mbarrier_arrive(shared_address(&shared.pushed[q]));
            ++pushes;
        }
        return of.t != none;
    }
    // Each block takes tickets up to the first for which there is no tile.
    __device__ uint64_t ticket() const {
        unsigned long long *tickets = reinterpret_cast<unsigned long long *>(p.nodes);
        const uint64_t number = atomicAdd(tickets, 1ull);
        if (p.zeroes_nodes && number == p.tiles + gridDim.x - 1) // the last of all
            *tickets = 0;
        return number;
    }
    // A stage is filled again as soon as its results have been read, and the ticket for that is taken when
    // the results are ready: the ticket's latency overlaps with the store, and no tile that others wait for
    // is idle.
    __device__ void move() const {
        unsigned pushes = 0;
        uint64_t j = 0;
        bool more = true;
        for (; j < stages && more; ++j)
            more = load(j, ticket(), pushes);
        for (uint64_t i = 0;; ++i) {
            const unsigned s = i % stages;
            const LineTile of = shared.tiles[s];
            if (of.t == none)
                break;
            barrier_wait(shared_address(&shared.done[s]), i / stages);
            if (of.bulk & GR_LINE_OUT)
                ptx::cp_async_bulk(out_of(of), shared_address(held(s)), GR_PERSISTENT_TILE_BYTES);
            ptx::cp_async_bulk_commit_group();
            if (more) {
                const uint64_t number = ticket();
                ptx::cp_async_bulk_wait_group_read<0>();
                more = load(j++, number, pushes);
            }
        }
        ptx::cp_async_bulk_wait_group<0>();
    }

    // ---- the warps that compute prefixes of tiles ----

    // A lane polls for each stage, all of them at once.
    __device__ void look_back() const {
        const unsigned s = lane;
        uint64_t turn = 0, at = 0;
        bool looks = false, ends = s >= stages, end = false; // end: there is no further tile
        do {
            bool last = false;
            if (!looks && !ends) {
                if (barrier_passed(shared_address(&shared.known[s]), turn)) {
                    const LineTile of = shared.tiles[s];
                    ++turn;
                    ends = last = of.t == none;
                    looks = !ends && of.t > 0;
                    at = before_at(of);
                    if (of.t == 0)
                        ptx::mbarrier_arrive(shared_address(&shared.before[s]));
                } else {
                    ends = end;
                }
            }
            NodePoll<State> looked;
            looked.look(at, looks);
            if (looks && looked.take(prefixes[s])) {
                if (p.zeroes_nodes)
                    node_clear<State>(at);
                ptx::mbarrier_arrive(shared_address(&shared.before[s]));
                looks = false;
            }
            end = __any_sync(0xffffffffu, last) || end;
        } while (!__all_sync(0xffffffffu, ends));
    }

    // Publishes the prefix of each tile of a chunk as the sums of the tiles are published.
    __device__ void scan_chunk(const LineTile &first) const {
        constexpr unsigned mine = GR_PERSISTENT_LANE_TILES;
        static_assert(mine == 4 && 32 * mine == GR_PERSISTENT_CHUNK, "a lane has two pairs");
        const uint64_t sums = nodes_of(first.line), t = first.t + lane * mine;
        const uint64_t chunks = sums + (2 * p.line_tiles + first.t / GR_PERSISTENT_CHUNK) * node;
        const uint64_t last = p.line_tiles - 1; // whose sum is not needed
        const unsigned have = t >= last ? 0 : unsigned(min(last - t, uint64_t(mine)));
        State x[mine], carry = F::identity();
        bool there[mine], carried = first.t == 0;
#pragma unroll
        for (unsigned k = 0; k < mine; ++k) {
            there[k] = k >= have;
            x[k] = F::identity();
        }
        State sum = F::identity(), before = F::identity();
        unsigned lanes = 0, ready = 0; // lanes with all of their sums, up to the first that lacks one
        for (unsigned out = 0;;) {
            NodePoll<State> looked[mine], of_chunk;
#pragma unroll
            for (unsigned k = 0; k < mine; ++k)
                looked[k].look(sums + (t + k) * node, !there[k]);
            of_chunk.look(chunks, !carried);
            const unsigned had = ready;
            bool more = false;
            ready = 0;
#pragma unroll
            for (unsigned k = 0; k < mine; ++k) {
                if (!there[k] && looked[k].take(x[k])) {
                    there[k] = more = true;
                    if (p.zeroes_nodes) // what was zero is zero again
                        node_clear<State>(sums + (t + k) * node);
                }
                if (ready == k && there[k])
                    ready = k + 1;
            }
            if (!carried)
                carried = of_chunk.take(carry);
            carried = __all_sync(0xffffffffu, carried);
            if (__any_sync(0xffffffffu, more || had != ready)) { // else only the carry is missing
                lanes = __clz(__brev(~__ballot_sync(0xffffffffu, ready == mine)));
                sum = scan_aligned<F>(F::combine(F::combine(x[0], x[1]), F::combine(x[2], x[3])), lane);
                before = shuffle_up(sum, 1);
            }
            if (!carried)
                continue;
            if (lanes == 32 && lane == 31 && first.t + GR_PERSISTENT_CHUNK < p.line_tiles)
                node_publish(chunks + node, first.t > 0 ? F::combine(carry, sum) : sum);
            Prefix<F> begin = {before, lane > 0};
            if (first.t > 0)
                begin.prepend(carry);
            if (lane <= lanes) {
#pragma unroll
                for (unsigned k = 0; k < mine; ++k) {
                    Prefix<F> next = begin;
                    if (k >= 2)
                        next.append(F::combine(x[0], x[1]));
                    if (k % 2 == 1)
                        next.append(x[k - 1]);
                    if (k >= out && k <= ready && t + k <= last) {
                        if (next.has)
                            node_publish(sums + (p.line_tiles + t + k) * node, next.state);
                        out = k + 1;
                    }
                }
            }
            if (lanes == 32)
                break;
        }
        if (p.zeroes_nodes && first.t > 0 && lane == 0)
            node_clear<State>(chunks);
    }
    __device__ void scan_chunks() const {
        for (unsigned q = 0;; ++q) {
            barrier_wait(shared_address(&shared.pushed[q % 2]), q / 2);
            const LineTile first = shared.chunks[q % 2];
            if (first.t == none)
                return;
            scan_chunk(first);
            __syncwarp();
            if (lane == 0)
                ptx::mbarrier_arrive(shared_address(&shared.popped[q % 2]));
        }
    }

    // ---- the warps that compute ----

    template <unsigned barrier> static __device__ void wait_for_others() {
        ptx::barrier_sync<barrier, threads>();
    }
    // What a thread has of a tile, of elements or results.
    template <class T> __device__ Vec<T, length> *share(unsigned stage) const {
        return reinterpret_cast<Vec<T, length> *>(held(stage)) + thread * GR_PERSISTENT_VECTORS;
    }
    static __device__ State load_state(In x) {
        if constexpr (std::is_same<In, Out>::value)
            return F::load(x);
        else
            return F::load(Out(widen(x)));
    }
    // Adds up tiles, and publishes the sums.
    __device__ void sum() const {
        for (uint64_t j = 0;; ++j) {
            const unsigned s = j % stages;
            barrier_wait(shared_address(&shared.full[s]), j / stages);
            const LineTile of = shared.tiles[s];
            if (of.t == none)
                return;
            if (!(of.bulk & GR_LINE_IN)) {
                const In *in = in_of(of);
                const unsigned count = count_of(of);
                for (unsigned i = thread; i < tile; i += threads)
                    reinterpret_cast<In *>(held(s))[i] = i < count ? in[i] : In();
                wait_for_others<1>();
            }
            const Vec<In, length> *from = share<In>(s);
            State sum;
#pragma unroll
            for (unsigned v = 0; v < GR_PERSISTENT_VECTORS; ++v) {
                const Vec<In, length> x = from[v];
#pragma unroll
                for (unsigned k = 0; k < length; ++k)
                    sum = v == 0 && k == 0 ? load_state(x.at[k]) : F::combine(sum, load_state(x.at[k]));
            }
            sum = scan_lanes<F>(sum, lane);
            const State of_lanes = shuffle_up(sum, 1);
            State *of_warps = totals + j % 2 * warps;
            if (lane == 31)
                of_warps[warp] = sum;
            wait_for_others<1>();
            if (thread == threads - 1 && of.t + 1 < p.line_tiles) {
                const State *t = of_warps;
                const State first = F::combine(F::combine(t[0], t[1]), F::combine(t[2], t[3]));
                node_publish(nodes_of(of.line) + of.t * node,
                             F::combine(first, F::combine(F::combine(t[4], t[5]), F::combine(t[6], sum))));
            }
            Prefix<F> mine = {F::identity(), false};
            append_shares(mine, of_warps, warp);
            if (lane > 0)
                mine.append(of_lanes);
            parts[s * threads + thread] = mine.state;
            ptx::mbarrier_arrive(shared_address(&shared.summed[s]));
        }
    }
    // Computes the results of tiles.
    __device__ void finish() const {
        for (uint64_t j = 0;; ++j) {
            const unsigned s = j % stages;
            barrier_wait(shared_address(&shared.full[s]), j / stages);
            const LineTile of = shared.tiles[s];
            if (of.t == none)
                return;
            barrier_wait(shared_address(&shared.summed[s]), j / stages);
            barrier_wait(shared_address(&shared.before[s]), j / stages);
            bool has = thread > 0;
            State sum = F::identity();
            if (has)
                sum = parts[s * threads + thread];
            if (of.t > 0) {
                sum = has ? F::combine(prefixes[s], sum) : prefixes[s];
                has = true;
            }
            const Vec<In, length> *from = share<In>(s);
            Vec<Out, length> *place = share<Out>(s);
            Vec<In, length> x[GR_PERSISTENT_VECTORS];
            if constexpr (sizeof(In) !=
                          sizeof(Out)) { // elements of other threads are at the results' addresses
#pragma unroll
                for (unsigned v = 0; v < GR_PERSISTENT_VECTORS; ++v)
                    x[v] = from[v];
                wait_for_others<2>();
            }
#pragma unroll
            for (unsigned v = 0; v < GR_PERSISTENT_VECTORS; ++v) {
                if constexpr (sizeof(In) == sizeof(Out))
                    x[v] = from[v];
                Vec<Out, length> result;
#pragma unroll
                for (unsigned k = 0; k < length; ++k) {
                    const State one = load_state(x[v].at[k]);
                    sum = has || v > 0 || k > 0 ? F::combine(sum, one) : one;
                    result.at[k] = F::finish(sum);
                }
                place[v] = result;
            }
            if (!(of.bulk & GR_LINE_OUT)) {
                wait_for_others<2>();
                Out *out = out_of(of);
                const unsigned count = count_of(of);
                for (unsigned i = thread; i < count; i += threads)
                    out[i] = held(s)[i];
            }
            if (p.initial && of.t == 0 && thread == 0)
                out_of(of)[-1] = F::finish(F::identity());
            ptx::fence_proxy_async_shared();
            ptx::mbarrier_arrive(shared_address(&shared.done[s]));
        }
    }
};

template <class F, class In = typename F::Out>
__device__ void scan_persistent(const gr_persistent_scan_params &p) {
    using Work = PersistentScan<F, In>;
    using State = typename F::State;
    pdl_launch_dependents();
    extern __shared__ __align__(128) unsigned char ring[];
    __shared__ alignas(16) unsigned char states[(Work::stages + 2 * Work::warps) * sizeof(State)];
    __shared__ typename Work::Shared shared;
    const Work work(p, shared, reinterpret_cast<State *>(states), ring);
    if (threadIdx.x == 0)
        work.open();
    work.prefetch();
    pdl_wait();
    __syncthreads();
    if (work.warp < Work::warps)
        work.sum();
    else if (work.warp < 2 * Work::warps)
        work.finish();
    else if (work.warp == 2 * Work::warps)
        work.look_back();
    else if (work.warp == 2 * Work::warps + 1)
        work.scan_chunks();
    else if (work.lane == 0)
        work.move();
}

template <class F, class In = typename F::Out>
constexpr unsigned long_line_blocks = PersistentScan<F, In>::blocks;

#define GR_LINE_ENTRY(op, dtype, ...)                                                                        \
    GR_ENTRY((GR_PERSISTENT_BLOCK_THREADS, long_line_blocks<__VA_ARGS__>), line_##op##_##dtype,              \
             gr_persistent_scan_params, scan_persistent<__VA_ARGS__>)

#endif

} // namespace gr::scan
