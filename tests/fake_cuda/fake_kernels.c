#include <string.h>

#include "fake_state.h"

static bool has_dtype(const char *name, const char *dtype) {
    const char *found = strstr(name, "_sum_");
    return found && strncmp(found + 5, dtype, 3) == 0 && (found[8] == 0 || found[8] == '_');
}

bool is_kernel(const char *name) {
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
static bool run_flat(const gr_flat_params *p) {
    const int32_t *in = reach(p->in, p->count * sizeof *in);
    const unsigned char *slots = reach(p->slots, GR_FLAT_MOST_BLOCKS * GR_FLAT_SLOT_BYTES);
    uint64_t *out = reach(p->out, sizeof *out);
    const uint64_t *carry = reach(p->carry, sizeof *carry);
    if (!in || !out || !slots || ((p->flags & GR_FLAT_HAS_CARRY) && !carry))
        return false;
    for (size_t i = 0; i < GR_FLAT_MOST_BLOCKS * GR_FLAT_SLOT_BYTES; i++)
        if (slots[i])
            return false;
    uint64_t sum = p->flags & GR_FLAT_HAS_CARRY ? *carry : 0;
    for (uint64_t i = 0; i < p->count; i++)
        sum += (uint64_t)(int64_t)in[i];
    *out = sum;
    return true;
}

void run_kernel(const fake_cuda_launch *launch) {
    context *current = top();
    const unsigned blocks = launch->grid[0] * launch->grid[1] * launch->grid[2];
    current->clock += fake_cuda_kernel_microseconds(blocks);
    if (state.launch_count < MAX_LAUNCHES)
        state.launches[state.launch_count] = *launch;
    state.launch_count++;

    if (launch->is_flat) {
        if (!run_flat(&launch->flat))
            current->sticky = ILLEGAL_ADDRESS;
        return;
    }
    bool add = strncmp(launch->name, "atomic_", 7) == 0;
    bool floats = has_dtype(launch->name, "f32") || has_dtype(launch->name, "f64");
    bool wide = has_dtype(launch->name, "f64") || has_dtype(launch->name, "i64");
    uint64_t in_size = wide ? 8 : 4, out_size = has_dtype(launch->name, "f32") ? 4 : 8;
    uint64_t partials = add || launch->single_pass ? 1 : blocks;
    const void *in = launch->n <= UINT64_MAX / 8 ? reach(launch->in, launch->n * in_size) : NULL;
    void *out = reach(launch->out, partials * out_size);
    if (!out || (launch->n && !in))
        current->sticky = ILLEGAL_ADDRESS;
    else
        (floats ? sum_floats : sum_integers)(in, out, launch->n, partials, wide, add);
}
