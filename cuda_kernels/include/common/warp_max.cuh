// The maximum of the lanes of a warp, valid in all of them (redux.sync from compute capability 8.0 on).
#pragma once

#include <cstdint>

namespace gr::common {

inline __device__ uint32_t warp_max(uint32_t x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xffffffffu, x);
#else
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2)
        x = max(x, __shfl_xor_sync(0xffffffffu, x, offset));
    return x;
#endif
}
inline __device__ uint64_t warp_max(uint64_t x) {
    const uint32_t high = warp_max(uint32_t(x >> 32));
    return uint64_t(high) << 32 | warp_max(x >> 32 == high ? uint32_t(x) : 0u);
}

} // namespace gr::common
