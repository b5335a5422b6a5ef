// Running sums and products, in one pass: each block takes tiles in the order of their tickets.
#pragma once

#include <type_traits>

#include "chained_tiles.cuh"
#include "functors.cuh"
#include "scan/params.h"
#include "vector.cuh"

// What a running sum or product is kept in: double where elements are float.
template <class T> struct RunningState { using type = Wide<T>; };
template <> struct RunningState<float> { using type = double; };
template <> struct RunningState<gr_c64> { using type = Pair<double>; };

template <class T> struct Running {
    using Out = T;
    using State = typename RunningState<T>::type;
    static __device__ bool closed(State) {
        return false;
    }
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

// A tile, as thread 0 tells all.
struct ScanTile {
    bool none;
    uint64_t t;           // its place in the chain
    uint64_t nodes;       // of the chain
    int64_t in, out;      // where it begins, in elements
    uint32_t rows, width; // how many it has
};

template <class F> using ScanChain = ChainedTiles<F, GR_SCAN_THREADS, GR_NODE_MOST_COLUMNS>;

template <class F> struct Scan : ScanChain<F> {
    using State = typename F::State;
    using Out = typename F::Out;
    using ScanChain<F>::ahead;
    using ScanChain<F>::columns;
    using ScanChain<F>::column;
    using ScanChain<F>::group;
    static constexpr unsigned threads = GR_SCAN_THREADS,
                              most = sizeof(Out) < 16 ? GR_SCAN_EACH : GR_SCAN_EACH / 2;
    static constexpr unsigned room = threads * most;
    static constexpr unsigned held_bytes = (room + room / 32) * sizeof(Out);
    static_assert(held_bytes >= 32 * GR_NODE_MOST_COLUMNS * sizeof(State),
                  "nodes take the place of elements");

    const gr_scan_params &p;
    Out *held; // elements, then results
    unsigned first;

    __device__ Scan(const gr_scan_params &params, unsigned char *elements, unsigned char *states)
        : ScanChain<F>(states, params.columns_shift, params.groups_shift), p(params),
          held(reinterpret_cast<Out *>(elements)),
          first((threadIdx.x >> (p.columns_shift + p.groups_shift)) * p.slot + group * p.each) {
    }

    __device__ ScanTile take(uint64_t round) const {
        ScanTile tile;
        const uint64_t number = p.nodes != 0
                                    ? atomicAdd(reinterpret_cast<unsigned long long *>(p.nodes), 1ull)
                                    : blockIdx.x + round * gridDim.x;
        tile.none = number >= p.chains * p.chain_tiles;
        tile.t = number / p.chains;
        const uint64_t chain = number - tile.t * p.chains, lines = chain / p.stripes;
        const uint64_t line = lines * p.tile_lines, at = tile.t * p.slot,
                       across = (chain - lines * p.stripes) * p.width;
        const uint64_t begins = p.flags & GR_SCAN_INITIAL ? 1 : 0;
        tile.nodes = p.nodes + GR_NODE_HEAD + chain * p.chain_tiles * columns * node_bytes<State>;
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
    template <class In> __device__ void load_as(const ScanTile &tile) {
        const In *in = reinterpret_cast<const In *>(p.in) + tile.in;
        constexpr unsigned vector = sizeof(In) < 16 ? 16 / sizeof(In) : 1, vectors = most / vector;
        if (!(p.flags & GR_SCAN_LINEAR_IN))
            each_place(tile, [&](unsigned i, unsigned line, unsigned row, unsigned across) {
                held[i] = grow<In>(in[line * p.line_stride + row * p.along_stride + across * p.inner_stride]);
            });
        else if (tile.rows * p.width == room && reinterpret_cast<uint64_t>(in) % 16 == 0) {
            Vector<In, vector> loaded[vectors];
#pragma unroll
            for (unsigned j = 0; j < vectors; ++j)
                loaded[j] = reinterpret_cast<const Vector<In, vector> *>(in)[threadIdx.x + j * threads];
#pragma unroll
            for (unsigned j = 0; j < vectors; ++j)
#pragma unroll
                for (unsigned k = 0; k < vector; ++k)
                    held[padded((threadIdx.x + j * threads) * vector + k)] = grow<In>(loaded[j].at[k]);
        } else {
#pragma unroll 4
            for (unsigned i = threadIdx.x; i < tile.rows * p.width; i += threads)
                held[padded(i)] = grow<In>(in[i]);
        }
    }
    __device__ void load(const ScanTile &tile) {
        if constexpr (std::is_same<Out, int64_t>::value) {
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
        constexpr unsigned vector = sizeof(Out) < 16 ? 16 / sizeof(Out) : 1;
        if (!(p.flags & GR_SCAN_LINEAR_OUT)) {
            const uint64_t line_step = (p.length + (p.flags & GR_SCAN_INITIAL ? 1 : 0)) * p.inner;
            each_place(tile, [&](unsigned i, unsigned line, unsigned row, unsigned across) {
                out[line * line_step + row * p.inner + across] = held[i];
            });
        } else if (count == room && reinterpret_cast<uint64_t>(out) % 16 == 0) {
#pragma unroll
            for (unsigned j = 0; j < most / vector; ++j) {
                Vector<Out, vector> stored;
#pragma unroll
                for (unsigned k = 0; k < vector; ++k)
                    stored.at[k] = held[padded((threadIdx.x + j * threads) * vector + k)];
                reinterpret_cast<Vector<Out, vector> *>(out)[threadIdx.x + j * threads] = stored;
            }
        } else {
            for (unsigned i = threadIdx.x; i < count; i += threads)
                out[i] = held[padded(i)];
        }
    }

    // The results of no elements, before each line.
    __device__ void begin_lines(const ScanTile &tile) const {
        Out *out = reinterpret_cast<Out *>(p.out) + tile.out - p.inner;
        const unsigned lines = p.chain_tiles > 1 ? 1 : tile.rows / unsigned(p.length);
        for (unsigned i = threadIdx.x; i < lines * tile.width; i += threads)
            out[i / tile.width * (p.length + 1) * p.inner + i % tile.width] = F::finish(F::identity());
    }

    __device__ void run(const ScanTile &tile) {
        load(tile);
        __syncthreads();
        const unsigned base = first * p.width + column, width = p.width;
        const unsigned of_slot = min(p.each, p.slot - min(p.slot, group * p.each));
        const unsigned mine = column < tile.width ? min(of_slot, tile.rows - min(tile.rows, first)) : 0;
        Out x[most];
        State s = F::identity();
#pragma unroll
        for (unsigned k = 0; k < most; ++k)
            if (k < mine) {
                x[k] = held[padded(base + k * width)];
                s = k == 0 ? F::load(x[k]) : F::combine(s, F::load(x[k]));
            }
        State sum = this->before(s);
        bool has = group > 0;
        if (p.nodes != 0) {
            // Elements are in registers by now.
            this->look_back(tile.nodes, tile.t, tile.width, s, reinterpret_cast<State *>(held));
            if (tile.t > 0 && column < tile.width)
                sum = has ? F::combine(ahead[column], sum) : ahead[column];
            has = has || tile.t > 0;
        }
        unsigned next = p.again;
#pragma unroll
        for (unsigned k = 0; k < most; ++k)
            if (k < mine) {
                if (k == next) {
                    has = false;
                    next += p.again;
                }
                sum = has ? F::combine(sum, F::load(x[k])) : F::load(x[k]);
                has = true;
                held[padded(base + k * width)] = F::finish(sum);
            }
        __syncthreads();
        store(tile);
    }
};

template <class F> __device__ void scan_lines(const gr_scan_params &p) {
    __shared__ alignas(16) unsigned char elements[Scan<F>::held_bytes];
    __shared__ alignas(16) unsigned char states[Scan<F>::state_count * sizeof(typename F::State)];
    __shared__ ScanTile tile;
    Scan<F> scan(p, elements, states);
    for (uint64_t round = 0;; ++round) {
        if (threadIdx.x == 0)
            tile = scan.take(round);
        __syncthreads();
        if (tile.none)
            return;
        scan.run(tile);
        if (p.flags & GR_SCAN_INITIAL && tile.t == 0)
            scan.begin_lines(tile);
        __syncthreads();
    }
}

#define GR_SCAN_ENTRY(op, dtype, F, blocks)                                                                  \
    extern "C" __global__ void __launch_bounds__(GR_SCAN_THREADS, blocks)                                    \
        scan_##op##_##dtype(const gr_scan_params p) {                                                        \
        scan_lines<F>(p);                                                                                    \
    }
