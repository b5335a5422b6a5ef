/* Deferred release: keeps a Python object alive until the work enqueued in a stream is done, although the
   call has returned. It is needed for arrays of libraries that do not name their stream: their memory could
   be reused before the work has read it. */
#include "device/process.h"
#include "python/args.h"
#include "python/methods.h"

typedef struct py_pending {
    struct py_pending *next;
    gr_device *device;
    gr_event event;   /* recorded behind the work that reads the object */
    PyObject *object; /* a strong reference, released once the event has completed */
    int process;      /* id of the process that recorded the event */
} py_pending;

static gr_status ask(const py_pending *self, bool wait, bool *done) {
    gr_backend *backend = self->device->backend;
    gr_error ignored;
    return backend->streams->event_done(backend, self->event, wait, done, &ignored);
}

/* Where a device is lost, so is the work. A forked child cannot ask about that of its parent. */
static bool is_done(const py_pending *self) {
    bool done = false;
    return self->process == gr_process() && (ask(self, false, &done) != GR_OK || done);
}

static py_pending *take(py_state *state, bool all) {
    py_pending *taken = NULL;
    Py_BEGIN_CRITICAL_SECTION(state->array_type);
    for (py_pending **place = &state->pending; *place != NULL;) {
        py_pending *self = *place;
        if (!(all ? self->process == gr_process() : is_done(self))) {
            place = &self->next;
            continue;
        }
        *place = self->next;
        self->next = taken;
        taken = self;
    }
    Py_END_CRITICAL_SECTION();
    return taken;
}

static void let_go(py_pending *next) {
    while (next != NULL) {
        py_pending *self = next;
        next = self->next;
        self->device->backend->streams->event_close(self->device->backend, self->event);
        Py_DECREF(self->object);
        PyMem_Free(self);
    }
}

void py_pending_drain(py_state *state) {
    py_pending *all = take(state, true);
    Py_BEGIN_ALLOW_THREADS;
    bool ignored;
    for (const py_pending *self = all; self != NULL; self = self->next)
        ask(self, true, &ignored);
    Py_END_ALLOW_THREADS;
    let_go(all);
}

/* Marks the place in the stream; false where that is being captured, and its graph the caller's to feed. */
static gr_status mark(gr_device *device, gr_stream stream, gr_event *event, bool *marked, gr_error *error) {
    gr_backend *backend = device->backend;
    gr_stream_state order;
    gr_status status = backend->streams->get_state(backend, stream, &order, error);
    *marked = false;
    if (status != GR_OK || order.capture != 0)
        return status;
    status = backend->streams->event_open(backend, event, error);
    if (status != GR_OK)
        return status;
    status = backend->streams->record(backend, stream, *event, error);
    *marked = status == GR_OK;
    if (status != GR_OK)
        backend->streams->event_close(backend, *event);
    return status;
}

PyObject *py_hold_until_done(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *kind, *index, *given, *object;
    gr_device *device;
    gr_stream stream;
    if (!PyArg_ParseTuple(args, "OOOO", &kind, &index, &given, &object) ||
        py_stream_argument(state, given, &stream) < 0 || py_take_device(state, kind, index, &device) < 0)
        return NULL;
    let_go(take(state, false));
    py_pending *self = PyMem_Malloc(sizeof *self);
    if (self == NULL)
        return PyErr_NoMemory();
    *self = (py_pending){.device = device, .object = object, .process = gr_process()};
    bool marked;
    py_work work;
    py_begin(&work);
    const int failed = py_end(state, &work, mark(device, stream, &self->event, &marked, &work.error));
    if (!marked) {
        PyMem_Free(self);
        return failed < 0 ? NULL : Py_NewRef(Py_None);
    }
    Py_INCREF(object);
    Py_BEGIN_CRITICAL_SECTION(state->array_type);
    self->next = state->pending;
    state->pending = self;
    Py_END_CRITICAL_SECTION();
    Py_RETURN_NONE;
}
