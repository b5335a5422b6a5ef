// The second step of extremes, counts and bitwise operators of many groups: a block combines the keys of a
// partition in shared memory, and writes the results. Several blocks share a partition of many rows: their
// keys meet in device memory, and the last one writes the results.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "common/shared_array.cuh"
#include "groups/keys.cuh"
#include "groups/segments.cuh"

using namespace gr::groups;

template <class In> struct PartitionKeys {
    static constexpr unsigned threads = GR_GROUP_WINDOW_THREADS;
    using Maker = Keys<In, false>;
    using Key = typename Maker::Key;
    const gr_partition_params &q;
    const gr_extremes_params &p;
    const uint64_t first_group;
    const unsigned groups;
    Key *const table; // [group]

    __device__ PartitionKeys(const gr_extremes_partition_params &params, const PartitionShare &share)
        : q(params.partition), p(params.extremes), first_group(uint64_t(share.partition) << q.shift),
          groups(unsigned(min(p.rows.groups - first_group, uint64_t(1) << q.shift))),
          table(gr::common::shared_array<Key>()) {
    }
    __device__ void add(const PartitionShare &share, Segments &segments) const {
        const Maker maker(p);
        const Combination<false> combination(p);
        each_batch<In>(q, share, segments, [&](const SegmentBatch<In> &batch) {
#pragma unroll
            for (unsigned i = 0; i < SegmentBatch<In>::each; ++i)
                if (batch.valid >> i & 1)
                    combination.add(table + batch.group[i], maker.of(batch.x[i], 0));
        });
    }
    // Adds the block's keys to those of the blocks that share the partition.
    __device__ void publish() const {
        const Combination<false> combination(p);
        for (unsigned group = threadIdx.x; group < groups; group += threads)
            if (const Key key = table[group]; key != 0)
                combination.add(keys_of<Key>(p) + first_group + group, key);
    }
    __device__ void finish(bool shared) const {
        for (unsigned group = threadIdx.x; group < groups; group += threads) {
            const uint64_t result = first_group + group;
            put_result(p, result, shared ? take_key<Key>(p, result) : table[group]);
        }
    }
};

template <class In> __device__ void combine_partition(const gr_extremes_partition_params &params) {
    __shared__ Segments segments;
    __shared__ PartitionShare share;
    const gr_partition_params &q = params.partition;
    auto *const table = gr::common::shared_array<typename PartitionKeys<In>::Key>();
    for (unsigned group = threadIdx.x; group >> q.shift == 0; group += GR_GROUP_WINDOW_THREADS)
        table[group] = 0;
    pdl_as_comments::pdl_wait();
    pdl_as_comments::pdl_launch_dependents();
    if (threadIdx.x < 32)
        if (const PartitionShare found = find_share(q); threadIdx.x == 0)
            share = found;
    __syncthreads();
    if (share.blocks > 0) {
        const PartitionKeys<In> keys(params, share);
        keys.add(share, segments);
        if (share.blocks == 1) {
            keys.finish(false);
        } else {
            keys.publish();
            if (is_last_of_partition(q, share))
                keys.finish(true);
        }
    }
    clear_rows(q);
}

#define GR_GROUP_EXTREMES_PARTITION(bytes, In)                                                               \
    GR_ENTRY((GR_GROUP_WINDOW_THREADS), group_extremes_partition_##bytes,                                    \
             __grid_constant__ gr_extremes_partition_params, combine_partition<In>)

GR_GROUP_EXTREMES_PARTITION(2, uint16_t)
GR_GROUP_EXTREMES_PARTITION(4, uint32_t)
GR_GROUP_EXTREMES_PARTITION(8, uint64_t)
