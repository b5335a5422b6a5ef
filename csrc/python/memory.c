/* Device memory and CUDA streams for Python: allocates, frees, writes and reads device memory, orders and
   waits for streams, and finds the device of a pointer. */
#include "python/methods.h"

#include "executor/executor.h"
#include "python/args.h"
#include "python/errors.h"
#include "python/operands/operand.h"

PyObject *py_device_alloc(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *kind, *index;
    Py_ssize_t bytes;
    if (!PyArg_ParseTuple(args, "OOn", &kind, &index, &bytes))
        return NULL;
    if (bytes < 0)
        return PyErr_Format(PyExc_ValueError, "nbytes: expected a size, got a negative number");
    gr_device *device;
    if (py_parse_device(state, kind, index, &device) < 0)
        return NULL;
    gr_devptr address = 0;
    py_work work;
    py_begin(&work);
    const gr_status status = device->backend->alloc(device->backend, (size_t)bytes, &address, &work.error);
    return py_end(state, &work, status) < 0 ? NULL : PyLong_FromUnsignedLongLong(address);
}

PyObject *py_device_free(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *kind, *index;
    unsigned long long address;
    gr_device *device;
    if (!PyArg_ParseTuple(args, "OOK", &kind, &index, &address) ||
        py_parse_device(state, kind, index, &device) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS; /* freeing waits for the device, which may be in a host callback */
    device->backend->free(device->backend, address);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyObject *copy_bytes(PyObject *module, PyObject *args, bool to_device) {
    py_state *state = PyModule_GetState(module);
    PyObject *kind, *index;
    unsigned long long address;
    PyArrayObject *array;
    gr_device *device;
    PyObject *stream_object = NULL;
    gr_stream stream = 0;
    if (!PyArg_ParseTuple(args, "OOKO!|O", &kind, &index, &address, &PyArray_Type, &array, &stream_object) ||
        (stream_object != NULL && py_stream_argument(state, stream_object, &stream) < 0) ||
        py_parse_device(state, kind, index, &device) < 0)
        return NULL;
    /* Checked after the device was opened without the GIL: meanwhile another thread may have changed the
       array. */
    if (!PyArray_IS_C_CONTIGUOUS(array) || (!to_device && !PyArray_ISWRITEABLE(array)))
        return PyErr_Format(PyExc_ValueError, "expected a contiguous array, and a writable one to read into");
    gr_backend *backend = device->backend;
    PyObject *guard = py_resize_guard(array);
    if (guard == NULL)
        return NULL;
    void *const data = PyArray_DATA(array);
    const size_t bytes = (size_t)PyArray_NBYTES(array);
    const gr_source source = {.host = data, .bytes = bytes};
    gr_status status = GR_OK;
    py_work work;
    py_begin(&work);
    if (bytes > 0)
        status = gr_stream_check(device, stream, &work.error);
    if (bytes > 0 && status == GR_OK)
        status = to_device ? gr_upload(device, &source, address, stream, &work.interrupt, &work.error)
                           : backend->download(backend, stream, data, address, bytes, &work.error);
    const int failed = py_end(state, &work, status);
    Py_DECREF(guard);
    return failed < 0 ? NULL : Py_NewRef(Py_None);
}

PyObject *py_device_write(PyObject *module, PyObject *args) {
    return copy_bytes(module, args, true);
}

PyObject *py_device_read(PyObject *module, PyObject *args) {
    return copy_bytes(module, args, false);
}

PyObject *py_stream_handle(PyObject *module, PyObject *stream_object) {
    gr_stream stream;
    return py_stream_argument(PyModule_GetState(module), stream_object, &stream) < 0
               ? NULL
               : PyLong_FromUnsignedLongLong(stream == 0 ? GR_LEGACY_HANDLE : stream);
}

/* Parses (device_kind, device_index, stream). -1 with an exception set. */
static int parse_stream(py_state *state, PyObject *args, gr_device **device, gr_stream *stream) {
    PyObject *kind, *index, *stream_object;
    return !PyArg_ParseTuple(args, "OOO", &kind, &index, &stream_object) ||
                   py_stream_argument(state, stream_object, stream) < 0
               ? -1
               : py_parse_device(state, kind, index, device);
}

PyObject *py_stream_order(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *kind, *index, *before, *after;
    gr_device *device;
    gr_stream from, to;
    if (!PyArg_ParseTuple(args, "OOOO", &kind, &index, &before, &after) ||
        py_stream_argument(state, before, &from) < 0 || py_stream_argument(state, after, &to) < 0 ||
        py_parse_device(state, kind, index, &device) < 0)
        return NULL;
    py_work work;
    py_begin(&work);
    const gr_status status = gr_stream_wait_for(device, from, to, &work.error);
    return py_end(state, &work, status) < 0 ? NULL : Py_NewRef(Py_None);
}

PyObject *py_stream_wait(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    gr_device *device;
    gr_stream stream;
    if (parse_stream(state, args, &device, &stream) < 0)
        return NULL;
    py_work work;
    py_begin(&work);
    gr_status status = gr_stream_check(device, stream, &work.error);
    if (status == GR_OK)
        status = device->backend->wait(device->backend, stream, &work.error);
    return py_end(state, &work, status) < 0 ? NULL : Py_NewRef(Py_None);
}

PyObject *py_stream_captured(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    gr_device *device;
    gr_stream stream;
    gr_stream_state order;
    gr_error error;
    if (parse_stream(state, args, &device, &stream) < 0)
        return NULL;
    const gr_status status = device->backend->streams->get_state(device->backend, stream, &order, &error);
    return status != GR_OK ? py_raise(state, &error) : PyBool_FromLong(order.capture != 0);
}

/* Calls the function even if the device cannot be opened: the next use of the device raises the error. */
PyObject *py_call_on(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    long index;
    PyObject *function;
    if (!PyArg_ParseTuple(args, "lO", &index, &function))
        return NULL;
    gr_device *device = NULL;
    if (py_open_device(state, GR_DEVICE_CUDA, index, &device) < 0) {
        if (!PyErr_ExceptionMatches(state->device_error))
            return NULL;
        PyErr_Clear();
    }
    gr_error ignored;
    const bool entered = device != NULL && device->backend->enter(device->backend, &ignored) == GR_OK;
    PyObject *result = PyObject_CallNoArgs(function);
    if (entered)
        device->backend->leave(device->backend);
    return result;
}

PyObject *py_pointer_device(PyObject *module, PyObject *pointer) {
    py_state *state = PyModule_GetState(module);
    const unsigned long long address = PyLong_AsUnsignedLongLong(pointer);
    if (PyErr_Occurred())
        return NULL;
    int index = 0;
    py_work work;
    py_begin(&work);
    const gr_status status = gr_backend_cuda_pointer(address, &index, &work.error);
    return py_end(state, &work, status) < 0 ? NULL : PyLong_FromLong(index);
}
