#include "conv/turn.h"

#include <stddef.h>

#include "base/limits.h"
#include "conv/columns.h"

enum { PIECE = 16, ROOM = 16 << 10 }; /* bytes: of channels at once; of shared memory for a run */

/* The array of one side: pictures and their pixels, or filters and their taps. */
typedef struct array {
    gr_conv_side *side;
    uint64_t outer, down, along, channels;
} array;

/* How pixels are taken, in bytes. */
static uint32_t unit_of(const array *of, size_t item) {
    const gr_conv_steps *steps = &of->side->steps;
    const uint64_t all = (uint64_t)steps->outer | (uint64_t)steps->channel | of->down * of->along;
    uint32_t unit = PIECE;
    while (unit > item && (!of->side->aligned || all * item % unit != 0))
        unit /= 2;
    return unit;
}

/* Describes how it is turned; false where it does not lie channel by channel. */
static bool describe(const array *of, size_t item, gr_conv_turn *out) {
    const gr_conv_steps *steps = &of->side->steps;
    const uint64_t pixels = of->down * of->along, length = PIECE / item, line = 128 / item;
    const bool together = (of->along == 1 || steps->along == 1) &&
                          (of->down == 1 || steps->down == (int64_t)of->along) && steps->channel > 0 &&
                          steps->outer >= 0;
    const bool dense = of->side->aligned && steps->channel == (int64_t)pixels &&
                       (of->outer == 1 || steps->outer == (int64_t)(pixels * of->channels));
    if (!together || of->channels % length != 0)
        return false;
    *out = (gr_conv_turn){.channels = of->channels,
                          .pixels = pixels,
                          .outer = steps->outer,
                          .channel = steps->channel,
                          .each = (uint32_t)line,
                          .unit = unit_of(of, item)};
    const uint64_t most = ROOM / (pixels * item) / length * length;
    if (dense && out->unit < PIECE / 2 && most > 0) {
        out->unit = 0;
        out->each = (uint32_t)(most < of->channels ? most : of->channels);
    }
    const uint64_t parts = gr_ceil_div(of->channels, out->each);
    const uint64_t across = out->unit == 0 ? 1 : gr_ceil_div(pixels, GR_CONV_TURN_PIXELS);
    if (of->outer * parts * across > GR_MAX_GRID / 2)
        return false;
    out->parts = (uint32_t)parts;
    out->across = (uint32_t)across;
    out->blocks = (uint32_t)(of->outer * parts * across);
    return true;
}

static bool lies_well(const array *of) {
    return gr_conv_is_dense(of->side, GR_CONV_NHWC, of->outer, of->down, of->along, of->channels);
}

gr_status gr_conv_turn_settle(gr_conv *self, bool x_stays, gr_conv_ends *ends, gr_program *program,
                              gr_error *error) {
    const size_t item = gr_dtypes[self->dtype].item_bytes;
    const array x = {&self->x, self->batch, self->down.size, self->along.size, self->groups * self->channels};
    const array w = {&self->w, self->groups * self->filters, self->down.kernel, self->along.kernel,
                     self->channels};
    gr_conv_turn_params params = {0};
    const gr_conv_ends from = *ends;
    const bool of_x = !x_stays && !lies_well(&x) && describe(&x, item, &params.x);
    const bool of_w = !lies_well(&w) && describe(&w, item, &params.w);
    if (of_x) {
        ends->x = gr_program_buffer(program, GR_BUFFER_TEMPORARY,
                                    (size_t)(x.outer * x.down * x.along * x.channels) * item);
        self->x = (gr_conv_side){gr_conv_dense(GR_CONV_NHWC, x.down, x.along, x.channels), true};
    }
    if (of_w) {
        ends->w = gr_program_buffer(program, GR_BUFFER_TEMPORARY,
                                    (size_t)(w.outer * w.down * w.along * w.channels) * item);
        self->w = (gr_conv_side){gr_conv_dense(GR_CONV_NHWC, w.down, w.along, w.channels), true};
    }
    gr_status status = GR_OK;
    if (of_x || of_w) {
        gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
        gr_program_place(program, offsetof(gr_conv_turn_params, x.from), from.x);
        gr_program_place(program, offsetof(gr_conv_turn_params, x.to), ends->x);
        gr_program_place(program, offsetof(gr_conv_turn_params, w.from), from.w);
        gr_program_place(program, offsetof(gr_conv_turn_params, w.to), ends->w);
        step->kernel.owner = "c8";
        GR_KERNEL_NAME(step->kernel.file, "c8_taps");
        GR_KERNEL_NAME(step->kernel.entry, item == 2 ? "c8_turn_b2" : "c8_turn_b4");
        step->shared_bytes = ROOM;
        step->overlap = true;
        status = gr_conv_spread(step, (uint64_t)params.x.blocks + params.w.blocks, 1, 1, GR_CONV_TURN_THREADS,
                                error);
    }
    const gr_conv_side own = self->x;
    if (x_stays)
        self->x = (gr_conv_side){gr_conv_dense(GR_CONV_NHWC, x.down, x.along, x.channels), true};
    if (status == GR_OK)
        status = gr_conv_settle(self, ends, program, error);
    if (x_stays)
        self->x = own;
    return status;
}
