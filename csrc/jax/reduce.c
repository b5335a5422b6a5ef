/* Reductions along the middle one of three axes, by the general or the exact kernels. Attributes: op, the
   name of an operator; exact, 1 for a result that is rounded once; parameter, the bits of the operator's
   parameter; whole, 1 for an array without other axes, whose sum may have other bits than a row's. */
#include "reduce/reduce.h"
#include "exact/exact.h"
#include "jax/jax.h"

/* Makes the layout of (lines, length, inner) in C order, and its plan. */
static gr_status plan(const gr_jax_array *elements, gr_device *device, bool exact, bool whole,
                      gr_reduction *out, gr_error *error) {
    gr_layout *layout = &out->layout;
    *layout = (gr_layout){.ndim = GR_JAX_MAX_NDIM, .reduced = {whole, true, whole}};
    int64_t stride = (int64_t)gr_dtypes[elements->dtype].item_bytes;
    for (size_t d = GR_JAX_MAX_NDIM; d-- > 0;) {
        layout->extent[d] = elements->extent[d];
        layout->stride[d] = stride;
        stride *= (int64_t)elements->extent[d];
    }
    gr_reduction_fill_layout(out, device, exact);
    return gr_general_plan_make(layout, &out->plan, error);
}

gr_status gr_jax_reduce(const gr_jax_call *call, gr_device *device, const gr_binding *binding,
                        gr_error *error) {
    const gr_jax_array *elements = &call->operands[0];
    gr_reduction reduction = {.dtype = elements->dtype};
    char name[GR_KERNEL_NAME_BYTES];
    int64_t exact = 0, parameter = 0, whole = 0;
    gr_status status = gr_jax_text(call, "op", name, sizeof name, error);
    if (status == GR_OK)
        status = gr_jax_integer(call, "exact", &exact, error);
    if (status == GR_OK)
        status = gr_jax_integer(call, "parameter", &parameter, error);
    if (status == GR_OK)
        status = gr_jax_integer(call, "whole", &whole, error);
    if (status != GR_OK)
        return status;
    if (!gr_op_find(name, &reduction.op) || gr_op_is_pair(reduction.op) || gr_op_numbers(reduction.op) > 1 ||
        !gr_op_takes(reduction.op, elements->dtype) ||
        (exact != 0 && !gr_exact_takes(reduction.op, elements->dtype)))
        return gr_fail(error, GR_ERR_VALUE, "op: there is no such %s of %s", name,
                       gr_dtypes[elements->dtype].numpy_name);
    if (elements->ndim != GR_JAX_MAX_NDIM || gr_jax_count(elements) == 0 ||
        (whole != 0 && elements->extent[0] * elements->extent[2] != 1))
        return gr_fail(error, GR_ERR_VALUE, "expected elements along three axes, of a whole array one");
    reduction.parameter = (uint64_t)parameter;
    status = gr_jax_expect(&call->results[0], "result", gr_op_result(reduction.op, elements->dtype),
                           elements->extent[0] * elements->extent[2], error);
    if (status == GR_OK)
        status = plan(elements, device, exact != 0, whole != 0, &reduction, error);
    if (status != GR_OK)
        return status;
    const gr_exact request = {
        .op = reduction.op, .dtype = reduction.dtype, .layout = &reduction.layout, .plan = &reduction.plan};
    return exact != 0 ? gr_exact_run(device, &request, binding, NULL, error)
                      : gr_reduction_run(device, &reduction, binding, NULL, NULL, error);
}
