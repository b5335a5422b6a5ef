#include "reduce/convert/convert.h"

#include <stddef.h>

#include "reduce/convert/params.h"

enum { MOST_BLOCKS = 1 << 20 };

/* Neighbours that lie evenly are one dimension. False where more are left than the kernel takes. */
static bool merge(const gr_conversion *conversion, gr_convert_params *params) {
    size_t count = 0;
    params->count = 1;
    for (size_t d = 0; d < GR_CONVERT_DIMS; ++d)
        params->extent[d] = 1;
    for (size_t d = conversion->ndim; d-- > 0;) {
        const uint64_t extent = conversion->extent[d];
        const int64_t stride = conversion->stride[d];
        params->count *= extent;
        if (extent == 1)
            continue;
        if (count > 0 &&
            (uint64_t)stride == (uint64_t)params->stride[count - 1] * params->extent[count - 1]) {
            params->extent[count - 1] *= extent;
            continue;
        }
        if (count == GR_CONVERT_DIMS)
            return false;
        params->extent[count] = extent;
        params->stride[count++] = stride;
    }
    return true;
}

gr_status gr_conversion_plan(const gr_conversion *conversion, gr_program *program, gr_error *error) {
    gr_convert_params params = {.from = (uint32_t)conversion->from, .to = (uint32_t)conversion->to};
    if (!merge(conversion, &params))
        return gr_fail(error, GR_ERR_VALUE, "a: strides that do not merge into %d dimensions",
                       GR_CONVERT_DIMS);
    gr_program_begin(program);
    const uint32_t in = gr_program_input(program, 0);
    const size_t bytes = (size_t)params.count * gr_dtypes[conversion->to].item_bytes;
    const uint32_t out = gr_program_buffer(program, GR_BUFFER_OUTPUT, bytes);
    const uint64_t of_block = (uint64_t)GR_CONVERT_THREADS * GR_CONVERT_EACH;
    const uint64_t blocks = (params.count + of_block - 1) / of_block;
    gr_step *step = gr_program_step(program, GR_STEP_LAUNCH, &params, sizeof params);
    step->kernel.owner = "astype";
    GR_KERNEL_NAME(step->kernel.file, "convert");
    GR_KERNEL_NAME(step->kernel.entry, "convert");
    step->grid[0] = (uint32_t)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
    step->block[0] = GR_CONVERT_THREADS;
    gr_program_place(program, offsetof(gr_convert_params, in), in);
    gr_program_place(program, offsetof(gr_convert_params, out), out);
    return GR_OK;
}

gr_status gr_conversion_run(gr_device *device, const gr_conversion *conversion, const gr_binding *binding,
                            const gr_interrupt *interrupt, gr_error *error) {
    for (size_t d = 0; d < conversion->ndim; ++d)
        if (conversion->extent[d] == 0)
            return GR_OK;
    gr_program program;
    const gr_status status = gr_conversion_plan(conversion, &program, error);
    return status == GR_OK ? gr_program_run(device, &program, binding, interrupt, error) : status;
}
