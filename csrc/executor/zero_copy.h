/* One result from few elements, or from elements on the device, with nothing between the caller and the
   launch: the kernel reads elements of the host out of mapped memory, and writes its result there, where the
   caller looks for it. For devices that reach memory of the host. */
#ifndef GR_EXECUTOR_ZERO_COPY_H
#define GR_EXECUTOR_ZERO_COPY_H

#include "executor/chunked.h"

enum { GR_ZERO_COPY_BYTES = 256 << 10, /* of host elements, at the most */ GR_RESULT_BYTES = 16 };

bool gr_zero_copy_can_run(const gr_device *device, const gr_chunked_reduction *reduction,
                          const gr_binding *binding);

/* Runs the program of all of a flow's elements that gr_zero_copy_can_run. */
gr_status gr_zero_copy_run(gr_device *device, const gr_chunked_reduction *reduction,
                           const gr_program *program, const gr_binding *binding, gr_error *error);

/* A result that a kernel writes to mapped memory: before the launch, and after it. Waiting looks at the
   memory for a while, then leaves it to the driver, which also knows of errors; `stream` is that of the
   kernel. */
void gr_result_poison(void *result, size_t bytes);
gr_status gr_result_spin_wait(gr_backend *backend, gr_stream stream, const void *result, size_t bytes,
                              gr_error *error);

#endif
