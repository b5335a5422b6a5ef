#include <string.h>

#include "fake_state.h"

static bool has_dtype(const char *name, const char *dtype) {
    const char *found = strstr(name, "_sum_");
    return found && strncmp(found + 5, dtype, 3) == 0 && (found[8] == 0 || found[8] == '_');
}

/* Those of the default choice know int32 alone, whose pass 2 is the one of all integers. */
bool is_kernel(const char *name) {
    if (strncmp(name, "flat_", 5) == 0 || strncmp(name, "general_", 8) == 0)
        return has_dtype(name, strstr(name, "_last_") ? "u64" : "i32");
    if (strncmp(name, "exact_", 6) == 0)
        return strcmp(name + 6, "sum_f32") == 0 || strcmp(name + 6, "window_f32") == 0;
    return has_dtype(name, "f32") || has_dtype(name, "f64") || has_dtype(name, "i32") ||
           has_dtype(name, "i64");
}

static void sum_floats(const void *in, void *out, uint64_t n, uint64_t partials, bool wide, bool add) {
    const float *narrow_in = in;
    const double *wide_in = in;
    long double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += wide ? (long double)wide_in[i] : (long double)narrow_in[i];
    for (uint64_t i = 0; i < partials; i++) {
        long double value = (add ? (wide ? ((double *)out)[i] : ((float *)out)[i]) : 0) + (i == 0 ? sum : 0);
        if (wide)
            ((double *)out)[i] = (double)value;
        else
            ((float *)out)[i] = (float)value;
    }
}

static void sum_integers(const void *in, void *out, uint64_t n, uint64_t partials, bool wide, bool add) {
    const int32_t *narrow_in = in;
    const int64_t *wide_in = in;
    uint64_t sum = 0; /* wraps, as the device does */
    for (uint64_t i = 0; i < n; i++)
        sum += wide ? (uint64_t)wide_in[i] : (uint64_t)(int64_t)narrow_in[i];
    uint64_t *slots = out;
    for (uint64_t i = 0; i < partials; i++)
        slots[i] = (add ? slots[i] : 0) + (i == 0 ? sum : 0);
}

/* flat_sum_i32: a State is the sum so far. The slots have to be zero, as the kernels leave them. */
static bool run_flat(const context *in_context, const gr_flat_params *p) {
    const int32_t *in = reach(in_context, p->in, p->count * sizeof *in);
    const unsigned char *slots = reach(in_context, p->slots, GR_FLAT_MAX_BLOCKS * GR_FLAT_SLOT_BYTES);
    uint64_t *out = reach(in_context, p->out, sizeof *out);
    const uint64_t *carry = reach(in_context, p->carry, sizeof *carry);
    if ((p->count && !in) || !out || !slots || ((p->flags & GR_FLAT_HAS_CARRY) && !carry))
        return false;
    for (size_t i = 0; i < GR_FLAT_MAX_BLOCKS * GR_FLAT_SLOT_BYTES; i++)
        if (slots[i])
            return false;
    uint64_t sum = p->flags & GR_FLAT_HAS_CARRY ? *carry : 0;
    for (uint64_t i = 0; i < p->count; i++)
        sum += (uint64_t)(int64_t)in[i];
    *out = sum;
    return true;
}

static int64_t offset_of(const uint64_t *extent, const int64_t *stride, uint64_t index) {
    int64_t sum = 0;
    for (int d = 0; d < GR_MAX_DIMS; index /= extent[d++])
        sum += (int64_t)(index % extent[d]) * stride[d];
    return sum;
}

/* Adds what one result is made from; false where the memory ends. */
static bool add_elements(const context *in, const gr_general_params *p, uint64_t result, uint64_t *sum) {
    const int64_t start = offset_of(p->keep.extent, p->keep.stride, result);
    const int64_t second = offset_of(p->keep.extent, p->keep.second_stride, result);
    for (uint64_t k = 0; k < p->count; k++) {
        const int64_t at = start + offset_of(p->along.extent, p->along.stride, k);
        const int64_t mask_at = second + offset_of(p->along.extent, p->along.second_stride, k);
        const unsigned char *mask =
            p->flags & GR_HAS_WHERE ? reach(in, p->second + (uint64_t)mask_at, 1) : NULL;
        const int32_t *element = reach(in, p->in + (uint64_t)at, sizeof *element);
        if (!element || (p->flags & GR_HAS_WHERE && !mask))
            return false;
        if (!mask || *mask)
            *sum += (uint64_t)(int64_t)*element;
    }
    return true;
}

/* The same from States, which are sums so far, a row of them for each part. */
static bool add_states(const context *in, const gr_general_params *p, uint64_t result, uint64_t *sum) {
    const uint64_t *states = reach(in, p->in, p->count * p->states * sizeof *states);
    const bool apart = p->flags & GR_SCATTERED_OUTPUT;
    const uint64_t at = apart ? (uint64_t)offset_of(p->keep.extent, p->keep.stride, result) : result;
    for (uint64_t k = 0; states && k < p->count; k++)
        *sum += states[k * p->states + at];
    return states != NULL;
}

/* general_*_sum_i32, for any layout. Of the parts of a result the first one has all. */
static bool run_general(const context *in, const char *name, const gr_general_params *given) {
    gr_general_params row_by_row = *given, *p = &row_by_row;
    if (p->flags & GR_UNALIGNED_ROWS) /* whose kernel takes several rows at a time */
        p->along.stride[0] = (int64_t)(p->columns.width * sizeof(int32_t));
    const bool final = p->flags & GR_FINAL, last = strncmp(name, "general_last", 12) == 0;
    const uint64_t parts = final ? 1 : p->parts;
    uint64_t *out = reach(in, p->out, parts * p->results * sizeof *out), initial = 0;
    if (p->flags & GR_HAS_INITIAL)
        memcpy(&initial, p->initial, sizeof initial);
    if (!out)
        return false;
    for (uint64_t r = 0; r < p->results; r++) {
        uint64_t sum = 0;
        if (!(last ? add_states : add_elements)(in, p, r, &sum))
            return false;
        if (final && (p->flags & GR_SCATTERED_OUTPUT))
            out[offset_of(p->output_layout.extent, p->output_layout.stride, r)] =
                sum * p->multiplicity + initial;
        else
            out[r] = sum + initial;
        for (uint64_t part = 1; part < parts; part++)
            out[part * p->results + r] = 0;
    }
    return true;
}

/* One result, of float32 side by side whose sum a double holds, or its state. */
static bool run_exact(const context *in_context, const gr_exact_params *p) {
    const gr_exact_size size = {GR_EXACT_NARROW_WORDS, GR_EXACT_NARROW_BELOW};
    const float *in = reach(in_context, p->in, p->count * sizeof *in);
    const bool states = p->flags & GR_EXACT_STATES;
    int64_t *out = reach(in_context, p->out, states ? size.words * sizeof *out : sizeof *in);
    if (!in || !out || p->results != 1 || p->flags != (GR_EXACT_PACKED | (states ? GR_EXACT_STATES : 0u)))
        return false;
    if (!states) {
        sum_floats(in, out, p->count, 1, false, false);
        return true;
    }
    memset(out, 0, size.words * sizeof *out);
    for (uint64_t i = 0; i < p->count; i++) {
        const double value = in[i];
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        gr_exact_add(out, size, bits);
    }
    return true;
}

void run_kernel(context *in, const fake_cuda_launch *launch) {
    const unsigned blocks = launch->grid[0] * launch->grid[1] * launch->grid[2];
    in->clock += fake_cuda_kernel_microseconds(blocks);
    if (state.launch_count < MAX_LAUNCHES)
        state.launches[state.launch_count] = *launch;
    state.launch_count++;

    if (launch->is_flat || launch->is_general || launch->is_exact) {
        if (!(launch->is_flat    ? run_flat(in, &launch->flat)
              : launch->is_exact ? run_exact(in, &launch->exact)
                                 : run_general(in, launch->name, &launch->general)))
            in->sticky = ILLEGAL_ADDRESS;
        return;
    }
    bool add = strncmp(launch->name, "atomic_", 7) == 0;
    bool floats = has_dtype(launch->name, "f32") || has_dtype(launch->name, "f64");
    bool wide = has_dtype(launch->name, "f64") || has_dtype(launch->name, "i64");
    uint64_t in_size = wide ? 8 : 4, out_size = has_dtype(launch->name, "f32") ? 4 : 8;
    uint64_t partials = add || launch->single_pass ? 1 : blocks;
    const void *from = launch->n <= UINT64_MAX / 8 ? reach(in, launch->in, launch->n * in_size) : NULL;
    void *out = reach(in, launch->out, partials * out_size);
    if (!out || (launch->n && !from))
        in->sticky = ILLEGAL_ADDRESS;
    else
        (floats ? sum_floats : sum_integers)(from, out, launch->n, partials, wide, add);
}
