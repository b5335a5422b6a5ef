/* A program whose result the host is to have, but not yet: it is put into the stream, others after it into
   those of other devices, and then the results are waited for one by one. */
#ifndef GR_EXECUTOR_ASYNC_RESULT_H
#define GR_EXECUTOR_ASYNC_RESULT_H

#include "executor/mapped.h"
#include "program/program.h"

enum {
    GR_ASYNC_RESULT_BYTES = 2304,         /* of a result, at the most, of which many may be under way; */
    GR_ASYNC_RESULT_MAX_BYTES = 64 << 10, /* and of one that is collected soon */
};

typedef struct gr_async_result {
    gr_device *device;
    gr_mapped *mapped; /* which the kernel writes to; NULL where a device maps no memory, and copies: */
    gr_devptr output;
    gr_stream stream;
    size_t bytes;
    gr_workspace workspace;
} gr_async_result;

/* Inputs lie on the device; binding->host_out says that the host waits, and is not used. A failure leaves
   nothing to be collected. */
gr_status gr_async_result_begin(gr_device *device, const gr_program *program, const gr_binding *binding,
                                const gr_interrupt *interrupt, gr_async_result *out, gr_error *error);
/* Waits, and copies the result to `out`. */
gr_status gr_async_result_wait(gr_async_result *self, void *out, gr_error *error);

#endif
