/* _core.Array: elements in memory of a device that end with it, or a view of another one's.
   gpureduce.DeviceArray is its only subclass. */
#ifndef GR_PYTHON_INTAKE_ARRAY_H
#define GR_PYTHON_INTAKE_ARRAY_H

#include "python/state.h"
#include "reduce/general/plan.h"

typedef struct py_axis {
    uint64_t extent;
    int64_t stride; /* in bytes */
} py_axis;

typedef struct py_array {
    PyObject_VAR_HEAD; /* an item an axis */
    PyObject *weak_references;
    py_state *state;
    struct py_array *base; /* whose memory a view shows, no view itself; NULL: it has memory of its own */
    gr_allocation *block;  /* NULL where there are no elements, and of a view */
    gr_devptr pointer;
    gr_device_kind kind;
    int index;
    gr_dtype dtype;
    gr_stream stream;       /* in whose order it is written and freed; the legacy one is 0 */
    PyObject *stream_owner; /* the object by which the caller named the stream, or NULL */
    bool loose;             /* nobody keeps the stream: it may end before the array, unless py_array_settle */
    int process;
    bool shared; /* others may use it in streams that we do not know */
    py_axis axis[];
} py_array;

/* Adds the type to the module; -1 with an exception set on failure. */
int py_array_init(PyObject *module, py_state *state);

/* A DeviceArray in C order that has no memory yet. NULL with an exception set on failure, also before the
   package has named the class. */
py_array *py_array_new(py_state *state, gr_device_kind kind, int index, gr_dtype dtype, size_t ndim,
                       const uint64_t *extent);
/* `lasts`: the stream does not end before the process, or before its owner, which may be NULL. */
void py_array_set_stream(py_array *self, gr_stream stream, PyObject *owner, bool lasts);
/* Gives it memory in the order of its stream, on its device; without the GIL. */
gr_status py_array_allocate(py_array *self, gr_device *device, gr_error *error);

/* After it was written: where it was made in a stream that may end before it, it goes over to one of the
   device. Without the GIL. */
gr_status py_array_settle(py_array *self, gr_device *device, gr_error *error);

static inline bool py_array_check(const py_state *state, PyObject *object) {
    return Py_TYPE(object) == (PyTypeObject *)state->array_class ||
           PyObject_TypeCheck(object, (PyTypeObject *)state->array_type);
}

static inline size_t py_array_ndim(const py_array *self) {
    return (size_t)Py_SIZE(self);
}

size_t py_array_bytes(const py_array *self);

#endif
