/* Arrays of types that carry DLPack 1.3's functions for C. */
#ifndef GR_PYTHON_INTAKE_EXCHANGE_H
#define GR_PYTHON_INTAKE_EXCHANGE_H

#include "python/intake/dlpack_abi.h"

typedef struct py_tensor {
    dl_versioned *managed; /* to be given back by dl_release, or NULL: not taken */
    bool speaks;           /* its type carries the functions, so that nothing else may be asked but Python */
    uintptr_t stream;      /* where its producer works, as the driver numbers it; the legacy one is 0 */
} py_tensor;

/* 1: taken, and it lies on a CUDA device. 0: no such array, or one that is more than its memory, or its
   producer refuses: its __dlpack__ has to be asked, and says why. -1: one of its attributes raised. */
int py_tensor_take(py_state *state, PyObject *object, py_tensor *out);

#endif
