// Kernels of the functions in ops.def: a row in the registers of a warp or a block, and rows of several
// tiles. Each element is read once, except of rows that have more tiles than blocks.
#pragma once

#include "common/cluster.cuh"
#include "common/entry.cuh"
#include "common/pdl.cuh"
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

// One tile of a row: loads it, adds the residual, reduces it, and writes its results.
template <template <class> class Op, class In, unsigned VECTORS> struct RowTile {
    using T = Tile<In, VECTORS>;
    using Acc = typename T::Acc;
    using F = Op<Acc>;
    using State = typename F::State;

    Acc x[T::COUNT];

    // `row` begins with the tile, of which `count` elements are in the row.
    __device__ void load(const Row<In> &row, unsigned count) {
        read(row.in, count);
        if constexpr (F::takes_residual) {
            if (row.residual.first != nullptr)
                add_residual(row.residual, count);
        }
    }
    // Loads the elements again, with the residual that was added.
    __device__ void reload(const Row<In> &row, unsigned count) {
        read(F::takes_residual && row.residual.first != nullptr ? row.residual : row.in, count);
    }
    template <bool KEEP> __device__ State reduce(unsigned count, RowReducer<Acc> &row) {
        return F::template reduce<KEEP>(x, T::index, count, row);
    }
    // Writes the results; `first` is the index of the tile's first element in the row.
    template <bool KEPT>
    __device__ void finish(const gr_normalize_params &p, const Row<In> &row, const F &f, uint64_t first,
                           unsigned count) {
#pragma unroll
        for (unsigned i = 0; i < T::COUNT; ++i)
            x[i] = f.template result<KEPT>(x[i]);
        if constexpr (F::takes_weight) {
            if (p.weight != 0)
                combine(p.weight, first, count, [](Acc a, Acc b) { return a * b; });
        }
        if constexpr (F::takes_bias) {
            if (p.bias != 0)
                combine(p.bias, first, count, [](Acc a, Acc b) { return a + b; });
        }
        const bool aligned = is_aligned(row.out, count);
        Vec16<In> raw[VECTORS];
#pragma unroll
        for (unsigned v = 0; v < VECTORS; ++v)
            raw[v] = T::pack(x + v * T::LENGTH);
        T::store(raw, 0, row.out, count, aligned);
    }

  private:
    // Vectors of a second operand that are in flight at once: more would not fit into the registers.
    static constexpr unsigned GROUP = VECTORS < 2 ? 1 : VECTORS < 4 || sizeof(In) == 2 ? 2 : 4;

    static __device__ bool is_aligned(const Line<In> &line, unsigned count) {
        return count % T::LENGTH == 0 && line.is_aligned();
    }
    __device__ void read(const Line<In> &line, unsigned count) {
        Vec16<In> raw[VECTORS];
        T::load(raw, 0, line, count, is_aligned(line, count), from_acc<In>(F::fill()));
#pragma unroll
        for (unsigned i = 0; i < T::COUNT; ++i)
            x[i] = T::element(raw, i);
    }
    // The sum that is stored is the one that is normalized.
    __device__ void add_residual(const Line<In> &line, unsigned count) {
        const bool aligned = is_aligned(line, count);
#pragma unroll
        for (unsigned g = 0; g < VECTORS; g += GROUP) {
            Vec16<In> raw[GROUP];
            Acc *const to = x + g * T::LENGTH;
            T::load(raw, g, line, count, aligned, from_acc<In>(F::fill()));
#pragma unroll
            for (unsigned v = 0; v < GROUP; ++v) {
#pragma unroll
                for (unsigned e = 0; e < T::LENGTH; ++e)
                    to[v * T::LENGTH + e] += to_acc(raw[v].at(e));
                raw[v] = T::pack(to + v * T::LENGTH);
            }
#pragma unroll
            for (unsigned i = 0; i < GROUP * T::LENGTH; ++i)
                to[i] = T::element(raw, i);
            T::store(raw, g, line, count, aligned);
        }
    }
    template <class Combine>
    __device__ void combine(uint64_t address, uint64_t first, unsigned count, Combine with) {
        const Line<In> line = {reinterpret_cast<In *>(address) + first, 1};
        const bool aligned = is_aligned(line, count);
#pragma unroll
        for (unsigned g = 0; g < VECTORS; g += GROUP) {
            Vec16<In> raw[GROUP];
            T::load(raw, g, line, count, aligned, from_acc<In>(Acc(0)));
#pragma unroll
            for (unsigned i = 0; i < GROUP * T::LENGTH; ++i)
                x[g * T::LENGTH + i] = with(x[g * T::LENGTH + i], T::element(raw, i));
        }
    }
};

// Rows of one tile. Some lanes of a warp, a warp, or a block of more than 32 threads along x have a row. All
// lanes of a warp take part in shuffles, so those without a row have one of no elements.
template <template <class> class Op, class In, unsigned VECTORS>
__device__ void rows(const gr_normalize_params &p) {
    using Rows = RowTile<Op, In, VECTORS>;
    using Acc = typename Rows::Acc;
    __shared__ typename RowReducer<Acc>::Shared shared;
    RowReducer<Acc> reducer(&shared);
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    for (uint64_t first = uint64_t(blockIdx.x) * blockDim.y; first < p.rows;
         first += uint64_t(gridDim.x) * blockDim.y) {
        const uint64_t r = first + threadIdx.y;
        const unsigned count = r < p.rows ? unsigned(p.length) : 0;
        const Row<In> row = Row<In>::of(p, r < p.rows ? r : 0);
        Rows tile;
        tile.load(row, count);
        const auto state = tile.template reduce<Op<Acc>::keeps>(count, reducer);
        const Op<Acc> f(state, RowArguments<Acc>{Acc(p.length), Acc(p.eps)});
        tile.template finish<Op<Acc>::keeps>(p, row, f, 0, count);
    }
}

// Rows of several tiles. Tile t belongs to lane t % lanes. The States of the tiles of a lane are combined in
// their order, then those of the lanes, so that the number of blocks of a row changes no bits: the blocks of
// a cluster, which share the lanes, or one block.
template <template <class> class Op, class In, unsigned VECTORS, bool CLUSTER>
__device__ void row_tiles(const gr_normalize_params &p) {
    using Rows = RowTile<Op, In, VECTORS>;
    using Acc = typename Rows::Acc;
    using State = typename Rows::State;
    __shared__ typename RowReducer<Acc>::Shared shared;
    __shared__ State lanes[GR_NORMALIZE_LANES];
    RowReducer<Acc> reducer(&shared);
    const unsigned blocks = CLUSTER ? cluster_size() : 1, rank = CLUSTER ? blockIdx.x % blocks : 0;
    const unsigned size = Rows::T::size();
    const uint64_t stride = uint64_t(p.lanes) * size;
    const bool once = blocks == p.lanes && p.length <= stride;
    const auto count_from = [&](uint64_t first) { return unsigned(min(uint64_t(size), p.length - first)); };
    if (CLUSTER) {
        pdl_launch_dependents();
        pdl_wait();
    } else {
        pdl_as_comments::pdl_launch_dependents();
        pdl_as_comments::pdl_wait();
    }
    for (uint64_t r = blockIdx.x / blocks; r < p.rows; r += gridDim.x / blocks) {
        const Row<In> row = Row<In>::of(p, r);
        Rows tile;
        for (unsigned lane = rank; lane < p.lanes; lane += blocks) {
            uint64_t first = uint64_t(lane) * size;
            tile.load(row.from(first), count_from(first));
            State state = tile.template reduce<false>(count_from(first), reducer);
            for (first += stride; first < p.length; first += stride) {
                tile.load(row.from(first), count_from(first));
                state = Op<Acc>::combine(state, tile.template reduce<false>(count_from(first), reducer));
            }
            if (threadIdx.x == 0)
                lanes[lane] = state;
        }
        if (CLUSTER)
            cluster_sync();
        else
            __syncthreads();
        State total = *(CLUSTER ? in_block(&lanes[0], 0) : &lanes[0]);
        for (unsigned lane = 1; lane < p.lanes; ++lane)
            total =
                Op<Acc>::combine(total, *(CLUSTER ? in_block(&lanes[lane], lane % blocks) : &lanes[lane]));
        if (CLUSTER)
            cluster_arrive(); // the other blocks may write their States of the next row, or exit
        const Op<Acc> f(total, RowArguments<Acc>{Acc(p.length), Acc(p.eps)});
        for (unsigned lane = rank; lane < p.lanes; lane += blocks)
            for (uint64_t first = uint64_t(lane) * size; first < p.length; first += stride) {
                if (!once)
                    tile.reload(row.from(first), count_from(first));
                tile.template finish<false>(p, row.from(first), f, first, count_from(first));
            }
        if (CLUSTER)
            cluster_wait();
        else
            __syncthreads();
    }
}

} // namespace gr::normalize
