// The element types of dtypes.def as kernels see them. The host stores the same bytes
// (csrc/base/element_types.h).
#pragma once

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace gr::common {

struct gr_bool {
    uint8_t value; // 0, or anything else: NumPy stores a 1, but views bytes as they are
};
typedef __half gr_f16;
typedef __nv_bfloat16 gr_bf16;
struct alignas(8) gr_c64 {
    float re, im;
};
struct alignas(16) gr_c128 {
    double re, im;
};

} // namespace gr::common
