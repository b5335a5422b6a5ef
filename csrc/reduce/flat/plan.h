/* Plans the launch of a flat kernel as a pure function of the number of elements and the dtype. Its shapes
   (kernel, threads, blocks) are the rows of shapes.def, by the size of the input. */
#ifndef GR_REDUCE_FLAT_PLAN_H
#define GR_REDUCE_FLAT_PLAN_H

#include "executor/staging_ring.h"
#include "reduce/flat/params.h"
#include "reduce/ops.h"

/* A row of shapes.def. Any shape is correct for any number of elements. */
typedef struct gr_flat_shape {
    uint64_t up_to_bytes; /* bytes of input up to which gr_flat_best chooses it */
    const char *kernel;   /* "flat" or "ring" */
    bool is_ring;
    uint32_t threads, max_blocks, flags;
} gr_flat_shape;

extern const gr_flat_shape gr_flat_shapes[];
extern const size_t gr_flat_shape_count;

/* Whether a device can run the shape. `pair`: the reduction has two input vectors. */
bool gr_flat_shape_fits(const gr_flat_shape *shape, bool pair, const gr_device_caps *caps);
/* The fastest shape for this many bytes that the device can run. */
const gr_flat_shape *gr_flat_best(uint64_t bytes, bool pair, const gr_device_caps *caps);

/* The elements of a launch: the whole input, or a chunk that follows others, which left their State. */
typedef struct gr_flat_work {
    size_t item_bytes;
    bool pair;
    bool large_states; /* States have up to half of GR_FLAT_LARGE_SLOT_BYTES */
    gr_chunk_range part;
    gr_finish finish;
} gr_flat_work;

/* Appends the launch, with one or two inputs, an output and, between chunks, a State. The caller names its
   kernel. */
gr_step *gr_flat_append(const gr_flat_work *work, const gr_flat_shape *shape, gr_program *program);

#endif
