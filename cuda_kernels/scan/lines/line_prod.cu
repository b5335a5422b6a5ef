// Running products of long lines. Those of integers have 64 bits.
#include "scan_brief.cuh"
#include "scan_lines.cuh"

GR_LINE_ENTRY(prod, f32, RunningProd<float>)
GR_LINE_ENTRY(prod, f64, RunningProd<double>)
GR_LINE_ENTRY(prod, i64, RunningProd<int64_t>)
GR_LINE_ENTRY(prod, i32, RunningProd<int64_t>, int32_t)
GR_LINE_ENTRY(prod, b8, RunningProd<int64_t>, gr_bool)
GR_LINE_ENTRY(prod, f16, RunningProd<gr_f16>)
GR_LINE_ENTRY(prod, bf16, RunningProd<gr_bf16>)
GR_LINE_ENTRY(prod, c64, RunningProd<gr_c64>)
GR_LINE_ENTRY(prod, c128, RunningProd<gr_c128>)

GR_BRIEF_ENTRY(prod, f32, RunningProd<float>)
GR_BRIEF_ENTRY(prod, f64, RunningProd<double>)
GR_BRIEF_ENTRY(prod, i64, RunningProd<int64_t>)
GR_BRIEF_ENTRY(prod, i32, RunningProd<int64_t>, int32_t)
GR_BRIEF_ENTRY(prod, b8, RunningProd<int64_t>, gr_bool)
GR_BRIEF_ENTRY(prod, f16, RunningProd<gr_f16>)
GR_BRIEF_ENTRY(prod, bf16, RunningProd<gr_bf16>)
GR_BRIEF_ENTRY(prod, c64, RunningProd<gr_c64>)
GR_BRIEF_ENTRY(prod, c128, RunningProd<gr_c128>)
