// Group sums in windows in shared memory.
#include "common/entry.cuh"
#include "groups/window.cuh"

using namespace gr::groups;

#define GR_GROUP_WINDOW(name, In, label, Label)                                                              \
    GR_ENTRY((GR_GROUP_WINDOW_THREADS), group_window_##name##_##label, gr_group_params,                      \
             sum_in_windows<In, Label>)
#define GR_GROUP_WINDOWS_OF(name, In)                                                                        \
    GR_GROUP_WINDOW(name, In, i32, int32_t)                                                                  \
    GR_GROUP_WINDOW(name, In, i64, int64_t)

GR_GROUP_WINDOWS_OF(f32, float)
GR_GROUP_WINDOWS_OF(f16, gr_f16)
GR_GROUP_WINDOWS_OF(bf16, gr_bf16)
GR_GROUP_WINDOWS_OF(f64, double)
GR_GROUP_WINDOWS_OF(i32, int32_t)
GR_GROUP_WINDOWS_OF(u32, uint32_t)
GR_GROUP_WINDOWS_OF(i64, int64_t)
