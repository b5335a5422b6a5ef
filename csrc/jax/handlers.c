/* The handlers that XLA calls: each answers the query of its metadata, reads the call frame, and runs the
   call on the simulator or in XLA's stream. A handler allocates nothing on the GPU and waits for nothing, as
   XLA may be capturing its launches into a CUDA graph. */
#include <stdatomic.h>
#include <string.h>

#include "jax/jax.h"

static _Atomic(gr_registry *) registry;

void gr_jax_set_registry(gr_registry *devices) {
    atomic_store(&registry, devices);
}

/* ---- the call frame ---- */

static bool answer_metadata(const xla_ffi_frame *frame) {
    if (frame->extensions == NULL || frame->extensions->type != XLA_FFI_EXTENSION_METADATA)
        return false;
    xla_ffi_metadata *metadata = ((xla_ffi_metadata_extension *)frame->extensions)->metadata;
    metadata->version = (xla_ffi_version){.struct_size = XLA_FFI_SIZE(xla_ffi_version, minor),
                                          .major = XLA_FFI_VERSION_MAJOR,
                                          .minor = XLA_FFI_VERSION_MINOR};
    metadata->traits = XLA_FFI_COMMAND_BUFFER_COMPATIBLE;
    return true;
}

static xla_ffi_error *fail(const xla_ffi_frame *frame, const gr_error *error) {
    xla_ffi_error_args args = {.struct_size = XLA_FFI_SIZE(xla_ffi_error_args, code),
                               .message = error->message,
                               .code = error->status == GR_ERR_MEMORY ? XLA_FFI_RESOURCE_EXHAUSTED
                                       : error->status == GR_ERR_VALUE || error->status == GR_ERR_TYPE
                                           ? XLA_FFI_INVALID_ARGUMENT
                                           : XLA_FFI_INTERNAL};
    return frame->api->error_create(&args); /* cppcheck-suppress returnDanglingLifetime ; an error of XLA */
}

static bool find_dtype(xla_ffi_dtype dtype, gr_dtype *out) {
    static const xla_ffi_dtype dtypes[GR_DTYPE_COUNT] = {
        [GR_DTYPE_f32] = XLA_FFI_F32,   [GR_DTYPE_f64] = XLA_FFI_F64, [GR_DTYPE_i32] = XLA_FFI_S32,
        [GR_DTYPE_i64] = XLA_FFI_S64,   [GR_DTYPE_b8] = XLA_FFI_PRED, [GR_DTYPE_i8] = XLA_FFI_S8,
        [GR_DTYPE_i16] = XLA_FFI_S16,   [GR_DTYPE_u8] = XLA_FFI_U8,   [GR_DTYPE_u16] = XLA_FFI_U16,
        [GR_DTYPE_u32] = XLA_FFI_U32,   [GR_DTYPE_u64] = XLA_FFI_U64, [GR_DTYPE_f16] = XLA_FFI_F16,
        [GR_DTYPE_bf16] = XLA_FFI_BF16, [GR_DTYPE_c64] = XLA_FFI_C64, [GR_DTYPE_c128] = XLA_FFI_C128};
    for (int i = 0; i < GR_DTYPE_COUNT; ++i) {
        if (dtypes[i] == dtype) {
            *out = (gr_dtype)i;
            return true;
        }
    }
    return false;
}

/* Reads one array per buffer; further buffers are left. */
static gr_status read_arrays(const xla_ffi_buffers *buffers, size_t count, gr_jax_array *out,
                             gr_error *error) {
    for (size_t i = 0; i < count; ++i) {
        const xla_ffi_buffer *buffer = buffers->items[i];
        if (buffer->rank > GR_JAX_MAX_NDIM || !find_dtype(buffer->dtype, &out[i].dtype))
            return gr_fail(error, GR_ERR_TYPE,
                           "expected arrays of up to %d dimensions of dtypes of gpureduce", GR_JAX_MAX_NDIM);
        out[i].ndim = (size_t)buffer->rank;
        out[i].data = buffer->data;
        for (size_t d = 0; d < out[i].ndim; ++d)
            out[i].extent[d] = (uint64_t)buffer->dims[d];
        if (!gr_jax_fits_memory(&out[i]))
            return gr_fail(error, GR_ERR_VALUE, "expected arrays that fit memory");
    }
    return GR_OK;
}

static bool find_kind(xla_ffi_dtype dtype, gr_jax_kind *out) {
    *out = dtype == XLA_FFI_U8 ? GR_JAX_BYTES : dtype == XLA_FFI_S64 ? GR_JAX_INTEGERS : GR_JAX_REALS;
    return *out != GR_JAX_REALS || dtype == XLA_FFI_F64;
}

/* Reads an attribute. False if it has a type that no target takes. */
static bool read_attribute(const xla_ffi_attributes *attributes, size_t number, gr_jax_attribute *out) {
    const void *item = attributes->items[number];
    out->name = attributes->names[number]->data;
    out->name_bytes = attributes->names[number]->bytes;
    if (attributes->types[number] == XLA_FFI_ATTRIBUTE_STRING) {
        const xla_ffi_text *text = item;
        out->kind = GR_JAX_TEXT;
        out->data = text->data;
        out->count = text->bytes;
        return true;
    }
    if (attributes->types[number] == XLA_FFI_ATTRIBUTE_SCALAR) {
        const xla_ffi_scalar *scalar = item;
        out->data = scalar->value;
        out->count = 1;
        return find_kind(scalar->dtype, &out->kind);
    }
    if (attributes->types[number] == XLA_FFI_ATTRIBUTE_ARRAY) {
        const xla_ffi_array *array = item;
        out->data = array->data;
        out->count = array->size;
        return find_kind(array->dtype, &out->kind);
    }
    return false;
}

static gr_status read_call(const gr_jax_target *target, const xla_ffi_frame *frame, gr_jax_call *call,
                           gr_error *error) {
    const xla_ffi_attributes *attributes = &frame->attributes;
    if ((size_t)frame->operands.size != target->operands ||
        (size_t)frame->results.size != target->results + 1)
        return gr_fail(error, GR_ERR_VALUE,
                       "expected %zu operands and %zu results, the last one for workspace", target->operands,
                       target->results + 1);
    if (attributes->size > GR_JAX_MAX_ATTRIBUTES)
        return gr_fail(error, GR_ERR_VALUE, "expected up to %d attributes", GR_JAX_MAX_ATTRIBUTES);
    gr_status status = read_arrays(&frame->operands, target->operands, call->operands, error);
    if (status == GR_OK)
        status = read_arrays(&frame->results, target->results, call->results, error);
    call->attribute_count = (size_t)attributes->size;
    for (size_t i = 0; status == GR_OK && i < call->attribute_count; ++i)
        if (!read_attribute(attributes, i, &call->attributes[i]))
            status = gr_fail(error, GR_ERR_TYPE, "expected attributes of text, uint8, int64 or float64");
    return status;
}

/* ---- the calls ---- */

static size_t bytes_of(const gr_jax_array *array) {
    return (size_t)gr_jax_count(array) * gr_dtypes[array->dtype].item_bytes;
}

static gr_status run_on_host(const gr_jax_target *target, const gr_jax_call *call, gr_error *error) {
    gr_device *device;
    gr_binding binding = {.host_out = call->results[0].data, .out_bytes = bytes_of(&call->results[0])};
    for (size_t i = 0; i < target->operands; ++i)
        binding.inputs[i] =
            (gr_source){.host = call->operands[i].data, .bytes = bytes_of(&call->operands[i])};
    const gr_status status = gr_registry_device(atomic_load(&registry), GR_DEVICE_SIM, 0, &device, error);
    return status == GR_OK ? target->run(call, device, &binding, error) : status;
}

static gr_status check_alignment(const void *data, gr_error *error) {
    return (uintptr_t)data % 16 == 0
               ? GR_OK
               : gr_fail(error, GR_ERR_VALUE, "expected arrays that begin at multiples of 16 bytes");
}

/* The device is the one of XLA's context, which is current. */
static gr_status run_on_cuda(const gr_jax_target *target, const gr_jax_call *call,
                             const xla_ffi_buffer *workspace, gr_stream stream, gr_error *error) {
    int index;
    gr_device *device;
    gr_binding binding = {.device_out = (gr_devptr)(uintptr_t)call->results[0].data,
                          .out_bytes = bytes_of(&call->results[0]),
                          .stream = stream,
                          .has_workspace = true,
                          .workspace = (gr_devptr)(uintptr_t)workspace->data,
                          .workspace_bytes = workspace->rank == 1 ? (size_t)workspace->dims[0] : 0};
    gr_status status = check_alignment(workspace->data, error);
    for (size_t i = 0; status == GR_OK && i < target->operands; ++i) {
        binding.inputs[i] = (gr_source){.origin = (uint64_t)(uintptr_t)call->operands[i].data};
        status = check_alignment(call->operands[i].data, error);
    }
    for (size_t i = 0; status == GR_OK && i < target->results; ++i)
        status = check_alignment(call->results[i].data, error);
    if (status == GR_OK)
        status = gr_backend_cuda_current(&index, error);
    if (status == GR_OK)
        status = gr_registry_device(atomic_load(&registry), GR_DEVICE_CUDA, index, &device, error);
    return status == GR_OK ? target->run(call, device, &binding, error) : status;
}

static xla_ffi_error *handle(const gr_jax_target *target, bool on_cuda, const xla_ffi_frame *frame) {
    gr_jax_call call;
    gr_error error;
    xla_ffi_stream_args stream = {.struct_size = XLA_FFI_SIZE(xla_ffi_stream_args, stream)};
    if (answer_metadata(frame))
        return NULL;
    gr_status status = atomic_load(&registry) == NULL
                           ? gr_fail(&error, GR_ERR_DEVICE, "gpureduce is no longer loaded")
                           : read_call(target, frame, &call, &error);
    if (status == GR_OK && on_cuda) {
        stream.context = frame->context;
        xla_ffi_error *failed = frame->api->stream_get(&stream);
        if (failed != NULL)
            return failed; /* cppcheck-suppress returnDanglingLifetime ; it is XLA's error, not `stream` */
        status = run_on_cuda(target, &call, frame->results.items[target->results],
                             (gr_stream)(uintptr_t)stream.stream, &error);
    } else if (status == GR_OK) {
        status = run_on_host(target, &call, &error);
    }
    return status == GR_OK ? NULL : fail(frame, &error);
}

/* ---- the table ---- */

enum {
#define GR_JAX_TARGET(name, operands, results) TARGET_##name,
#include "jax/targets.def"
#undef GR_JAX_TARGET
    TARGETS
};

#define GR_JAX_TARGET(name, operands, results)                                                               \
    static xla_ffi_error *name##_on_host(xla_ffi_frame *frame) {                                             \
        return handle(&gr_jax_targets[TARGET_##name], false, frame);                                         \
    }                                                                                                        \
    static xla_ffi_error *name##_on_cuda(xla_ffi_frame *frame) {                                             \
        return handle(&gr_jax_targets[TARGET_##name], true, frame);                                          \
    }
#include "jax/targets.def"
#undef GR_JAX_TARGET

const gr_jax_target gr_jax_targets[] = {
#define GR_JAX_TARGET(name, operands, results)                                                               \
    {#name, operands, results, gr_jax_##name, name##_on_host, name##_on_cuda},
#include "jax/targets.def"
#undef GR_JAX_TARGET
};
const size_t gr_jax_target_count = TARGETS;
