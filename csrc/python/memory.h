/* The methods of the core for memory and streams of a device. */
#ifndef GR_PYTHON_MEMORY_H
#define GR_PYTHON_MEMORY_H

#include "python/state.h"

PyObject *py_device_alloc(PyObject *module, PyObject *args);
PyObject *py_device_free(PyObject *module, PyObject *args);
PyObject *py_device_write(PyObject *module, PyObject *args);
PyObject *py_device_read(PyObject *module, PyObject *args);
PyObject *py_stream_wait(PyObject *module, PyObject *args);
PyObject *py_call_on(PyObject *module, PyObject *args);
PyObject *py_pointer_device(PyObject *module, PyObject *pointer);

#endif
