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
struct Row {
    Line in, out, residual;

    template <class In> static __device__ Row of(const gr_normalize_params &p, uint64_t row) {
        const uint64_t line = row / p.inner, column = row % p.inner;
        const int64_t in = int64_t(line) * p.line_stride + int64_t(column) * p.inner_stride;
        const int64_t out = int64_t((line * p.length) * p.inner + column), inner = int64_t(p.inner);
        return {{p.in + in * int64_t(sizeof(In)), p.along_stride},
                {p.out + out * int64_t(sizeof(In)), inner},
                {p.residual == 0 ? 0 : p.residual + out * int64_t(sizeof(In)), inner}};
    }
};

// One tile of a row: loads it, adds the residual, reduces it, and writes its results.
template <template <class> class Op, class In, unsigned VECTORS> struct RowTile {
    using T = Tile<In, VECTORS>;
    using Acc = typename T::Acc;
    using F = Op<Acc>;
    using State = typename F::State;

    Acc x[T::COUNT];

    __device__ void load(const Row &row, uint64_t first, unsigned count) {
        T::load(x, row.in, first, count, F::fill());
        if (row.residual.address == 0)
            return;
        Acc more[T::COUNT];
        T::load(more, row.residual, first, count, F::fill());
#pragma unroll
        for (unsigned i = 0; i < T::COUNT; ++i)
            x[i] =
                to_acc(from_acc<In>(x[i] + more[i])); // the sum that is stored is the one that is normalized
        T::store(x, row.residual, first, count);
    }
    // Loads the elements again, with the residual that was added.
    __device__ void reload(const Row &row, uint64_t first, unsigned count) {
        T::load(x, row.residual.address == 0 ? row.in : row.residual, first, count, F::fill());
    }
    template <bool KEEP> __device__ State reduce(unsigned count, RowReducer<Acc> &row) {
        return F::template reduce<KEEP>(x, T::index, count, row);
    }
    template <bool KEPT>
    __device__ void finish(const gr_normalize_params &p, const Row &row, const F &f, uint64_t first,
                           unsigned count) {
        Acc weight[T::COUNT], bias[T::COUNT];
        load_or_fill(weight, p.weight, first, count, Acc(1));
        load_or_fill(bias, p.bias, first, count, Acc(0));
#pragma unroll
        for (unsigned i = 0; i < T::COUNT; ++i)
            x[i] = f.template result<KEPT>(x[i], weight[i], bias[i]);
        T::store(x, row.out, first, count);
    }

  private:
    static __device__ void load_or_fill(Acc (&to)[T::COUNT], uint64_t address, uint64_t first, unsigned count,
                                        Acc fill) {
        if (address != 0) {
            T::load(to, {address, 1}, first, count, fill);
            return;
        }
#pragma unroll
        for (unsigned i = 0; i < T::COUNT; ++i)
            to[i] = fill;
    }
};

// Rows of one tile. A warp, or a block of more than 32 threads along x, has a row.
template <template <class> class Op, class In, unsigned VECTORS>
__device__ void rows(const gr_normalize_params &p) {
    using Rows = RowTile<Op, In, VECTORS>;
    using Acc = typename Rows::Acc;
    __shared__ typename RowReducer<Acc>::Shared shared;
    RowReducer<Acc> reducer(&shared);
    const unsigned count = unsigned(p.length);
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    for (uint64_t r = uint64_t(blockIdx.x) * blockDim.y + threadIdx.y; r < p.rows;
         r += uint64_t(gridDim.x) * blockDim.y) {
        const Row row = Row::of<In>(p, r);
        Rows tile;
        tile.load(row, 0, count);
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
        const Row row = Row::of<In>(p, r);
        Rows tile;
        for (unsigned lane = rank; lane < p.lanes; lane += blocks) {
            uint64_t first = uint64_t(lane) * size;
            tile.load(row, first, count_from(first));
            State state = tile.template reduce<false>(count_from(first), reducer);
            for (first += stride; first < p.length; first += stride) {
                tile.load(row, first, count_from(first));
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
                    tile.reload(row, first, count_from(first));
                tile.template finish<false>(p, row, f, first, count_from(first));
            }
        if (CLUSTER)
            cluster_wait();
        else
            __syncthreads();
    }
}

} // namespace gr::normalize
