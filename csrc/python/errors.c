/* Implements errors.h. The docstrings of the exception classes are here because the classes are created in
   C. */
#include "python/errors.h"

static const char DEVICE_ERROR[] =
    "A device does not exist, or its driver reported an error.\n"
    "\n"
    "Examples\n"
    "--------\n"
    ">>> import gpureduce\n"
    ">>> gpureduce.sum([1, 2, 3], device=\"cuda:99\")\n"
    "Traceback (most recent call last):\n"
    "    ...\n"
    "gpureduce.DeviceError: cuda:99: no such device; indices go from 0 to 63\n";

static const char SIMULATION_ERROR[] =
    "The PTX simulator refused or stopped a kernel; the message names kernel, PTX line and its text.\n"
    "\n"
    "Examples\n"
    "--------\n"
    ">>> import gpureduce\n"
    ">>> ptx = \".version 7.0\\n.target sm_75\\n.address_size 64\\n.entry k() { strange; }\"\n"
    ">>> gpureduce.simulate(ptx, \"k\", grid=1, block=32)\n"
    "Traceback (most recent call last):\n"
    "    ...\n"
    "gpureduce.SimulationError: PTX line 4, column 14: the instruction 'strange' is not supported\n"
    "    .entry k() { strange; }\n"
    "                 ^\n";

int py_errors_init(PyObject *module, py_state *state) {
    state->device_error =
        PyErr_NewExceptionWithDoc("gpureduce.DeviceError", DEVICE_ERROR, PyExc_RuntimeError, NULL);
    if (state->device_error == NULL || PyModule_AddObjectRef(module, "DeviceError", state->device_error) < 0)
        return -1;
    state->simulation_error =
        PyErr_NewExceptionWithDoc("gpureduce.SimulationError", SIMULATION_ERROR, state->device_error, NULL);
    if (state->simulation_error == NULL)
        return -1;
    return PyModule_AddObjectRef(module, "SimulationError", state->simulation_error);
}

/* Raises a MemoryError, or the subclass that state->memory_error returns. */
static void raise_memory(const py_state *state, const char *message) {
    PyObject *class = state->memory_error != NULL ? PyObject_CallNoArgs(state->memory_error) : NULL;
    if (class == NULL)
        PyErr_Clear();
    PyErr_SetString(class != NULL && PyExceptionClass_Check(class) ? class : PyExc_MemoryError, message);
    Py_XDECREF(class);
}

/* Raises OSError(errno, message), which Python replaces by a subclass such as PermissionError. */
static void raise_os_error(const gr_error *error) {
    PyObject *args = Py_BuildValue("(is)", error->number, error->message);
    if (args != NULL)
        PyErr_SetObject(PyExc_OSError, args);
    Py_XDECREF(args);
}

PyObject *py_raise(const py_state *state, const gr_error *error) {
    PyObject *const types[] = {
        [GR_OK] = state->device_error,
        [GR_ERR_VALUE] = PyExc_ValueError,
        [GR_ERR_TYPE] = PyExc_TypeError,
        [GR_ERR_MEMORY] = PyExc_MemoryError, /* or a subclass: raise_memory */
        [GR_ERR_DEVICE] = state->device_error,
        [GR_ERR_SIMULATION] = state->simulation_error,
        [GR_ERR_SYSTEM] = PyExc_OSError,
        [GR_ERR_INTERRUPTED] = PyExc_KeyboardInterrupt,
    };
    if (error->status == GR_ERR_MEMORY)
        raise_memory(state, error->message);
    else if (error->status == GR_ERR_SYSTEM)
        raise_os_error(error);
    else if (error->status != GR_ERR_INTERRUPTED || !PyErr_Occurred())
        PyErr_SetString(types[error->status], error->message);
    return NULL;
}

int py_fail(const py_state *state, const gr_error *error) {
    py_raise(state, error);
    return -1;
}
