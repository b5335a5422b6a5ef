/* Unpacks kernels by Python's module lzma where liblzma.so.5 cannot be opened: some interpreters have a copy
   of that library linked into them, or in a folder of their own. */
#include "python/methods.h"

#include <string.h>

static gr_xz_result result_of_exception(void) {
    if (PyErr_ExceptionMatches(PyExc_MemoryError))
        return GR_XZ_NO_MEMORY;
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
        PyErr_SetInterrupt(); /* the call polls for signals later */
    return GR_XZ_NO_LIBRARY;
}

/* Returns a new reference, or NULL. A damaged file raises lzma.LZMAError, which sets *damaged. */
static PyObject *decompress(const uint8_t *packed, size_t size, bool *damaged) {
    PyObject *lzma = PyImport_ImportModule("lzma");
    if (lzma == NULL)
        return NULL;
    PyObject *error = PyObject_GetAttrString(lzma, "LZMAError");
    PyObject *text =
        error == NULL ? NULL
                      : PyObject_CallMethod(lzma, "decompress", "y#", (const char *)packed, (Py_ssize_t)size);
    *damaged = error != NULL && text == NULL && PyErr_ExceptionMatches(error);
    Py_XDECREF(error);
    Py_DECREF(lzma);
    return text;
}

static gr_xz_result unpack(const uint8_t *packed, size_t size, char *to, size_t text_size) {
    if (Py_IsFinalizing()) /* Python ends a thread that acquires the GIL now */
        return GR_XZ_NO_LIBRARY;
    const PyGILState_STATE gil = PyGILState_Ensure();
    gr_xz_result result = GR_XZ_DAMAGED;
    bool damaged = false;
    PyObject *text = decompress(packed, size, &damaged);
    if (text == NULL && !damaged) {
        result = result_of_exception();
    } else if (text != NULL && PyBytes_Check(text) && (size_t)PyBytes_GET_SIZE(text) == text_size) {
        memcpy(to, PyBytes_AS_STRING(text), text_size);
        result = GR_XZ_OK;
    }
    PyErr_Clear();
    Py_XDECREF(text);
    PyGILState_Release(gil);
    return result;
}

void py_unpack_init(void) {
    gr_xz_without_library(unpack);
}
