#include "python/intake/exchange.h"

#include "python/methods.h"

/* Attribute `name`. 1: there; 0: there is none; -1: it raised. */
static int find(PyObject *object, const char *name, PyObject **out) {
    *out = PyObject_GetAttrString(object, name);
    if (*out != NULL)
        return 1;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();
    return 0;
}

/* The table of the object's type, or NULL; -1 with an exception set. */
static int find_table(PyObject *object, const dl_exchange **out) {
    static const char name[] = "dlpack_exchange_api";
    PyObject *capsule;
    *out = NULL;
    const int found = find((PyObject *)Py_TYPE(object), "__dlpack_c_exchange_api__", &capsule);
    if (found <= 0)
        return found;
    if (PyCapsule_IsValid(capsule, name))
        *out = PyCapsule_GetPointer(capsule, name);
    Py_DECREF(capsule);
    while (*out != NULL && (*out)->major != DL_MAJOR_VERSION)
        *out = (*out)->previous;
    if (*out != NULL && ((*out)->take == NULL || (*out)->current_stream == NULL))
        *out = NULL;
    return 0;
}

/* What object.name or object.name() says, false where there is none; -1 with an exception set. */
static int says(PyObject *object, const char *name) {
    PyObject *answer;
    const int found = find(object, name, &answer);
    if (found <= 0)
        return found;
    if (PyCallable_Check(answer))
        Py_SETREF(answer, PyObject_CallNoArgs(answer));
    const int truth = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return truth;
}

/* Whether nothing but its memory makes up the array: the functions for C ask no further. PyTorch's tensors
   may have a gradient or stand for their conjugate or negative. A class that takes __dlpack__ from another
   may give its elements any meaning. -1 with an exception set. */
static int is_plain(PyObject *object) {
    static const char *const more[] = {"is_neg", "requires_grad", "is_conj"};
    PyObject *own = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__dict__");
    const bool speaks = own != NULL && PyMapping_HasKeyString(own, "__dlpack__");
    Py_XDECREF(own);
    if (own == NULL)
        return -1;
    for (size_t i = 0; speaks && i < sizeof more / sizeof more[0]; ++i) {
        const int said = says(object, more[i]);
        if (said != 0)
            return said < 0 ? -1 : 0;
    }
    return speaks;
}

static bool find_stream(const dl_exchange *table, py_tensor *tensor) {
    const dl_device *device = &tensor->managed->tensor.device;
    const uintptr_t legacy_handle = 1;
    void *stream = NULL;
    if (tensor->managed->major != DL_MAJOR_VERSION || device->type != DL_CUDA ||
        table->current_stream(DL_CUDA, device->number, &stream) != 0)
        return false;
    tensor->stream = (uintptr_t)stream == legacy_handle ? 0 : (uintptr_t)stream;
    return true;
}

int py_tensor_take(PyObject *object, py_tensor *out) {
    *out = (py_tensor){.managed = NULL};
    const dl_exchange *table;
    if (find_table(object, &table) < 0)
        return -1;
    const int plain = table == NULL ? 0 : is_plain(object);
    if (plain <= 0)
        return plain;
    const bool taken = table->take(object, &out->managed) == 0 && out->managed != NULL;
    if (taken && find_stream(table, out))
        return 1;
    const bool interrupted = PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception);
    if (!interrupted)
        PyErr_Clear();
    if (taken)
        dl_release(out->managed);
    out->managed = NULL;
    return interrupted ? -1 : 0;
}

PyObject *py_dlpack_exchange(PyObject *Py_UNUSED(module), PyObject *object) {
    py_tensor tensor;
    const int taken = py_tensor_take(object, &tensor);
    if (taken <= 0)
        return taken < 0 ? NULL : Py_NewRef(Py_None);
    PyObject *owner = dl_own(tensor.managed);
    if (owner == NULL) {
        dl_release(tensor.managed);
        return NULL;
    }
    PyObject *parts =
        dl_describe(&tensor.managed->tensor, (tensor.managed->flags & DL_READ_ONLY) != 0, owner);
    Py_DECREF(owner);
    return parts == NULL ? NULL : Py_BuildValue("NK", parts, (unsigned long long)tensor.stream);
}
