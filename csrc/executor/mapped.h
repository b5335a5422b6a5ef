/* Mapped pinned host memory, which kernels access by its device address. A device caches it for later calls:
 * gr_mapped_open and gr_mapped_close are the functions of its gr_cached_kind. */
#ifndef GR_EXECUTOR_MAPPED_H
#define GR_EXECUTOR_MAPPED_H

#include "device/device.h"

typedef struct gr_mapped {
    gr_cached cached;
    void *host;
    gr_devptr there; /* device address of `host` */
} gr_mapped;

gr_status gr_mapped_open(gr_backend *backend, gr_cached *self, gr_error *error);
void gr_mapped_close(gr_backend *backend, gr_cached *self);

#endif
