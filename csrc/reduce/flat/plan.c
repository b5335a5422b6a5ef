/* The shape table of the flat kernels, and the planner of their launch: grid, threads, slots for the
   last-block reduction, and the State that chunks pass on. */
#include "reduce/flat/plan.h"

#include <string.h>

#include "base/limits.h"

enum { LATE = 0, EARLY = GR_FLAT_TRIGGER_EARLY };

const gr_flat_shape gr_flat_shapes[] = {
#define GR_SHAPE(up_to, kernel_, threads_, blocks, flags_)                                                   \
    {.up_to_bytes = up_to,                                                                                   \
     .kernel = #kernel_,                                                                                     \
     .is_ring = #kernel_[0] == 'r',                                                                          \
     .threads = threads_,                                                                                    \
     .max_blocks = blocks,                                                                                   \
     .flags = flags_},
#include "reduce/flat/shapes.def"
#undef GR_SHAPE
};
const size_t gr_flat_shape_count = sizeof gr_flat_shapes / sizeof gr_flat_shapes[0];

/* A stage has a line more than a piece (cuda_kernels/include/reduce/flat/flat_tma.cuh). */
enum { RING_BYTES = GR_RING_STAGES * (GR_RING_STAGE_BYTES + 128) };

bool gr_flat_shape_fits(const gr_flat_shape *shape, bool pair, const gr_device_caps *caps) {
    return !shape->is_ring ||
           (!pair && caps->capability >= GR_HOPPER && caps->shared_per_block >= RING_BYTES);
}

const gr_flat_shape *gr_flat_best(uint64_t bytes, bool pair, const gr_device_caps *caps) {
    const gr_flat_shape *shape = gr_flat_shapes;
    while (shape->up_to_bytes < bytes)
        ++shape;
    return gr_flat_shape_fits(shape, pair, caps) ? shape : shape - 1;
}

static uint32_t grid_of(const gr_flat_work *work, const gr_flat_shape *shape) {
    const uint64_t chunks = (uint64_t)shape->threads * GR_FLAT_LOADS_IN_FLIGHT;
    const uint64_t blocks =
        shape->is_ring ? shape->max_blocks : gr_ceil_div(work->part.count * work->item_bytes, chunks * 16);
    return (uint32_t)(blocks < 1 ? 1 : blocks < shape->max_blocks ? blocks : shape->max_blocks);
}

/* Elements up to which one block has a thread for each. Merging large States is slow: more threads cost more
   than several loads per thread. var of 1,024 float32 takes 2.44 us, and 1.80 with several elements per
   thread. */
static uint64_t max_one_block_elements(const gr_flat_work *work) {
    enum { MAX_LARGE_STATES = 256 };
    return work->large_states ? MAX_LARGE_STATES : GR_FLAT_MAX_THREADS;
}

/* Threads of the one block: one per element. A single warp needs no barrier. */
static uint32_t one_block_threads(uint64_t count) {
    uint32_t threads = 32;
    while (threads < count)
        threads *= 2;
    return threads;
}

static uint32_t initial_flag(const void *initial, size_t bytes) {
    static const uint8_t zero[GR_FLAT_INITIAL_BYTES] = {0};
    return memcmp(initial, zero, bytes) == 0 ? GR_FLAT_FROM_ZERO : GR_FLAT_HAS_INITIAL;
}

gr_step *gr_flat_append(const gr_flat_work *work, const gr_flat_shape *shape, gr_program *program) {
    const gr_chunk_range *part = &work->part;
    const bool few = !shape->is_ring && part->count <= max_one_block_elements(work);
    const bool whole = part->count == part->total, last = part->first + part->count == part->total;
    const uint32_t in = gr_program_input(program, 0), second = work->pair ? gr_program_input(program, 1) : in;
    const uint32_t out = gr_program_buffer(program, GR_BUFFER_OUTPUT, work->finish.result_bytes);
    const size_t slot_bytes = work->large_states ? GR_FLAT_LARGE_SLOT_BYTES : GR_FLAT_SLOT_BYTES;
    const uint32_t slots = gr_program_buffer(program, GR_BUFFER_ZEROED, GR_FLAT_MAX_BLOCKS * slot_bytes);
    const uint32_t state = whole ? out : gr_program_buffer(program, GR_BUFFER_TEMPORARY, slot_bytes);
    gr_flat_params params = {
        .count = part->count,
        .flags = (whole ? shape->flags : 0u) | (part->first > 0 ? GR_FLAT_HAS_CARRY : 0u) |
                 (last ? GR_FLAT_FINAL | work->finish.flags : 0u) | (few ? GR_FLAT_FEW : 0u),
        .first = part->first,
        .divisor = work->finish.parameter != NULL ? *work->finish.parameter : part->total,
    };
    if (last && work->finish.initial != NULL) {
        params.flags |= initial_flag(work->finish.initial, work->finish.result_bytes);
        memcpy(params.initial, work->finish.initial, work->finish.result_bytes);
    }
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    step->grid[0] = few ? 1 : grid_of(work, shape);
    step->block[0] = few ? one_block_threads(part->count) : shape->threads;
    step->shared_bytes = shape->is_ring ? RING_BYTES : 0;
    step->serialized_offset = offsetof(gr_flat_params, serialized);
    gr_program_relocate(program, offsetof(gr_flat_params, in), in);
    gr_program_relocate(program, offsetof(gr_flat_params, out), last ? out : state);
    gr_program_relocate(program, offsetof(gr_flat_params, slots), slots);
    if (!whole)
        gr_program_relocate(program, offsetof(gr_flat_params, carry), state);
    if (work->pair)
        gr_program_relocate(program, offsetof(gr_flat_params, second), second);
    return step;
}
