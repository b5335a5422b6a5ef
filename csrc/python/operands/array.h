/* The type _core.Array: an n-dimensional array in device memory that it owns, or a view of another Array's
   memory. gpureduce.DeviceArray is its only subclass. Memory is allocated and freed in the order of the
   array's CUDA stream. */
#ifndef GR_PYTHON_OPERANDS_ARRAY_H
#define GR_PYTHON_OPERANDS_ARRAY_H

#include "python/state.h"
#include "reduce/general/plan.h"

typedef struct py_axis {
    uint64_t extent; /* elements */
    int64_t stride;  /* bytes */
} py_axis;

typedef struct py_array {
    PyObject_VAR_HEAD; /* ob_size is the number of axes */
    PyObject *weak_references;
    py_state *state;
    struct py_array *base;     /* of a view: the array that owns the memory, never a view itself; else NULL */
    gr_allocation *allocation; /* owned memory; NULL for a view or an array without elements */
    gr_devptr pointer;         /* address of the first element; 0 without elements */
    gr_device_kind kind;
    int index;
    gr_dtype dtype;
    gr_stream stream; /* the memory is written and freed in this stream's order; 0: legacy default stream */
    PyObject *stream_owner; /* the object by which the caller named the stream, or NULL */
    bool stream_may_end;    /* the stream may be destroyed before the array: see py_array_detach_stream */
    int process;   /* id of the process that made the array: a forked child must not free its memory */
    bool exported; /* another library may use the memory in streams unknown to this package */
    py_axis axis[];
} py_array;

/* Adds the type to the module. -1 with an exception set. */
int py_array_init(PyObject *module, py_state *state);

/* Returns a new DeviceArray in C order that has no memory yet. NULL with an exception set, also before the
   package has registered its class (py_array_class). */
py_array *py_array_new(py_state *state, gr_device_kind kind, int index, gr_dtype dtype, size_t ndim,
                       const uint64_t *extent);
/* Returns a new view of an array's memory in C order, whose address the caller sets. NULL with an exception
   set. The stream of the array persists. */
py_array *py_array_new_view(py_array *array, gr_dtype dtype, size_t ndim, const uint64_t *extent);
/* `stream_persists`: the stream outlives the array, because it lives as long as the process or as `owner`
   (may be NULL). */
void py_array_set_stream(py_array *self, gr_stream stream, PyObject *owner, bool stream_persists);
/* Allocates memory on its device in its stream's order. Call without the GIL. */
gr_status py_array_allocate(py_array *self, gr_device *device, gr_error *error);

/* After the array was written: if its stream may be destroyed before the array, moves the array to the
   device's internal stream. Call without the GIL. */
gr_status py_array_detach_stream(py_array *self, gr_device *device, gr_error *error);

static inline bool py_array_check(const py_state *state, PyObject *object) {
    return Py_TYPE(object) == (PyTypeObject *)state->array_class ||
           PyObject_TypeCheck(object, (PyTypeObject *)state->array_type);
}

static inline size_t py_array_ndim(const py_array *self) {
    return (size_t)Py_SIZE(self);
}

#endif
