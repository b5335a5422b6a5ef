/* Reductions of whole arrays without options, with as little as possible before the launch. */
#ifndef PY_QUICK_H
#define PY_QUICK_H

#include "py_state.h"

PyObject *py_quick(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
