/* Deferred release: keeps a Python object alive until the work enqueued in a stream is done, although the
   call has returned. It is needed for arrays of libraries that do not name their stream: their memory could
   be reused before the work has read it. */
#include "device/process.h"
#include "python/args.h"
#include "python/methods.h"

typedef struct py_deferred_release {
    struct py_deferred_release *next;
    gr_device *device;
    gr_event event;   /* recorded behind the work that reads the object */
    PyObject *object; /* a strong reference, released once the event has completed */
    int process;      /* id of the process that recorded the event */
} py_deferred_release;

static gr_status query_event(const py_deferred_release *self, bool wait, bool *done) {
    gr_backend *backend = self->device->backend;
    gr_error ignored;
    return backend->streams->event_done(backend, self->event, wait, done, &ignored);
}

/* Work on a lost device counts as done. Events of the parent process cannot be queried in a forked child, so
   that its entries never are. */
static bool is_done(const py_deferred_release *self) {
    bool done = false;
    return self->process == gr_process() && (query_event(self, false, &done) != GR_OK || done);
}

/* Removes the entries of this process from the list, all or only those whose work is done, and returns
   them. */
static py_deferred_release *unlink_entries(py_state *state, bool all) {
    py_deferred_release *unlinked = NULL;
    Py_BEGIN_CRITICAL_SECTION(state->array_type);
    for (py_deferred_release **link = &state->deferred_releases; *link != NULL;) {
        py_deferred_release *self = *link;
        if (!(all ? self->process == gr_process() : is_done(self))) {
            link = &self->next;
            continue;
        }
        *link = self->next;
        self->next = unlinked;
        unlinked = self;
    }
    Py_END_CRITICAL_SECTION();
    return unlinked;
}

static void release_all(py_deferred_release *next) {
    while (next != NULL) {
        py_deferred_release *self = next;
        next = self->next;
        self->device->backend->streams->event_close(self->device->backend, self->event);
        Py_DECREF(self->object);
        PyMem_Free(self);
    }
}

void py_deferred_release_wait(py_state *state) {
    py_deferred_release *all = unlink_entries(state, true);
    Py_BEGIN_ALLOW_THREADS;
    bool ignored;
    for (const py_deferred_release *self = all; self != NULL; self = self->next)
        query_event(self, true, &ignored);
    Py_END_ALLOW_THREADS;
    release_all(all);
}

/* Records an event in the stream. *recorded is false if the stream is being captured into a graph: then the
   caller must keep the object alive for as long as the graph is launched. */
static gr_status record_event(gr_device *device, gr_stream stream, gr_event *event, bool *recorded,
                              gr_error *error) {
    gr_backend *backend = device->backend;
    gr_stream_state stream_state;
    gr_status status = backend->streams->get_state(backend, stream, &stream_state, error);
    *recorded = false;
    if (status != GR_OK || stream_state.capture != 0)
        return status;
    status = backend->streams->event_open(backend, event, error);
    if (status != GR_OK)
        return status;
    status = backend->streams->record(backend, stream, *event, error);
    *recorded = status == GR_OK;
    if (status != GR_OK)
        backend->streams->event_close(backend, *event);
    return status;
}

int py_defer_release(py_state *state, gr_device *device, gr_stream stream, PyObject *object) {
    release_all(unlink_entries(state, false));
    py_deferred_release *self = PyMem_Malloc(sizeof *self);
    if (self == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *self = (py_deferred_release){.device = device, .object = object, .process = gr_process()};
    bool recorded;
    py_work work;
    py_begin(&work);
    const int failed =
        py_end(state, &work, record_event(device, stream, &self->event, &recorded, &work.error));
    if (!recorded) {
        PyMem_Free(self);
        return failed;
    }
    Py_INCREF(object);
    Py_BEGIN_CRITICAL_SECTION(state->array_type);
    self->next = state->deferred_releases;
    state->deferred_releases = self;
    Py_END_CRITICAL_SECTION();
    return 0;
}

PyObject *py_keep_alive_until_done(PyObject *module, PyObject *args) {
    py_state *state = PyModule_GetState(module);
    PyObject *kind, *index, *stream_object, *object;
    gr_device *device;
    gr_stream stream;
    if (!PyArg_ParseTuple(args, "OOOO", &kind, &index, &stream_object, &object) ||
        py_stream_argument(state, stream_object, &stream) < 0 ||
        py_parse_device(state, kind, index, &device) < 0 ||
        py_defer_release(state, device, stream, object) < 0)
        return NULL;
    Py_RETURN_NONE;
}
