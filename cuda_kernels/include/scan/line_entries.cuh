// The kernels of contiguous lines, for each dtype that they take: persistent, of one wave, and of short
// lines.
#pragma once

#include "scan/one_wave.cuh"
#include "scan/persistent.cuh"
#include "scan/short_lines.cuh"

using namespace gr::scan;

// Those of integers have 64 bits.
#define GR_EACH_LINE(ENTRY, op, Running)                                                                     \
    ENTRY(op, f32, Running<float>)                                                                           \
    ENTRY(op, f64, Running<double>)                                                                          \
    ENTRY(op, i64, Running<int64_t>)                                                                         \
    ENTRY(op, i32, Running<int64_t>, int32_t)                                                                \
    ENTRY(op, b8, Running<int64_t>, gr_bool)                                                                 \
    ENTRY(op, f16, Running<gr_f16>)                                                                          \
    ENTRY(op, bf16, Running<gr_bf16>)                                                                        \
    ENTRY(op, c64, Running<gr_c64>)                                                                          \
    ENTRY(op, c128, Running<gr_c128>)

#define GR_LINE_ENTRIES(op, Running)                                                                         \
    GR_EACH_LINE(GR_LINE_ENTRY, op, Running)                                                                 \
    GR_EACH_LINE(GR_BRIEF_ENTRY, op, Running)                                                                \
    GR_EACH_LINE(GR_SHORT_ENTRY, op, Running)
