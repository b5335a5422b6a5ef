// The block's dynamic shared memory, seen as an array of T.
#pragma once

// `extern __shared__` arrays of different types may not share a name, so one raw array serves all templates.
extern __shared__ __align__(16) unsigned char dynamic_shared[];

template <class T> __device__ T *shared_array() {
    return reinterpret_cast<T *>(dynamic_shared);
}
