// The dynamic shared memory of a block as an array of T. Its size is an argument of the launch.
#pragma once

namespace gr::common {

// `extern __shared__` arrays of different types may not share a name, so one raw array serves all templates.
extern __shared__ __align__(16) unsigned char dynamic_shared[];

template <class T> __device__ T *shared_array() {
    return reinterpret_cast<T *>(dynamic_shared);
}

} // namespace gr::common
