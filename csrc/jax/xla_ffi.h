/* The part of XLA's foreign function interface (XLA FFI) that the handlers use, declared here, so that the
   build needs no header of jaxlib. Offsets and sizes are those of XLA's C API 0.1 to 0.5;
   tests/interop/xla_ffi_layout.c compares them with the header of an installed jaxlib. Only fields that all
   these versions have are read. */
#ifndef GR_JAX_XLA_FFI_H
#define GR_JAX_XLA_FFI_H

#include <stddef.h>
#include <stdint.h>

/* The version that the handlers are written for. XLA accepts older versions than its own. */
enum { XLA_FFI_VERSION_MAJOR = 0, XLA_FFI_VERSION_MINOR = 1 };

/* The size of a struct up to its last field, which XLA checks: padding after the field does not count. */
#define XLA_FFI_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

typedef struct xla_ffi_error xla_ffi_error;     /* opaque; XLA owns the error that a handler returns */
typedef struct xla_ffi_context xla_ffi_context; /* opaque */

typedef enum xla_ffi_extension_type { XLA_FFI_EXTENSION_METADATA = 1 } xla_ffi_extension_type;

typedef struct xla_ffi_extension {
    size_t struct_size;
    xla_ffi_extension_type type;
    struct xla_ffi_extension *next;
} xla_ffi_extension;

typedef struct xla_ffi_version {
    size_t struct_size;
    xla_ffi_extension *extensions;
    int major, minor;
} xla_ffi_version;

enum {
    /* The handler launches the same work at every call, so that XLA may capture it into a CUDA graph. */
    XLA_FFI_COMMAND_BUFFER_COMPATIBLE = 1
};

typedef struct xla_ffi_metadata {
    size_t struct_size;
    xla_ffi_version version;
    uint32_t traits;
} xla_ffi_metadata;

/* An extension of the call frame by which XLA asks a handler for its version and traits, without calling it.
 */
typedef struct xla_ffi_metadata_extension {
    xla_ffi_extension base;
    xla_ffi_metadata *metadata;
} xla_ffi_metadata_extension;

typedef enum xla_ffi_error_code {
    XLA_FFI_INVALID_ARGUMENT = 3,
    XLA_FFI_RESOURCE_EXHAUSTED = 8,
    XLA_FFI_INTERNAL = 13
} xla_ffi_error_code;

typedef struct xla_ffi_error_args {
    size_t struct_size;
    xla_ffi_extension *extensions;
    const char *message; /* copied */
    xla_ffi_error_code code;
} xla_ffi_error_args;

/* Values of xla::PrimitiveType. */
typedef enum xla_ffi_dtype {
    XLA_FFI_PRED = 1,
    XLA_FFI_S8 = 2,
    XLA_FFI_S16 = 3,
    XLA_FFI_S32 = 4,
    XLA_FFI_S64 = 5,
    XLA_FFI_U8 = 6,
    XLA_FFI_U16 = 7,
    XLA_FFI_U32 = 8,
    XLA_FFI_U64 = 9,
    XLA_FFI_F16 = 10,
    XLA_FFI_F32 = 11,
    XLA_FFI_F64 = 12,
    XLA_FFI_C64 = 15,
    XLA_FFI_BF16 = 16,
    XLA_FFI_C128 = 18
} xla_ffi_dtype;

typedef struct xla_ffi_buffer {
    size_t struct_size;
    xla_ffi_extension *extensions;
    xla_ffi_dtype dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
} xla_ffi_buffer;

typedef enum xla_ffi_attribute_type {
    XLA_FFI_ATTRIBUTE_ARRAY = 1,
    XLA_FFI_ATTRIBUTE_SCALAR = 3,
    XLA_FFI_ATTRIBUTE_STRING = 4
} xla_ffi_attribute_type;

typedef struct xla_ffi_text {
    const char *data; /* without a final NUL */
    size_t bytes;
} xla_ffi_text;

typedef struct xla_ffi_scalar {
    xla_ffi_dtype dtype;
    void *value;
} xla_ffi_scalar;

typedef struct xla_ffi_array {
    xla_ffi_dtype dtype;
    size_t size;
    void *data;
} xla_ffi_array;

/* Operands or results: `types` are 1, buffers. */
typedef struct xla_ffi_buffers {
    size_t struct_size;
    xla_ffi_extension *extensions;
    int64_t size;
    int *types;
    xla_ffi_buffer **items;
} xla_ffi_buffers;

/* Attributes, sorted by name. An item is a xla_ffi_text, xla_ffi_scalar or xla_ffi_array. */
typedef struct xla_ffi_attributes {
    size_t struct_size;
    xla_ffi_extension *extensions;
    int64_t size;
    xla_ffi_attribute_type *types;
    xla_ffi_text **names;
    void **items;
} xla_ffi_attributes;

typedef struct xla_ffi_stream_args {
    size_t struct_size;
    xla_ffi_extension *extensions;
    xla_ffi_context *context;
    void *stream; /* out: a CUstream */
} xla_ffi_stream_args;

/* XLA's functions; the unused ones keep the offsets of the others. */
typedef struct xla_ffi_api {
    size_t struct_size;
    xla_ffi_extension *extensions;
    xla_ffi_version version;
    const void *internal;
    xla_ffi_error *(*error_create)(xla_ffi_error_args *args);
    void (*unused[3])(void);
    xla_ffi_error *(*stream_get)(xla_ffi_stream_args *args);
} xla_ffi_api;

typedef struct xla_ffi_frame {
    size_t struct_size;
    xla_ffi_extension *extensions;
    const xla_ffi_api *api; /* may be NULL if XLA asks for the metadata */
    xla_ffi_context *context;
    int stage;
    xla_ffi_buffers operands, results;
    xla_ffi_attributes attributes;
} xla_ffi_frame;

typedef xla_ffi_error *xla_ffi_handler(xla_ffi_frame *frame);

#endif
