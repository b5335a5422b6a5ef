// Inclusive scans (running sums and products) in one pass by decoupled look-back: each block takes tiles in
// the order of their tickets.
#pragma once

#include <type_traits>

#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "common/vec.cuh"
#include "ops/functors.cuh"
#include "scan/params.h"
#include "scan/prefix.cuh"

namespace gr::scan {

constexpr unsigned SHORT_SCAN_BLOCKS = 256;

using namespace common;
using namespace ops;

// The type of a running sum or product: double if elements are float.
template <class T> struct RunningState { using type = Wide<T>; };
template <> struct RunningState<float> { using type = double; };
template <> struct RunningState<gr_c64> { using type = ComplexParts<double>; };

template <class T> struct Running {
    static constexpr bool widens = true; // narrower integers are loaded as 64 bits
    static constexpr bool ordered = !std::is_same<T, int64_t>::value; // the order of elements counts
    using Out = T;
    using State = typename RunningState<T>::type;
    static __device__ State load(T x) {
        return Convert<State, Wide<T>>::to(widen(x));
    }
    static __device__ T finish(State s) {
        return Narrow<T>::from(s);
    }
};
template <class T> struct RunningSum : Running<T> {
    using State = typename Running<T>::State;
    static __device__ State identity() {
        return Zero<State>::make();
    }
    static __device__ State combine(State a, State b) {
        return plus(a, b);
    }
};
template <class T> struct RunningProd : Running<T> {
    using State = typename Running<T>::State;
    static __device__ State identity() {
        return One<State>::make();
    }
    static __device__ State combine(State a, State b) {
        return times(a, b);
    }
};

// Brings bytes into the L2 cache, which `step` threads share; for each of them.
inline __device__ void prefetch_bytes(const void *at, unsigned bytes, unsigned thread, unsigned step) {
    constexpr unsigned sector = 32;
    for (unsigned i = thread * sector; i < bytes; i += step * sector)
        pdl_prefetch(static_cast<const char *>(at) + i);
}

// A tile, which thread 0 broadcasts through shared memory.
struct ScanTile {
    bool none;
    uint64_t t;           // its index in the line of tiles
    uint64_t nodes;       // of the chain
    int64_t in, out;      // its offsets in the input and the output, in elements
    uint32_t rows, width; // rows and columns of the tile
};

template <class State>
constexpr unsigned scan_columns = sizeof(State) < 16 ? GR_SCAN_MAX_COLUMNS : GR_SCAN_MAX_COLUMNS / 2;
template <class F> using ScanLookback = LookbackTiles<F, GR_SCAN_THREADS, scan_columns<typename F::State>>;

template <class F> struct Scan : ScanLookback<F> {
    using State = typename F::State;
    using Out = typename F::Out;
    using ScanLookback<F>::totals; // of the runs of all threads
    using ScanLookback<F>::exclusive;
    using ScanLookback<F>::columns;
    using ScanLookback<F>::column;
    using ScanLookback<F>::group;
    using ScanLookback<F>::node;
    static constexpr unsigned threads = GR_SCAN_THREADS, max_each = sizeof(Out) < 16
                                                                        ? GR_SCAN_ROWS_PER_THREAD
                                                                        : GR_SCAN_ROWS_PER_THREAD / 2;
    static constexpr unsigned capacity = threads * max_each;
    static constexpr unsigned held_bytes = (capacity + capacity / 32) * sizeof(Out);
    static constexpr unsigned sum_count = NODE_LEVELS * scan_columns<State>, band_count = F::ordered ? 32 : 0;
    static constexpr unsigned vector = 16 / sizeof(Out), vectors = max_each / vector;

    const gr_scan_params &p;
    Out *held;   // elements, then results
    State *sums; // of nodes
    State *lows; // of the bands of a section before each band of the tile
    unsigned first;
    const unsigned lane, band;               // band: this thread's, of its slot
    Vec<Out, vector> ahead_of_time[vectors]; // elements of the next tile
    bool ready = false;                      // whether they are loaded

    __device__ Scan(const gr_scan_params &params, unsigned char *elements, unsigned char *states)
        : ScanLookback<F>(states, params.columns_shift, params.groups_shift), p(params),
          held(reinterpret_cast<Out *>(elements)), sums(exclusive + scan_columns<State>),
          lows(sums + sum_count),
          first((threadIdx.x >> (p.columns_shift + p.groups_shift)) * p.slot + group * p.each),
          lane(threadIdx.x % 32), band(group / GR_SCAN_BAND_RUNS) {
    }

    // The number of a tile that no block has taken: by a ticket where tiles wait for those before.
    __device__ uint64_t ticket(uint64_t round) const {
        return p.nodes != 0 ? atomicAdd(reinterpret_cast<unsigned long long *>(p.nodes), 1ull)
                            : blockIdx.x + round * gridDim.x;
    }

    __device__ ScanTile tile_of(uint64_t number) const {
        ScanTile tile;
        tile.none = number >= p.chains * p.chain_tiles;
        tile.t = number / p.chains;
        const uint64_t chain = number - tile.t * p.chains, lines = chain / p.stripes;
        const uint64_t line = lines * p.tile_lines, at = tile.t * p.slot,
                       across = (chain - lines * p.stripes) * p.width;
        const uint64_t begins = p.flags & GR_SCAN_INITIAL ? 1 : 0;
        tile.nodes = p.nodes + GR_NODES_OFFSET + chain * p.chain_nodes * columns * node_bytes<State>;
        tile.in =
            int64_t(line) * p.line_stride + int64_t(at) * p.along_stride + int64_t(across) * p.inner_stride;
        tile.out = int64_t((line * (p.length + begins) + at + begins) * p.inner + across);
        tile.rows = p.chain_tiles > 1 ? min(uint64_t(p.slot), p.length - at)
                                      : min(uint64_t(p.tile_lines), p.lines - line) * p.length;
        tile.width = min(uint64_t(p.width), p.inner - across);
        return tile;
    }

    // Calls work(i, line, row, column) for each place i of a tile.
    template <class Work> __device__ void each_place(const ScanTile &tile, Work work) const {
        if (column >= tile.width)
            return;
        for (unsigned row = threadIdx.x >> p.columns_shift; row < tile.rows;
             row += threads >> p.columns_shift) {
            const unsigned line = p.tile_lines > 1 ? row / unsigned(p.length) : 0;
            work(padded(row * p.width + column), line, row - line * unsigned(p.length), column);
        }
    }

    template <class In> static __device__ Out grow(In x) {
        if constexpr (std::is_same<In, Out>::value)
            return x;
        else
            return Out(widen(x));
    }
    __device__ bool is_whole(const ScanTile &tile, const void *in) const {
        return p.flags & GR_SCAN_LINEAR_IN && tile.rows * p.width == capacity &&
               reinterpret_cast<uint64_t>(in) % 16 == 0;
    }
    template <class In, unsigned N> __device__ void hold(const Vec<In, N> (&loaded)[max_each / N]) {
#pragma unroll
        for (unsigned j = 0; j < max_each / N; ++j)
#pragma unroll
            for (unsigned k = 0; k < N; ++k)
                held[padded((threadIdx.x + j * threads) * N + k)] = grow<In>(loaded[j].at[k]);
    }
    // Calls vector(i) for each vector of N elements, from element i on, of `count` contiguous ones at an
    // address, and single(i) for the elements before the first multiple of 16 bytes and behind the last.
    template <class T, unsigned N, class Vector, class Single>
    static __device__ void each_vector(uint64_t address, unsigned count, Vector vector, Single single) {
        const unsigned before = count > threads ? unsigned((16 - address % 16) % 16 / sizeof(T)) : count;
        const unsigned head = min(count, before), rest = (count - head) % N;
        if (threadIdx.x < head + rest)
            single(threadIdx.x < head ? threadIdx.x : count - rest + (threadIdx.x - head));
#pragma unroll 4
        for (unsigned i = head + threadIdx.x * N; i < count - rest; i += threads * N)
            vector(i);
    }
    template <class In> __device__ void load_as(const ScanTile &tile) {
        const In *in = reinterpret_cast<const In *>(p.in) + tile.in;
        constexpr unsigned N = sizeof(In) < 16 ? 16 / sizeof(In) : 1;
        if (is_whole(tile, in)) {
            Vec<In, N> loaded[max_each / N];
#pragma unroll
            for (unsigned j = 0; j < max_each / N; ++j)
                loaded[j] = reinterpret_cast<const Vec<In, N> *>(in)[threadIdx.x + j * threads];
            hold<In, N>(loaded);
        } else if (p.flags & GR_SCAN_LINEAR_IN) {
            each_vector<In, N>(
                reinterpret_cast<uint64_t>(in), tile.rows * p.width,
                [&](unsigned i) {
                    const Vec<In, N> loaded = *reinterpret_cast<const Vec<In, N> *>(in + i);
#pragma unroll
                    for (unsigned k = 0; k < N; ++k)
                        held[padded(i + k)] = grow<In>(loaded.at[k]);
                },
                [&](unsigned i) { held[padded(i)] = grow<In>(in[i]); });
        } else {
            each_place(tile, [&](unsigned i, unsigned line, unsigned row, unsigned across) {
                held[i] = grow<In>(in[line * p.line_stride + row * p.along_stride + across * p.inner_stride]);
            });
        }
    }
    // Begins to load the elements of the next tile, so that they are in flight meanwhile.
    __device__ void fetch(const ScanTile &tile) {
        const Out *in = reinterpret_cast<const Out *>(p.in) + tile.in;
        ready = !tile.none && p.kind == GR_SCAN_AS_RESULT && is_whole(tile, in);
        if (ready)
#pragma unroll
            for (unsigned j = 0; j < vectors; ++j)
                ahead_of_time[j] = reinterpret_cast<const Vec<Out, vector> *>(in)[threadIdx.x + j * threads];
    }
    __device__ void load(const ScanTile &tile) {
        if (ready)
            return hold<Out, vector>(ahead_of_time);
        if constexpr (F::widens && std::is_same<Out, int64_t>::value) {
            switch (p.kind) {
            case GR_SCAN_B8:
                return load_as<gr_bool>(tile);
            case GR_SCAN_I8:
                return load_as<int8_t>(tile);
            case GR_SCAN_I16:
                return load_as<int16_t>(tile);
            case GR_SCAN_I32:
                return load_as<int32_t>(tile);
            case GR_SCAN_U8:
                return load_as<uint8_t>(tile);
            case GR_SCAN_U16:
                return load_as<uint16_t>(tile);
            case GR_SCAN_U32:
                return load_as<uint32_t>(tile);
            default:
                break;
            }
        }
        load_as<Out>(tile);
    }

    __device__ void store(const ScanTile &tile) const {
        Out *out = reinterpret_cast<Out *>(p.out) + tile.out;
        const unsigned count = tile.rows * p.width;
        if (!(p.flags & GR_SCAN_LINEAR_OUT)) {
            const uint64_t line_step = (p.length + (p.flags & GR_SCAN_INITIAL ? 1 : 0)) * p.inner;
            each_place(tile, [&](unsigned i, unsigned line, unsigned row, unsigned across) {
                out[line * line_step + row * p.inner + across] = held[i];
            });
        } else if (count == capacity && reinterpret_cast<uint64_t>(out) % 16 == 0) {
#pragma unroll
            for (unsigned j = 0; j < vectors; ++j) {
                Vec<Out, vector> stored;
#pragma unroll
                for (unsigned k = 0; k < vector; ++k)
                    stored.at[k] = held[padded((threadIdx.x + j * threads) * vector + k)];
                reinterpret_cast<Vec<Out, vector> *>(out)[threadIdx.x + j * threads] = stored;
            }
        } else {
            each_vector<Out, vector>(
                reinterpret_cast<uint64_t>(out), count,
                [&](unsigned i) {
                    Vec<Out, vector> stored;
#pragma unroll
                    for (unsigned k = 0; k < vector; ++k)
                        stored.at[k] = held[padded(i + k)];
                    *reinterpret_cast<Vec<Out, vector> *>(out + i) = stored;
                },
                [&](unsigned i) { out[i] = held[padded(i)]; });
        }
    }

    // The results of no elements, before each line.
    __device__ void begin_lines(const ScanTile &tile) const {
        Out *out = reinterpret_cast<Out *>(p.out) + tile.out - p.inner;
        const unsigned lines = p.chain_tiles > 1 ? 1 : tile.rows / unsigned(p.length);
        for (unsigned i = threadIdx.x; i < lines * tile.width; i += threads)
            out[i / tile.width * (p.length + 1) * p.inner + i % tile.width] = F::finish(F::identity());
    }

    // The sum of the runs of a band before this thread's run, unless it is the first.
    __device__ State before_run() const {
        const unsigned runs = group % GR_SCAN_BAND_RUNS;
        const State *first = totals + threadIdx.x - runs * columns;
        State before = first[0];
#pragma unroll
        for (unsigned j = 1; j + 1 < GR_SCAN_BAND_RUNS; ++j)
            if (j < runs)
                before = F::combine(before, first[j * columns]);
        return before;
    }
    // The sum of band `lane` of the block, in the order of before_run: neighbouring lanes have neighbouring
    // columns.
    __device__ State sum_of_band() const {
        const State *runs =
            totals + (lane >> p.columns_shift) * GR_SCAN_BAND_RUNS * columns + column_of(lane);
        State sum = runs[0];
#pragma unroll
        for (unsigned j = 1; j < GR_SCAN_BAND_RUNS; ++j)
            sum = F::combine(sum, runs[j * columns]);
        return sum;
    }
    __device__ unsigned column_of(unsigned i) const {
        return i & (columns - 1);
    }

    // Look-back along bands, and along sections of 32 bands. `of_band`: the sum of band `lane` of the tile.
    // In `lows` and, from the second section on, in `exclusive` is what each band has before it. Ends with a
    // barrier.
    __device__ void look_back_along_bands(const ScanTile &tile, State of_band) const {
        const unsigned shift = p.groups_shift - GR_SCAN_BAND_SHIFT, bands = 1u << shift,
                       warp = threadIdx.x / 32;
        const uint64_t begin = tile.t << shift, section = begin / 32;
        const unsigned below = begin % 32; // bands of the section before the tile
        const LookbackTree chain = {tile.nodes, (p.chain_tiles * bands + 31) / 32};
        const uint64_t band_nodes = tile.nodes + p.section_nodes * columns * node;
        const bool ends = below + bands == 32;
        if (bands < 32 && warp == 0 && column_of(lane) < tile.width && lane >> p.columns_shift < bands)
            node_publish(band_nodes + ((begin << p.columns_shift) + lane) * node, of_band);
        unsigned levels = 0;
        while (section >> NODE_SHIFT * levels != 0)
            ++levels;
        for (unsigned i = warp; i < (levels + 1) * tile.width; i += threads / 32) {
            const unsigned level = i / tile.width, of = i - level * tile.width;
            if (level > 0) {
                if ((section >> NODE_SHIFT * (level - 1)) % 32 != 0) {
                    const State sum = this->fold(chain, section, level - 1, of);
                    if (lane == 0)
                        sums[(level - 1) * columns + of] = sum;
                }
                continue;
            }
            State x = shuffle_from(of_band, ((lane - below) << p.columns_shift | of) % 32);
            if (lane < below)
                x = node_wait<State>(band_nodes + ((begin - below + lane) << p.columns_shift | of) * node);
            x = scan_aligned<F>(x, lane);
            if (lane + 1 >= below && lane + 1 < below + bands)
                lows[(lane + 1 - below) << p.columns_shift | of] = x;
            if (ends && lane == 31) {
                node_publish(this->node_at(chain, 0, section, of), x);
                exclusive[of] = x;
            }
        }
        __syncthreads();
        if (section == 0)
            return;
        if (threadIdx.x < tile.width) {
            State own = ends ? exclusive[column] : F::identity();
            Prefix<F> before = no_prefix<F>();
            bool last = ends; // the last tile of a node of the level above
            for (unsigned level = 0; level < levels; ++level) {
                const unsigned digit = (section >> NODE_SHIFT * level) % 32;
                if (digit == 0) {
                    last = false;
                    continue;
                }
                const State one = sums[level * columns + column];
                last = last && digit == 31;
                if (last) {
                    own = F::combine(one, own);
                    node_publish(this->node_at(chain, level + 1, section >> NODE_SHIFT * (level + 1), column),
                                 own);
                }
                before.prepend(one);
            }
            exclusive[column] = before.state;
        }
        __syncthreads();
    }

    // What is before this thread's elements, of which `s` is the sum; begins to load the next tile. Has
    // barriers.
    __device__ Prefix<F> before_thread(const ScanTile &tile, const ScanTile &next, State s) {
        if constexpr (F::ordered) {
            totals[threadIdx.x] = s;
            __syncthreads();
            const State inside = before_run();
            Prefix<F> sum = no_prefix<F>();
            if (p.nodes != 0) {
                const State of_band = sum_of_band();
                fetch(next);
                look_back_along_bands(tile, of_band);
                const unsigned shift = p.groups_shift - GR_SCAN_BAND_SHIFT; // of bands
                if (column < tile.width) {
                    if (tile.t >> (5 - shift) != 0)
                        sum.append(exclusive[column]);
                    if ((tile.t << shift) % 32 + band > 0)
                        sum.append(lows[band << p.columns_shift | column]);
                }
            } else {
                fetch(next);
                if (p.groups_shift > GR_SCAN_BAND_SHIFT) {
                    const State low = scan_aligned<F>(sum_of_band(), lane, p.columns_shift,
                                                      1u << (p.groups_shift - GR_SCAN_BAND_SHIFT));
                    const unsigned shift = p.columns_shift + GR_SCAN_BAND_SHIFT;
                    const State before =
                        shuffle_from(low, (threadIdx.x >> shift << p.columns_shift) + column - columns);
                    if (band > 0)
                        sum.append(before);
                }
            }
            if (group % GR_SCAN_BAND_RUNS > 0)
                sum.append(inside);
            return sum;
        } else {
            Prefix<F> sum = {this->before(s), group > 0};
            fetch(next);
            if (p.nodes != 0) {
                this->look_back({tile.nodes, p.chain_tiles}, tile.t, tile.width, s, sums);
                if (tile.t > 0 && column < tile.width)
                    sum.prepend(exclusive[column]);
            }
            return sum;
        }
    }

    // Scans a tile, and finds the next one.
    __device__ void run(const ScanTile &tile, ScanTile &next, uint64_t round) {
        const bool finds = threadIdx.x == threads - 1;
        const uint64_t number = finds ? ticket(round + 1) : 0; // which takes a while
        load(tile);
        __syncthreads();
        const unsigned base = first * p.width + column, width = p.width;
        const unsigned of_slot = min(p.each, p.slot - min(p.slot, group * p.each));
        const unsigned mine = column < tile.width ? min(of_slot, tile.rows - min(tile.rows, first)) : 0;
        State s = F::identity();
#pragma unroll
        for (unsigned k = 0; k < max_each; ++k)
            if (k < mine) {
                const State x = F::load(held[padded(base + k * width)]);
                s = k == 0 ? x : F::combine(s, x);
            }
        if (finds)
            next = tile_of(number);
        Prefix<F> sum = before_thread(tile, next, s);
        unsigned again = p.line_rows;
#pragma unroll
        for (unsigned k = 0; k < max_each; ++k)
            if (k < mine) {
                if (k == again) {
                    sum.has = false;
                    again += p.line_rows;
                }
                Out *place = &held[padded(base + k * width)];
                sum.append(F::load(*place));
                *place = F::finish(sum.state);
            }
        __syncthreads();
        store(tile);
        if (p.flags & GR_SCAN_INITIAL && tile.t == 0)
            begin_lines(tile);
        __syncthreads();
    }
};

template <class F> __device__ void scan_tiles(const gr_scan_params &p) {
    using Work = Scan<F>;
    __shared__ alignas(16) unsigned char elements[Work::held_bytes];
    __shared__ alignas(16) unsigned char
        states[(Work::state_count + Work::sum_count + Work::band_count) * sizeof(typename F::State)];
    __shared__ ScanTile tiles[2];
    Work scan(p, elements, states);
    // Blocks of the next kernel unbalance the SMs, which pays only for short kernels.
    if (gridDim.x <= SHORT_SCAN_BLOCKS)
        gr::common::pdl_as_comments::pdl_launch_dependents();
    gr::common::pdl_as_comments::pdl_wait();
    if (threadIdx.x == 0)
        tiles[0] = scan.tile_of(scan.ticket(0));
    __syncthreads();
    for (uint64_t round = 0; !tiles[round % 2].none; ++round)
        scan.run(tiles[round % 2], tiles[(round + 1) % 2], round);
}

#define GR_SCAN_ENTRY(op, dtype, F)                                                                          \
    GR_ENTRY((GR_SCAN_THREADS, 4), scan_##op##_##dtype, gr_scan_params, scan_tiles<F>)
// Integers are added and multiplied in 64 bits, whatever they are loaded as.
#define GR_SCAN_ENTRIES(op, Running)                                                                         \
    GR_SCAN_ENTRY(op, f32, Running<float>)                                                                   \
    GR_SCAN_ENTRY(op, f64, Running<double>)                                                                  \
    GR_SCAN_ENTRY(op, i64, Running<int64_t>)                                                                 \
    GR_SCAN_ENTRY(op, f16, Running<gr_f16>)                                                                  \
    GR_SCAN_ENTRY(op, bf16, Running<gr_bf16>)                                                                \
    GR_SCAN_ENTRY(op, c64, Running<gr_c64>)                                                                  \
    GR_SCAN_ENTRY(op, c128, Running<gr_c128>)

} // namespace gr::scan
