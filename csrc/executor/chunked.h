/* A chunked (streaming) reduction: a reduction to one result that can be planned and run chunk by chunk. */
#ifndef GR_EXECUTOR_CHUNKED_H
#define GR_EXECUTOR_CHUNKED_H

#include "program/program.h"

/* A range of the elements of a reduction: `count` elements from index `first` on, of `total`. */
typedef struct gr_chunk_range {
    uint64_t first, count, total;
} gr_chunk_range;

/* A reduction of contiguous elements to one result. plan() makes the program of one chunk. The program has
 * the inputs, an output of up to 16 bytes and, if the chunk is one of several, a state in zeroed workspace,
 * which carries partial results from chunk to chunk. */
typedef struct gr_chunked_reduction {
    size_t inputs;     /* 1 or 2, of equal dtype and length */
    size_t item_bytes; /* size of an element in bytes */
    uint64_t count;
    void (*plan)(const void *request, const gr_device_caps *caps, const gr_chunk_range *part,
                 gr_program *out);
    const void *request;
} gr_chunked_reduction;

/* Progress of a long upload, reported on the calling thread about every 50 ms; true stops the call. `done`
 * and `total` are bytes. */
typedef struct gr_progress {
    bool (*report)(void *arg, uint64_t done, uint64_t total);
    void *arg;
} gr_progress;

#endif
