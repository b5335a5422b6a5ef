/* The methods of the core that run kernels on the simulator and tell what they did. */
#ifndef GR_PYTHON_PROFILE_H
#define GR_PYTHON_PROFILE_H

#include "python/state.h"

PyObject *py_profile(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_simulate(PyObject *module, PyObject *args);
PyObject *py_kernel_params(PyObject *module, PyObject *args);

#endif
