/* The rows of dtypes.def as NumPy has them. */
#ifndef GR_PYTHON_DTYPE_H
#define GR_PYTHON_DTYPE_H

#include "python/state.h"

/* Fills state->type_numbers from dtypes.def; -1 with an exception set on failure. */
int py_dtypes_init(py_state *state);

/* The NumPy dtype of a row; a new reference, or NULL with an exception set. */
PyArray_Descr *py_descr(const py_state *state, gr_dtype dtype);

/* The row of an array's dtype, byte order aside, or of a dtype's name. TypeError when there is none in
   `scope`: LADDER means only rows of that scope, GENERAL any. `argument` is named in the message. */
int py_find_dtype(const py_state *state, PyArrayObject *array, gr_scope scope, const char *argument,
                  gr_dtype *out);
int py_find_dtype_name(const char *name, const char *argument, gr_dtype *out);

/* A new NumPy scalar of `dtype`. */
PyObject *py_result(const py_state *state, gr_dtype dtype, gr_scalar value);

#endif
