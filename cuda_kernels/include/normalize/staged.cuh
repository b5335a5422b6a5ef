// Rows whose elements bulk copies (TMA) bring to shared memory. Threads have the elements that rows() and
// row_tiles() give them, and combine them in the same order. Rows, weights and biases are aligned to 16
// bytes, and there is no residual. Compute capability 9.0.
#pragma once

#include "normalize/rows.cuh"

namespace gr::normalize {

// Lets the copy engine bring 16-byte vectors, of which the first ones hold `count` elements, and signal a
// barrier.
template <class In>
__device__ void start_copy(Vec16<In> *to, const In *from, unsigned count, uint64_t *full) {
    const uint32_t barrier = shared_address(full);
    ptx::mbarrier_arrive_expect_tx(barrier, count * unsigned(sizeof(In)));
    ptx::cp_async_bulk(shared_address(to), from, count * unsigned(sizeof(In)), barrier);
}

// Rows of one tile, of which a persistent block has every gridDim-th. A ring of `stages` rows in shared
// memory is filled ahead, while a row is reduced and written. The weight and the bias follow it.
template <template <class, bool> class Op, class In, unsigned VECTORS>
__device__ void pipelined_rows(const gr_normalize_params &p) {
    using F = Op<In, true>;
    using Rows = RowTile<F, In, VECTORS>;
    using Acc = typename Rows::Acc;
    extern __shared__ __align__(128) unsigned char bytes[];
    __shared__ uint64_t full[GR_NORMALIZE_MAX_STAGES], parameters_full;
    __shared__ typename RowReducer<Acc>::Shared shared;
    RowReducer<Acc> reducer(&shared);
    Rows tile(true);
    const unsigned count = unsigned(p.length), vectors = VECTORS * blockDim.x;
    const RowArguments<Acc> arguments = {Acc(1) / Acc(p.length), Acc(p.eps)};
    Vec16<In> *const ring = reinterpret_cast<Vec16<In> *>(bytes);

    const auto fetch = [&](uint64_t r, unsigned stage) {
        if (threadIdx.x == 0 && r < p.rows)
            start_copy(ring + stage * vectors, Row<In>::of(p, r).in.first, count, &full[stage]);
    };
    pdl_launch_dependents();
    tile.prefetch_to_l2(p, blockIdx.x, 0); // while the kernel before this one ends
    if (threadIdx.x == 0) {
        for (unsigned stage = 0; stage < p.stages; ++stage)
            ptx::mbarrier_init<1>(shared_address(&full[stage]));
        ptx::mbarrier_init<2>(shared_address(&parameters_full));
        ptx::fence_mbarrier_init(); // so that the copy engine sees them
    }
    pdl_wait();
    for (unsigned stage = 0; stage < p.stages; ++stage)
        fetch(blockIdx.x + uint64_t(stage) * gridDim.x, stage);
    uint64_t weight = p.weight, bias = p.bias;
    if (p.staged_parameters) {
        const auto stage_parameter = [&](uint64_t &address, Vec16<In> *to) {
            if (address == 0) {
                if (threadIdx.x == 0)
                    ptx::mbarrier_arrive(shared_address(&parameters_full));
                return;
            }
            if (threadIdx.x == 0)
                start_copy(to, reinterpret_cast<const In *>(address), count, &parameters_full);
            address = reinterpret_cast<uint64_t>(to);
        };
        stage_parameter(weight, ring + p.stages * vectors);
        stage_parameter(bias, ring + (p.stages + (p.weight != 0)) * vectors);
    }
    __syncthreads(); // no thread waits at a barrier that is not initialized
    unsigned stage = 0, parity = 0;
    for (uint64_t r = blockIdx.x; r < p.rows; r += gridDim.x) {
        const Row<In> row = Row<In>::of(p, r);
        ptx::mbarrier_wait_parity(shared_address(&full[stage]), parity);
        tile.take(ring + stage * vectors, count);
        const auto state = tile.reduce(count, reducer); // waits for all threads, so the stage is free
        fetch(r + uint64_t(p.stages) * gridDim.x, stage);
        if (++stage == p.stages) {
            stage = 0;
            parity ^= 1;
        }
        if (p.staged_parameters)
            ptx::mbarrier_wait_parity(shared_address(&parameters_full), 0);
        tile.finish(weight, bias, row, F(state, arguments), 0, count);
    }
}

// Rows of several tiles, each in a lane of its own. A block has the lanes rank, rank + blocks, ...: the last
// of these tiles is in registers, the others are in shared memory.
template <template <class, bool> class Op, class In, unsigned VECTORS>
__device__ void resident_rows(const gr_normalize_params &p) {
    using F = Op<In, true>;
    using Rows = RowTile<F, In, VECTORS>;
    using Acc = typename Rows::Acc;
    using State = typename Rows::State;
    constexpr bool PUTS_BACK = F::replaces && sizeof(In) > 2; // others are replaced again
    extern __shared__ __align__(128) unsigned char bytes[];
    __shared__ uint64_t full[GR_NORMALIZE_MAX_STAGES];
    __shared__ typename RowReducer<Acc>::Shared shared;
    __shared__ State lanes[GR_NORMALIZE_LANES];
    RowReducer<Acc> reducer(&shared);
    Rows tile(true);
    const unsigned blocks = cluster_size(), rank = blockIdx.x % blocks, size = Rows::T::size();
    const unsigned last = (p.lanes - rank - 1) / blocks; // of the tiles of this block
    const auto lane_of = [&](unsigned i) { return rank + i * blocks; };
    const auto first_of = [&](unsigned i) { return uint64_t(lane_of(i)) * size; };
    const auto count_of = [&](unsigned i) { return unsigned(min(uint64_t(size), p.length - first_of(i))); };
    const auto kept = [&](unsigned i) {
        return reinterpret_cast<Vec16<In> *>(bytes) + i * VECTORS * blockDim.x;
    };

    pdl_launch_dependents();
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < last; ++i)
            ptx::mbarrier_init<1>(shared_address(&full[i]));
        ptx::fence_mbarrier_init(); // so that the copy engine sees them
    }
    pdl_wait();
    __syncthreads(); // no thread waits at a barrier that is not initialized
    unsigned parity = 0;
    for (uint64_t r = blockIdx.x / blocks; r < p.rows; r += gridDim.x / blocks) {
        const Row<In> row = Row<In>::of(p, r);
        if (threadIdx.x == 0)
            for (unsigned i = 0; i < last; ++i)
                start_copy(kept(i), row.in.first + first_of(i), count_of(i), &full[i]);
        tile.prefetch_to_l2(p, r, first_of(last));
        for (unsigned i = 0; i < last; ++i) {
            ptx::mbarrier_wait_parity(shared_address(&full[i]), parity);
            tile.take(kept(i), count_of(i));
            const State state = tile.reduce(count_of(i), reducer);
            if constexpr (PUTS_BACK)
                tile.put_back(kept(i));
            if (threadIdx.x == 0)
                lanes[lane_of(i)] = state;
        }
        parity ^= 1;
        tile.load(row.from(first_of(last)), count_of(last));
        const State state = tile.reduce(count_of(last), reducer);
        if (threadIdx.x == 0)
            lanes[lane_of(last)] = state;
        cluster_sync();
        // Lane number `part` of each eight of a warp gets the State of this lane of the row.
        const unsigned part = threadIdx.x % GR_NORMALIZE_LANES;
        State total = F::identity();
        if (part < p.lanes)
            total = *in_block(&lanes[part], part % blocks);
        total = combine_eight<F>(total);
        cluster_arrive(); // the other blocks may write their States of the next row, or exit
        const F f(total, RowArguments<Acc>{Acc(1) / Acc(p.length), Acc(p.eps)});
        const auto finish = [&](unsigned i) {
            if constexpr (F::replaces)
                tile.finish(p, row.from(first_of(i)), f.of_tile(lanes[lane_of(i)]), first_of(i), count_of(i));
            else
                tile.finish(p, row.from(first_of(i)), f, first_of(i), count_of(i));
        };
        finish(last);
        for (unsigned i = 0; i < last; ++i) {
            tile.take(kept(i), count_of(i));
            if constexpr (F::replaces && !PUTS_BACK)
                tile.replace_again(lanes[lane_of(i)]);
            finish(i);
        }
        cluster_wait();
        if constexpr (PUTS_BACK)
            ptx::fence_proxy_async_shared(); // bulk copies overwrite what threads have put back
        __syncthreads();                     // all have read their elements
    }
}

} // namespace gr::normalize
