/* Calls Python code when device memory runs out: to release the caches of other libraries (PyTorch, CuPy),
   and to choose the class of the MemoryError. Both are functions that gpureduce/_device/low_memory.py
   registers here. */
#include "python/methods.h"

static PyObject *release_caches; /* registered when the package is imported; called from any thread */

static bool release(int index) {
    /* While Python finalises, it ends a daemon thread that acquires the GIL. Worker threads still use its
       stack. */
    if (release_caches == NULL || Py_IsFinalizing())
        return false;
    const PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *answer = PyObject_CallFunction(release_caches, "i", index);
    const bool released = answer != NULL && PyObject_IsTrue(answer) > 0;
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
        PyErr_SetInterrupt(); /* the allocating call polls for signals later */
    PyErr_Clear();
    Py_XDECREF(answer);
    PyGILState_Release(gil);
    return released;
}

PyObject *py_on_low_memory(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *caches, *class;
    if (!PyArg_ParseTuple(args, "OO", &caches, &class))
        return NULL;
    Py_XSETREF(release_caches, Py_NewRef(caches));
    Py_XSETREF(state->memory_error, Py_NewRef(class));
    gr_on_low_memory(release);
    Py_RETURN_NONE;
}
