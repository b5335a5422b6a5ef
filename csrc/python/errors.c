#include "python/errors.h"

int py_errors_init(PyObject *module, py_state *state) {
    state->device_error = PyErr_NewExceptionWithDoc("gpureduce.DeviceError",
                                                    "A device is not there, or its driver reported an error.",
                                                    PyExc_RuntimeError, NULL);
    if (state->device_error == NULL || PyModule_AddObjectRef(module, "DeviceError", state->device_error) < 0)
        return -1;
    state->simulation_error = PyErr_NewExceptionWithDoc(
        "gpureduce.SimulationError",
        "The PTX simulator refused or stopped a kernel; the message names kernel, PTX line and its text.",
        state->device_error, NULL);
    if (state->simulation_error == NULL)
        return -1;
    return PyModule_AddObjectRef(module, "SimulationError", state->simulation_error);
}

PyObject *py_raise(const py_state *state, const gr_error *error) {
    PyObject *type = state->device_error;
    switch (error->status) {
    case GR_ERR_VALUE:
        type = PyExc_ValueError;
        break;
    case GR_ERR_TYPE:
        type = PyExc_TypeError;
        break;
    case GR_ERR_MEMORY:
        type = PyExc_MemoryError;
        break;
    case GR_ERR_SIMULATION:
        type = state->simulation_error;
        break;
    case GR_ERR_INTERRUPTED:
        if (PyErr_Occurred())
            return NULL;
        type = PyExc_KeyboardInterrupt;
        break;
    case GR_ERR_DEVICE:
    case GR_OK:
        break;
    }
    PyErr_SetString(type, error->message);
    return NULL;
}
