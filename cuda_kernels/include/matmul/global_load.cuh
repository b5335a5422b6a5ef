// Loads from global memory as such (ld.global). Addresses that kernels get as numbers are generic to the
// compiler, and a generic load may be one from shared memory: ptxas waits for it before the next barrier, so
// that no load is in flight across one.
#pragma once

#include <cstdint>

namespace gr::matmul {

template <class T> inline __device__ T load_global(const T *at) {
    __builtin_assume(__isGlobal(at));
    return *at;
}

} // namespace gr::matmul
