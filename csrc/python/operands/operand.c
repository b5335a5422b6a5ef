/* Implements operand.h: one converter per kind of object (NumPy array, DeviceArray, view, DLPack tensor,
   `__cuda_array_interface__`), and the operations on shapes and strides that planners need. */
#include "python/operands/operand.h"

#include <string.h>

#include "python/dtype.h"
#include "python/errors.h"
#include "python/operands/interface.h"

static size_t item_bytes(const py_operand *self) {
    return gr_dtypes[self->dtype].item_bytes;
}

PyObject *py_resize_guard(PyArrayObject *array) {
    while (PyArray_BASE(array) != NULL && PyArray_Check(PyArray_BASE(array)))
        array = (PyArrayObject *)PyArray_BASE(array); /* the base owns the memory of its views */
    return PyWeakref_NewRef((PyObject *)array, NULL);
}

static int convert_view(PyObject *view, const char *name, py_operand *out) {
    unsigned long long pointer = 0;
    PyObject *shape = NULL, *strides = NULL;
    const char *dtype = NULL;
    if (!PyArg_ParseTuple(view, "KO!O!s", &pointer, &PyTuple_Type, &shape, &PyTuple_Type, &strides, &dtype))
        return -1;
    const Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    if (ndim > GR_MAX_NDIM || PyTuple_GET_SIZE(strides) != ndim)
        return PY_RAISE(PyExc_ValueError, "%s: a view has %zd dimensions and %zd strides", name, ndim,
                        PyTuple_GET_SIZE(strides));
    out->ndim = (size_t)ndim;
    for (Py_ssize_t d = 0; d < ndim; ++d) {
        out->extent[d] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(shape, d));
        out->stride[d] = PyErr_Occurred() ? 0 : PyLong_AsLongLong(PyTuple_GET_ITEM(strides, d));
        if (PyErr_Occurred())
            return -1;
    }
    out->source = (gr_source){.host = NULL, .origin = pointer};
    return py_find_dtype_name(dtype, name, &out->dtype);
}

/* Sets the source to the bytes from the lowest to the highest element. False if a contiguous copy is smaller,
   or if an element is not aligned to its size, as kernels need it. */
static bool set_host_source(PyArrayObject *array, py_operand *out) {
    const size_t item = item_bytes(out);
    int64_t low = 0, high = (int64_t)item;
    bool aligned = true;
    for (size_t d = 0; d < out->ndim; ++d) {
        if (out->extent[d] == 0) {
            out->source = (gr_source){.host = PyArray_DATA(array)};
            return true;
        }
        const int64_t span = out->stride[d] * (int64_t)(out->extent[d] - 1);
        low += span < 0 ? span : 0;
        high += span > 0 ? span : 0;
        aligned = aligned && (out->extent[d] == 1 || out->stride[d] % (int64_t)item == 0);
    }
    out->source = (gr_source){.host = (const char *)PyArray_DATA(array) + low,
                              .bytes = (size_t)(high - low),
                              .origin = (uint64_t)-low};
    return aligned && out->source.bytes <= (size_t)PyArray_SIZE(array) * item;
}

static void copy_shape(PyArrayObject *array, py_operand *out) {
    out->ndim = (size_t)PyArray_NDIM(array);
    for (size_t d = 0; d < out->ndim; ++d) {
        out->extent[d] = (uint64_t)PyArray_DIM(array, (int)d);
        out->stride[d] = PyArray_STRIDE(array, (int)d);
    }
}

/* Replaces self->owner by `array`, whose reference it steals, and describes it. Copies the array if kernels
   cannot read it directly. */
static int set_array(py_operand *self, PyObject *array) {
    if (array == NULL)
        return -1;
    Py_XSETREF(self->owner, array);
    copy_shape((PyArrayObject *)array, self);
    if (set_host_source((PyArrayObject *)array, self))
        return 0;
    return set_array(self, PyArray_NewCopy((PyArrayObject *)array, NPY_KEEPORDER)); /* as results have it */
}

int py_operand_make_contiguous(py_operand *self) {
    return set_array(self, PyArray_NewCopy((PyArrayObject *)self->owner, NPY_CORDER));
}

int py_operand_ensure_element_strides(py_operand *self) {
    const int64_t item = (int64_t)gr_dtypes[self->dtype].item_bytes;
    bool whole = true;
    for (size_t d = 0; d < self->ndim; ++d)
        whole = whole && (self->stride[d] % item == 0 || self->extent[d] <= 1);
    return whole || self->owner == NULL ? 0 : py_operand_make_contiguous(self);
}

static bool is_native(PyArrayObject *array) {
    return PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array);
}

static bool is_contiguous(PyArrayObject *array) {
    return PyArray_IS_C_CONTIGUOUS(array) || PyArray_IS_F_CONTIGUOUS(array);
}

/* Steals the reference to `array`. */
static int convert_array(const py_state *state, PyArrayObject *array, py_conversion conversion,
                         gr_scope scope, const char *name, py_operand *out) {
    out->owner = (PyObject *)array;
    if (py_find_dtype(state, array, scope, name, &out->dtype) < 0)
        return -1;
    if (PyArray_NDIM(array) > GR_MAX_NDIM)
        return PY_RAISE(PyExc_ValueError, "%s: %d dimensions are too many", name, PyArray_NDIM(array));
    if (conversion == PY_COPY && !(is_native(array) && is_contiguous(array))) {
        PyArray_Descr *native = PyArray_DescrFromType(state->type_numbers[out->dtype]);
        return native == NULL
                   ? -1
                   : set_array(out,
                               PyArray_FromArray(array, native, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_ENSUREARRAY));
    }
    if (!is_native(array))
        return PY_RAISE(PyExc_ValueError, "%s: expected an aligned array in native byte order", name);
    out->resize_guard = py_resize_guard(array);
    return out->resize_guard == NULL ? -1 : set_array(out, Py_NewRef(array));
}

/* Finds a dtype that NumPy has: bfloat16 only once ml_dtypes is imported. */
static bool find_numpy_dtype(const py_state *state, dl_dtype dtype, gr_dtype *out) {
    PyArray_Descr *descr = dl_find_dtype(dtype, out) ? py_descr(state, *out) : NULL;
    const bool found = descr != NULL;
    Py_XDECREF(descr);
    PyErr_Clear();
    return found;
}

/* Sets the source to device memory of another library. False if the range of addresses overflows, an element
   is not aligned, or there are no elements. `c_order`: no strides were given. */
static bool set_device_source(py_operand *out, uint64_t first, bool c_order) {
    const int64_t item = (int64_t)item_bytes(out);
    int64_t bytes = item, low = 0, high = item;
    for (size_t d = out->ndim; d-- > 0;) {
        const int64_t length = (int64_t)out->extent[d];
        int64_t span;
        if (c_order || length == 1)
            out->stride[d] = bytes;
        if (length < 1 || __builtin_mul_overflow(out->stride[d], length - 1, &span) ||
            out->stride[d] % item != 0 || __builtin_mul_overflow(bytes, length, &bytes) ||
            __builtin_add_overflow(span, span < 0 ? low : high, span < 0 ? &low : &high))
            return false;
    }
    out->source = (gr_source){.host = NULL, .origin = first};
    uint64_t end;
    return first % (uint64_t)item == 0 && first > (uint64_t)0 - (uint64_t)low &&
           !__builtin_add_overflow(first, (uint64_t)high, &end);
}

static bool describe_tensor(const dl_tensor *tensor, py_operand *out) {
    uint64_t first;
    if (tensor->ndim < 0 || tensor->ndim > DL_MAX_NDIM || (tensor->ndim > 0 && tensor->shape == NULL) ||
        __builtin_add_overflow((uintptr_t)tensor->data, tensor->byte_offset, &first))
        return false;
    out->on_device = true;
    out->kind = GR_DEVICE_CUDA;
    out->index = tensor->device.number;
    out->stream = out->tensor.stream;
    out->stream_persists = true; /* PyTorch's streams come from a pool and are never destroyed */
    out->read_only = out->tensor.is_jax ||
                     (out->tensor.managed != NULL && (out->tensor.managed->flags & DL_READ_ONLY) != 0);
    out->ndim = (size_t)tensor->ndim;
    for (size_t d = 0; d < out->ndim; ++d) {
        out->extent[d] = (uint64_t)tensor->shape[d];
        if (tensor->strides != NULL && tensor->shape[d] > 1 &&
            __builtin_mul_overflow(tensor->strides[d], (int64_t)item_bytes(out), &out->stride[d]))
            return false;
    }
    return set_device_source(out, first, tensor->strides == NULL);
}

/* Finds the CUDA device of the memory. The library names a stream of its current device: if that is another
   device, or unknown, the Python fallback has to convert the array. */
static bool find_device(py_state *state, gr_devptr pointer, int *index) {
    gr_error ignored;
    int current, count = atomic_load_explicit(&state->cuda_devices, memory_order_relaxed);
    if (count == 0 && gr_backend_cuda_count(&count, &ignored) == GR_OK)
        atomic_store_explicit(&state->cuda_devices, count, memory_order_relaxed);
    return gr_backend_cuda_pointer(pointer, index, &ignored) == GR_OK &&
           (count == 1 || (gr_backend_cuda_current(&current, &ignored) == GR_OK && current == *index));
}

static int convert_cuda_array_interface(py_state *state, PyObject *object, py_operand *out) {
    py_interface interface;
    const int status = py_interface_from_object(state, object, &interface);
    if (status <= 0)
        return status;
    out->dtype = interface.dtype;
    out->on_device = true;
    out->kind = GR_DEVICE_CUDA;
    out->stream = interface.stream; /* CuPy destroys it with its object, which is not named */
    out->read_only = interface.read_only;
    out->ndim = interface.ndim;
    for (size_t d = 0; d < out->ndim; ++d) {
        out->extent[d] = (uint64_t)interface.shape[d];
        if (!interface.c_order)
            out->stride[d] = interface.strides[d];
    }
    return set_device_source(out, interface.pointer, interface.c_order) &&
           find_device(state, interface.pointer, &out->index);
}

static void convert_device_array(const py_array *array, py_operand *out) {
    out->on_device = true;
    out->kind = array->kind;
    out->index = array->index;
    out->stream = array->stream;
    out->stream_owner = array->stream_owner;
    out->stream_persists = !array->stream_may_end;
    out->read_only = false;
    out->dtype = array->dtype;
    out->ndim = py_array_ndim(array);
    for (size_t d = 0; d < out->ndim; ++d) {
        out->extent[d] = array->axis[d].extent;
        out->stride[d] = array->axis[d].stride;
    }
    out->source = (gr_source){.host = NULL, .origin = array->pointer};
}

static int convert_tensor(py_state *state, PyObject *object, py_conversion conversion, py_operand *out) {
    dl_tensor tensor;
    int status = py_tensor_from_object(state, object, conversion == PY_DETACHED, &tensor, &out->tensor);
    if (status == 0 && conversion == PY_DEFERRED && !out->tensor.has_exchange_api) {
        status = py_tensor_from_jax(state, object, &out->tensor);
        if (status > 0)
            tensor = out->tensor.managed->tensor;
    }
    if (status < 0)
        return status;
    if (status == 0)
        return out->tensor.has_exchange_api ? 0 : convert_cuda_array_interface(state, object, out);
    return find_numpy_dtype(state, tensor.dtype, &out->dtype) && describe_tensor(&tensor, out);
}

int py_operand_borrow(py_state *state, PyObject *object, py_borrowing *borrowing, py_operand *out) {
    dl_tensor tensor;
    py_operand_init(out);
    if (py_array_check(state, object)) {
        convert_device_array((const py_array *)object, out);
        return 1;
    }
    const int status = py_tensor_borrow(state, object, borrowing, &tensor);
    out->tensor.stream = borrowing->stream;
    if (status <= 0 || !dl_find_dtype(tensor.dtype, &out->dtype))
        return status < 0 ? -1 : 0;
    out->ndim = 0;
    if (describe_tensor(&tensor, out))
        return 1;
    out->source = (gr_source){.host = NULL};
    return out->ndim > 0 && py_operand_count(out, NULL) == 0;
}

/* NumPy's results keep the dtype `long long`, which is distinct from int64: the Python fallback converts
   it. */
static bool is_long_long(PyArrayObject *array) {
    return PyArray_TYPE(array) == NPY_LONGLONG || PyArray_TYPE(array) == NPY_ULONGLONG;
}

/* PY_NO_COPY, PY_DETACHED and PY_DEFERRED: 1: converted; 0: fall back to Python; -1 with an exception set. */
static int convert_without_copy(py_state *state, PyObject *object, gr_scope scope, const char *name,
                                py_conversion conversion, py_operand *out) {
    int failed = -1;
    if (PyTuple_Check(object) || PyList_CheckExact(object) || PyFloat_CheckExact(object) ||
        PyLong_CheckExact(object))
        return 0;
    if (!PyArray_Check(object))
        return convert_tensor(state, object, conversion, out);
    PyArrayObject *array = (PyArrayObject *)object;
    if (PyArray_CheckExact(object) && is_native(array) && !is_long_long(array))
        failed = convert_array(state, (PyArrayObject *)Py_NewRef(object), PY_NATIVE, scope, name, out);
    if (failed < 0 && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_MemoryError))
        return -1;
    PyErr_Clear();
    return failed == 0;
}

int py_operand_from_object(py_state *state, PyObject *object, py_conversion conversion, gr_scope scope,
                           const char *name, py_operand *out) {
    py_operand_init(out);
    if (conversion != PY_COPY && py_array_check(state, object)) {
        convert_device_array((const py_array *)object, out);
        return 1;
    }
    if (conversion == PY_NO_COPY || conversion == PY_DETACHED || conversion == PY_DEFERRED)
        return convert_without_copy(state, object, scope, name, conversion, out);
    if (conversion == PY_NATIVE && PyTuple_Check(object))
        return convert_view(object, name, out) < 0 ? -1 : 1;
    if (conversion == PY_NATIVE && !PyArray_Check(object))
        return PY_RAISE(PyExc_TypeError, "%s: expected a NumPy array or a view of device memory, got %s",
                        name, Py_TYPE(object)->tp_name);
    PyObject *array = conversion == PY_NATIVE ? Py_NewRef(object) : PyArray_FROM_O(object);
    if (array == NULL)
        return -1;
    return convert_array(state, (PyArrayObject *)array, conversion, scope, name, out) < 0 ? -1 : 1;
}

void py_operand_release(py_operand *self) {
    Py_CLEAR(self->resize_guard);
    Py_CLEAR(self->owner);
    if (self->tensor.managed != NULL)
        dl_release(self->tensor.managed);
    self->tensor.managed = NULL;
}

uint64_t py_operand_count(const py_operand *self, const bool *reduced) {
    uint64_t count = 1;
    for (size_t d = 0; d < self->ndim; ++d)
        count *= reduced != NULL && reduced[d] ? 1 : self->extent[d];
    return count;
}

void py_operand_fill_layout(const py_operand *self, gr_layout *layout) {
    layout->ndim = self->ndim;
    layout->item_bytes = item_bytes(self);
    layout->origin = self->source.origin % 256; /* uploads are aligned to at least 256 bytes */
    memcpy(layout->extent, self->extent, self->ndim * sizeof layout->extent[0]);
    memcpy(layout->stride, self->stride, self->ndim * sizeof layout->stride[0]);
}

static bool is_packed_in(const py_operand *self, bool last_first) {
    uint64_t bytes = item_bytes(self);
    for (size_t i = 0; i < self->ndim; ++i) {
        const size_t d = last_first ? self->ndim - 1 - i : i;
        if (self->extent[d] != 1 && self->stride[d] != (int64_t)bytes)
            return false;
        bytes *= self->extent[d];
    }
    return true;
}

bool py_operand_is_contiguous(const py_operand *self, bool in_c_order) {
    return py_operand_count(self, NULL) == 0 || is_packed_in(self, true) ||
           (!in_c_order && is_packed_in(self, false));
}

bool py_operand_broadcast(py_operand *self, size_t ndim, const uint64_t *extent) {
    if (self->ndim > ndim)
        return false;
    const size_t added = ndim - self->ndim;
    for (size_t d = ndim; d-- > 0;) {
        const uint64_t have = d < added ? 1 : self->extent[d - added];
        if (have != 1 && have != extent[d])
            return false;
        self->stride[d] = have == 1 ? 0 : self->stride[d - added];
        self->extent[d] = extent[d];
    }
    self->ndim = ndim;
    return true;
}

bool py_operand_merge(const py_operand *self, size_t begin, size_t end, uint64_t *extent, int64_t *stride) {
    *extent = 1;
    *stride = 0;
    for (size_t d = end; d-- > begin;) {
        if (self->extent[d] == 1)
            continue;
        if (*extent > 1 && self->stride[d] != *stride * (int64_t)*extent)
            return false;
        if (*extent == 1)
            *stride = self->stride[d];
        *extent *= self->extent[d];
    }
    return true;
}

int py_parse_axes(PyObject *axes, size_t ndim, bool *reduced) {
    if (!PyTuple_Check(axes))
        return PY_RAISE(PyExc_TypeError, "axes: expected a tuple");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axes); ++i) {
        const Py_ssize_t axis = PyNumber_AsSsize_t(PyTuple_GET_ITEM(axes, i), PyExc_ValueError);
        if (axis == -1 && PyErr_Occurred())
            return -1;
        if (axis < 0 || (size_t)axis >= ndim || reduced[axis])
            return PY_RAISE(PyExc_ValueError, "axes: %zd is no axis, or named twice", axis);
        reduced[axis] = true;
    }
    return 0;
}

/* Transposes the owner and copies it to C order. Raises if its shape has changed since the operand was
   converted: the results were counted by the old shape. */
static int transpose(py_operand *self, npy_intp *order, int ndim) {
    uint64_t extent[GR_MAX_NDIM];
    for (int d = 0; d < ndim; ++d)
        extent[d] = self->extent[order[d]];
    PyArray_Dims axes = {order, ndim};
    PyObject *transposed = PyArray_Transpose((PyArrayObject *)self->owner, &axes);
    if (transposed == NULL)
        return -1;
    Py_SETREF(self->owner, transposed);
    if (py_operand_make_contiguous(self) < 0)
        return -1;
    if (memcmp(self->extent, extent, (size_t)ndim * sizeof extent[0]) == 0)
        return 0;
    return PY_RAISE(PyExc_ValueError, "a: the array was given another shape during the call");
}

int py_operands_make_contiguous(py_operand *const *operands, size_t count, const size_t *kept,
                                bool *reduced) {
    npy_intp order[GR_MAX_NDIM];
    const size_t all = operands[0]->ndim;
    int ndim = 0;
    for (size_t d = 0; d < all; ++d)
        if (!reduced[d]) {
            order[ndim] = (npy_intp)(kept != NULL ? kept[ndim] : d);
            ++ndim;
        }
    const int results = ndim;
    for (size_t d = 0; d < all; ++d)
        if (reduced[d])
            order[ndim++] = (npy_intp)d;
    for (size_t i = 0; i < count; ++i) {
        if (operands[i]->owner == NULL)
            return PY_RAISE(PyExc_ValueError,
                            "a: a device array with such strides cannot be reduced over these "
                            "axes; copy it to C order first");
        if (transpose(operands[i], order, ndim) < 0)
            return -1;
    }
    for (int d = 0; d < ndim; ++d)
        reduced[d] = d >= results;
    return 0;
}
