// g4: partitioned by ranges of labels.
//
// What g3 still cost: all groups had to fit the shared memory of one block.
// The change: groups are cut into parts, ranges of labels that fit. Elements are put in order of their
// parts first: blocks count theirs, prefix sums say where each part starts, and each block reserves space
// in every part by one atomic addition. It may come before or after other blocks: integers commute, so the
// order of elements within a part is free, and this is no sort; g1 had to keep it, and took a pass per 8
// bits. Then g3's kernel sums each part.
// What limits it now: elements are read three times, labels four times, and both are written once. And
// skew: a part with most of the elements has no more blocks than the others.
// Where it shows: three times the sectors of g3, for any number of groups; atomics in memory only where
// blocks reserve space and publish sums.
#include "groups/fixed_point.cuh"

using namespace gr::groups;

extern "C" __global__ void __launch_bounds__(GR_GROUP_RUNG_THREADS) g4_top(const gr_group_rung_params p) {
    find_top(p);
}

// Counts the elements of a block by part, in shared memory.
inline __device__ uint32_t *count_parts(const gr_group_rung_params &p) {
    uint32_t *counts = shared_array<uint32_t>();
    for (unsigned part = threadIdx.x; part < p.parts; part += blockDim.x)
        counts[part] = 0;
    __syncthreads();
    for (uint64_t i = first_of_thread(); i < p.count; i += threads_of_grid())
        if (const int32_t label = Rung(p).labels[i]; is_group(label, p))
            atomicAdd(&counts[label >> p.shift], 1);
    __syncthreads();
    return counts;
}

extern "C" __global__ void __launch_bounds__(GR_GROUP_RUNG_THREADS) g4_count(const gr_group_rung_params p) {
    const uint32_t *counts = count_parts(p);
    for (unsigned part = threadIdx.x; part < p.parts; part += blockDim.x)
        if (counts[part] > 0)
            atomicAdd(reinterpret_cast<uint32_t *>(p.numbers) + part, counts[part]);
}

// One block. Replaces the counts by where the parts start, twice: once for the blocks to reserve from.
extern "C" __global__ void __launch_bounds__(GR_GROUP_RUNG_THREADS) g4_starts(const gr_group_rung_params p) {
    uint32_t *starts = reinterpret_cast<uint32_t *>(p.numbers), *next = starts + p.parts, count = 0;
    const unsigned each = (p.parts + blockDim.x - 1) / blockDim.x, begin = threadIdx.x * each,
                   end = min(begin + each, p.parts);
    for (unsigned part = begin; part < end; ++part)
        count += starts[part];
    uint32_t start = sum_before_thread<GR_GROUP_RUNG_THREADS>(count);
    for (unsigned part = begin; part < end; ++part) {
        const uint32_t after = start + starts[part];
        starts[part] = next[part] = start;
        start = after;
    }
}

extern "C" __global__ void __launch_bounds__(GR_GROUP_RUNG_THREADS) g4_place(const gr_group_rung_params p) {
    const Rung rung(p);
    uint32_t *next = count_parts(p), *next_of_grid = reinterpret_cast<uint32_t *>(p.numbers) + p.parts;
    for (unsigned part = threadIdx.x; part < p.parts; part += blockDim.x)
        if (next[part] > 0)
            next[part] = atomicAdd(&next_of_grid[part], next[part]);
    __syncthreads();
    for (uint64_t i = first_of_thread(); i < p.count; i += threads_of_grid()) {
        const int32_t label = rung.labels[i];
        if (is_group(label, p)) {
            const uint32_t to = atomicAdd(&next[label >> p.shift], 1);
            reinterpret_cast<int32_t *>(p.to_labels)[to] = label;
            reinterpret_cast<float *>(p.to_values)[to] = rung.values[i];
        }
    }
}

// Some blocks share each part. Where the next elements of a part would go is where it ends.
extern "C" __global__ void __launch_bounds__(GR_GROUP_RUNG_THREADS) g4_sum_f32(const gr_group_rung_params p) {
    const Rung rung(p);
    const unsigned part = blockIdx.x / p.blocks_per_part, number = blockIdx.x % p.blocks_per_part;
    const uint32_t *starts = reinterpret_cast<const uint32_t *>(p.numbers), *ends = starts + p.parts;
    const uint64_t first = uint64_t(part) << p.shift, most = uint64_t(1) << p.shift;
    Windows windows(p, unsigned(min(p.groups - first, most)));
    const uint64_t first_here = uint64_t(number) * blockDim.x + threadIdx.x;
    for (uint64_t i = starts[part] + first_here; i < ends[part]; i += p.blocks_per_part * blockDim.x) {
        const int32_t label = rung.labels[i];
        add_element(p, windows, label, unsigned(label - first), rung.values[i]);
    }
    windows.publish(p, first);
}

extern "C" __global__ void __launch_bounds__(GR_GROUP_RUNG_THREADS) g4_round(const gr_group_rung_params p) {
    round_sums(p);
}
