// Extremes of groups: minima, maxima, their rows, any and all, by atomic maxima of keys; counts and bitwise
// operators by atomic additions and bitwise operations. In shared memory a block combines the keys of its
// rows, and then those of all blocks meet in device memory.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "common/shared_array.cuh"
#include "groups/block_rows.cuh"
#include "groups/keys.cuh"
#include "groups/rows.cuh"

using namespace gr::groups;

// Rows of any strides, and any number of groups.
template <class In, bool Positional> __device__ void add_elements(const gr_extremes_params &q) {
    using Maker = Keys<In, Positional>;
    using Key = typename Maker::Key;
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const Maker maker(q);
    const Combination<Positional> combination(q);
    const In *in = reinterpret_cast<const In *>(q.rows.in);
    Key *const keys = keys_of<Key>(q);
    each_element(
        q.rows, [&](int64_t index) { return in[index]; },
        [&](In x, uint64_t result, uint64_t, bool, uint64_t row) {
            const Key key = maker.of(x, row);
            if (combination.may_change(keys + result, key))
                combination.add(keys + result, key);
        });
}

// Contiguous rows of one column, and groups whose keys fit in shared memory.
template <class In, class Label, bool Positional> struct SharedKeys : BlockRows<In, Label> {
    using Base = BlockRows<In, Label>;
    using Base::each, Base::group_of, Base::load, Base::p, Base::step, Base::threads;
    using typename Base::Batch;
    using typename Base::Share;
    using Maker = Keys<In, Positional>;
    using Key = typename Maker::Key;
    const gr_extremes_params &q;
    const Maker maker;
    const Combination<Positional> combination;
    Key *const table; // [group]

    __device__ SharedKeys(const gr_extremes_params &q)
        : Base(q.rows, false), q(q), maker(q), combination(q), table(gr::common::shared_array<Key>()) {
    }
    __device__ void clear() const {
        for (unsigned group = threadIdx.x; group < p.groups; group += threads)
            table[group] = 0;
    }
    // Of neighbouring rows of one group, the last one gets the key of all.
    __device__ void add_batch(const Batch &batch, uint64_t first) const {
        unsigned group[each];
        Key key[each];
        bool valid[each];
#pragma unroll
        for (unsigned i = 0; i < each; ++i) {
            const uint64_t label = group_of(batch.label.at(i));
            group[i] = unsigned(label);
            valid[i] = i < batch.count && label < p.groups;
            key[i] = maker.of(batch.x.at(i), first + i);
        }
#pragma unroll
        for (unsigned i = 1; i < each; ++i)
            if (valid[i] && valid[i - 1] && group[i] == group[i - 1]) {
                key[i] = combination.of(key[i], key[i - 1]);
                valid[i - 1] = false;
            }
#pragma unroll
        for (unsigned i = 0; i < each; ++i)
            if (valid[i])
                combination.add(table + group[i], key[i]);
    }
    // Adds the rows of the block: first those after the last whole batch.
    __device__ void add(const Share &share, Batch batch) const {
        const uint64_t mine = share.first + threadIdx.x * each;
        uint64_t first = mine + share.batches * step;
        for (uint64_t i = 0; i < share.batches; ++i) {
            const Batch now = batch;
            load(share, i, batch); // in flight while the others are added
            add_batch(now, first);
            first = mine + i * step;
        }
        add_batch(batch, first);
    }
    // Adds the keys of the block to those of all. Blocks begin at different groups: additions to one address
    // wait for each other.
    __device__ void publish() const {
        const unsigned groups = unsigned(p.groups);
        const unsigned begin = unsigned(uint64_t(blockIdx.x) * groups / gridDim.x) / 32 * 32;
        for (unsigned i = threadIdx.x; i < groups; i += threads) {
            const unsigned group = i + begin < groups ? i + begin : i + begin - groups;
            if (const Key key = table[group]; key != 0)
                combination.add(keys_of<Key>(q) + group, key);
        }
    }
};

template <class In, class Label, bool Positional> __device__ void add_in_shared(const gr_extremes_params &q) {
    const SharedKeys<In, Label, Positional> keys(q);
    pdl_as_comments::pdl_launch_dependents();
    const auto share = keys.share();
    keys.prefetch(share);
    keys.clear();
    pdl_as_comments::pdl_wait();
    const auto rest = keys.load_rest(share);
    __syncthreads();
    keys.add(share, rest);
    __syncthreads();
    keys.publish();
}

// Turns keys into results, a thread each.
template <class Key> __device__ void finish(const gr_extremes_params &q) {
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const uint64_t result = blockIdx.x * uint64_t(GR_GROUP_THREADS) + threadIdx.x;
    if (result < q.rows.results)
        put_result(q, result, take_key<Key>(q, result));
}

#define GR_GROUP_EXTREMES(name, In, positional)                                                              \
    GR_ENTRY((GR_GROUP_THREADS), group_extremes_##name, __grid_constant__ gr_extremes_params,                \
             add_elements<In, positional>)                                                                   \
    GR_ENTRY((GR_GROUP_WINDOW_THREADS), group_extremes_shared_##name##_i32,                                  \
             __grid_constant__ gr_extremes_params, add_in_shared<In, int32_t, positional>)                   \
    GR_ENTRY((GR_GROUP_WINDOW_THREADS), group_extremes_shared_##name##_i64,                                  \
             __grid_constant__ gr_extremes_params, add_in_shared<In, int64_t, positional>)

GR_GROUP_EXTREMES(1, uint8_t, false)
GR_GROUP_EXTREMES(2, uint16_t, false)
GR_GROUP_EXTREMES(4, uint32_t, false)
GR_GROUP_EXTREMES(8, uint64_t, false)
GR_GROUP_EXTREMES(1_positions, uint8_t, true)
GR_GROUP_EXTREMES(2_positions, uint16_t, true)
GR_GROUP_EXTREMES(4_positions, uint32_t, true)
GR_ENTRY((GR_GROUP_THREADS), group_extremes_finish_4, __grid_constant__ gr_extremes_params, finish<unsigned>)
GR_ENTRY((GR_GROUP_THREADS), group_extremes_finish_8, __grid_constant__ gr_extremes_params,
         finish<unsigned long long>)
