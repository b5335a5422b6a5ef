/* Where the elements of an input lie. */
#ifndef GR_BASE_SOURCE_H
#define GR_BASE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

typedef struct gr_source {
    const void *host; /* `bytes` of host memory that hold them; NULL: they are on the device */
    size_t bytes;
    uint64_t origin; /* of the first element: an offset into the host bytes, or a device address */
} gr_source;

#endif
