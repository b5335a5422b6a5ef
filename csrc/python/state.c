/* Defines the table of NumPy's C API that all files of the extension use (PY_ARRAY_UNIQUE_SYMBOL). */
#define PY_NUMPY_API_IS_HERE
#include "python/state.h"

int py_numpy_import(void) {
    return PyArray_ImportNumPyAPI();
}
