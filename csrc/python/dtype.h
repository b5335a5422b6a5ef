/* Maps between the core's dtypes (the rows of csrc/base/dtypes.def) and NumPy's. bfloat16 is the only dtype
   that NumPy does not define itself: its type number exists once ml_dtypes is imported. */
#ifndef GR_PYTHON_DTYPE_H
#define GR_PYTHON_DTYPE_H

#include "python/state.h"

/* Fills state->type_numbers from dtypes.def. -1 with an exception set. */
int py_dtypes_init(py_state *state);

/* Returns the NumPy dtype: a new reference, or NULL with an exception set. */
PyArray_Descr *py_descr(const py_state *state, gr_dtype dtype);

/* Finds the core's dtype of an array, whatever its byte order, or of a dtype name. TypeError, which names
   `argument`, if `scope` does not support the dtype: GR_SCOPE_LADDER has fewer dtypes than
   GR_SCOPE_GENERAL. */
int py_find_dtype(const py_state *state, PyArrayObject *array, gr_scope scope, const char *argument,
                  gr_dtype *out);
int py_find_dtype_name(const char *name, const char *argument, gr_dtype *out);

/* Returns a new NumPy scalar of `dtype`. */
PyObject *py_result(const py_state *state, gr_dtype dtype, gr_scalar value);

#endif
