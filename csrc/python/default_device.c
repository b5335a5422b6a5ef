/* The default device: where calls on host arrays go that name no device. The device of the innermost
   context of the calling thread or task comes first, then that of the process. */
#include "python/methods.h"

#include <limits.h>

/* The default of the process is one number: 1 + index of a CUDA device, or -index of a simulator. */
#define UNSET INT_MIN

int py_default_device_init(py_state *state) {
    atomic_init(&state->default_device, UNSET);
    atomic_init(&state->has_device_context, false);
    state->device_context = PyContextVar_New("gpureduce.device", NULL);
    return state->device_context == NULL ? -1 : 0;
}

/* Parses a tuple (kind, index). */
static int parse_tuple(PyObject *device, int *kind, int *index) {
    if (!PyTuple_Check(device)) {
        PyErr_Format(PyExc_TypeError, "device: expected a tuple of two integers, got %.200s",
                     Py_TYPE(device)->tp_name);
        return -1;
    }
    if (!PyArg_ParseTuple(device, "ii", kind, index))
        return -1;
    const int end = *kind == GR_DEVICE_CUDA ? GR_MAX_CUDA_DEVICES : INT_MAX;
    if ((*kind == GR_DEVICE_CUDA || *kind == GR_DEVICE_SIM) && *index >= 0 && *index < end)
        return 0;
    PyErr_Format(PyExc_ValueError, "device: (%d, %d) is no device", *kind, *index);
    return -1;
}

int py_find_default_device(py_state *state, int *kind, int *index) {
    if (atomic_load_explicit(&state->has_device_context, memory_order_relaxed)) {
        PyObject *device = NULL;
        if (PyContextVar_Get(state->device_context, NULL, &device) < 0)
            return -1;
        if (device != NULL) {
            const int parsed = parse_tuple(device, kind, index);
            Py_DECREF(device);
            return parsed < 0 ? -1 : 1;
        }
    }
    const int code = atomic_load_explicit(&state->default_device, memory_order_relaxed);
    *kind = code > 0 ? GR_DEVICE_CUDA : GR_DEVICE_SIM;
    *index = 0;
    if (code == UNSET)
        return 0;
    *index = code > 0 ? code - 1 : -code;
    return 1;
}

PyObject *py_default_device(PyObject *module, PyObject *Py_UNUSED(ignored)) {
    int kind, index;
    const int found = py_find_default_device(PyModule_GetState(module), &kind, &index);
    if (found < 0)
        return NULL;
    return found ? Py_BuildValue("ii", kind, index) : Py_NewRef(Py_None);
}

PyObject *py_set_default_device(PyObject *module, PyObject *device) {
    py_state *state = PyModule_GetState(module);
    int kind = GR_DEVICE_SIM, index = 0;
    if (device != Py_None && parse_tuple(device, &kind, &index) < 0)
        return NULL;
    const int code = kind == GR_DEVICE_CUDA ? 1 + index : -index;
    atomic_store(&state->default_device, device == Py_None ? UNSET : code);
    Py_RETURN_NONE;
}

PyObject *py_push_device(PyObject *module, PyObject *device) {
    py_state *state = PyModule_GetState(module);
    int kind, index;
    if (parse_tuple(device, &kind, &index) < 0)
        return NULL;
    atomic_store(&state->has_device_context, true);
    return PyContextVar_Set(state->device_context, device);
}
