/* An operand: the elements that a call reads or the memory that it writes, described for the core by address,
   shape, strides, dtype and device. Every NumPy array, DeviceArray, view of device memory and tensor of
   another library becomes one by py_operand_from_object. */
#ifndef GR_PYTHON_OPERANDS_OPERAND_H
#define GR_PYTHON_OPERANDS_OPERAND_H

#include <string.h>

#include "python/operands/array.h"
#include "python/operands/exchange.h"

typedef struct py_operand {
    PyObject *owner;        /* the NumPy array that is read, a strong reference; NULL for device memory */
    PyObject *resize_guard; /* py_resize_guard of the caller's array, or NULL */
    py_tensor tensor;       /* .managed: NULL, or released with the operand */
    size_t ndim;
    uint64_t extent[GR_MAX_NDIM]; /* elements */
    int64_t stride[GR_MAX_NDIM];  /* bytes */
    gr_dtype dtype;
    gr_source source; /* the host memory, or the device address in .origin */
    /* Of device arrays and tensors (not of views given as tuples): the device, and the stream in which their
       library works; 0: legacy default stream. */
    bool on_device; /* kind, index and stream are set */
    gr_device_kind kind;
    int index;
    gr_stream stream;
    PyObject *stream_owner; /* borrowed; keeps the stream alive, or NULL */
    bool stream_persists;   /* the stream outlives an array made in it, as in array.h */
    bool read_only;
} py_operand;

/* Makes py_operand_release a no-op; leaves the description of the elements unset. */
static inline void py_operand_init(py_operand *self) {
    self->owner = self->resize_guard = NULL;
    self->tensor.managed = NULL;
    self->tensor.is_jax = self->tensor.is_borrowed = false;
    self->on_device = self->stream_persists = false;
    self->stream_owner = NULL;
}

typedef enum py_conversion {
    PY_NO_COPY,  /* aligned NumPy arrays in native byte order, device arrays, tensors; others return 0 */
    PY_DETACHED, /* PY_NO_COPY for types that the caller has checked, in a call that autograd does not record:
                    a tensor may require a gradient */
    PY_DEFERRED, /* PY_NO_COPY, and arrays of JAX: the caller is a job that py_job_run runs, which releases
                    them when its work is done */
    PY_NATIVE,   /* aligned NumPy arrays in native byte order, device arrays, views; others raise */
    PY_COPY,     /* whatever numpy.asarray converts; copied unless aligned, native and contiguous */
} py_conversion;

/* Converts an array, or a view (pointer, shape, strides, dtype name), which is checked no further than this
   process's memory safety needs. 1: converted; 0: the object needs a conversion beyond PY_NO_COPY; -1 with an
   exception set that calls the argument `name`. Always call py_operand_release afterwards. */
int py_operand_from_object(py_state *state, PyObject *object, py_conversion conversion, gr_scope scope,
                           const char *name, py_operand *out);
void py_operand_release(py_operand *self);

/* Describes a device array or a tensor without a reference to it, so that nothing need be released, and
   without reading its gradient, conjugate and negative bits. 1: described; 0: py_operand_from_object may
   convert it; -1 with an exception set. */
int py_operand_borrow(py_state *state, PyObject *object, py_borrowing *borrowing, py_operand *out);

/* Returns the number of elements or, if the axes marked in `reduced` are reduced, of results. NULL marks
   no axis. */
uint64_t py_operand_count(const py_operand *self, const bool *reduced);
/* Fills in shape, strides, element size and origin of a layout. */
void py_operand_fill_layout(const py_operand *self, gr_layout *layout);
static inline bool py_operand_same_shape(const py_operand *self, const py_operand *other) {
    return self->ndim == other->ndim &&
           memcmp(self->extent, other->extent, self->ndim * sizeof self->extent[0]) == 0;
}
/* Whether the elements are contiguous: in C order (`in_c_order`), or in C or Fortran order. */
bool py_operand_is_contiguous(const py_operand *self, bool in_c_order);
/* Broadcasts to a shape by NumPy's rules; false if the shapes do not match. */
bool py_operand_broadcast(py_operand *self, size_t ndim, const uint64_t *extent);
/* Merges the dimensions [begin, end) into one, `stride` in bytes; false if their strides are not multiples of
   each other. */
bool py_operand_merge(const py_operand *self, size_t begin, size_t end, uint64_t *extent, int64_t *stride);
/* Replaces a NumPy array by a copy in C order. -1 with an exception set. */
int py_operand_make_contiguous(py_operand *self);

/* py_operand_make_contiguous, only for a NumPy array whose strides are not multiples of the element size (a
   field of a structured array). */
int py_operand_ensure_element_strides(py_operand *self);

/* Returns a weak reference that keeps an array's memory in place while it lives: NumPy does not resize an
   array that has weak references, even with refcheck=False, be it in a callback, a signal handler or another
   thread. NULL with an exception set. */
PyObject *py_resize_guard(PyArrayObject *array);

/* Marks the axes of a tuple in `reduced`, which must be all false. -1 with an exception set. */
int py_parse_axes(PyObject *axes, size_t ndim, bool *reduced);

/* Replaces NumPy arrays of one shape, whose strides do not merge, by copies in C order with the kept
   dimensions first, in the order of `kept` (NULL: ascending), then the reduced ones. Updates `reduced`.
   Raises for device arrays. -1 with an exception set. */
int py_operands_make_contiguous(py_operand *const *operands, size_t count, const size_t *kept, bool *reduced);

#endif
