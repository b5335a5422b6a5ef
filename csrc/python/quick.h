/* Reductions of whole arrays without options, with as little as possible before the launch. */
#ifndef GR_PYTHON_QUICK_H
#define GR_PYTHON_QUICK_H

#include "python/state.h"

PyObject *py_quick(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
