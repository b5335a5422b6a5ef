/* Arrays that speak version 3 of `__cuda_array_interface__` and name their stream, as CuPy's do. */
#ifndef GR_PYTHON_INTAKE_INTERFACE_H
#define GR_PYTHON_INTAKE_INTERFACE_H

#include "device/backend.h"
#include "python/intake/dlpack_abi.h"

typedef struct py_interface {
    gr_devptr pointer;
    size_t ndim;
    int64_t shape[DL_MAX_NDIM], strides[DL_MAX_NDIM]; /* in bytes */
    bool packed;                                      /* no strides were given */
    bool read_only;
    gr_dtype dtype;
    gr_stream stream; /* the legacy one is 0 */
} py_interface;

/* 1: taken, its numbers as they were given. 0: no such array, or one that takes more than a look. -1: it
   was interrupted. */
int py_interface_take(const py_state *state, PyObject *object, py_interface *out);

#endif
