// Group sums of sorted rows, by dtype, and by the columns that a thread takes.
#include "groups/sorted_rows.cuh"

using namespace gr::groups;

#define GR_GROUP_ROWS(name, In, V)                                                                           \
    GR_ENTRY((GR_SORTED_SUM_THREADS, V < 4 ? 3 : 2), group_rows_##name##_##V,                                \
             __grid_constant__ gr_sorted_rows_params, sum_sorted_rows<In, V>)

#define GR_GROUP_ROWS_OF(name, In)                                                                           \
    GR_GROUP_ROWS(name, In, 1)                                                                               \
    GR_GROUP_ROWS(name, In, 2)

GR_GROUP_ROWS_OF(f32, float)
GR_GROUP_ROWS(f32, float, 4)
GR_GROUP_ROWS_OF(f16, gr_f16)
GR_GROUP_ROWS(f16, gr_f16, 4)
GR_GROUP_ROWS_OF(bf16, gr_bf16)
GR_GROUP_ROWS(bf16, gr_bf16, 4)
GR_GROUP_ROWS_OF(f64, double)
GR_GROUP_ROWS_OF(b8, gr_bool)
GR_GROUP_ROWS_OF(i8, int8_t)
GR_GROUP_ROWS_OF(i16, int16_t)
GR_GROUP_ROWS_OF(i32, int32_t)
GR_GROUP_ROWS(i32, int32_t, 4)
GR_GROUP_ROWS_OF(i64, int64_t)
GR_GROUP_ROWS_OF(u8, uint8_t)
GR_GROUP_ROWS_OF(u16, uint16_t)
GR_GROUP_ROWS_OF(u32, uint32_t)
GR_GROUP_ROWS_OF(u64, uint64_t)
