/* Exact sums and means of rows by label: elements (lines, length, inner), labels (length), results (lines,
   groups, inner). Attribute: op, "sum" or "mean". Rows with labels outside the groups are ignored. */
#include "groups/groups.h"

#include "jax/jax.h"
#include "segments/segments.h"

gr_status gr_jax_groups(const gr_jax_call *call, gr_device *device, const gr_binding *binding,
                        gr_error *error) {
    const gr_jax_array *elements = &call->operands[0], *labels = &call->operands[1], *out = &call->results[0];
    char name[16];
    gr_op op;
    gr_status status = gr_jax_text(call, "op", name, sizeof name, error);
    if (status != GR_OK)
        return status;
    if (!gr_op_find(name, &op) || !(gr_op_is_mean(op) || gr_op_is_sum(op)))
        return gr_fail(error, GR_ERR_VALUE, "op: expected sum or mean, got %s", name);
    if (elements->ndim != 3 || labels->ndim != 1 || out->ndim != 3 ||
        elements->extent[1] != labels->extent[0] || gr_jax_count(elements) == 0 || gr_jax_count(out) == 0 ||
        gr_dtypes[labels->dtype].kind != GR_KIND_BITS || labels->dtype == GR_DTYPE_b8)
        return gr_fail(error, GR_ERR_VALUE,
                       "expected rows along the second of three axes, and their integer labels");
    const uint64_t length = elements->extent[1], inner = elements->extent[2];
    const int64_t item = (int64_t)gr_dtypes[elements->dtype].item_bytes;
    const gr_groups request = {.op = op,
                               .dtype = elements->dtype,
                               .label_dtype = labels->dtype,
                               .lines = elements->extent[0],
                               .length = length,
                               .inner = inner,
                               .line_stride = item * (int64_t)(length * inner),
                               .along_stride = item * (int64_t)inner,
                               .inner_stride = item,
                               .label_stride = (int64_t)gr_dtypes[labels->dtype].item_bytes,
                               .aligned = true,
                               .groups = out->extent[1],
                               .empty_result = gr_segments_empty_result(op, elements->dtype)};
    status = gr_jax_expect(out, "result", gr_op_result(op, elements->dtype),
                           request.lines * request.groups * request.inner, error);
    if (status == GR_OK && !gr_groups_take(&request))
        status =
            gr_fail(error, GR_ERR_VALUE, "num_segments: %llu of so few rows would take too much workspace",
                    (unsigned long long)request.groups);
    return status == GR_OK ? gr_groups_run(device, &request, binding, NULL, error) : status;
}
