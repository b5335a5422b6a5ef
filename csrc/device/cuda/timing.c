/* Measurements on a CUDA device: launches in a graph, replayed between two events. */
#include "device/cuda/context.h"

/* The resources of one measurement. */
typedef struct timing {
    const gr_cuda_driver *driver;
    gr_cu_stream stream;
    gr_cu_graph graph;
    gr_cu_graph_exec exec;
    gr_cu_event start, stop;
    const char *name; /* name of the first launch, for messages */
} timing;

/* Whether a driver call succeeded; otherwise `error` has the message. */
static bool done(const timing *t, gr_cu_result result, const char *step, gr_error *error) {
    return gr_cuda_check(t->driver, result, error, "timing %s: %s", t->name, step) == GR_OK;
}

static bool capture(cuda_backend *self, timing *t, const gr_launch *launches, size_t count, gr_error *error) {
    if (!done(t, t->driver->capture_begin(t->stream, GR_CU_CAPTURE_THREAD_LOCAL), "starting the capture",
              error))
        return false;
    gr_status status = GR_OK;
    for (size_t i = 0; i < count && status == GR_OK; i++)
        status = gr_cuda_enqueue(self, &launches[i], t->stream, error);
    gr_cu_result ended = t->driver->capture_end(t->stream, &t->graph); /* also after a failed launch */
    return status == GR_OK && done(t, ended, "ending the capture", error);
}

static bool make_timing(cuda_backend *self, timing *t, const gr_launch *launches, size_t count,
                        gr_error *error) {
    const gr_cuda_driver *driver = t->driver;
    for (size_t i = 0; i < count; i++)
        if (gr_cuda_permit(self, &launches[i], error) != GR_OK)
            return false;
    return done(t, driver->event_create(&t->start, 0), "making an event", error) &&
           done(t, driver->event_create(&t->stop, 0), "making an event", error) &&
           done(t, driver->stream_create(&t->stream, GR_CU_STREAM_NON_BLOCKING), "making a stream", error) &&
           capture(self, t, launches, count, error) &&
           done(t, driver->graph_instantiate(&t->exec, t->graph, 0), "preparing the graph", error) &&
           done(t, driver->graph_launch(t->exec, t->stream), "warming up", error);
}

static bool time_once(const timing *t, float *milliseconds, gr_error *error) {
    const gr_cuda_driver *driver = t->driver;
    return done(t, driver->event_record(t->start, t->stream), "recording the start", error) &&
           done(t, driver->graph_launch(t->exec, t->stream), "launching the graph", error) &&
           done(t, driver->event_record(t->stop, t->stream), "recording the end", error) &&
           done(t, driver->event_wait(t->stop), "waiting for the end", error) &&
           done(t, driver->event_elapsed(milliseconds, t->start, t->stop), "reading the time", error);
}

static void release_timing(const timing *t) {
    const gr_cuda_driver *driver = t->driver;
    if (t->stream)
        driver->stream_wait(t->stream); /* the caller may free the buffers next */
    if (t->exec)
        driver->graph_exec_destroy(t->exec);
    if (t->graph)
        driver->graph_destroy(t->graph);
    if (t->stream)
        driver->stream_destroy(t->stream);
    if (t->stop)
        driver->event_destroy(t->stop);
    if (t->start)
        driver->event_destroy(t->start);
}

gr_status gr_cuda_time(gr_backend *base, const gr_launch *launches, size_t count, size_t repeats,
                       double *microseconds, gr_error *error) {
    cuda_backend *self = as_cuda(base);
    if (count == 0)
        return gr_fail(error, GR_ERR_VALUE, "timing needs at least one launch");
    /* The stream of the measurement is not ordered with the default stream, in which the upload of the input
     * may be pending. */
    gr_status status = base->wait(base, 0, error);
    if (status == GR_OK)
        status = gr_cuda_enter(self, error);
    if (status != GR_OK)
        return status;
    timing t = {.driver = self->driver,
                .name = launches->library ? launches->library->name : launches->kernel->name};
    bool good = make_timing(self, &t, launches, count, error);
    for (size_t i = 0; i < repeats && good; i++) {
        float milliseconds = 0.0F;
        good = time_once(&t, &milliseconds, error);
        microseconds[i] = 1000.0 * (double)milliseconds / (double)count;
    }
    release_timing(&t);
    return gr_cuda_leave(self, good ? GR_OK : error->status, error);
}
