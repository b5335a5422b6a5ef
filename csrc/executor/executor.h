/* The executor runs programs with the transport that is fastest for their operands: resident in device
 * memory, zero-copy through mapped pinned memory for small host arrays, or the staging ring, which overlaps
 * the upload of large host arrays with their reduction. */
#ifndef GR_EXECUTOR_EXECUTOR_H
#define GR_EXECUTOR_EXECUTOR_H

#include "executor/chunked.h"

/* Uploads host memory in stream order. Returns when the copy is complete. */
gr_status gr_upload(gr_device *device, const gr_source *source, gr_devptr to, gr_stream stream,
                    const gr_interrupt *interrupt, gr_error *error);

/* Runs a program. Large host arrays that are not pinned are uploaded through the staging ring. */
gr_status gr_execute_program(gr_device *device, const gr_program *program, const gr_binding *binding,
                             const gr_interrupt *interrupt, gr_error *error);

/* Appends the steps of a request to an empty program. Records a failure in the program. */
typedef void gr_planner(const void *request, gr_device *device, gr_program *program);

/* Plans a request and runs its program, as gr_execute_program does. */
gr_status gr_execute_request(gr_device *device, gr_planner *plan, const void *request,
                             const gr_binding *binding, const gr_interrupt *interrupt, gr_error *error);

/* Runs a reduction with the fastest transport. The bits of the result do not depend on the transport. */
gr_status gr_execute_reduction(gr_device *device, const gr_chunked_reduction *reduction,
                               const gr_binding *binding, const gr_progress *progress,
                               const gr_interrupt *interrupt, gr_error *error);

/* Runs the program of a whole reduction, zero-copy if possible. `reduction` needs no plan. */
gr_status gr_execute_whole(gr_device *device, const gr_chunked_reduction *reduction,
                           const gr_program *program, const gr_binding *binding,
                           const gr_interrupt *interrupt, gr_error *error);

/* Runs a program as gr_execute_program does. If the results for the host are small, the kernel writes them to
 * mapped memory, where the host polls them: a copy would take longer than the kernel. `item_bytes` is the
 * size of one result in bytes. Kernels write each result once. */
gr_status gr_execute_small_results(gr_device *device, const gr_program *program, const gr_binding *binding,
                                   size_t item_bytes, const gr_interrupt *interrupt, gr_error *error);

#endif
