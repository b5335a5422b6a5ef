/* Finds attributes of a call, and checks its arrays. */
#include <string.h>

#include "jax/jax.h"

static const gr_jax_attribute *find(const gr_jax_call *call, const char *name, gr_jax_kind kind) {
    for (size_t i = 0; i < call->attribute_count; ++i) {
        const gr_jax_attribute *attribute = &call->attributes[i];
        if (attribute->kind == kind && attribute->name_bytes == strlen(name) &&
            memcmp(attribute->name, name, attribute->name_bytes) == 0)
            return attribute;
    }
    return NULL;
}

gr_status gr_jax_text(const gr_jax_call *call, const char *name, char *out, size_t capacity,
                      gr_error *error) {
    const gr_jax_attribute *attribute = find(call, name, GR_JAX_TEXT);
    if (attribute == NULL || attribute->count >= capacity)
        return gr_fail(error, GR_ERR_VALUE, "%s: expected an attribute of fewer than %zu characters", name,
                       capacity);
    memcpy(out, attribute->data, attribute->count);
    out[attribute->count] = '\0';
    return GR_OK;
}

gr_status gr_jax_numbers(const gr_jax_call *call, const char *name, gr_jax_kind kind, size_t count,
                         const gr_jax_attribute **out, gr_error *error) {
    *out = find(call, name, kind);
    if (*out == NULL || (count != SIZE_MAX && (*out)->count != count))
        return gr_fail(error, GR_ERR_VALUE, "%s: expected an attribute of numbers of another type or count",
                       name);
    return GR_OK;
}

gr_status gr_jax_integer(const gr_jax_call *call, const char *name, int64_t *out, gr_error *error) {
    const gr_jax_attribute *attribute;
    const gr_status status = gr_jax_numbers(call, name, GR_JAX_INTEGERS, 1, &attribute, error);
    if (status == GR_OK)
        memcpy(out, attribute->data, sizeof *out);
    return status;
}

uint64_t gr_jax_count(const gr_jax_array *array) {
    uint64_t count = 1;
    for (size_t d = 0; d < array->ndim; ++d)
        count *= array->extent[d];
    return count;
}

bool gr_jax_fits_memory(const gr_jax_array *array) {
    const uint64_t max_elements = UINT64_C(1) << 48;
    uint64_t count = 1;
    for (size_t d = 0; d < array->ndim; ++d)
        if (array->extent[d] > max_elements ||
            __builtin_mul_overflow(count, array->extent[d] > 0 ? array->extent[d] : 1, &count) ||
            count > max_elements)
            return false;
    return true;
}

/* Whether the elements are 32-bit halves of 64-bit integers. */
static bool is_halves(const gr_jax_array *array, gr_dtype dtype) {
    return gr_dtypes[dtype].kind == GR_KIND_BITS && gr_dtypes[dtype].item_bytes == 8 &&
           (array->dtype == GR_DTYPE_i32 || array->dtype == GR_DTYPE_u32);
}

gr_status gr_jax_expect(const gr_jax_array *array, const char *name, gr_dtype dtype, uint64_t count,
                        gr_error *error) {
    const uint64_t got = gr_jax_count(array);
    return (array->dtype == dtype && got == count) || (is_halves(array, dtype) && got == 2 * count)
               ? GR_OK
               : gr_fail(error, GR_ERR_VALUE, "%s: expected %llu elements of %s, got %llu of %s", name,
                         (unsigned long long)count, gr_dtypes[dtype].numpy_name, (unsigned long long)got,
                         gr_dtypes[array->dtype].numpy_name);
}
