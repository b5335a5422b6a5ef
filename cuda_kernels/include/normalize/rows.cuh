// Kernels of the functions in ops.def: a row in the registers of a warp or a block, and rows of several
// tiles. Each element is read once, except of rows that have more tiles than blocks.
#pragma once

#include "common/cluster.cuh"
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "common/ptx.cuh"
#include "normalize/ops.cuh"
#include "normalize/tile.cuh"

namespace gr::normalize {

// Where a row is: of the elements, the results, and the residual.
template <class In> struct Row {
    Line<In> in, out, residual;

    static __device__ Row of(const gr_normalize_params &p, uint64_t row) {
        uint64_t line = row, column = 0;
        if (p.inner != 1) {
            line = row / p.inner;
            column = row - line * p.inner;
        }
        const int64_t from = int64_t(line) * p.line_stride + int64_t(column) * p.inner_stride;
        const int64_t to = int64_t((line * p.length) * p.inner + column), inner = int64_t(p.inner);
        return {{reinterpret_cast<In *>(p.in) + from, p.along_stride},
                {reinterpret_cast<In *>(p.out) + to, inner},
                {p.residual == 0 ? nullptr : reinterpret_cast<In *>(p.residual) + to, inner}};
    }
    __device__ Row from(uint64_t index) const {
        return {in.from(index),
                out.from(index),
                {residual.first == nullptr ? nullptr : residual.from(index).first, residual.stride}};
    }
};

// Whether each thread can read and write vectors of 16 bytes: in all rows, and in the weight and the bias.
template <class In> __device__ bool is_aligned(const gr_normalize_params &p) {
    const uint64_t all = p.in | p.out | p.weight | p.bias | p.residual;
    const uint64_t elements = p.length | uint64_t(p.line_stride);
    return p.inner == 1 && p.along_stride == 1 && (all | elements * sizeof(In)) % 16 == 0;
}

// The elements of a thread: as numbers that it may replace, or as they were loaded, which takes half of the
// registers if they have 16 bits.
template <class In, unsigned VECTORS, bool AS_NUMBERS> struct Elements {
    using T = Tile<In, VECTORS>;
    using Acc = typename T::Acc;

    Acc x[T::COUNT];

    __device__ Acc at(unsigned i) const {
        return x[i];
    }
    __device__ void replace(unsigned i, Acc y) {
        x[i] = y;
    }
    __device__ void forget() {
    }
    // Vectors from number `first` on.
    template <unsigned N> __device__ void put(const Vec16<In> (&raw)[N], unsigned first) {
#pragma unroll
        for (unsigned i = 0; i < N * T::LENGTH; ++i)
            x[first * T::LENGTH + i] = T::element(raw, i);
    }
};
template <class In, unsigned VECTORS> struct Elements<In, VECTORS, false> {
    using T = Tile<In, VECTORS>;
    using Acc = typename T::Acc;

    Vec16<In> raw[VECTORS];

    __device__ Acc at(unsigned i) const {
        return T::element(raw, i);
    }
    // Hides the elements from the compilers, which would keep the numbers of a pass in local memory for the
    // next pass. threadIdx.z is 0, but no constant to them.
    __device__ void forget() {
        const unsigned zero = threadIdx.z;
#pragma unroll
        for (unsigned v = 0; v < VECTORS; ++v)
#pragma unroll
            for (unsigned i = 0; i < 4; ++i)
                raw[v].words[i] ^= zero;
    }
    template <unsigned N> __device__ void put(const Vec16<In> (&from)[N], unsigned first) {
#pragma unroll
        for (unsigned v = 0; v < N; ++v)
            raw[first + v] = from[v];
    }
};

// One tile of a row: loads it, adds the residual, reduces it, and writes its results. F: a functor of
// ops.cuh.
template <class F, class In, unsigned VECTORS> struct RowTile {
    using T = Tile<In, VECTORS>;
    using Acc = typename T::Acc;
    using State = typename F::State;

    const bool aligned; // is_aligned(p)
    Elements<In, VECTORS, F::as_numbers> x;

    explicit __device__ RowTile(bool aligned) : aligned(aligned) {
    }
    // `row` begins with the tile, of which `count` elements are in the row.
    __device__ void load(const Row<In> &row, unsigned count) {
        read(row.in, count);
        if constexpr (F::takes_residual) {
            if (row.residual.first != nullptr)
                add_residual(row.residual, count);
        }
    }
    // Brings a later tile into the L2 cache, if rows are aligned: `first` is the index of its first element.
    __device__ void prefetch_to_l2(const gr_normalize_params &p, uint64_t row, uint64_t first) const {
        const unsigned at = threadIdx.x * (128 / sizeof(In)); // one line of 128 bytes per thread
        if (aligned && row < p.rows && at < T::size() && first + at < p.length)
            ptx::prefetch_l2(reinterpret_cast<const In *>(p.in) + int64_t(row) * p.line_stride + first + at);
    }
    // Loads the elements again, with the residual that was added.
    __device__ void reload(const Row<In> &row, unsigned count) {
        read(F::takes_residual && row.residual.first != nullptr ? row.residual : row.in, count);
    }
    __device__ State reduce(unsigned count, RowReducer<Acc> &row) {
        const State state = F::template reduce<T::COUNT>(x, T::index, count, row);
        x.forget();
        return state;
    }
    // Takes the elements from shared memory.
    __device__ void take(const Vec16<In> *from, unsigned count) {
        Vec16<In> raw[VECTORS];
#pragma unroll
        for (unsigned v = 0; v < VECTORS; ++v) {
            raw[v] = broadcast_vec16(from_acc<In>(F::fill()));
            if (T::index(v * T::LENGTH) < count)
                raw[v] = from[v * blockDim.x + threadIdx.x];
        }
        x.put(raw, 0);
    }
    // Stores what has replaced the elements to shared memory.
    __device__ void put_back(Vec16<In> *to) const {
#pragma unroll
        for (unsigned v = 0; v < VECTORS; ++v) {
            Acc y[T::LENGTH];
#pragma unroll
            for (unsigned e = 0; e < T::LENGTH; ++e)
                y[e] = x.at(v * T::LENGTH + e);
            to[v * blockDim.x + threadIdx.x] = T::pack(y);
        }
    }
    // Replaces the elements as reduce() did, which returned `state`.
    __device__ void replace_again(const State &state) {
#pragma unroll
        for (unsigned i = 0; i < T::COUNT; ++i)
            x.replace(i, F::replacement(x.at(i), state));
    }
    // Writes the results; `first` is the index of the tile's first element in the row.
    __device__ void finish(const gr_normalize_params &p, const Row<In> &row, const F &f, uint64_t first,
                           unsigned count) {
        finish(p.weight, p.bias, row, f, first, count);
    }
    // The same, with the addresses of the weight and the bias, or 0.
    __device__ void finish(uint64_t weight, uint64_t bias, const Row<In> &row, const F &f, uint64_t first,
                           unsigned count) {
#pragma unroll
        for (unsigned g = 0; g < VECTORS; g += GROUP) {
            Acc y[GROUP * T::LENGTH];
#pragma unroll
            for (unsigned i = 0; i < GROUP * T::LENGTH; ++i)
                y[i] = f.result(x.at(g * T::LENGTH + i));
            if constexpr (F::takes_weight) {
                if (weight != 0)
                    combine(y, g, weight, first, count, [](Acc a, Acc b) { return a * b; });
            }
            if constexpr (F::takes_bias) {
                if (bias != 0)
                    combine(y, g, bias, first, count, [](Acc a, Acc b) { return a + b; });
            }
            Vec16<In> raw[GROUP];
#pragma unroll
            for (unsigned v = 0; v < GROUP; ++v)
                raw[v] = T::pack(y + v * T::LENGTH);
            T::store(raw, g, row.out, count, aligned);
        }
    }

  private:
    // Vectors of a second operand that are in flight at once: more would not fit into the registers.
    static constexpr unsigned GROUP = sizeof(In) == 2 ? 2 : 4;

    __device__ void read(const Line<In> &line, unsigned count) {
        Vec16<In> raw[VECTORS];
        T::load(raw, 0, line, count, aligned, from_acc<In>(F::fill()));
        x.put(raw, 0);
    }
    // The sum that is stored is the one that is normalized.
    __device__ void add_residual(const Line<In> &line, unsigned count) {
#pragma unroll
        for (unsigned g = 0; g < VECTORS; g += GROUP) {
            Vec16<In> raw[GROUP];
            T::load(raw, g, line, count, aligned, from_acc<In>(F::fill()));
#pragma unroll
            for (unsigned v = 0; v < GROUP; ++v) {
                Acc sum[T::LENGTH];
#pragma unroll
                for (unsigned e = 0; e < T::LENGTH; ++e)
                    sum[e] = x.at((g + v) * T::LENGTH + e) + to_acc(raw[v].at(e));
                raw[v] = T::pack(sum);
            }
            x.put(raw, g);
            T::store(raw, g, line, count, aligned);
        }
    }
    // Combines results, those of the vectors from number g on, with elements of a weight or a bias.
    template <class Combine>
    __device__ void combine(Acc (&y)[GROUP * T::LENGTH], unsigned g, uint64_t address, uint64_t first,
                            unsigned count, Combine with) {
        Vec16<In> raw[GROUP];
        T::load(raw, g, {reinterpret_cast<In *>(address) + first, 1}, count, aligned, from_acc<In>(Acc(0)));
#pragma unroll
        for (unsigned i = 0; i < GROUP * T::LENGTH; ++i)
            y[i] = with(y[i], T::element(raw, i));
    }
};

// Rows of one tile. Some lanes of a warp, a warp, or a block of more than 32 threads along x have a row. All
// lanes of a warp take part in shuffles, so those without a row have one of no elements.
template <template <class, bool> class Op, class In, unsigned VECTORS>
__device__ void rows(const gr_normalize_params &p) {
    using F = Op<In, true>;
    using Rows = RowTile<F, In, VECTORS>;
    using Acc = typename Rows::Acc;
    __shared__ typename RowReducer<Acc>::Shared shared;
    RowReducer<Acc> reducer(&shared);
    Rows tile(is_aligned<In>(p));
    const RowArguments<Acc> arguments = {Acc(1) / Acc(p.length), Acc(p.eps)};
    pdl_as_comments::pdl_launch_dependents();
    if (p.early)
        tile.prefetch_to_l2(p, uint64_t(blockIdx.x) * blockDim.y + threadIdx.y, 0);
    pdl_as_comments::pdl_wait();
    for (uint64_t first = uint64_t(blockIdx.x) * blockDim.y; first < p.rows;
         first += uint64_t(gridDim.x) * blockDim.y) {
        const uint64_t r = first + threadIdx.y;
        const unsigned count = r < p.rows ? unsigned(p.length) : 0;
        const Row<In> row = Row<In>::of(p, r < p.rows ? r : 0);
        tile.load(row, count);
        const auto state = tile.reduce(count, reducer);
        tile.finish(p, row, F(state, arguments), 0, count);
    }
}

// The States of eight neighbouring lanes of a warp as a tree, for all of them.
template <class F> __device__ typename F::State combine_eight(typename F::State x) {
    using State = typename F::State;
    using Acc = typename F::Acc;
    constexpr unsigned FIELDS = sizeof(State) / sizeof(Acc);
    union Fields {
        State state;
        Acc field[FIELDS];
        __device__ Fields() {
        }
    };
    const auto shuffled = [](State from, auto shuffle) {
        Fields fields;
        fields.state = from;
#pragma unroll
        for (unsigned i = 0; i < FIELDS; ++i)
            fields.field[i] = shuffle(fields.field[i]);
        return fields.state;
    };
#pragma unroll
    for (unsigned offset = 1; offset < GR_NORMALIZE_LANES; offset *= 2)
        x = F::combine(x, shuffled(x, [&](Acc y) { return __shfl_down_sync(0xffffffffu, y, offset, 8); }));
    return shuffled(x, [](Acc y) { return __shfl_sync(0xffffffffu, y, 0, 8); });
}

// Rows of several tiles. Tile t belongs to lane t % lanes. The States of the tiles of a lane are combined in
// their order, then those of the lanes as a tree, so that the number of blocks of a row changes no bits: the
// blocks of a cluster, which share the lanes, or one block.
template <template <class, bool> class Op, class In, unsigned VECTORS, bool CLUSTER>
__device__ void row_tiles(const gr_normalize_params &p) {
    using F = Op<In, (sizeof(In) > 2 || VECTORS == GR_NORMALIZE_VECTORS)>;
    using Rows = RowTile<F, In, VECTORS>;
    using Acc = typename Rows::Acc;
    using State = typename Rows::State;
    __shared__ typename RowReducer<Acc>::Shared shared;
    __shared__ State lanes[GR_NORMALIZE_LANES];
    RowReducer<Acc> reducer(&shared);
    const unsigned blocks = CLUSTER ? cluster_size() : 1, rank = CLUSTER ? blockIdx.x % blocks : 0;
    const unsigned size = Rows::T::size();
    const bool aligned = is_aligned<In>(p);
    const uint64_t stride = uint64_t(p.lanes) * size;
    const bool once = blocks == p.lanes && p.length <= stride;
    const auto count_from = [&](uint64_t first) { return unsigned(min(uint64_t(size), p.length - first)); };
    if (CLUSTER) {
        pdl_launch_dependents();
        if (p.early)
            Rows(aligned).prefetch_to_l2(p, blockIdx.x / blocks, uint64_t(rank) * size);
        pdl_wait();
    } else {
        pdl_as_comments::pdl_launch_dependents();
        pdl_as_comments::pdl_wait();
    }
    for (uint64_t r = blockIdx.x / blocks; r < p.rows; r += gridDim.x / blocks) {
        const Row<In> row = Row<In>::of(p, r);
        Rows tile(aligned);
        State last; // of the tile in the registers
        for (unsigned lane = rank; lane < p.lanes; lane += blocks) {
            uint64_t first = uint64_t(lane) * size;
            tile.load(row.from(first), count_from(first));
            tile.prefetch_to_l2(p, r + p.ahead, first);
            last = tile.reduce(count_from(first), reducer);
            State state = last;
            for (first += stride; first < p.length; first += stride) {
                tile.load(row.from(first), count_from(first));
                state = F::combine(state, tile.reduce(count_from(first), reducer));
            }
            if (threadIdx.x == 0)
                lanes[lane] = state;
        }
        if (CLUSTER)
            cluster_sync();
        else
            __syncthreads();
        // Lane number `part` of each eight of a warp gets the State of this lane of the row.
        const unsigned part = threadIdx.x % GR_NORMALIZE_LANES;
        State total = F::identity();
        if (part < p.lanes)
            total = *(CLUSTER ? in_block(&lanes[part], part % blocks) : &lanes[part]);
        total = combine_eight<F>(total);
        if (CLUSTER)
            cluster_arrive(); // the other blocks may write their States of the next row, or exit
        const F f(total, RowArguments<Acc>{Acc(1) / Acc(p.length), Acc(p.eps)});
        for (unsigned lane = rank; lane < p.lanes; lane += blocks)
            for (uint64_t first = uint64_t(lane) * size; first < p.length; first += stride) {
                if (!once)
                    tile.reload(row.from(first), count_from(first));
                if constexpr (F::replaces) {
                    if (!once)
                        last = tile.reduce(count_from(first), reducer);
                    tile.finish(p, row.from(first), f.of_tile(last), first, count_from(first));
                } else {
                    tile.finish(p, row.from(first), f, first, count_from(first));
                }
            }
        if (CLUSTER)
            cluster_wait();
        else
            __syncthreads();
    }
}

} // namespace gr::normalize
