/* Implements array.h: the Python type with its attributes, and the functions of the module that make an
   uninitialised array or a view of one. */
#include "python/operands/array.h"

#include <stddef.h>
#include <structmember.h>

#include "device/process.h"
#include "python/args.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/methods.h"

py_array *py_array_new(py_state *state, gr_device_kind kind, int index, gr_dtype dtype, size_t ndim,
                       const uint64_t *extent) {
    PyTypeObject *type = (PyTypeObject *)state->array_class;
    if (type == NULL)
        return (py_array *)PyErr_Format(PyExc_RuntimeError, "no class of device arrays; import gpureduce");
    py_array *self = (py_array *)type->tp_alloc(type, (Py_ssize_t)ndim);
    if (self == NULL)
        return NULL;
    self->state = state;
    self->kind = kind;
    self->index = index;
    self->dtype = dtype;
    self->process = gr_process();
    int64_t stride = (int64_t)gr_dtypes[dtype].item_bytes;
    for (size_t d = ndim; d-- > 0;) {
        self->axis[d] = (py_axis){.extent = extent[d], .stride = stride};
        stride *= extent[d] > 0 ? (int64_t)extent[d] : 1;
    }
    return self;
}

void py_array_set_stream(py_array *self, gr_stream stream, PyObject *owner, bool stream_persists) {
    self->stream = stream;
    self->stream_owner = Py_XNewRef(owner);
    self->stream_may_end = !stream_persists && stream != 0;
}

gr_status py_array_detach_stream(py_array *self, gr_device *device, gr_error *error) {
    if (!self->stream_may_end)
        return GR_OK;
    const gr_status status =
        self->allocation != NULL ? gr_allocation_move(device, self->allocation, error) : GR_OK;
    if (status == GR_OK) {
        self->stream_may_end = false;
        self->stream = device->backend->internal_stream;
    }
    return status;
}

static size_t size_in_bytes(const py_array *self) {
    size_t bytes = gr_dtypes[self->dtype].item_bytes;
    for (size_t d = 0; d < py_array_ndim(self); ++d)
        bytes *= (size_t)self->axis[d].extent;
    return bytes;
}

gr_status py_array_allocate(py_array *self, gr_device *device, gr_error *error) {
    const size_t bytes = size_in_bytes(self);
    if (bytes == 0)
        return GR_OK;
    const gr_status status = gr_allocation_new(device, self->stream, bytes, &self->allocation, error);
    if (status == GR_OK)
        self->pointer = self->allocation->address;
    return status;
}

static void array_dealloc(PyObject *object) {
    py_array *self = (py_array *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->weak_references != NULL)
        PyObject_ClearWeakRefs(object);
    /* A forked child has a copy of the object, but only the parent may free the device memory. */
    if (self->allocation != NULL && self->process == gr_process()) {
        Py_BEGIN_ALLOW_THREADS; /* the driver may have to wait for a host callback */
        gr_allocation_release(self->allocation, self->exported);
        Py_END_ALLOW_THREADS;
    }
    Py_XDECREF(self->stream_owner);
    Py_XDECREF(self->base);
    type->tp_free(object);
    Py_DECREF(type);
}

enum { AXIS_STEP = sizeof(py_axis) / sizeof(int64_t) };

static PyObject *get_shape(PyObject *object, void *Py_UNUSED(closure)) {
    const py_array *self = (py_array *)object;
    return py_tuple_of_integers((const int64_t *)&self->axis[0].extent, AXIS_STEP, Py_SIZE(self));
}

static PyObject *get_strides(PyObject *object, void *Py_UNUSED(closure)) {
    const py_array *self = (py_array *)object;
    return py_tuple_of_integers(&self->axis[0].stride, AXIS_STEP, Py_SIZE(self));
}

static PyObject *get_dtype(PyObject *object, void *Py_UNUSED(closure)) {
    const py_array *self = (py_array *)object;
    return (PyObject *)py_descr(self->state, self->dtype);
}

static PyObject *get_stream(PyObject *object, void *Py_UNUSED(closure)) {
    const py_array *self = (py_array *)object;
    return PyLong_FromUnsignedLongLong(self->stream == 0 ? GR_LEGACY_HANDLE : self->stream);
}

static PyObject *share(PyObject *object, PyObject *Py_UNUSED(ignored)) {
    py_array *self = (py_array *)object;
    (self->base != NULL ? self->base : self)->exported = true;
    Py_RETURN_NONE;
}

static int detach_stream_now(py_array *self) {
    gr_device *device;
    if (!self->stream_may_end)
        return 0;
    if (py_open_device(self->state, self->kind, self->index, &device) < 0)
        return -1;
    py_work work;
    py_begin(&work);
    return py_end(self->state, &work, py_array_detach_stream(self, device, &work.error));
}

static PyObject *detach_stream(PyObject *object, PyObject *Py_UNUSED(ignored)) {
    return detach_stream_now((py_array *)object) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyGetSetDef attributes[] = {
    {"shape", get_shape, NULL, "The lengths of its axes.", NULL},
    {"strides", get_strides, NULL, "The steps along its axes, in bytes.", NULL},
    {"dtype", get_dtype, NULL, "The dtype of its elements.", NULL},
    {"stream", get_stream, NULL, "The CUDA stream in whose order it is written and freed.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    {"_pointer", T_ULONGLONG, offsetof(py_array, pointer), READONLY, "The address of the first element."},
    {"_kind", T_INT, offsetof(py_array, kind), READONLY, "The kind of its device, as the core numbers it."},
    {"_index", T_INT, offsetof(py_array, index), READONLY, "The number of its device."},
    {"base", T_OBJECT, offsetof(py_array, base), READONLY, "The array whose memory a view shows, or None."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(py_array, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef methods[] = {
    {"_share", share, METH_NOARGS,
     "_share(): marks the memory as used by other libraries, in unknown streams"},
    {"_settle", detach_stream, METH_NOARGS,
     "_settle(): moves the memory to a stream that outlives the array"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "An array in device memory, which it owns, or a view of another Array."},
    {Py_tp_dealloc, array_dealloc},
    {Py_tp_getset, attributes},
    {Py_tp_members, members},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "gpureduce._core.Array",
    .basicsize = sizeof(py_array),
    .itemsize = sizeof(py_axis),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int py_array_init(PyObject *module, py_state *state) {
    state->array_type = PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->array_type == NULL ? -1 : PyModule_AddObjectRef(module, "Array", state->array_type);
}

PyObject *py_array_class(PyObject *module, PyObject *class) {
    py_state *state = PyModule_GetState(module);
    PyTypeObject *type = (PyTypeObject *)class;
    if (!PyType_Check(class) || !PyType_IsSubtype(type, (PyTypeObject *)state->array_type) ||
        type->tp_basicsize != sizeof(py_array) || type->tp_dictoffset != 0 || state->array_class != NULL)
        return PyErr_Format(PyExc_TypeError,
                            "expected, once, a class of Array without attributes of its own");
    state->array_class = Py_NewRef(class);
    Py_RETURN_NONE;
}

/* Parses a shape. Raises if it has too many dimensions, a negative length, or a size in bytes that
   overflows. */
static int parse_shape(PyObject *shape, gr_dtype dtype, size_t *ndim, uint64_t *extent) {
    int64_t bytes = (int64_t)gr_dtypes[dtype].item_bytes;
    bool empty = false, fits = PyTuple_GET_SIZE(shape) <= GR_MAX_NDIM;
    *ndim = fits ? (size_t)PyTuple_GET_SIZE(shape) : 0;
    for (size_t d = 0; d < *ndim; ++d) {
        const int64_t length = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, (Py_ssize_t)d));
        if (length == -1 && PyErr_Occurred())
            return -1;
        fits = fits && length >= 0 && !__builtin_mul_overflow(bytes, length > 0 ? length : 1, &bytes);
        empty = empty || length == 0;
        extent[d] = (uint64_t)length;
    }
    return fits ? 0 : PY_RAISE(PyExc_ValueError, "shape: %R is no shape of an array", shape);
}

PyObject *py_array_empty(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *shape, *stream_object = Py_None;
    const char *name;
    int kind, index;
    gr_dtype dtype;
    gr_stream stream = 0;
    gr_device *device = NULL;
    uint64_t extent[GR_MAX_NDIM];
    size_t ndim;
    if (!PyArg_ParseTuple(args, "O!sii|O", &PyTuple_Type, &shape, &name, &kind, &index, &stream_object) ||
        py_find_dtype_name(name, "dtype", &dtype) < 0 || parse_shape(shape, dtype, &ndim, extent) < 0 ||
        (stream_object != Py_None && py_stream_argument(state, stream_object, &stream) < 0))
        return NULL;
    py_array *self = py_array_new(state, (gr_device_kind)kind, index, dtype, ndim, extent);
    if (self == NULL)
        return NULL;
    const bool is_object = stream_object != Py_None && !PyLong_Check(stream_object);
    py_array_set_stream(self, stream, is_object ? stream_object : NULL, is_object);
    if (size_in_bytes(self) == 0)
        return (PyObject *)self;
    if (py_open_device(state, self->kind, self->index, &device) == 0) {
        py_work work;
        py_begin(&work);
        if (py_end(state, &work, py_array_allocate(self, device, &work.error)) == 0)
            return (PyObject *)self;
    }
    Py_DECREF(self);
    return NULL;
}

/* Sets address and strides of a view whose first element is `offset` bytes after the first element of
   `array`. False if an element of the view would be outside of the base array's memory. */
static bool set_view_address(const py_array *array, PyObject *strides, long long offset, py_array *view) {
    const py_array *base = array->base != NULL ? array->base : array;
    const int64_t item = (int64_t)gr_dtypes[array->dtype].item_bytes;
    int64_t low = (int64_t)(array->pointer - base->pointer), high;
    if (offset % item != 0 || __builtin_add_overflow(low, offset, &low) ||
        __builtin_add_overflow(low, item, &high))
        return false;
    const int64_t first = low;
    for (Py_ssize_t d = 0; d < Py_SIZE(view); ++d) {
        py_axis *axis = &view->axis[d];
        int64_t span;
        axis->stride = PyLong_AsLongLong(PyTuple_GET_ITEM(strides, d));
        if (PyErr_Occurred() || axis->stride % item != 0 ||
            __builtin_mul_overflow(axis->stride, (int64_t)axis->extent - 1, &span) ||
            __builtin_add_overflow(span < 0 ? low : high, span, span < 0 ? &low : &high))
            return false;
    }
    view->pointer = base->pointer + (uint64_t)first;
    return low >= 0 && high <= (int64_t)size_in_bytes(base);
}

py_array *py_array_new_view(py_array *array, gr_dtype dtype, size_t ndim, const uint64_t *extent) {
    py_array *view = py_array_new(array->state, array->kind, array->index, dtype, ndim, extent);
    if (view == NULL)
        return NULL;
    py_array_set_stream(view, array->stream, array->stream_owner, true);
    view->process = array->process;
    view->base = (py_array *)Py_NewRef(array->base != NULL ? array->base : array);
    return view;
}

PyObject *py_array_view(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *object, *shape, *strides;
    long long offset;
    uint64_t extent[GR_MAX_NDIM];
    size_t ndim;
    if (!PyArg_ParseTuple(args, "O!O!O!L", state->array_type, &object, &PyTuple_Type, &shape, &PyTuple_Type,
                          &strides, &offset))
        return NULL;
    py_array *array = (py_array *)object;
    if (parse_shape(shape, array->dtype, &ndim, extent) < 0 || detach_stream_now(array) < 0)
        return NULL;
    if (PyTuple_GET_SIZE(strides) != PyTuple_GET_SIZE(shape))
        return PyErr_Format(PyExc_ValueError, "strides: expected one an axis");
    py_array *view = py_array_new_view(array, array->dtype, ndim, extent);
    if (view == NULL)
        return NULL;
    /* A view without elements has no address, and the strides of C order. */
    if (size_in_bytes(view) == 0 || set_view_address(array, strides, offset, view))
        return (PyObject *)view;
    Py_DECREF(view);
    return PyErr_Occurred() ? NULL
                            : PyErr_Format(PyExc_ValueError, "a view of %R, %R and %lld leaves its array",
                                           shape, strides, offset);
}

/* Parses lengths, ints of which one may be -1, for an array of `size` elements. False: fall back to Python.
 */
static bool parse_lengths(PyObject *shape, uint64_t size, size_t *ndim, uint64_t *extent) {
    uint64_t known = 1;
    size_t inferred = GR_MAX_NDIM;
    if (PyTuple_GET_SIZE(shape) > GR_MAX_NDIM)
        return false;
    *ndim = (size_t)PyTuple_GET_SIZE(shape);
    for (size_t d = 0; d < *ndim; ++d) {
        PyObject *item = PyTuple_GET_ITEM(shape, (Py_ssize_t)d);
        int overflow = 0;
        const long long length = PyLong_CheckExact(item) ? PyLong_AsLongLongAndOverflow(item, &overflow) : 0;
        if (length == -1 && overflow == 0 && inferred == GR_MAX_NDIM)
            inferred = d;
        else if (length <= 0 || overflow != 0 || __builtin_mul_overflow(known, (uint64_t)length, &known))
            return false;
        extent[d] = (uint64_t)length;
    }
    if (inferred == GR_MAX_NDIM)
        return known == size;
    extent[inferred] = size / known;
    return size % known == 0;
}

PyObject *py_array_reshaped(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *object, *shape;
    uint64_t extent[GR_MAX_NDIM];
    size_t ndim;
    if (!PyArg_ParseTuple(args, "O!O!", state->array_type, &object, &PyTuple_Type, &shape))
        return NULL;
    py_array *array = (py_array *)object;
    const int64_t item = (int64_t)gr_dtypes[array->dtype].item_bytes;
    int64_t next = item;
    bool packed = true;
    for (Py_ssize_t d = Py_SIZE(array); d-- > 0;) {
        packed = packed && (array->axis[d].extent == 1 || array->axis[d].stride == next);
        next *= (int64_t)array->axis[d].extent;
    }
    if (PyTuple_GET_SIZE(shape) == 1 && PyTuple_CheckExact(PyTuple_GET_ITEM(shape, 0)))
        shape = PyTuple_GET_ITEM(shape, 0);
    if (!packed || next == 0 || !parse_lengths(shape, (uint64_t)(next / item), &ndim, extent))
        return Py_NewRef(Py_NotImplemented);
    if (detach_stream_now(array) < 0)
        return NULL;
    py_array *view = py_array_new_view(array, array->dtype, ndim, extent);
    if (view == NULL)
        return NULL;
    view->pointer = array->pointer;
    return (PyObject *)view;
}
