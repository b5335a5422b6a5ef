/* Python, NumPy and what the module keeps: included first by every file that touches CPython. */
#ifndef PY_STATE_H
#define PY_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define PY_ARRAY_UNIQUE_SYMBOL gr_numpy_api
#ifndef PY_STATE_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "device.h"

typedef struct py_state {
    PyObject *device_error;
    PyObject *simulation_error;
    gr_registry registry;
    int type_numbers[GR_DTYPE_COUNT]; /* NumPy's type number of each row of dtypes.def */
} py_state;

#endif
