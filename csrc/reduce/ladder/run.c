/* Runs and times rungs of the reduction ladder: checks the plan against the device, and queries the workspace
   of CUB's function. */
#include <stddef.h>

#include "executor/executor.h"
#include "reduce/ladder/ladder.h"

/* Only block sizes above the default can exceed the device's limit. */
static void check_shared(const gr_variant *variant, const gr_device_info *info, gr_program *program) {
    const gr_step *first = program->steps;
    first += first->kind == GR_STEP_MEMCPY_INLINE;
    const uint32_t granted = info->caps.shared_per_block, block = first->block[0];
    if (first->shared_bytes <= granted) /* later passes need no more */
        return;
    uint32_t max_block = block;
    while (max_block > 0 && (!gr_variant_takes_block(variant, max_block) ||
                             (uint64_t)first->shared_bytes * max_block / block > granted))
        --max_block;
    gr_program_fail(program, GR_ERR_VALUE,
                    "block_size: %u threads of %s take %u bytes of shared memory; a block of %s may have %u, "
                    "enough for %u threads",
                    (unsigned)block, variant->rung.name, (unsigned)first->shared_bytes, info->name,
                    (unsigned)granted, (unsigned)max_block);
}

/* Asks the library for the workspace of its function. */
static void complete_library(gr_device *device, gr_program *program) {
    gr_step *step = &program->steps[0];
    gr_cub_call *call = (gr_cub_call *)(program->params + step->params);
    program->status = gr_library_find(device->kernels.folder, step->kernel.entry, call, program->error);
    if (program->status == GR_OK)
        program->status = gr_library_query_temp_bytes(call, program->error);
    /* With a null workspace the library only reports the size again. */
    const size_t bytes = call->temp_bytes > 0 ? call->temp_bytes : 1;
    const uint32_t temp = gr_program_buffer(program, GR_BUFFER_TEMPORARY, bytes);
    gr_program_relocate(program, offsetof(gr_cub_call, temp), temp);
}

/* Plans for this device: checks its limits, and completes the program of a library's rung. */
static void plan(const void *request, gr_device *device, gr_program *program) {
    const gr_variant *variant = ((const gr_request *)request)->variant;
    const gr_device_info *info = &device->backend->info;
    gr_ladder_plan(request, program);
    if (program->status == GR_OK)
        program->status = gr_rung_check(&variant->rung, info, program->error);
    if (variant->cluster > 1 && !info->caps.clusters)
        gr_program_fail(program, GR_ERR_VALUE, "variant: %s needs clusters of blocks; %s has none",
                        variant->rung.name, info->name);
    if (program->status != GR_OK)
        return;
    if (variant->rung.entry == GR_ENTRY_LIBRARY)
        complete_library(device, program);
    else
        check_shared(variant, info, program);
}

gr_status gr_ladder_run(gr_device *device, const gr_request *request, const gr_source *source,
                        const gr_interrupt *interrupt, gr_scalar *result, gr_error *error) {
    const gr_variant *variant = request->variant;
    if (source->host == NULL && source->origin % variant->align != 0)
        return gr_fail(error, GR_ERR_VALUE,
                       "a: %s takes device arrays that begin on a %u-byte boundary; 'auto' takes any",
                       variant->rung.name, (unsigned)variant->align);
    /* Of an index and an element only the index is copied, which comes first: the bytes after the element
       are uninitialised. */
    const bool is_index = gr_ops[request->op].result == GR_RESULT_INDEX;
    const size_t bytes = is_index ? sizeof(int64_t) : gr_op_partial_bytes(request->op, request->dtype);
    const gr_binding binding = {.inputs = {*source}, .host_out = result, .out_bytes = bytes};
    const gr_status status = gr_execute_request(device, plan, request, &binding, interrupt, error);
    if (status == GR_OK)
        gr_op_finish(request->op, gr_op_partial(request->op, request->dtype), result);
    return status;
}

gr_status gr_ladder_time(gr_device *device, const gr_request *request, const void *data,
                         const gr_timing *timing, double *first_pass, double *all_passes, gr_error *error) {
    const size_t bytes = (size_t)request->n * gr_dtypes[request->dtype].item_bytes;
    return gr_program_time_copies(device, plan, request, data, bytes, timing, first_pass, all_passes, error);
}
