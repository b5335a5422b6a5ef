/* The ladder of exact sums: the rows of exact/rungs.def as C data, and planning and running one of them. */
#include <stddef.h>

#include "base/limits.h"
#include "exact/exact.h"

const gr_exact_variant gr_exact_variants[] = {
#define GR_RUNG(name, file, after, role, backends, capability, launch, title, technique, publishes, shared_) \
    {                                                                                                        \
        .rung = GR_RUNG_COLUMNS("exact", name, file, after, role, backends, capability, launch, title,       \
                                technique),                                                                  \
        .has_state = GR_PUBLISHES_##publishes,                                                               \
        .shared = shared_,                                                                                   \
    },
#define GR_PUBLISHES_SUMS false
#define GR_PUBLISHES_STATE true
#include "exact/rungs.def"
#undef GR_RUNG
};

const gr_ladder gr_exact_ladder = GR_LADDER(gr_exact_variants, " of exact sums");

bool gr_exact_covers(const gr_exact_variant *variant, gr_op op, gr_dtype dtype) {
    return variant != NULL && gr_op_is_sum(op) && dtype == GR_DTYPE_f32;
}

enum {
    THREAD_ELEMENTS = 32, /* as in `auto` */
    PAIR_BYTES = 8,       /* bytes of a sum and its error */
    BLOCKS_PER_SM = 4,    /* blocks that an SM holds at once */
};

typedef struct rung_call {
    const gr_exact_variant *variant;
    uint64_t count;
} rung_call;

static void plan(const void *request, gr_device *device, gr_program *program) {
    (void)device;
    const gr_exact_variant *variant = ((const rung_call *)request)->variant;
    const uint64_t count = ((const rung_call *)request)->count;
    const gr_exact_rung_params params = {.count = count};
    const uint64_t max_blocks = (uint64_t)gr_reference_device.multiprocessors * BLOCKS_PER_SM;
    const uint64_t worth = gr_ceil_div(count, (uint64_t)GR_EXACT_THREADS * THREAD_ELEMENTS);
    const uint32_t blocks = (uint32_t)gr_min(gr_max(worth, 1), max_blocks);
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    step->grid[0] = 1;
    step->grid[1] = blocks;
    step->block[0] = GR_EXACT_THREADS;
    step->shared_bytes = variant->shared;
    step->kernel.owner = variant->rung.name;
    GR_KERNEL_NAME(step->kernel.file, variant->rung.file);
    GR_KERNEL_NAME(step->kernel.entry, variant->rung.name, "_sum_f32");
    gr_program_relocate(program, offsetof(gr_exact_rung_params, in), gr_program_input(program, 0));
    gr_program_relocate(program, offsetof(gr_exact_rung_params, out),
                        gr_program_buffer(program, GR_BUFFER_OUTPUT, sizeof(float)));
    gr_program_relocate(program, offsetof(gr_exact_rung_params, state),
                        gr_program_buffer(program, GR_BUFFER_ZEROED, GR_EXACT_NARROW_WORDS * 8));
    if (!variant->has_state)
        gr_program_relocate(program, offsetof(gr_exact_rung_params, sums),
                            gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)blocks * PAIR_BYTES));
}

gr_status gr_exact_rung_run(gr_device *device, const gr_exact_variant *variant, uint64_t count,
                            const gr_source *source, const gr_interrupt *interrupt, gr_scalar *result,
                            gr_error *error) {
    const gr_binding binding = {.inputs = {*source}, .host_out = result, .out_bytes = sizeof(float)};
    const gr_status status = gr_rung_check(&variant->rung, &device->backend->info, error);
    return status == GR_OK
               ? gr_execute_request(device, plan, &(rung_call){variant, count}, &binding, interrupt, error)
               : status;
}
