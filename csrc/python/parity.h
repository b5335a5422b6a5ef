/* Whether numbers of nonzero elements are odd: `logical_xor` of results that stay on the device. */
#ifndef GR_PYTHON_PARITY_H
#define GR_PYTHON_PARITY_H

#include "python/call.h"

/* Runs the planned call of the operator "count_nonzero", of at least one result, and returns an array of
   bools on the device. NULL with an exception set. */
PyObject *py_parity_on_device(py_call *call);

#endif
