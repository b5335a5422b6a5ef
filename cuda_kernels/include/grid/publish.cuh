// A value and its flag in one word, as CUB's ScanTileState has them: two neighbouring words of eight bytes in
// global memory, each read and written whole (ld.relaxed.gpu, st.relaxed.gpu), so a reader that sees the flag
// sees the value, and no fence is needed.
#pragma once

#include <cstdint>

namespace gr::grid {

inline __device__ void load_flagged(uint64_t at, uint64_t &low, uint64_t &high) {
    asm volatile("ld.relaxed.gpu.global.v2.b64 {%0, %1}, [%2];" : "=l"(low), "=l"(high) : "l"(at) : "memory");
}

inline __device__ void store_flagged(uint64_t at, uint64_t low, uint64_t high) {
    asm volatile("st.relaxed.gpu.global.v2.b64 [%0], {%1, %2};" ::"l"(at), "l"(low), "l"(high) : "memory");
}

inline __device__ void clear_flagged(uint64_t at) {
    asm volatile("st.relaxed.gpu.global.v2.b64 [%0], {%1, %1};" ::"l"(at), "l"(0ull) : "memory");
}

} // namespace gr::grid
