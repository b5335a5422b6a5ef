/* Order statistics of lines (lines, length): quantiles, and the k largest or smallest elements with their
 * indices. */
#include "order/order.h"

#include <string.h>

#include "jax/jax.h"

static gr_status expect_lines(const gr_jax_array *elements, gr_error *error) {
    return elements->ndim == 2 && gr_jax_count(elements) > 0 && gr_order_takes(elements->dtype)
               ? GR_OK
               : gr_fail(error, GR_ERR_VALUE, "expected lines of elements that have an order");
}

/* Copies numbers of ranks, which must be less than `ranks`. */
static gr_status copy_numbers(const gr_jax_call *call, const char *name, uint64_t ranks, size_t count,
                              uint8_t *out, gr_error *error) {
    const gr_jax_attribute *attribute;
    const gr_status status = gr_jax_numbers(call, name, GR_JAX_BYTES, count, &attribute, error);
    if (status != GR_OK)
        return status;
    memcpy(out, attribute->data, count);
    for (size_t i = 0; i < count; ++i)
        if (out[i] >= ranks)
            return gr_fail(error, GR_ERR_VALUE, "%s: expected numbers of ranks", name);
    return GR_OK;
}

static gr_status copy_reals(const gr_jax_call *call, const char *name, size_t count, double *out,
                            gr_error *error) {
    const gr_jax_attribute *attribute;
    const gr_status status = gr_jax_numbers(call, name, GR_JAX_REALS, count, &attribute, error);
    if (status == GR_OK)
        memcpy(out, attribute->data, count * sizeof *out);
    return status;
}

/* Copies the ranks, which must ascend and be less than `length`. */
static gr_status copy_ranks(const gr_jax_call *call, uint64_t length, int64_t *out, uint64_t *count,
                            gr_error *error) {
    const gr_jax_attribute *attribute;
    const gr_status status = gr_jax_numbers(call, "ranks", GR_JAX_INTEGERS, SIZE_MAX, &attribute, error);
    if (status != GR_OK)
        return status;
    *count = attribute->count;
    if (*count < 1 || *count > GR_ORDER_MAX_RANKS)
        return gr_fail(error, GR_ERR_VALUE, "ranks: expected 1 to %d", GR_ORDER_MAX_RANKS);
    memcpy(out, attribute->data, *count * sizeof *out);
    for (size_t i = 0; i < *count; ++i)
        if (out[i] < 0 || (uint64_t)out[i] >= length || (i > 0 && out[i] < out[i - 1]))
            return gr_fail(error, GR_ERR_VALUE, "ranks: expected integers that ascend, less than the length");
    return GR_OK;
}

/* Whether the kernels interpolate between elements of a dtype to a result of another. */
static bool has_interpolation(int64_t mean, gr_dtype from, gr_dtype to) {
    const gr_dtype own = gr_dtypes[from].mean;
    switch (mean) {
    case GR_ORDER_LOWER:
        return to == from;
    case GR_ORDER_MIDPOINT:
        return to == own;
    case GR_ORDER_LINEAR:
        return from != GR_DTYPE_b8 && from != GR_DTYPE_bf16 && (to == own || to == GR_DTYPE_f64);
    default:
        return false;
    }
}

/* Attributes: ranks; mean, a gr_order_interpolation; of each result lower and upper, numbers of ranks, weight
   and rest. Results have a row per quantile and a column per line. */
gr_status gr_jax_quantiles(const gr_jax_call *call, gr_device *device, const gr_binding *binding,
                           gr_error *error) {
    const gr_jax_array *elements = &call->operands[0], *out = &call->results[0];
    int64_t ranks[GR_ORDER_MAX_RANKS], mean = 0;
    gr_order_request request = {
        .task = GR_ORDER_TASK_SELECT, .dtype = elements->dtype, .inline_ranks = ranks, .nans = true};
    gr_status status = expect_lines(elements, error);
    if (status != GR_OK)
        return status;
    request.lines = elements->extent[0];
    request.length = elements->extent[1];
    const uint64_t results = gr_jax_count(out) / request.lines;
    if (results < 1 || results > GR_ORDER_MAX_QUANTILES)
        return gr_fail(error, GR_ERR_VALUE, "q: expected 1 to %d quantiles", GR_ORDER_MAX_QUANTILES);
    gr_order_quantiles quantiles = {.results = results, .to = (uint32_t)out->dtype};
    status = gr_jax_integer(call, "mean", &mean, error);
    if (status == GR_OK)
        status = copy_ranks(call, request.length, ranks, &request.ranks, error);
    if (status == GR_OK)
        status = copy_numbers(call, "lower", request.ranks, results, quantiles.lower, error);
    if (status == GR_OK)
        status = copy_numbers(call, "upper", request.ranks, results, quantiles.upper, error);
    if (status == GR_OK)
        status = copy_reals(call, "weight", results, quantiles.weight, error);
    if (status == GR_OK)
        status = copy_reals(call, "rest", results, quantiles.rest, error);
    if (status == GR_OK)
        status = gr_jax_expect(out, "result", out->dtype, results * request.lines, error);
    if (status == GR_OK && !has_interpolation(mean, elements->dtype, out->dtype))
        status = gr_fail(error, GR_ERR_VALUE, "mean: not for %s from %s", gr_dtypes[out->dtype].numpy_name,
                         gr_dtypes[elements->dtype].numpy_name);
    quantiles.mean = (uint32_t)mean;
    request.quantiles = &quantiles;
    return status == GR_OK ? gr_order_run(device, &request, binding, NULL, error) : status;
}

/* Runs topk with results in host memory. The kernels write the indices to memory of the device. */
static gr_status run_topk_on_host(const gr_jax_array *indices, const gr_order_request *request,
                                  gr_device *device, gr_binding *binding, gr_error *error) {
    gr_backend *backend = device->backend;
    const size_t bytes = (size_t)(request->lines * request->k) * sizeof(int64_t);
    gr_devptr address;
    gr_status status = backend->alloc(backend, bytes, &address, error);
    if (status != GR_OK)
        return status;
    binding->inputs[1] = (gr_source){.origin = address};
    status = gr_order_run(device, request, binding, NULL, error);
    if (status == GR_OK)
        status = backend->download(backend, 0, indices->data, address, bytes, error);
    backend->free(backend, address);
    return status;
}

/* Attributes: k; largest, 1 or 0. Results: elements and int64 indices, (lines, k), in order. */
gr_status gr_jax_topk(const gr_jax_call *call, gr_device *device, const gr_binding *binding,
                      gr_error *error) {
    const gr_jax_array *elements = &call->operands[0], *indices = &call->results[1];
    int64_t k = 0, largest = 0;
    gr_status status = expect_lines(elements, error);
    if (status == GR_OK)
        status = gr_jax_integer(call, "k", &k, error);
    if (status == GR_OK)
        status = gr_jax_integer(call, "largest", &largest, error);
    if (status != GR_OK)
        return status;
    if (k < 1 || (uint64_t)k > elements->extent[1])
        return gr_fail(error, GR_ERR_VALUE, "k: expected 1 to the length of a line, got %lld", (long long)k);
    const gr_order_request request = {.task = GR_ORDER_TASK_TOPK,
                                      .dtype = elements->dtype,
                                      .lines = elements->extent[0],
                                      .length = elements->extent[1],
                                      .k = (uint64_t)k,
                                      .largest = largest != 0,
                                      .sorted = true};
    const uint64_t count = request.lines * request.k;
    status = gr_jax_expect(&call->results[0], "result", elements->dtype, count, error);
    if (status == GR_OK)
        status = gr_jax_expect(indices, "indices", GR_DTYPE_i64, count, error);
    if (status != GR_OK)
        return status;
    gr_binding both = *binding;
    if (binding->host_out != NULL)
        return run_topk_on_host(indices, &request, device, &both, error);
    both.inputs[1] = (gr_source){.origin = (uint64_t)(uintptr_t)indices->data};
    return gr_order_run(device, &request, &both, NULL, error);
}
