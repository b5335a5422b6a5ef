/* Implements exchange.h. Which types have the table is remembered for the last few types, because looking up
   an attribute of a type costs more than the rest of the conversion. */
#include "python/operands/exchange.h"

#include <string.h>

#include "python/args.h"
#include "python/methods.h"
#include "python/operands/torch_shim.h"

/* Checks the result of PyObject_GetAttr. 1: *out is the attribute; 0: no such attribute; -1 with an
   exception set. */
static int get_optional(PyObject *attribute, PyObject **out) {
    *out = attribute;
    if (attribute != NULL)
        return 1;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();
    return 0;
}

/* Finds a type's table of the supported major version; *out is NULL without one. -1 with an exception set. */
static int find_table(PyTypeObject *type, const dl_exchange_api **out) {
    static const char name[] = "dlpack_exchange_api";
    PyObject *capsule;
    *out = NULL;
    const int present =
        get_optional(PyObject_GetAttrString((PyObject *)type, "__dlpack_c_exchange_api__"), &capsule);
    if (present <= 0)
        return present;
    if (PyCapsule_IsValid(capsule, name))
        *out = PyCapsule_GetPointer(capsule, name);
    Py_DECREF(capsule);
    while (*out != NULL && (*out)->major != DL_MAJOR_VERSION)
        *out = (*out)->prev_api;
    if (*out != NULL &&
        ((*out)->managed_tensor_from_py_object_no_sync == NULL || (*out)->current_work_stream == NULL))
        *out = NULL;
    return 0;
}

/* Fills in the cache entry of a type. The table does not describe a subclass that inherits `__dlpack__`: such
   a class may give its elements another meaning. -1 with an exception set. */
static int inspect_type(PyTypeObject *type, py_known_type *out) {
    *out = (py_known_type){.type = type};
    if (find_table(type, &out->table) < 0)
        return -1;
    out->has_exchange_api = out->table != NULL;
    if (!out->has_exchange_api)
        return 0;
    PyObject *own = PyObject_GetAttrString((PyObject *)type, "__dict__");
    if (own == NULL)
        return -1;
    out->is_described = PyMapping_HasKeyString(own, "__dlpack__") != 0;
    Py_DECREF(own);
    const torch_views views = torch_views_get();
    out->is_torch = views.type != NULL && PyType_IsSubtype(type, views.type);
    return 0;
}

/* Finds the entry of a type in the cache, or adds it. -1 with an exception set. */
static int find_type(py_state *state, PyTypeObject *type, py_known_type *out) {
    py_known_type known = {.type = NULL};
    Py_BEGIN_CRITICAL_SECTION(state->array_type);
    for (size_t i = 0; known.type == NULL && i < PY_KNOWN_TYPES; ++i)
        if (state->known[i].type == type)
            known = state->known[i];
    Py_END_CRITICAL_SECTION();
    if (known.type == NULL) {
        if (inspect_type(type, &known) < 0)
            return -1;
        Py_BEGIN_CRITICAL_SECTION(state->array_type);
        py_known_type *entry = &state->known[state->known_next++ % PY_KNOWN_TYPES];
        PyTypeObject *replaced = entry->type;
        Py_INCREF(type);
        *entry = known;
        Py_XDECREF(replaced);
        Py_END_CRITICAL_SECTION();
    }
    *out = known;
    return 0;
}

/* Returns the truth of object.name or object.name(); 0 without such an attribute; -1 with an exception
   set. */
static int is_true_attribute(const py_state *state, PyObject *object, py_name name) {
    PyObject *answer;
    const int present = get_optional(PyObject_GetAttr(object, state->names[name]), &answer);
    if (present <= 0)
        return present;
    if (!PyBool_Check(answer) && PyCallable_Check(answer))
        Py_SETREF(answer, PyObject_CallNoArgs(answer));
    const int truth = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return truth;
}

/* Whether a tensor is more than its memory, which the C functions do not check: PyTorch's tensors may require
   a gradient, or be a lazily negated or conjugated view. -1 with an exception set. */
static int has_extra_semantics(const py_state *state, PyObject *object, bool is_torch, bool detached) {
    int more = is_torch ? torch_has_lazy_sign(torch_views_known(), object, true) : -1;
    if (more < 0) { /* unknown without these attributes */
        more = is_true_attribute(state, object, PY_NAME_is_neg);
        more = more != 0 ? more : is_true_attribute(state, object, PY_NAME_is_conj);
    }
    return more != 0 || detached ? more : is_true_attribute(state, object, PY_NAME_requires_grad);
}

/* Returns the truth of object.name(), which is found faster as a method than as an attribute; else as
   is_true_attribute. */
static int is_true_method(const py_state *state, PyObject *object, py_name name) {
    PyObject *answer = PyObject_CallMethodNoArgs(object, state->names[name]);
    if (answer == NULL && !PyErr_ExceptionMatches(PyExc_TypeError) &&
        !PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();
    const int truth = answer == NULL ? is_true_attribute(state, object, name) : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return truth;
}

int py_tensor_has_lazy_sign(const py_state *state, PyObject *object, bool is_complex) {
    const int negative = is_true_method(state, object, PY_NAME_is_neg);
    return negative != 0 || !is_complex ? negative : is_true_method(state, object, PY_NAME_is_conj);
}

/* The current stream of the library, of a tensor on a CUDA device. */
static bool find_stream(const dl_exchange_api *table, const dl_tensor *tensor, uintptr_t *out) {
    const uintptr_t legacy_handle = 1;
    void *stream = NULL;
    if (tensor->device.type != DL_CUDA ||
        table->current_work_stream(DL_CUDA, tensor->device.number, &stream) != 0)
        return false;
    *out = (uintptr_t)stream == legacy_handle ? 0 : (uintptr_t)stream;
    return true;
}

/* Clears an exception of the producer. -1 if it was an interrupt, which stays set. */
static int reject(void) {
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    PyErr_Clear();
    return 0;
}

int py_tensor_borrow(py_state *state, PyObject *object, py_borrowing *borrowing, dl_tensor *out) {
    if (Py_TYPE(object) != borrowing->type) {
        py_known_type known;
        if (find_type(state, Py_TYPE(object), &known) < 0)
            return -1;
        borrowing->type = Py_TYPE(object);
        borrowing->table = known.table;
        borrowing->has_stream = false;
    }
    const dl_exchange_api *table = borrowing->table;
    if (table == NULL || table->dltensor_from_py_object_no_sync == NULL)
        return 0;
    if (table->dltensor_from_py_object_no_sync(object, out) != 0)
        return reject();
    if (borrowing->has_stream && out->device.type == DL_CUDA && out->device.number == borrowing->device)
        return 1;
    borrowing->has_stream = find_stream(table, out, &borrowing->stream);
    borrowing->device = out->device.number;
    return borrowing->has_stream ? 1 : reject();
}

int py_tensor_borrow_similar(PyObject *object, const py_borrowing *borrowing, dl_tensor *out) {
    if (Py_TYPE(object) != borrowing->type || !borrowing->has_stream)
        return 0;
    if (borrowing->table->dltensor_from_py_object_no_sync(object, out) != 0)
        return reject();
    return out->device.type == DL_CUDA && out->device.number == borrowing->device;
}

/* Describes a tensor of PyTorch without a reference to it; false, perhaps with an exception set, if PyTorch
   refuses. `is_plain`: no transform has wrapped the tensor. */
static bool describe_torch(const dl_exchange_api *table, PyObject *object, bool is_plain,
                           dl_tensor *described) {
    return (is_plain && torch_describe(torch_views_known(), object, described)) ||
           (table->dltensor_from_py_object_no_sync != NULL &&
            table->dltensor_from_py_object_no_sync(object, described) == 0);
}

int py_tensor_from_object(py_state *state, PyObject *object, bool detached, dl_tensor *described,
                          py_tensor *out) {
    *out = (py_tensor){.managed = NULL};
    py_known_type known;
    if (find_type(state, Py_TYPE(object), &known) < 0)
        return -1;
    const dl_exchange_api *table = known.is_described || detached ? known.table : NULL;
    out->has_exchange_api = known.has_exchange_api;
    if (table == NULL)
        return 0;
    const int more = has_extra_semantics(state, object, known.is_torch, detached);
    if (more != 0)
        return more < 0 ? -1 : 0;
    if (known.is_torch && described != NULL && describe_torch(table, object, detached, described)) {
        out->is_borrowed = find_stream(table, described, &out->stream);
        return out->is_borrowed ? 1 : reject();
    }
    if (reject() < 0)
        return -1;
    const bool parsed =
        table->managed_tensor_from_py_object_no_sync(object, &out->managed) == 0 && out->managed != NULL;
    if (parsed && out->managed->major == DL_MAJOR_VERSION &&
        find_stream(table, &out->managed->tensor, &out->stream)) {
        if (described != NULL)
            *described = out->managed->tensor;
        return 1;
    }
    const int rejected = reject();
    if (parsed)
        dl_release(out->managed);
    out->managed = NULL;
    return rejected;
}

/* ---- JAX ---- */

static bool is_jax_type(PyTypeObject *type) {
    const char *const name = strrchr(type->tp_name, '.');
    if (strcmp(name != NULL ? name + 1 : type->tp_name, "ArrayImpl") != 0)
        return false;
    PyObject *module = PyObject_GetAttrString((PyObject *)type, "__module__");
    const char *text = module != NULL && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    const bool found = text != NULL && strncmp(text, "jaxlib.", strlen("jaxlib.")) == 0;
    Py_XDECREF(module);
    PyErr_Clear();
    return found;
}

/* Finds the index of the CUDA device. 1: found; 0: the array is elsewhere; -1 with an exception set. */
static int find_jax_device(const py_state *state, PyObject *object, long *index) {
    PyObject *device = PyObject_CallMethodNoArgs(object, state->names[PY_NAME___dlpack_device__]);
    long type = 0;
    if (device != NULL && PyTuple_Check(device) && PyTuple_GET_SIZE(device) == 2) {
        type = PyLong_AsLong(PyTuple_GET_ITEM(device, 0));
        *index = PyLong_AsLong(PyTuple_GET_ITEM(device, 1));
    }
    Py_XDECREF(device);
    return PyErr_Occurred() ? reject() : type == DL_CUDA;
}

/* Returns the capsule of an array, which is complete for the legacy default stream of its device. */
static PyObject *request_capsule(const py_state *state, PyObject *object, gr_device *device) {
    gr_error ignored;
    PyObject *stream = PyLong_FromLong(GR_LEGACY_HANDLE),
             *names = PyTuple_Pack(1, state->names[PY_NAME_stream]);
    PyObject *const arguments[] = {object, stream};
    PyObject *capsule = NULL;
    if (stream != NULL && names != NULL) {
        /* JAX orders its work in a stream of the current device. */
        const bool entered = device->backend->enter(device->backend, &ignored) == GR_OK;
        capsule = PyObject_VectorcallMethod(state->names[PY_NAME___dlpack__], arguments, 1, names);
        if (entered)
            device->backend->leave(device->backend);
    }
    Py_XDECREF(stream);
    Py_XDECREF(names);
    return capsule;
}

int py_tensor_from_jax(py_state *state, PyObject *object, py_tensor *out) {
    long index = 0;
    gr_device *device;
    *out = (py_tensor){.managed = NULL};
    if (!is_jax_type(Py_TYPE(object)))
        return 0;
    const int found = find_jax_device(state, object, &index);
    if (found <= 0)
        return found;
    if (py_open_device(state, GR_DEVICE_CUDA, index, &device) < 0)
        return reject();
    PyObject *capsule = request_capsule(state, object, device);
    if (capsule == NULL)
        return reject();
    int taken = dl_take(capsule, &out->managed);
    Py_DECREF(capsule);
    if (taken > 0 &&
        (out->managed->tensor.device.type != DL_CUDA || out->managed->tensor.device.number != index)) {
        dl_release(out->managed);
        taken = 0;
    }
    if (taken <= 0)
        out->managed = NULL;
    out->is_jax = taken > 0;
    return taken;
}

PyObject *py_dlpack_exchange(PyObject *module, PyObject *object) {
    py_tensor tensor;
    const int parsed = py_tensor_from_object(PyModule_GetState(module), object, false, NULL, &tensor);
    if (parsed <= 0)
        return parsed < 0 ? NULL : Py_NewRef(Py_None);
    PyObject *owner = dl_owner_capsule(tensor.managed);
    if (owner == NULL) {
        dl_release(tensor.managed);
        return NULL;
    }
    PyObject *parts =
        dl_describe(&tensor.managed->tensor, (tensor.managed->flags & DL_READ_ONLY) != 0, owner);
    Py_DECREF(owner);
    return parts == NULL ? NULL : Py_BuildValue("NK", parts, (unsigned long long)tensor.stream);
}
