/* The methods of the core that reduce any layout, and those that move bytes to and from a device. */
#ifndef GR_PYTHON_GENERAL_H
#define GR_PYTHON_GENERAL_H

#include "python/state.h"

PyObject *py_general(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *py_plan_general(PyObject *module, PyObject *args);
PyObject *py_flat_shapes(PyObject *module, PyObject *ignored);
PyObject *py_time_general(PyObject *module, PyObject *args);

PyObject *py_device_alloc(PyObject *module, PyObject *args);
PyObject *py_device_free(PyObject *module, PyObject *args);
PyObject *py_device_write(PyObject *module, PyObject *args);
PyObject *py_device_read(PyObject *module, PyObject *args);
PyObject *py_stream_wait(PyObject *module, PyObject *args);
PyObject *py_call_on(PyObject *module, PyObject *args);
PyObject *py_pointer_device(PyObject *module, PyObject *pointer);

#endif
