/* Custom calls for XLA: hands their handlers to gpureduce.jax, which registers them, and computes the
   workspace of a call before XLA compiles it. */
#include "jax/jax.h"

#include <string.h>

#include "python/args.h"
#include "python/dtype.h"
#include "python/errors.h"
#include "python/methods.h"

static PyObject *capsule_of(xla_ffi_handler *handler) {
    return PyCapsule_New((void *)(uintptr_t)handler, NULL, NULL);
}

/* Returns a tuple per target: its name, and capsules of the handlers for arrays on the CPU and on a GPU. The
   module's devices serve the handlers from now on. */
PyObject *py_jax_targets(PyObject *module, PyObject *Py_UNUSED(ignored)) {
    py_state *state = PyModule_GetState(module);
    gr_jax_set_registry(&state->registry);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < gr_jax_target_count; ++i) {
        const gr_jax_target *target = &gr_jax_targets[i];
        PyObject *name = PyUnicode_FromFormat("gpureduce_%s_%d", target->name, GR_JAX_VERSION);
        py_append(&list,
                  Py_BuildValue("(NNN)", name, capsule_of(target->on_host), capsule_of(target->on_cuda)));
    }
    return list;
}

static const gr_jax_target *find_target(const char *name) {
    for (size_t i = 0; i < gr_jax_target_count; ++i)
        if (strcmp(name, gr_jax_targets[i].name) == 0)
            return &gr_jax_targets[i];
    PyErr_Format(PyExc_ValueError, "target: unknown target '%s'", name);
    return NULL;
}

/* Parses arrays: a tuple of (name of the dtype, shape). */
static int parse_arrays(PyObject *arrays, const char *name, size_t count, gr_jax_array *out) {
    if (!PyTuple_Check(arrays) || (size_t)PyTuple_GET_SIZE(arrays) != count)
        return PY_RAISE(PyExc_ValueError, "%s: expected %zu arrays", name, count);
    for (size_t i = 0; i < count; ++i) {
        const char *dtype_name;
        PyObject *shape;
        int dtype = 0;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(arrays, (Py_ssize_t)i), "sO!", &dtype_name, &PyTuple_Type,
                              &shape))
            return -1;
        while (dtype < GR_DTYPE_COUNT && strcmp(gr_dtypes[dtype].numpy_name, dtype_name) != 0)
            ++dtype;
        if (dtype == GR_DTYPE_COUNT || PyTuple_GET_SIZE(shape) > GR_JAX_MAX_NDIM)
            return PY_RAISE(PyExc_ValueError, "%s: unexpected dtype or number of dimensions", name);
        out[i] = (gr_jax_array){.dtype = (gr_dtype)dtype, .ndim = (size_t)PyTuple_GET_SIZE(shape)};
        for (size_t d = 0; d < out[i].ndim; ++d)
            out[i].extent[d] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(shape, (Py_ssize_t)d));
        if (PyErr_Occurred())
            return -1;
        if (!gr_jax_fits_memory(&out[i]))
            return PY_RAISE(PyExc_ValueError, "%s: expected arrays that fit memory", name);
    }
    return 0;
}

/* Reads a value that XLA will pass as an attribute: text, or a contiguous array. It stays the owner of the
 * data. */
static int read_value(PyObject *value, gr_jax_attribute *out) {
    if (PyUnicode_Check(value)) {
        Py_ssize_t bytes;
        out->kind = GR_JAX_TEXT;
        out->data = PyUnicode_AsUTF8AndSize(value, &bytes);
        out->count = (size_t)bytes;
        return out->data == NULL ? -1 : 0;
    }
    if (!PyArray_Check(value) || !PyArray_ISCARRAY_RO((PyArrayObject *)value))
        return PY_RAISE(PyExc_TypeError, "attributes: expected text or contiguous arrays");
    PyArrayObject *array = (PyArrayObject *)value;
    const int number = PyArray_TYPE(array);
    if (number != NPY_UINT8 && number != NPY_INT64 && number != NPY_FLOAT64)
        return PY_RAISE(PyExc_TypeError, "attributes: expected uint8, int64 or float64");
    out->kind = number == NPY_UINT8 ? GR_JAX_BYTES : number == NPY_INT64 ? GR_JAX_INTEGERS : GR_JAX_REALS;
    out->data = PyArray_DATA(array);
    out->count = (size_t)PyArray_SIZE(array);
    return 0;
}

static int parse_attributes(PyObject *attributes, gr_jax_call *call) {
    PyObject *name, *value;
    Py_ssize_t position = 0;
    if (!PyDict_Check(attributes) || PyDict_GET_SIZE(attributes) > GR_JAX_MAX_ATTRIBUTES)
        return PY_RAISE(PyExc_ValueError, "attributes: expected a dict of up to %d", GR_JAX_MAX_ATTRIBUTES);
    while (PyDict_Next(attributes, &position, &name, &value)) {
        gr_jax_attribute *attribute = &call->attributes[call->attribute_count++];
        Py_ssize_t bytes;
        attribute->name = PyUnicode_AsUTF8AndSize(name, &bytes);
        attribute->name_bytes = (size_t)bytes;
        if (attribute->name == NULL || read_value(value, attribute) < 0)
            return -1;
    }
    return 0;
}

PyObject *py_jax_workspace(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *kind, *index, *operands, *results, *attributes;
    const char *name;
    gr_jax_call call = {.attribute_count = 0};
    gr_device *device;
    size_t bytes = 0;
    py_work work;
    if (!PyArg_ParseTuple(args, "sOOOOO", &name, &kind, &index, &operands, &results, &attributes))
        return NULL;
    const gr_jax_target *target = find_target(name);
    if (target == NULL || parse_arrays(operands, "operands", target->operands, call.operands) < 0 ||
        parse_arrays(results, "results", target->results, call.results) < 0 ||
        parse_attributes(attributes, &call) < 0 || py_parse_device(state, kind, index, &device) < 0)
        return NULL;
    const gr_binding binding = {.required_workspace = &bytes};
    py_begin(&work);
    if (py_end(state, &work, target->run(&call, device, &binding, &work.error)) < 0)
        return NULL;
    return PyLong_FromSize_t(bytes);
}
