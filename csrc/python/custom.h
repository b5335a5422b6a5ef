/* The methods of the core for reductions that were compiled while the program runs. */
#ifndef GR_PYTHON_CUSTOM_H
#define GR_PYTHON_CUSTOM_H

#include "python/state.h"

/* args: (name, PTX text, device kind, device index). Returns a capsule that unloads the kernels at its end.
 */
PyObject *py_custom_load(PyObject *module, PyObject *args);

/* args: (capsule, inputs, by_position, packed, axes, out). Inputs are arrays or views of one shape, and
   bytes for the value of a scalar, in the order and of the dtypes that the kernels were compiled for;
   `by_position` and what it means are as in custom_params.h, `packed` as in general_plan.h. `out` is a
   view or a C-contiguous array. */
PyObject *py_custom_run(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
