/* What a reduction reads: a NumPy array or a view of device memory, as the core describes it. */
#ifndef GR_PYTHON_INTAKE_OPERAND_H
#define GR_PYTHON_INTAKE_OPERAND_H

#include "python/state.h"
#include "reduce/general/general.h"

typedef struct py_operand {
    PyObject *owner; /* a PyArrayObject that we own a reference to, or NULL for a device view */
    PyObject *pin;   /* py_pin of the array that was given, or NULL */
    size_t ndim;
    uint64_t extent[GR_MAX_NDIM];
    int64_t stride[GR_MAX_NDIM];
    gr_dtype dtype;
    gr_source source;
} py_operand;

/* Takes (pointer, shape, strides, dtype name), checked no further than memory safety of this process needs.
 */
int py_operand_view(PyObject *view, const char *name, py_operand *out);

/* Takes such a view or a NumPy array, which must be aligned and in native byte order. -1 with an exception
   set that calls it `name`. py_operand_release has something to do in either case. */
int py_operand_take(const py_state *state, PyObject *object, const char *name, py_operand *out);
void py_operand_release(py_operand *self);

/* Marks the axes of a tuple in `reduced`, which is all false. */
int py_take_axes(PyObject *axes, size_t ndim, bool *reduced);

/* Puts copies in the place of arrays whose strides do not merge: kept dimensions first, all in C order. Views
   are refused. The arrays are of one shape; `reduced` follows them. */
int py_operands_pack(py_operand *const *operands, size_t count, bool *reduced);

#endif
