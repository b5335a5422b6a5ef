/* The methods of the core that reduce any layout, time that, and say how it is planned. */
#ifndef GR_PYTHON_GENERAL_H
#define GR_PYTHON_GENERAL_H

#include "python/state.h"
#include "reduce/ops.h"

/* The operator of a name; -1 with an exception set. */
int py_find_op(PyObject *name, gr_op *out);

PyObject *py_general(PyObject *module, PyObject *const *args, Py_ssize_t count);
/* Whole arrays without options, with as little as possible before the launch. */
PyObject *py_quick(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_plan_general(PyObject *module, PyObject *args);
PyObject *py_flat_shapes(PyObject *module, PyObject *ignored);
PyObject *py_time_general(PyObject *module, PyObject *args);

#endif
