/* Where the elements of an input are: in host memory or in device memory. */
#ifndef GR_BASE_SOURCE_H
#define GR_BASE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

typedef struct gr_source {
    const void *host; /* `bytes` of host memory that hold the elements; NULL: they are on the device */
    size_t bytes;
    uint64_t origin; /* of the first element: byte offset into `host`, or device address */
} gr_source;

#endif
