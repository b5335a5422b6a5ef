/* Zero-copy execution of a reduction to one result: the kernel reads host elements from mapped pinned memory
 * and writes its result there, where the host polls it. No copy is enqueued. For small host arrays, and for
 * operands in device memory, on devices with mapped memory. */
#ifndef GR_EXECUTOR_ZERO_COPY_H
#define GR_EXECUTOR_ZERO_COPY_H

#include "executor/chunked.h"

enum { GR_ZERO_COPY_BYTES = 256 << 10, /* max bytes of host elements */ GR_RESULT_BYTES = 16 };

bool gr_zero_copy_can_run(const gr_device *device, const gr_chunked_reduction *reduction,
                          const gr_binding *binding);

/* Runs the program of a whole reduction for which gr_zero_copy_can_run is true. */
gr_status gr_zero_copy_run(gr_device *device, const gr_chunked_reduction *reduction,
                           const gr_program *program, const gr_binding *binding, gr_error *error);

/* Polling a result in mapped memory. gr_result_poison fills it with a pattern before the launch.
 * gr_result_spin_wait polls until no word has the pattern, for 100 us at most, then waits for the stream,
 * which also reports errors. `stream` is the stream of the kernel. */
void gr_result_poison(void *result, size_t bytes);
gr_status gr_result_spin_wait(gr_backend *backend, gr_stream stream, const void *result, size_t bytes,
                              gr_error *error);

#endif
