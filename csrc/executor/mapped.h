/* Mapped pinned host memory, which kernels access by its device address and which a device caches for later
 * calls, and results in it, which the host polls. */
#ifndef GR_EXECUTOR_MAPPED_H
#define GR_EXECUTOR_MAPPED_H

#include "device/device.h"

enum {
    GR_ASYNC_RESULT_BYTES = 2304,      /* max bytes of a result, if many calls are in flight at once */
    GR_POLLED_RESULT_BYTES = 64 << 10, /* max bytes of results that the host polls */
};

typedef struct gr_mapped {
    gr_cached cached;
    void *host;
    gr_devptr address; /* device address of `host` */
} gr_mapped;

/* Acquires at least `bytes` of mapped memory for results and host elements within the limits above. Any
 * stream may use it. Released by gr_free_list_release, when the results are complete. */
gr_status gr_mapped_acquire(gr_device *device, size_t bytes, gr_mapped **out, gr_error *error);

/* Polling a result in mapped memory. gr_result_poison fills it with a pattern before the launch.
 * gr_result_spin_wait polls until no word has the pattern, for 100 us at most, then waits for the stream,
 * which also reports errors. `stream` is the stream of the kernel. */
void gr_result_poison(void *result, size_t bytes);
gr_status gr_result_spin_wait(gr_backend *backend, gr_stream stream, const void *result, size_t bytes,
                              gr_error *error);

#endif
