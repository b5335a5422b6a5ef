/* Device memory for the time of one call. Work of all calls is ordered in one stream, so that the next call
   may have a piece at once. */
#ifndef GR_DEVICE_MEMORY_H
#define GR_DEVICE_MEMORY_H

#include "device/kept.h"

enum {
    GR_CLEAN_BYTES = 32 << 10
}; /* of a piece that is kept; the flat kernels, which ask for most, take 17 KB */

typedef struct gr_memory {
    gr_devptr address; /* 0: none */
    gr_kept *kept;     /* where it comes from, or NULL: allocated for this call alone */
} gr_memory;

/* Zeroes in device memory. */
gr_status gr_memory_clear(gr_backend *backend, gr_devptr address, size_t bytes, gr_error *error);

/* `clean` memory is zero, and has to be so again when it is given back as usable. On a backend that knows the
   ends of each allocation a piece is as large as asked for, and nobody else's; elsewhere small ones are kept.
 */
gr_status gr_memory_take(gr_shelf *shelf, size_t bytes, bool clean, gr_memory *out, gr_error *error);
void gr_memory_give(gr_shelf *shelf, gr_memory *memory, bool usable);

#endif
