/* Plans copies and dtype conversions of strided arrays: transposed tiles, contiguous runs, or single
   elements. */
#include "reduce/convert/convert.h"

#include <stddef.h>

#include "base/limits.h"
#include "executor/executor.h"
#include "reduce/convert/params.h"
#include "reduce/general/dims.h"

enum {
    MIN_TILE_EDGE = 8,       /* elements along both edges of a tile; smaller tiles do not pay */
    MIN_RUN_BYTES = 64,      /* bytes: shorter runs have few whole vectors */
    MAX_EXTENT_32 = 1 << 30, /* max. extent that kernels count in 32 bits */
    MAX_RUN_ITEM = 4,        /* bytes: runs of larger elements are copied in parts of this size */
};

/* A dimension of a copy to C order; strides in bytes. */
typedef struct dim {
    uint64_t extent;
    int64_t in, out;
} dim;

/* Input or output of a copy: a buffer, its address (only the low bits matter) and its size in bytes. */
typedef struct endpoint {
    uint32_t buffer;
    uint64_t address;
    size_t bytes;
} endpoint;

/* Merges contiguous neighbours; the output's fastest dimension comes first. Returns false if more than
   GR_CONVERT_DIMS remain. */
static bool merge(const gr_conversion *conversion, size_t item, dim dims[GR_CONVERT_DIMS], uint64_t *count) {
    size_t found = 0;
    *count = 1;
    for (size_t d = 0; d < GR_CONVERT_DIMS; ++d)
        dims[d] = (dim){.extent = 1};
    for (size_t d = conversion->ndim; d-- > 0;) {
        const uint64_t extent = conversion->extent[d];
        const int64_t stride = conversion->stride[d], out = (int64_t)(*count * item);
        *count *= extent;
        if (extent == 1)
            continue;
        if (found > 0 && (uint64_t)stride == (uint64_t)dims[found - 1].in * dims[found - 1].extent) {
            dims[found - 1].extent *= extent;
            continue;
        }
        if (found == GR_CONVERT_DIMS)
            return false;
        dims[found++] = (dim){.extent = extent, .in = stride, .out = out};
    }
    return true;
}

_Static_assert(offsetof(gr_transpose_params, out) == offsetof(gr_copy_params, out) &&
                   offsetof(gr_convert_params, at) == 0,
               "append() relocates the first fields of all three");

typedef struct launch {
    const char *file, *kernel, *size; /* size: suffix of the kernel's name */
    uint64_t blocks;
    uint32_t threads;
} launch;

/* Appends a launch, whose parameters begin as gr_copy_params do. Returns false if the grid is too large. */
static bool append(const launch *of, const void *params, size_t bytes, const endpoint *in,
                   const endpoint *out, gr_program *program) {
    if (of->blocks > GR_MAX_GRID)
        return false;
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, params, bytes);
    step->kernel.owner = of->file;
    GR_KERNEL_NAME(step->kernel.file, of->file);
    GR_KERNEL_NAME(step->kernel.entry, of->kernel, of->size);
    step->grid[0] = (uint32_t)of->blocks;
    step->block[0] = of->threads;
    gr_program_relocate(program, offsetof(gr_copy_params, in), in->buffer);
    gr_program_relocate(program, offsetof(gr_copy_params, out), out->buffer);
    return true;
}

/* Suffix of a kernel's name by element size in bytes. */
static const char *const sizes[] = {[1] = "1", [2] = "2", [4] = "4", [8] = "8", [16] = "16"};

/* ---- transpose ---- */

/* The dimension with the smallest stride in the input; 0 if it is also the fastest of the output. */
static size_t fastest_input_dim(const dim dims[GR_CONVERT_DIMS]) {
    size_t best = 0;
    for (size_t d = 1; d < GR_CONVERT_DIMS; ++d)
        if (dims[d].extent > 1 && dims[d].in != 0 && gr_magnitude(dims[d].in) < gr_magnitude(dims[best].in))
            best = d;
    return best;
}

/* Whether a transpose by tiles pays. */
static bool has_tiles(const dim dims[GR_CONVERT_DIMS]) {
    const size_t down = fastest_input_dim(dims);
    return down > 0 && dims[0].extent >= MIN_TILE_EDGE && dims[down].extent >= MIN_TILE_EDGE;
}

static bool is_even(int64_t bytes, int64_t by) {
    return bytes % by == 0;
}

/* Whether all rows of input and output start at multiples of `by` bytes and consist of vectors of that size.
 */
static bool has_vectors(const gr_transpose_params *p, uint64_t addresses, int64_t item, int64_t by) {
    bool even = is_even((int64_t)addresses, by) && is_even(p->in_across, by) && is_even(p->out_down, by) &&
                is_even((int64_t)p->down * item, by) && p->in_down == item;
    for (size_t d = 0; d < GR_TRANSPOSE_OUTER_DIMS; ++d)
        even = even && is_even(p->outer_in[d], by) && is_even(p->outer_out[d], by);
    return even;
}

/* Transposes dimension `down`, which is contiguous in the input, with the fastest dimension of the output.
   Returns false if the grid is too large. */
static bool plan_transpose(const dim dims[GR_CONVERT_DIMS], size_t down, size_t item, const endpoint *in,
                           const endpoint *out, gr_program *program) {
    gr_transpose_params params = {.across = dims[0].extent,
                                  .down = dims[down].extent,
                                  .in_across = dims[0].in,
                                  .in_down = dims[down].in,
                                  .out_down = dims[down].out};
    uint64_t blocks = 1;
    for (size_t d = 1, outer = 0; d < GR_CONVERT_DIMS; ++d) {
        if (d == down)
            continue;
        if (dims[d].extent > GR_MAX_GRID / blocks)
            return false;
        params.outer[outer] = (uint32_t)dims[d].extent;
        params.outer_in[outer] = dims[d].in;
        params.outer_out[outer++] = dims[d].out;
        blocks *= dims[d].extent;
    }
    uint64_t edge_across = item == 16 ? GR_TRANSPOSE_WIDE_EDGE : GR_TRANSPOSE_EDGE, edge_down = edge_across;
    const bool vectors =
        item <= 2 && has_vectors(&params, in->address | out->address, (int64_t)item, 8 * (int64_t)item);
    if (vectors) {
        edge_across = item == 1 ? GR_TRANSPOSE_BYTES_ACROSS : GR_TRANSPOSE_PAIRS_ACROSS;
        edge_down = item == 1 ? GR_TRANSPOSE_BYTES_DOWN : GR_TRANSPOSE_PAIRS_DOWN;
    }
    const uint64_t tiles_across = gr_ceil_div(params.across, edge_across);
    const uint64_t tiles_down = gr_ceil_div(params.down, edge_down);
    if (tiles_across > GR_MAX_GRID / blocks || tiles_down > GR_MAX_GRID / blocks / tiles_across)
        return false;
    params.tiles_across = (uint32_t)tiles_across;
    params.tiles_down = (uint32_t)tiles_down;
    const launch tiles = {.file = "copy",
                          .kernel = vectors ? "copy_turned_vectors_" : "copy_turned_",
                          .size = sizes[item],
                          .blocks = blocks * tiles_across * tiles_down,
                          .threads = vectors ? GR_TRANSPOSE_VECTOR_THREADS : GR_COPY_THREADS};
    return append(&tiles, &params, sizeof params, in, out, program);
}

/* ---- runs and single elements ---- */

static void set_dim(gr_copy_params *p, const dim *d) {
    const gr_fast_divmod by = gr_fast_divmod_of(d->extent);
    p->extent[p->dims] = d->extent;
    p->by[p->dims] = by;
    p->magic[p->dims] = (uint32_t)gr_ceil_div(by.magic, UINT64_C(1) << 32);
    p->shift[p->dims] = (uint32_t)by.shift;
    p->stride[p->dims] = d->in;
    p->out_stride[p->dims++] = d->out;
}

/* Sets all dimensions but one. A dimension longer than MAX_EXTENT_32 comes last, where kernels do not
   divide; no more than one is so long. */
static void set_dims(gr_copy_params *p, const dim dims[GR_CONVERT_DIMS], size_t but) {
    const dim *longest = NULL;
    for (size_t d = 0; d < GR_CONVERT_DIMS; ++d)
        if (d != but && dims[d].extent > MAX_EXTENT_32)
            longest = &dims[d];
        else if (d != but && (dims[d].extent > 1 || d == 0))
            set_dim(p, &dims[d]);
    if (longest != NULL)
        set_dim(p, longest);
}

static bool is_run(const dim dims[GR_CONVERT_DIMS], size_t item, const endpoint *out) {
    const size_t bytes = dims[0].extent * item;
    return dims[0].extent > 1 && dims[0].in == (int64_t)item &&
           is_even((int64_t)out->address, GR_COPY_VECTOR) && (bytes >= MIN_RUN_BYTES || bytes == out->bytes);
}

/* Copies contiguous runs if there are any, else single elements. `close` is the input's fastest dimension;
   if it is short, each thread also loops over it. Returns false if the grid is too large. */
static bool plan_copy(const dim dims[GR_CONVERT_DIMS], size_t close, size_t item, const endpoint *in,
                      const endpoint *out, gr_program *program) {
    gr_copy_params params = {.inner = 1};
    const bool runs = is_run(dims, item, out), along = !runs && dims[close].extent < MIN_TILE_EDGE;
    uint64_t each = item <= 2 ? GR_COPY_NARROW_ITEMS_PER_THREAD : GR_COPY_ITEMS_PER_THREAD;
    for (size_t d = 0; d < GR_CONVERT_DIMS; ++d) {
        const int64_t reach = (int64_t)((dims[d].extent - 1) * (uint64_t)dims[d].in);
        params.low += reach < 0 ? reach : 0;
        params.high += reach > 0 ? reach : 0;
    }
    params.high += (int64_t)item;
    if (runs) {
        for (size_t d = 0; d < GR_CONVERT_DIMS && dims[d].extent > 1; ++d)
            set_dim(&params, &dims[d]);
        params.count = out->bytes;
        params.extent[0] *= item;
        params.by[0] = gr_fast_divmod_of(params.extent[0]);
        each = GR_COPY_ITEMS_PER_THREAD * GR_COPY_VECTOR;
    } else {
        const bool inner = along && close > 0;
        set_dims(&params, dims, inner ? close : GR_CONVERT_DIMS);
        if (inner) {
            params.inner = dims[close].extent;
            params.inner_in = dims[close].in;
            params.inner_out = dims[close].out;
        }
        params.count = out->bytes / item / params.inner;
    }
    const launch copies = {.file = "copy",
                           .kernel = runs ? "copy_runs_" : "copy_each_",
                           .size = sizes[runs && item > MAX_RUN_ITEM ? MAX_RUN_ITEM : item],
                           .blocks = gr_ceil_div(params.count, each * GR_COPY_THREADS),
                           .threads = GR_COPY_THREADS};
    return append(&copies, &params, sizeof params, in, out, program);
}

/* ---- dtype conversion ---- */

static bool plan_conversion(const gr_conversion *conversion, const dim dims[GR_CONVERT_DIMS], uint64_t count,
                            const endpoint *in, const endpoint *out, gr_program *program) {
    gr_convert_params params = {.at = {.count = count, .inner = 1},
                                .from = (uint32_t)conversion->from,
                                .to = (uint32_t)conversion->to};
    set_dims(&params.at, dims, GR_CONVERT_DIMS);
    const bool vectors = params.at.dims == 1 && is_even((int64_t)count, GR_CONVERT_ITEMS_PER_THREAD) &&
                         dims[0].in == (int64_t)gr_dtypes[conversion->from].item_bytes &&
                         is_even((int64_t)(in->address | out->address), GR_COPY_VECTOR);
    const launch conversions = {
        .file = "convert",
        .kernel = vectors ? "convert_vectors" : "convert",
        .size = "",
        .blocks = gr_ceil_div(count, (uint64_t)GR_CONVERT_ITEMS_PER_THREAD * GR_COPY_THREADS),
        .threads = GR_COPY_THREADS};
    return append(&conversions, &params, sizeof params, in, out, program);
}

/* Transposes before it converts: an additional pass, but otherwise each element would read a sector (32
   bytes) of its own. */
static bool plan_transpose_and_convert(const gr_conversion *conversion, const endpoint *in,
                                       const endpoint *out, gr_program *program) {
    const size_t item = gr_dtypes[conversion->from].item_bytes;
    dim dims[GR_CONVERT_DIMS], row[GR_CONVERT_DIMS] = {{0}};
    uint64_t count;
    if (!merge(conversion, item, dims, &count) || !has_tiles(dims))
        return false;
    const endpoint between = {.buffer = gr_program_buffer(program, GR_BUFFER_TEMPORARY, (size_t)count * item),
                              .bytes = (size_t)count * item};
    for (size_t d = 0; d < GR_CONVERT_DIMS; ++d)
        row[d].extent = 1;
    row[0] =
        (dim){.extent = count, .in = (int64_t)item, .out = (int64_t)gr_dtypes[conversion->to].item_bytes};
    return plan_transpose(dims, fastest_input_dim(dims), item, in, &between, program) &&
           plan_conversion(conversion, row, count, &between, out, program);
}

/* ---- choice ---- */

/* A conversion, and the memory whose alignment decides how it is planned. */
typedef struct bound_conversion {
    const gr_conversion *conversion;
    const gr_binding *binding;
} bound_conversion;

static void append_conversion(const gr_conversion *conversion, endpoint in, endpoint out,
                              gr_program *program) {
    const size_t item = gr_dtypes[conversion->to].item_bytes;
    dim dims[GR_CONVERT_DIMS];
    uint64_t count;
    if (!merge(conversion, item, dims, &count)) {
        gr_program_fail(program, GR_ERR_VALUE, "a: strides that do not merge into %d dimensions",
                        GR_CONVERT_DIMS);
        return;
    }
    out.bytes = (size_t)count * item;
    const size_t close = fastest_input_dim(dims);
    const bool tiles = has_tiles(dims);
    bool fits;
    if (conversion->from == conversion->to)
        fits = (tiles && plan_transpose(dims, close, item, &in, &out, program)) ||
               plan_copy(dims, close, item, &in, &out, program);
    else
        fits = (tiles && plan_transpose_and_convert(conversion, &in, &out, program)) ||
               plan_conversion(conversion, dims, count, &in, &out, program);
    if (!fits)
        gr_program_fail(program, GR_ERR_VALUE, "a: too many elements for one grid");
}

static void plan(const void *request, gr_device *device, gr_program *program) {
    (void)device;
    const gr_conversion *conversion = ((const bound_conversion *)request)->conversion;
    const gr_binding *binding = ((const bound_conversion *)request)->binding;
    size_t bytes = gr_dtypes[conversion->to].item_bytes;
    for (size_t d = 0; d < conversion->ndim; ++d)
        bytes *= (size_t)conversion->extent[d];
    const endpoint in = {.buffer = gr_program_input(program, 0), .address = binding->inputs[0].origin};
    const endpoint out = {.buffer = gr_program_buffer(program, GR_BUFFER_OUTPUT, bytes),
                          .address = binding->host_out != NULL ? 0 : binding->device_out};
    append_conversion(conversion, in, out, program);
}

void gr_copy_append(const gr_conversion *conversion, uint32_t in, uint32_t out, uint64_t alignment,
                    gr_program *program) {
    append_conversion(conversion, (endpoint){.buffer = in, .address = alignment},
                      (endpoint){.buffer = out, .address = alignment}, program);
}

gr_status gr_conversion_run(gr_device *device, const gr_conversion *conversion, const gr_binding *binding,
                            const gr_interrupt *interrupt, gr_error *error) {
    for (size_t d = 0; d < conversion->ndim; ++d)
        if (conversion->extent[d] == 0)
            return GR_OK;
    return gr_execute_request(device, plan, &(bound_conversion){conversion, binding}, binding, interrupt,
                              error);
}
