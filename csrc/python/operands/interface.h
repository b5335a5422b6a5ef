/* Conversion of arrays by version 3 of `__cuda_array_interface__` (CuPy has it), if the interface names a
   stream. https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html */
#ifndef GR_PYTHON_OPERANDS_INTERFACE_H
#define GR_PYTHON_OPERANDS_INTERFACE_H

#include "device/backend.h"
#include "python/operands/dlpack_abi.h"

typedef struct py_interface {
    gr_devptr pointer;
    size_t ndim;
    int64_t shape[DL_MAX_NDIM];   /* elements */
    int64_t strides[DL_MAX_NDIM]; /* bytes; unset if `c_order` */
    bool c_order;                 /* C order: the interface has no strides */
    bool read_only;
    gr_dtype dtype;
    gr_stream stream; /* 0: legacy default stream */
} py_interface;

/* 1: converted; the values are unchecked. 0: no such interface, or one that only the Python fallback can
   convert. -1: interrupted, with an exception set. */
int py_interface_from_object(const py_state *state, PyObject *object, py_interface *out);

#endif
