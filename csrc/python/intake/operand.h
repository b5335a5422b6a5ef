/* What a call reads: a NumPy array, a view of device memory or another library's tensor, as the core
   describes it. The one way in for all of them. */
#ifndef GR_PYTHON_INTAKE_OPERAND_H
#define GR_PYTHON_INTAKE_OPERAND_H

#include "python/intake/array.h"
#include "python/intake/exchange.h"

typedef struct py_operand {
    PyObject *owner;  /* a PyArrayObject that we own a reference to, or NULL */
    PyObject *pin;    /* py_pin of the array that was given, or NULL */
    py_tensor tensor; /* .managed is NULL, or released with the operand */
    size_t ndim;
    uint64_t extent[GR_MAX_NDIM];
    int64_t stride[GR_MAX_NDIM];
    gr_dtype dtype;
    gr_source source;
    /* Of elements on a device, but not of a view, whose giver knows it: where they lie, and the stream in
       which their library works; the legacy one is 0. */
    bool placed;
    gr_device_kind kind;
    int index;
    gr_stream stream;
    PyObject *stream_owner; /* borrowed, or NULL: what keeps the stream */
    bool lasts;             /* the stream, as in array.h */
    bool read_only;
} py_operand;

/* One that py_operand_release has nothing to do for; what describes elements is left open. */
static inline void py_operand_clear(py_operand *self) {
    self->owner = self->pin = NULL;
    self->tensor.managed = NULL;
    self->placed = self->lasts = false;
    self->stream_owner = NULL;
}

typedef enum py_effort {
    PY_LOOK, /* aligned arrays in native byte order, arrays on devices; what needs more than that is not taken
              */
    PY_TAKE, /* such arrays of the host, arrays of our own on devices, and views */
    PY_CONVERT, /* what numpy.asarray takes, copied unless it is aligned, in native byte order and in one
                   piece */
} py_effort;

/* Takes an array, or a view: (pointer, shape, strides, dtype name), checked no further than memory safety of
   this process needs. 1: taken; 0: more than PY_LOOK would be needed; -1 with an exception set that calls it
   `name`. py_operand_release has something to do in any case. */
int py_operand_take(py_state *state, PyObject *object, py_effort effort, gr_scope scope, const char *name,
                    py_operand *out);
void py_operand_release(py_operand *self);

/* How many elements there are or, where the axes of `reduced` are reduced, results. NULL: none of them. */
uint64_t py_operand_count(const py_operand *self, const bool *reduced);
/* Tells a layout of the shape, the strides, the size and the origin of the elements. */
void py_operand_lay_out(const py_operand *self, gr_layout *layout);
/* Whether the elements lie side by side: in C order, or in any order of axes. */
bool py_operand_packed(const py_operand *self, bool in_order);
/* Repeats an operand over a shape, as NumPy broadcasts; false where it does not fit. */
bool py_operand_broadcast(py_operand *self, size_t ndim, const uint64_t *extent);
/* The dimensions from `begin` to before `end` as one, its stride in bytes; false where they do not lie
 * evenly. */
bool py_operand_merge(const py_operand *self, size_t begin, size_t end, uint64_t *extent, int64_t *stride);
/* Puts a copy in C order in the place of an array. */
int py_operand_pack(py_operand *self);

/* The same for one whose strides are no whole elements, as those of a field of records. */
int py_operand_settle(py_operand *self);

/* For as long as the pin lives, nobody takes the memory of an array away: NumPy does not resize an array that
   has weak references, even when told not to look (refcheck=False), be it in a callback, in a signal handler
   or in another thread. A new reference, or NULL with an exception set. */
PyObject *py_pin(PyArrayObject *array);

/* Marks the axes of a tuple in `reduced`, which is all false. */
int py_take_axes(PyObject *axes, size_t ndim, bool *reduced);

/* Puts copies in the place of arrays whose strides do not merge: kept dimensions first, in the order of
   `kept` or, without it, as they come; all in C order. Elements on a device are refused. The arrays are of
   one shape; `reduced` follows them. */
int py_operands_pack(py_operand *const *operands, size_t count, const size_t *kept, bool *reduced);

#endif
