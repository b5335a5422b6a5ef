/* The executor plans and runs programs with the transport that is fastest for their operands: resident in
 * device memory, zero-copy through mapped pinned memory for small host arrays and small results, or uploaded,
 * large host arrays through the staging ring. The bits of a result do not depend on the transport. */
#ifndef GR_EXECUTOR_EXECUTOR_H
#define GR_EXECUTOR_EXECUTOR_H

#include "executor/mapped.h"
#include "program/program.h"

/* Uploads host memory in stream order. Returns when the copy is complete. */
gr_status gr_upload(gr_device *device, const gr_source *source, gr_devptr to, gr_stream stream,
                    const gr_interrupt *interrupt, gr_error *error);

/* Plans a program and runs it in the stream that gr_binding_stream chooses. Returns when the work is
 * enqueued; waits for its end only if an operand or a result is in host memory. */
gr_status gr_execute_request(gr_device *device, gr_planner *plan, const void *request,
                             const gr_binding *binding, const gr_interrupt *interrupt, gr_error *error);

/* A call in flight: its program is enqueued, and the host will wait for its results later (a future). Calls
 * on several devices enqueue on all devices before the host waits for the first. */
typedef struct gr_execution {
    gr_device *device;
    const gr_program *program; /* this and the next two: until gr_execution_begin returns */
    const gr_binding *binding;
    const gr_interrupt *interrupt;
    gr_stream_state stream_state;
    gr_devptr addresses[GR_MAX_BUFFERS];       /* by buffer of the program */
    gr_devptr uploaded[GR_MAX_PROGRAM_INPUTS]; /* memory of host inputs */
    gr_workspace workspace;
    gr_mapped *mapped; /* memory to which the kernels write the results; NULL: they are downloaded */
    gr_devptr output;  /* address of the results */
    size_t bytes;      /* size of the results for the host */
} gr_execution;

/* The first half of gr_execute_request: enqueues the program. binding->host_out says that the host receives
 * the results, but is not written. After a failure there is nothing to wait for. */
gr_status gr_execution_begin(gr_device *device, gr_planner *plan, const void *request,
                             const gr_binding *binding, const gr_interrupt *interrupt, gr_execution *out,
                             gr_error *error);
/* The second half: waits for the results and copies them to `out`, unless that is NULL. */
gr_status gr_execution_end(gr_execution *self, void *out, gr_error *error);

#endif
