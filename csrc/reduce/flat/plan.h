/* The launch of a flat kernel: a pure function of count and dtype. */
#ifndef GR_REDUCE_FLAT_PLAN_H
#define GR_REDUCE_FLAT_PLAN_H

#include "executor/executor.h"
#include "reduce/flat/params.h"

enum { GR_FLAT_LARGE_SLOT_BYTES = 96 }; /* as large_states.cuh has it */

/* A row of shapes.def. Any of them is right for any count. */
typedef struct gr_flat_shape {
    uint64_t up_to_bytes; /* of input, for which gr_flat_best takes it */
    const char *kernel;   /* "flat" or "ring" */
    bool is_ring;
    uint32_t threads, most_blocks, flags;
} gr_flat_shape;

extern const gr_flat_shape gr_flat_shapes[];
extern const size_t gr_flat_shape_count;

/* Whether a device can run the shape. `pair`: of two vectors. */
bool gr_flat_shape_fits(const gr_flat_shape *shape, bool pair, const gr_device_caps *caps);
/* The shape that is best for so many bytes, of those that the device can run. */
const gr_flat_shape *gr_flat_best(uint64_t bytes, bool pair, const gr_device_caps *caps);

/* What a launch takes in: all elements, or a part of them, after parts that left their State. */
typedef struct gr_flat_work {
    size_t item_bytes, result_bytes;
    bool pair;
    bool large_states; /* of up to half of GR_FLAT_LARGE_SLOT_BYTES */
    gr_chunk_range part;
    const void *initial;       /* of the result's dtype, or NULL */
    const uint64_t *parameter; /* in place of the number of elements, or NULL */
    uint32_t finish_flags;     /* of reduce/params.h */
} gr_flat_work;

/* Appends the launch, whose kernel is the caller's to name: an input or two, an output, a State between
 * parts. */
gr_step *gr_flat_append(const gr_flat_work *work, const gr_flat_shape *shape, gr_program *program);

#endif
