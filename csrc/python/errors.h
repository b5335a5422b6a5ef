/* The only map from the core's gr_status to Python exceptions, and the package's own exception classes
   DeviceError and SimulationError. */
#ifndef GR_PYTHON_ERRORS_H
#define GR_PYTHON_ERRORS_H

#include "python/state.h"

/* Adds DeviceError and SimulationError to the module. -1 with an exception set. */
int py_errors_init(PyObject *module, py_state *state);

/* Sets the exception for `error` and returns NULL. An interrupt keeps the exception of the signal handler. */
PyObject *py_raise(const py_state *state, const gr_error *error);

/* py_raise for functions that return -1 with an exception set. */
int py_fail(const py_state *state, const gr_error *error);

/* PyErr_Format for functions that return -1 with an exception set. */
#define PY_RAISE(...) (PyErr_Format(__VA_ARGS__), -1)

#endif
