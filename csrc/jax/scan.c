/* Prefix sums and products along the middle one of three axes. Attribute: op, "sum" or "prod". */
#include "scan/scan.h"

#include <string.h>

#include "jax/jax.h"

gr_status gr_jax_scan(const gr_jax_call *call, gr_device *device, const gr_binding *binding,
                      gr_error *error) {
    const gr_jax_array *elements = &call->operands[0];
    char name[8];
    gr_status status = gr_jax_text(call, "op", name, sizeof name, error);
    if (status != GR_OK)
        return status;
    const bool sum = strcmp(name, "sum") == 0;
    if (!sum && strcmp(name, "prod") != 0)
        return gr_fail(error, GR_ERR_VALUE, "op: expected sum or prod, got %s", name);
    if (elements->ndim != 3 || gr_jax_count(elements) == 0)
        return gr_fail(error, GR_ERR_VALUE, "expected elements along three axes");
    const int64_t item = (int64_t)gr_dtypes[elements->dtype].item_bytes;
    const gr_scan request = {.op = sum ? GR_SCAN_SUM : GR_SCAN_PROD,
                             .dtype = elements->dtype,
                             .lines = elements->extent[0],
                             .length = elements->extent[1],
                             .inner = elements->extent[2],
                             .line_stride = item * (int64_t)(elements->extent[1] * elements->extent[2]),
                             .along_stride = item * (int64_t)elements->extent[2],
                             .inner_stride = item};
    status = gr_jax_expect(&call->results[0], "result", gr_dtypes[elements->dtype].sum,
                           gr_jax_count(elements), error);
    return status == GR_OK ? gr_scan_run(device, &request, binding, NULL, error) : status;
}
