/* Memory of the host that kernels reach, which a device keeps for the next call: how gr_cached_kinds of it
   open and close. */
#ifndef GR_EXECUTOR_MAPPED_H
#define GR_EXECUTOR_MAPPED_H

#include "device/device.h"

typedef struct gr_mapped {
    gr_cached cached;
    void *host;
    gr_devptr there; /* its address on the device */
} gr_mapped;

gr_status gr_mapped_open(gr_backend *backend, gr_cached *self, gr_error *error);
void gr_mapped_close(gr_backend *backend, gr_cached *self);

#endif
