/* Implements signature.h. Compares names by identity first, because keyword names in calls are interned. */
#include "python/signature.h"

#include <string.h>

#include "python/args.h"
#include "python/errors.h"
#include "python/methods.h"

static const char CAPSULE[] = "gpureduce.public";

static py_name find_name(const py_state *state, PyObject *name) {
    for (int i = 0; i < PY_ARGUMENTS; ++i)
        if (state->names[i] == name)
            return (py_name)i;
    for (int i = 0; i < PY_ARGUMENTS; ++i)
        if (PyUnicode_Compare(state->names[i], name) == 0)
            return (py_name)i;
    return PY_ARGUMENTS;
}

/* The parameter of the elements. */
static py_name first_parameter(const py_signature *self) {
    return self->accepts[PY_NAME_a] ? PY_NAME_a : PY_NAME_x;
}

/* Gives an argument of PyTorch's name to the parameter `to`, which must not be given as well. None is no
   argument. */
static bool rename_argument(py_arguments arguments, py_name from, py_name to) {
    PyObject *const value = arguments[from];
    arguments[from] = NULL;
    if (value == NULL || value == Py_None)
        return true;
    if (arguments[to] != NULL)
        return false;
    arguments[to] = value;
    return true;
}

/* Binds the arguments of a call. False if they do not match the signature: the Python fallback raises the
   error. */
static bool bind(const py_signature *self, PyObject *const *args, Py_ssize_t count, PyObject *names,
                 py_arguments arguments) {
    memset(arguments, 0, sizeof(py_arguments));
    if ((size_t)count > self->positional_count)
        return false;
    for (Py_ssize_t i = 0; i < count; ++i)
        arguments[self->positional[i]] = args[i];
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); ++i) {
        const py_name name = find_name(self->state, PyTuple_GET_ITEM(names, i));
        if (name == PY_ARGUMENTS || !self->accepts[name] || arguments[name] != NULL)
            return false;
        arguments[name] = args[count + i];
    }
    return arguments[first_parameter(self)] != NULL &&
           rename_argument(arguments, PY_NAME_dim, PY_NAME_axis) &&
           rename_argument(arguments, PY_NAME_keepdim, PY_NAME_keepdims);
}

/* Whether autograd may record a call with these arguments by its result: those that are left to Python write
   to an argument, or belong to another operator. */
static bool is_recordable(const py_arguments arguments) {
    PyObject *const residual = arguments[PY_NAME_residual], *const where = arguments[PY_NAME_where];
    return (residual == NULL || residual == Py_None) && (where == NULL || where == Py_None);
}

static PyObject *call(PyObject *capsule, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    const py_signature *self = PyCapsule_GetPointer(capsule, CAPSULE);
    py_arguments arguments;
    if (!bind(self, args, count, names, arguments))
        return Py_NewRef(Py_NotImplemented);
    if (self->tensors == NULL)
        return self->implementation(self, arguments);
    const py_tensor_call found =
        py_tensors_call(self->tensors, arguments[first_parameter(self)], arguments, PY_ARGUMENTS);
    if (found == PY_TENSORS_ERROR)
        return NULL;
    if (found == PY_TENSORS_OPERATOR || (found == PY_TENSORS_RECORDED && !is_recordable(arguments)))
        return Py_NewRef(Py_NotImplemented);
    PyObject *result = self->implementation(self, arguments);
    return found == PY_TENSORS_PLAIN || result == NULL || result == Py_NotImplemented
               ? result
               : py_tensors_record(self->tensors, result, args, count, names);
}

PyObject *py_reported(PyObject *result, PyObject *returned) {
    if (returned == NULL)
        Py_CLEAR(result);
    Py_XDECREF(returned);
    return result;
}

static void free_signature(PyObject *capsule) {
    PyObject *module = PyCapsule_GetContext(capsule);
    py_signature *self = PyCapsule_GetPointer(capsule, CAPSULE);
    Py_DECREF(self->report);
    py_tensors_free(self->tensors);
    PyMem_Free(self);
    Py_XDECREF(module);
}

static int parse_parameters(py_signature *self, PyObject *names, bool positional) {
    const bool pair = self->op == GR_OP_COUNT || gr_op_is_pair(self->op);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        const py_name found = PyUnicode_Check(name) ? find_name(self->state, name) : PY_ARGUMENTS;
        if (found == PY_ARGUMENTS || self->accepts[found] || (found == PY_NAME_b && !pair))
            return PY_RAISE(PyExc_ValueError, "parameters: %R is none, or named twice", name);
        self->accepts[found] = true;
        if (positional)
            self->positional[self->positional_count++] = found;
    }
    return 0;
}

PyObject *py_signature_function(PyObject *module, const py_signature *of, PyObject *positional,
                                PyObject *named) {
    static PyMethodDef definition = {
        "fast_path", (PyCFunction)(void (*)(void))call, METH_FASTCALL | METH_KEYWORDS,
        "Fast path of the public function with these parameters; NotImplemented: fall back to Python."};
    py_signature like = *of, *self = NULL;
    PyObject *capsule = NULL;
    if (parse_parameters(&like, positional, true) == 0 && parse_parameters(&like, named, false) == 0) {
        self = PyMem_Malloc(sizeof *self);
        if (self == NULL)
            PyErr_NoMemory();
    }
    if (self != NULL) {
        *self = like;
        capsule = py_capsule_new(module, self, CAPSULE, free_signature);
    }
    if (capsule == NULL) {
        py_tensors_free(like.tensors);
        PyMem_Free(self);
        return NULL;
    }
    Py_INCREF(self->report);
    PyObject *function = PyCFunction_NewEx(&definition, capsule, NULL);
    Py_DECREF(capsule);
    return function;
}
