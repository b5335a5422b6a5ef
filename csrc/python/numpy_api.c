#define PY_NUMPY_API_IS_HERE
#include "python/numpy_api.h"

int py_numpy_import(void) {
    return PyArray_ImportNumPyAPI();
}
