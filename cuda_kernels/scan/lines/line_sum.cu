// Running sums of long lines. Those of integers have 64 bits.
#include "scan_brief.cuh"
#include "scan_lines.cuh"

GR_LINE_ENTRY(sum, f32, RunningSum<float>)
GR_LINE_ENTRY(sum, f64, RunningSum<double>)
GR_LINE_ENTRY(sum, i64, RunningSum<int64_t>)
GR_LINE_ENTRY(sum, i32, RunningSum<int64_t>, int32_t)
GR_LINE_ENTRY(sum, b8, RunningSum<int64_t>, gr_bool)
GR_LINE_ENTRY(sum, f16, RunningSum<gr_f16>)
GR_LINE_ENTRY(sum, bf16, RunningSum<gr_bf16>)
GR_LINE_ENTRY(sum, c64, RunningSum<gr_c64>)
GR_LINE_ENTRY(sum, c128, RunningSum<gr_c128>)

GR_BRIEF_ENTRY(sum, f32, RunningSum<float>)
GR_BRIEF_ENTRY(sum, f64, RunningSum<double>)
GR_BRIEF_ENTRY(sum, i64, RunningSum<int64_t>)
GR_BRIEF_ENTRY(sum, i32, RunningSum<int64_t>, int32_t)
GR_BRIEF_ENTRY(sum, b8, RunningSum<int64_t>, gr_bool)
GR_BRIEF_ENTRY(sum, f16, RunningSum<gr_f16>)
GR_BRIEF_ENTRY(sum, bf16, RunningSum<gr_bf16>)
GR_BRIEF_ENTRY(sum, c64, RunningSum<gr_c64>)
GR_BRIEF_ENTRY(sum, c128, RunningSum<gr_c128>)
