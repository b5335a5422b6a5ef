/* Planner of the stable radix sort of rows by labels: three launches per digit (histograms, prefix sums,
   scatter), then the offsets of the groups. */
#include "segments/labels/labels.h"

#include <stddef.h>

#include "base/limits.h"
#include "executor/executor.h"
#include "segments/labels/params.h"

enum { DIGITS = 1 << GR_LABEL_DIGIT_BITS, TILE = GR_LABEL_THREADS * GR_LABEL_ROWS_PER_THREAD, WORD = 4 };

_Static_assert((int)DIGITS == (int)GR_LABEL_THREADS, "a thread for each digit");

bool gr_labels_fit(const gr_labels *self) {
    return self->rows < UINT32_MAX && self->groups < UINT32_MAX;
}

/* Keys and rows are double-buffered: each pass reads one buffer and writes the other. */
typedef struct workspace {
    uint32_t labels, out, counts, totals;
    uint32_t keys[2], rows[2];
} workspace;

static workspace alloc_workspace(const gr_labels *self, uint32_t passes, const gr_label_params *params,
                                 gr_program *program) {
    const size_t bytes = (size_t)self->rows * WORD, groups = (size_t)self->groups;
    workspace at = {.labels = gr_program_input(program, 0)};
    at.out = gr_program_buffer(program, GR_BUFFER_OUTPUT, (groups + 1 + (size_t)self->rows) * 8);
    at.counts = gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)params->tiles * DIGITS * WORD);
    at.totals = gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)DIGITS * WORD);
    for (uint32_t i = 0; i < 2; ++i) {
        if (passes > i)
            at.keys[i] = gr_program_buffer(program, GR_BUFFER_TEMPORARY, bytes);
        if (passes > i + 1)
            at.rows[i] = gr_program_buffer(program, GR_BUFFER_TEMPORARY, bytes);
    }
    return at;
}

static void launch(gr_program *program, const char *name, uint64_t blocks, const gr_label_params *params) {
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, params, sizeof *params);
    step->grid[0] = (uint32_t)blocks;
    step->block[0] = GR_LABEL_THREADS;
    step->kernel.owner = "group_reduce";
    GR_KERNEL_NAME(step->kernel.file, "label_order");
    GR_KERNEL_NAME(step->kernel.entry, "label_", name);
}

#define RELOCATE(field, buffer) gr_program_relocate(program, offsetof(gr_label_params, field), buffer)

/* A pass reads the labels, or the keys that the previous pass wrote. */
static void relocate_keys(gr_program *program, uint32_t pass, const workspace *at) {
    if (pass == 0)
        RELOCATE(labels, at->labels);
    else
        RELOCATE(keys_in, at->keys[(pass - 1) % 2]);
}

static void plan_pass(gr_program *program, gr_label_params *params, uint32_t pass, bool last,
                      const workspace *at) {
    params->shift = pass * GR_LABEL_DIGIT_BITS;
    launch(program, "count", params->tiles, params);
    relocate_keys(program, pass, at);
    RELOCATE(counts, at->counts);
    launch(program, "scan", DIGITS, params);
    RELOCATE(counts, at->counts);
    RELOCATE(totals, at->totals);
    launch(program, "place", params->tiles, params);
    relocate_keys(program, pass, at);
    if (pass > 0)
        RELOCATE(rows_in, at->rows[(pass - 1) % 2]);
    RELOCATE(keys_out, at->keys[pass % 2]);
    if (last)
        RELOCATE(out, at->out);
    else
        RELOCATE(rows_out, at->rows[pass % 2]);
    RELOCATE(counts, at->counts);
    RELOCATE(totals, at->totals);
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    const gr_labels *self = request;
    (void)device;
    gr_label_params params = {
        .stride = self->stride,
        .rows = self->rows,
        .groups = self->groups,
        .tiles = gr_ceil_div(self->rows, TILE),
        .item_bytes = (uint32_t)gr_dtypes[self->dtype].item_bytes,
    };
    if (gr_dtype_is_signed_integer(self->dtype))
        params.sign = UINT64_C(1) << (8 * params.item_bytes - 1);
    uint32_t passes = 1; /* enough digits for the key `groups` */
    while (self->groups >> passes * GR_LABEL_DIGIT_BITS > 0)
        ++passes;
    const workspace at = alloc_workspace(self, passes, &params, program);
    for (uint32_t pass = 0; pass < passes && self->rows > 0; ++pass)
        plan_pass(program, &params, pass, pass + 1 == passes, &at);
    launch(program, "offsets", gr_ceil_div(self->groups + 1, GR_LABEL_THREADS), &params);
    gr_program_relocate(program, offsetof(gr_label_params, keys_in), at.keys[(passes - 1) % 2]);
    gr_program_relocate(program, offsetof(gr_label_params, out), at.out);
}

gr_status gr_labels_run(gr_device *device, const gr_labels *self, const gr_binding *binding,
                        const gr_interrupt *interrupt, gr_error *error) {
    return gr_execute_request(device, plan, self, binding, interrupt, error);
}
