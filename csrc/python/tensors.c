/* Implements tensors.h. */
#include "python/tensors.h"

#include <string.h>

#include "python/dtype.h"
#include "python/errors.h"

void py_tensors_free(py_tensors *self) {
    if (self == NULL)
        return;
    Py_XDECREF((PyObject *)self->type);
    Py_XDECREF((PyObject *)self->subtype);
    PyObject *const objects[] = {self->guards,        self->grad_enabled, self->record,
                                 self->new_empty,     self->dtype_names,  self->data_ptr,
                                 self->requires_grad, self->apply,        self->defaults};
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; ++i)
        Py_XDECREF(objects[i]);
    for (size_t i = 0; i < GR_DTYPE_COUNT; ++i)
        Py_XDECREF(self->dtypes[i]);
    PyMem_Free(self);
}

/* Finds the shim's code of a dtype by its text, "torch.<name>". -1 with an exception set. */
static int find_code(PyObject *dtype, int32_t *out) {
    static const char prefix[] = "torch.";
    const torch_shim *shim = torch_shim_get();
    PyObject *text = PyObject_Str(dtype);
    const char *name = text == NULL ? NULL : PyUnicode_AsUTF8(text);
    *out = -1;
    if (name != NULL && shim->makes_tensors && strncmp(name, prefix, sizeof prefix - 1) == 0)
        for (size_t i = 0; i < GR_DTYPE_COUNT; ++i)
            if (strcmp(name + sizeof prefix - 1, gr_dtypes[i].numpy_name) == 0 && shim->find_dtype[i] != NULL)
                *out = shim->find_dtype[i]();
    Py_XDECREF(text);
    return name == NULL ? -1 : 0;
}

/* Parses a tuple of dispatch keys. -1 with an exception set. */
static int parse_keys(PyObject *keys, uint16_t *out, size_t *count) {
    const Py_ssize_t size = PyTuple_GET_SIZE(keys);
    *count = (size_t)size;
    if (size > PY_TENSOR_KEYS || (size > 0 && torch_shim_get()->is_included == NULL))
        return PY_RAISE(PyExc_ValueError, "keys: expected up to %d, and a shim that has them",
                        PY_TENSOR_KEYS);
    for (Py_ssize_t i = 0; i < size; ++i) {
        const long key = PyLong_AsLong(PyTuple_GET_ITEM(keys, i));
        if (PyErr_Occurred())
            return -1;
        out[i] = (uint16_t)key;
    }
    return 0;
}

static int parse_dtypes(py_tensors *self, PyObject *dtypes) {
    PyObject *name, *dtype;
    Py_ssize_t at = 0;
    while (PyDict_Next(dtypes, &at, &name, &dtype)) {
        gr_dtype found = GR_DTYPE_COUNT;
        const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
        if (text == NULL || py_find_dtype_name(text, "dtypes", &found) < 0)
            return PyErr_Occurred() ? -1 : PY_RAISE(PyExc_TypeError, "dtypes: expected names");
        Py_XSETREF(self->dtypes[found], Py_NewRef(dtype));
        if (find_code(dtype, &self->codes[found]) < 0)
            return -1;
    }
    return 0;
}

/* Parses a callable, None, True or a tuple. -1 with an exception set. */
static int parse_record(py_tensors *self, PyObject *record) {
    PyObject *apply, *defaults;
    if (!PyTuple_Check(record)) {
        self->record = Py_NewRef(record);
        return 0;
    }
    if (!PyArg_ParseTuple(record, "OO!nO", &apply, &PyTuple_Type, &defaults, &self->shared, &record))
        return -1;
    self->record = Py_NewRef(record);
    self->apply = Py_NewRef(apply);
    self->defaults = Py_NewRef(defaults);
    return PyTuple_GET_SIZE(defaults) <= PY_ARGUMENTS && self->shared <= PyTuple_GET_SIZE(defaults)
               ? 0
               : PY_RAISE(PyExc_ValueError, "record: expected a default for each shared argument");
}

static int check_guards(PyObject *guards) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(guards); ++i) {
        PyObject *guard = PyTuple_GET_ITEM(guards, i);
        if (!PyTuple_Check(guard) || PyTuple_GET_SIZE(guard) != 3)
            return PY_RAISE(PyExc_TypeError, "guards: expected tuples of 3, got %R", guard);
    }
    return 0;
}

py_tensors *py_tensors_parse(PyObject *rules) {
    PyObject *type, *subtype, *guards, *included, *excluded, *recording, *grad_enabled, *record, *dtypes;
    if (!PyTuple_Check(rules)) {
        PyErr_SetString(PyExc_TypeError, "tensors: expected a tuple");
        return NULL;
    }
    if (!PyArg_ParseTuple(rules, "(O!O!)O!(O!O!O!)OOO!", &PyType_Type, &type, &PyType_Type, &subtype,
                          &PyTuple_Type, &guards, &PyTuple_Type, &included, &PyTuple_Type, &excluded,
                          &PyTuple_Type, &recording, &grad_enabled, &record, &PyDict_Type, &dtypes) ||
        check_guards(guards) < 0)
        return NULL;
    py_tensors *self = PyMem_Calloc(1, sizeof *self);
    if (self == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    self->shim = torch_shim_get();
    self->type = (PyTypeObject *)Py_NewRef(type);
    self->subtype = (PyTypeObject *)Py_NewRef(subtype);
    self->guards = Py_NewRef(guards);
    self->grad_enabled = Py_NewRef(grad_enabled);
    self->new_empty = PyUnicode_InternFromString("new_empty");
    self->data_ptr = PyUnicode_InternFromString("data_ptr");
    self->requires_grad = PyUnicode_InternFromString("requires_grad");
    self->dtype_names = Py_BuildValue("(s)", "dtype");
    if (self->new_empty == NULL || self->data_ptr == NULL || self->requires_grad == NULL ||
        self->dtype_names == NULL || parse_keys(included, self->included, &self->included_count) < 0 ||
        parse_keys(excluded, self->excluded, &self->excluded_count) < 0 ||
        parse_keys(recording, self->recording, &self->recording_count) < 0 ||
        parse_record(self, record) < 0 || parse_dtypes(self, dtypes) < 0) {
        py_tensors_free(self);
        return NULL;
    }
    return self;
}

/* Whether a value has the expected identity; steals the reference to the value. -1 if it is NULL. */
static int is_expected(PyObject *value, PyObject *expected) {
    const int answer = value == NULL ? -1 : value == expected;
    Py_XDECREF(value);
    return answer;
}

bool py_tensors_has_type(const py_tensors *self, PyObject *argument) {
    return Py_TYPE(argument) == self->type || Py_TYPE(argument) == self->subtype;
}

/* Whether a tensor requires a gradient; 0 for other arguments. -1 with an exception set. */
static int requires_grad(const py_tensors *self, PyObject *argument) {
    return py_tensors_has_type(self, argument)
               ? is_expected(PyObject_GetAttr(argument, self->requires_grad), Py_True)
               : 0;
}

/* Whether autograd records operators. -1 with an exception set. */
static int is_recording(const py_tensors *self) {
    for (size_t i = 0; i < self->recording_count; ++i)
        if (self->shim->is_excluded(self->recording[i]))
            return 0;
    return is_expected(PyObject_CallNoArgs(self->grad_enabled), Py_True);
}

/* Whether no mode, transform or tracer would intercept the operator. -1 with an exception set. */
static int is_plain_state(const py_tensors *self) {
    const torch_shim *shim = self->shim;
    int plain = 1;
    for (size_t i = 0; i < self->included_count; ++i)
        if (shim->is_included(self->included[i]))
            return 0;
    for (size_t i = 0; i < self->excluded_count; ++i)
        if (!shim->is_excluded(self->excluded[i]))
            return 0;
    for (Py_ssize_t i = 0; plain > 0 && i < PyTuple_GET_SIZE(self->guards); ++i) {
        PyObject *guard = PyTuple_GET_ITEM(self->guards, i);
        PyObject *object = PyTuple_GET_ITEM(guard, 0), *name = PyTuple_GET_ITEM(guard, 1);
        plain = is_expected(name == Py_None ? PyObject_CallNoArgs(object) : PyObject_GetAttr(object, name),
                            PyTuple_GET_ITEM(guard, 2));
    }
    return plain;
}

py_tensor_call py_tensors_call(const py_tensors *self, PyObject *a, PyObject *const *arguments,
                               size_t count) {
    int needed = 0;
    if (!py_tensors_has_type(self, a))
        return PY_TENSORS_OPERATOR;
    for (size_t i = 0; needed >= 0 && i < count; ++i) {
        if (arguments[i] == NULL)
            continue;
        if (!py_tensors_has_type(self, arguments[i]) && PyObject_TypeCheck(arguments[i], self->type))
            return PY_TENSORS_OPERATOR; /* another subclass */
        const int requires = requires_grad(self, arguments[i]);
        needed = requires < 0 ? -1 : needed | requires;
    }
    if (needed > 0)
        needed = is_recording(self);
    const int plain = needed < 0 ? -1 : is_plain_state(self);
    if (plain <= 0)
        return plain < 0 ? PY_TENSORS_ERROR : PY_TENSORS_OPERATOR;
    if (needed == 0 || self->record == Py_True)
        return PY_TENSORS_PLAIN;
    return self->record != Py_None ? PY_TENSORS_RECORDED : PY_TENSORS_OPERATOR;
}

/* Records the result of a call by positional arguments, which does not fill in defaults in Python. Borrows
   the reference to the result. */
static PyObject *apply(const py_tensors *self, PyObject *result, PyObject *const *args, Py_ssize_t count) {
    PyObject *given[PY_ARGUMENTS + 1], *list = PyList_New(1);
    const Py_ssize_t all = PyTuple_GET_SIZE(self->defaults);
    if (list == NULL)
        return NULL;
    PyList_SET_ITEM(list, 0, Py_NewRef(result));
    for (Py_ssize_t i = 0; i < all; ++i)
        given[i] = i < count ? args[i] : PyTuple_GET_ITEM(self->defaults, i);
    given[all] = list;
    PyObject *recorded = PyObject_Vectorcall(self->apply, given, (size_t)all + 1, NULL);
    Py_DECREF(list);
    if (recorded != NULL && PyTuple_CheckExact(recorded)) /* values and indices */
        Py_SETREF(recorded, PyObject_Call((PyObject *)Py_TYPE(result), recorded, NULL));
    return recorded;
}

PyObject *py_tensors_record(const py_tensors *self, PyObject *result, PyObject *const *args, Py_ssize_t count,
                            PyObject *names) {
    PyObject *given[1 + PY_ARGUMENTS], *recorded;
    if (self->apply != NULL && names == NULL && count <= self->shared) {
        recorded = apply(self, result, args, count);
    } else {
        const size_t all = (size_t)count + (names == NULL ? 0 : (size_t)PyTuple_GET_SIZE(names));
        given[0] = result;
        memcpy(given + 1, args, all * sizeof *args);
        recorded = PyObject_Vectorcall(self->record, given, (size_t)count + 1, names);
    }
    Py_DECREF(result);
    return recorded;
}

PyObject *py_tensors_new(const py_tensors *self, PyObject *like, gr_dtype dtype, size_t ndim,
                         const uint64_t *extent, int index, gr_devptr *address) {
    if (self->codes[dtype] >= 0) {
        PyObject *made = torch_shim_empty(self->shim, self->codes[dtype], index, ndim, extent, address);
        if (made != NULL || PyErr_Occurred())
            return made;
    }
    PyObject *shape = PyTuple_New((Py_ssize_t)ndim);
    for (size_t d = 0; shape != NULL && d < ndim; ++d) {
        PyObject *length = PyLong_FromUnsignedLongLong(extent[d]);
        if (length == NULL)
            Py_CLEAR(shape);
        else
            PyTuple_SET_ITEM(shape, (Py_ssize_t)d, length);
    }
    if (shape == NULL)
        return NULL;
    PyObject *const arguments[] = {like, shape, self->dtypes[dtype]};
    PyObject *tensor = PyObject_VectorcallMethod(self->new_empty, arguments, 2, self->dtype_names);
    Py_DECREF(shape);
    PyObject *pointer = tensor == NULL ? NULL : PyObject_VectorcallMethod(self->data_ptr, &tensor, 1, NULL);
    *address = pointer == NULL ? 0 : PyLong_AsUnsignedLongLong(pointer);
    Py_XDECREF(pointer);
    if (PyErr_Occurred())
        Py_CLEAR(tensor);
    return tensor;
}
