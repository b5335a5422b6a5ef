/* From a Python object to elements that a backend can read. */
#ifndef GR_PYTHON_INTAKE_ARRAY_H
#define GR_PYTHON_INTAKE_ARRAY_H

#include "python/state.h"

typedef struct gr_array {
    PyObject *owner, *pin; /* hold the elements and keep them in place; released by gr_array_release */
    const void *data;
    uint64_t n;
    gr_dtype dtype;
} gr_array;

/* Fills state->type_numbers from dtypes.def; -1 with an exception set on failure. */
int py_intake_init(py_state *state);

/* The NumPy dtype of a row; a new reference, or NULL with an exception set. */
PyArray_Descr *py_descr(const py_state *state, gr_dtype dtype);

/* The row of an array's dtype, byte order aside, or of a dtype's name. TypeError when there is none in
   `scope`: LADDER means only rows of that scope, GENERAL any. `argument` is named in the message. */
int py_find_dtype(const py_state *state, PyArrayObject *array, gr_scope scope, const char *argument,
                  gr_dtype *out);
int py_find_dtype_name(const char *name, const char *argument, gr_dtype *out);

/* For as long as the pin lives, nobody takes the memory of an array away: NumPy does not resize an array that
   has weak references, even when told not to look (refcheck=False), be it in a callback, in a signal handler
   or in another thread. A new reference, or NULL with an exception set. */
PyObject *py_pin(PyArrayObject *array);

/* Takes what numpy.asarray takes. Native, aligned and contiguous (C or, unless `in_order`, Fortran order)
   elements are used in place, read-only ones too; others are copied. Returns -1 with an exception set:
   TypeError for a dtype that is not supported, or what NumPy raised. */
int py_array_intake(const py_state *state, PyObject *object, bool in_order, gr_array *out);
void gr_array_release(gr_array *array);

/* A new NumPy scalar of `dtype`. */
PyObject *py_result(const py_state *state, gr_dtype dtype, gr_scalar value);

#endif
