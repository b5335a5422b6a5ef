// Elements and labels in memory, for the kernels that read rows of any strides.
#pragma once

#include "groups/accumulators.cuh"

namespace gr::groups {

template <class Label, unsigned Count>
__device__ void load_labels_as(const gr_group_params &p, uint64_t row, unsigned step,
                               uint64_t (&group)[Count]) {
    const unsigned char *at = reinterpret_cast<const unsigned char *>(p.labels);
#pragma unroll
    for (unsigned i = 0; i < Count; ++i) {
        const uint64_t last = p.length - 1, wanted = row + i * step;
        group[i] =
            *reinterpret_cast<const Label *>(at + int64_t(wanted < last ? wanted : last) * p.label_stride);
    }
}

// The groups of rows `step` apart, or no group: a number that is not below p.groups. All loads are in flight
// at once.
template <unsigned Count>
__device__ void load_labels(const gr_group_params &p, uint64_t row, unsigned step, uint64_t (&group)[Count]) {
    switch (p.label_bytes) {
    case 1:
        load_labels_as<uint8_t>(p, row, step, group);
        break;
    case 2:
        load_labels_as<uint16_t>(p, row, step, group);
        break;
    case 4:
        load_labels_as<uint32_t>(p, row, step, group);
        break;
    default:
        load_labels_as<uint64_t>(p, row, step, group);
    }
#pragma unroll
    for (unsigned i = 0; i < Count; ++i)
        group[i] = row + i * step >= p.length || group[i] & p.label_sign ? ~0ull : group[i];
}

// Calls work(x, result, group, counts, row) for each element whose row has a group; counts: for one element
// of each row. load(index) gives the element at an index. Neighbouring threads take columns, then rows.
template <class Load, class Work>
__device__ void each_element(const gr_group_params &p, const Load &load, const Work &work) {
    constexpr unsigned each = GR_GROUP_ROWS_PER_THREAD;
    const unsigned columns = 1u << p.columns_shift, rows = GR_GROUP_THREADS >> p.columns_shift;
    const unsigned column = threadIdx.x % columns, first = threadIdx.x / columns;
    const uint64_t line_tiles = (p.length + rows * each - 1) / (rows * each);
    for (uint64_t tile = blockIdx.x; tile < p.lines * line_tiles; tile += gridDim.x) {
        const uint64_t line = tile / line_tiles, row = (tile - line * line_tiles) * (rows * each) + first;
        uint64_t group[each];
        load_labels(p, row, rows, group);
        for (uint64_t c = column; c < p.inner; c += columns) {
            const int64_t begin = int64_t(line) * p.line_stride + int64_t(c / p.components) * p.inner_stride +
                                  int64_t(c % p.components);
            decltype(load(0)) x[each];
#pragma unroll
            for (unsigned i = 0; i < each; ++i)
                if (group[i] < p.groups)
                    x[i] = load(begin + int64_t(row + i * rows) * p.along_stride);
#pragma unroll
            for (unsigned i = 0; i < each; ++i)
                if (group[i] < p.groups)
                    work(x[i], (line * p.groups + group[i]) * p.inner + c, group[i], line == 0 && c == 0,
                         row + i * rows);
        }
    }
}

} // namespace gr::groups
