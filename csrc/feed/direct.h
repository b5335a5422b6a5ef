/* One result from few elements, or from elements on the device, with nothing between the caller and the
   launch: the kernel reads elements of the host out of mapped memory, and writes its result there, where the
   caller looks for it. For devices that reach memory of the host. */
#ifndef GR_FEED_DIRECT_H
#define GR_FEED_DIRECT_H

#include "reduce/general/general.h"

enum { GR_DIRECT_BYTES = 256 << 10 }; /* of host elements, at the most */

/* What a call holds: kept by the device from call to call, one for each call that runs at a time. */
typedef struct gr_direct gr_direct;

bool gr_direct_takes(const gr_device *device, const gr_general_request *request, const gr_general_plan *plan);

/* For requests of `count` elements that gr_direct_takes. */
gr_status gr_direct_run(gr_registry *registry, gr_device *device, const gr_general_request *request,
                        uint64_t count, gr_error *error);

void gr_directs_close(gr_backend *backend, gr_direct *directs); /* all of a list; NULL is allowed */

/* A result that a kernel writes to mapped memory: before the launch, and after it. Waiting looks at the
   memory for a while, then leaves it to the driver, which also knows of errors; `stream` is that of the
   kernel. */
void gr_result_expect(void *result, size_t bytes);
gr_status gr_result_await(gr_backend *backend, gr_stream stream, const void *result, size_t bytes,
                          gr_error *error);

#endif
