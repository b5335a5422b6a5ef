/* A reduction that can be fed part after part. */
#ifndef GR_EXECUTOR_CHUNKED_H
#define GR_EXECUTOR_CHUNKED_H

#include "program/program.h"

/* Some of the elements: those from `first` on, of `total`. */
typedef struct gr_chunk_range {
    uint64_t first, count, total;
} gr_chunk_range;

/* A reduction of elements side by side to one result, which may be planned part by part. A part's program has
   the inputs, an output of up to 16 bytes and, between parts, a State in its temporary memory. */
typedef struct gr_chunked_reduction {
    size_t inputs;     /* 1 or 2, of elements alike */
    size_t item_bytes; /* of an element */
    uint64_t count;
    void (*plan)(const void *request, const gr_device_caps *caps, const gr_chunk_range *part,
                 gr_program *out);
    const void *request;
} gr_chunked_reduction;

/* Told from time to time, on the calling thread, how far a long upload has come; true stops it. */
typedef struct gr_progress {
    bool (*report)(void *arg, uint64_t done, uint64_t total);
    void *arg;
} gr_progress;

#endif
