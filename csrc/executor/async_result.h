/* An asynchronous result (a future): the program is enqueued now and its result for the host is waited for
 * later. Calls on several devices enqueue on all devices before the host waits for the first. */
#ifndef GR_EXECUTOR_ASYNC_RESULT_H
#define GR_EXECUTOR_ASYNC_RESULT_H

#include "executor/mapped.h"
#include "program/program.h"

enum {
    GR_ASYNC_RESULT_BYTES = 2304,         /* max bytes of a result, if many are pending at once */
    GR_ASYNC_RESULT_MAX_BYTES = 64 << 10, /* max bytes of a result for which the host waits soon */
};

typedef struct gr_async_result {
    gr_device *device;
    gr_mapped *mapped; /* mapped memory that the kernel writes; NULL on a device without mapped memory, which
                          downloads from */
    gr_devptr output;
    gr_stream stream;
    size_t bytes;
    gr_workspace workspace;
} gr_async_result;

/* Enqueues the program. Inputs must be in device memory; binding->host_out says that the host receives the
 * result, but is not written. After a failure there is nothing to wait for. */
gr_status gr_async_result_begin(gr_device *device, const gr_program *program, const gr_binding *binding,
                                const gr_interrupt *interrupt, gr_async_result *out, gr_error *error);
/* Waits for the result and copies it to `out`. */
gr_status gr_async_result_wait(gr_async_result *self, void *out, gr_error *error);

#endif
