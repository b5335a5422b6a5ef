// Labels of the elements that a mask chooses: the number of an element's result, or -1.
#include <cstdint>

#include "segments/labels/params.h"

constexpr unsigned threads = GR_LABEL_THREADS;

template <class Bits> __device__ uint64_t label_at(const gr_masked_labels_params &p, uint64_t row) {
    const auto *at = reinterpret_cast<const unsigned char *>(p.labels) + int64_t(row) * p.label_stride;
    return *reinterpret_cast<const Bits *>(at);
}

// The segment of a row: the last one that begins at the row or before it, if the row is not behind its end.
__device__ uint64_t segment_of(const gr_masked_labels_params &p, uint64_t row) {
    const auto *offsets = reinterpret_cast<const int64_t *>(p.labels);
    uint64_t low = 0, high = p.groups + 1; // the first offset that is greater than the row
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (offsets[middle] <= int64_t(row))
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1; // groups, or a number that wraps, for rows of no segment
}

// The group of a row; not below p.groups if it has none.
__device__ uint64_t group_of(const gr_masked_labels_params &p, uint64_t row) {
    uint64_t label;
    switch (p.label_bytes) {
    case 0:
        return segment_of(p, row);
    case 1:
        label = label_at<uint8_t>(p, row);
        break;
    case 2:
        label = label_at<uint16_t>(p, row);
        break;
    case 4:
        label = label_at<uint32_t>(p, row);
        break;
    default:
        label = label_at<uint64_t>(p, row);
    }
    return label & p.sign ? ~0ull : label;
}

__device__ int64_t masked_label(const gr_masked_labels_params &p, uint64_t line, uint64_t row,
                                uint64_t column) {
    const int64_t at =
        int64_t(line) * p.line_stride + int64_t(row) * p.row_stride + int64_t(column) * p.column_stride;
    if (p.mask != 0 && reinterpret_cast<const unsigned char *>(p.mask)[at] == 0)
        return -1;
    const uint64_t group = group_of(p, row);
    return group < p.groups ? int64_t((line * p.groups + group) * p.inner + column) : -1;
}

extern "C" __global__ void __launch_bounds__(threads) label_mask(const gr_masked_labels_params p) {
    const uint64_t elements = p.lines * p.length * p.repeats * p.inner;
    for (uint64_t i = blockIdx.x * uint64_t(threads) + threadIdx.x; i < elements;
         i += gridDim.x * uint64_t(threads)) {
        uint64_t line = 0, row = i, column = 0;
        if (p.inner > 1) {
            row = i / p.inner;
            column = i - row * p.inner;
        }
        if (p.repeats > 1)
            row /= p.repeats;
        if (p.lines > 1) {
            line = row / p.length;
            row -= line * p.length;
        }
        const int64_t label = masked_label(p, line, row, column);
        if (p.out_bytes == 4)
            reinterpret_cast<int32_t *>(p.out)[i] = int32_t(label);
        else
            reinterpret_cast<int64_t *>(p.out)[i] = label;
    }
}
