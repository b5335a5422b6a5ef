/* The one map from gr_status to Python exceptions. */
#ifndef GR_PYTHON_ERRORS_H
#define GR_PYTHON_ERRORS_H

#include "python/state.h"

/* Creates DeviceError and SimulationError in the module; -1 with an exception set on failure. */
int py_errors_init(PyObject *module, py_state *state);

/* Sets the exception for `error`; returns NULL. An interrupt leaves the signal's own exception in place. */
PyObject *py_raise(const py_state *state, const gr_error *error);

/* Sets an exception as PyErr_Format does, in a function whose -1 says so. */
#define PY_REFUSE(...) (PyErr_Format(__VA_ARGS__), -1)

#endif
