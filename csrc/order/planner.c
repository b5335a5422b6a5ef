#include "order/planner.h"

#include <stddef.h>

/* Suffixes of kernels' names, by bytes of a key. */
static const char *const key_names[] = {[1] = "b8", [2] = "b16", [4] = "b32", [8] = "b64"};

gr_step *gr_order_append(gr_order_planner *self, const char *file, const char *kernel, uint64_t blocks,
                         const void *params, size_t bytes) {
    gr_step *step = gr_program_step(self->program, GR_STEP_LAUNCH, params, bytes);
    step->grid[0] = (uint32_t)gr_min(blocks, GR_MAX_GRID);
    step->block[0] = GR_ORDER_THREADS;
    step->pdl = true;
    step->kernel.owner = self->top ? "topk" : "quantile";
    GR_KERNEL_NAME(step->kernel.file, "order_", file);
    GR_KERNEL_NAME(step->kernel.entry, "order_", kernel, "_", key_names[self->item]);
    return step;
}

gr_step *gr_order_launch(gr_order_planner *self, const char *file, const char *kernel, uint64_t blocks,
                         const gr_order_params *params) {
    gr_program *program = self->program;
    const gr_order_buffers *at = &self->at;
    gr_step *step = gr_order_append(self, file, kernel, blocks, params, sizeof *params);
    const struct {
        size_t offset;
        uint32_t buffer;
    } pointers[] = {
        {offsetof(gr_order_params, ranks), at->ranks},
        {offsetof(gr_order_params, out), at->out},
        {offsetof(gr_order_params, indices), at->indices},
        {offsetof(gr_order_params, states), at->states},
        {offsetof(gr_order_params, bins), at->bins},
        {offsetof(gr_order_params, tickets), at->tickets},
        {offsetof(gr_order_params, counts), at->counts},
        {offsetof(gr_order_params, window), at->window},
        {offsetof(gr_order_params, list), at->list},
        {offsetof(gr_order_params, list_indices), at->list_indices},
        {offsetof(gr_order_params, sample_tickets), at->sample_tickets},
    };
    gr_program_relocate(program, offsetof(gr_order_params, in), at->in);
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; ++i)
        if (pointers[i].buffer != 0)
            gr_program_relocate(program, pointers[i].offset, pointers[i].buffer);
    return step;
}
