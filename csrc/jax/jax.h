/* Custom calls for XLA, so that JAX's compiled programs run gpureduce's kernels: on arrays on a GPU in XLA's
   stream, with the workspace that XLA allocates; on arrays on the CPU by the simulator. */
#ifndef GR_JAX_JAX_H
#define GR_JAX_JAX_H

#include "base/dtypes.h"
#include "jax/xla_ffi.h"
#include "program/program.h"

enum {
    GR_JAX_VERSION = 1, /* of the targets: their operands, results and attributes */
    GR_JAX_MAX_NDIM = 3,
    GR_JAX_MAX_ARRAYS = 2,
    GR_JAX_MAX_ATTRIBUTES = 8,
};

/* An operand or a result, in C order. */
typedef struct gr_jax_array {
    gr_dtype dtype;
    size_t ndim;
    uint64_t extent[GR_JAX_MAX_NDIM];
    void *data; /* NULL while only the workspace is computed */
} gr_jax_array;

typedef enum gr_jax_kind { GR_JAX_TEXT, GR_JAX_BYTES, GR_JAX_INTEGERS, GR_JAX_REALS } gr_jax_kind;

/* An attribute of a call: text, or `count` numbers (uint8_t, int64_t or double). */
typedef struct gr_jax_attribute {
    const char *name; /* `name_bytes` long, without a final NUL */
    size_t name_bytes;
    gr_jax_kind kind;
    const void *data;
    size_t count;
} gr_jax_attribute;

/* A call of a target, without the workspace. */
typedef struct gr_jax_call {
    gr_jax_array operands[GR_JAX_MAX_ARRAYS], results[GR_JAX_MAX_ARRAYS];
    size_t attribute_count;
    gr_jax_attribute attributes[GR_JAX_MAX_ATTRIBUTES];
} gr_jax_call;

/* Runs a call, or only computes its workspace, as the binding says. The binding has the operands and the
   first result. Operands and results on a GPU begin at multiples of 16 bytes. */
typedef gr_status gr_jax_function(const gr_jax_call *call, gr_device *device, const gr_binding *binding,
                                  gr_error *error);

#define GR_JAX_TARGET(name, operands, results) gr_jax_function gr_jax_##name;
#include "jax/targets.def"
#undef GR_JAX_TARGET

typedef struct gr_jax_target {
    const char *name;
    size_t operands, results;
    gr_jax_function *run;
    xla_ffi_handler *on_host, *on_cuda; /* what XLA calls */
} gr_jax_target;

extern const gr_jax_target gr_jax_targets[];
extern const size_t gr_jax_target_count;

/* Sets the devices that handlers run on, for all of the process, as XLA's registry of handlers is one per
   process. NULL: handlers fail. */
void gr_jax_set_registry(gr_registry *registry);

/* Find attributes. GR_ERR_VALUE if there is none of that name and kind. `gr_jax_numbers` finds `count` or, if
   that is SIZE_MAX, any number of them. */
gr_status gr_jax_text(const gr_jax_call *call, const char *name, char *out, size_t capacity, gr_error *error);
gr_status gr_jax_numbers(const gr_jax_call *call, const char *name, gr_jax_kind kind, size_t count,
                         const gr_jax_attribute **out, gr_error *error);
gr_status gr_jax_integer(const gr_jax_call *call, const char *name, int64_t *out, gr_error *error);

/* GR_ERR_VALUE unless an array has this dtype and this number of elements, or twice as many 32-bit halves of
   64-bit integers: JAX without jax_enable_x64 has no integers of 64 bits. */
gr_status gr_jax_expect(const gr_jax_array *array, const char *name, gr_dtype dtype, uint64_t count,
                        gr_error *error);
uint64_t gr_jax_count(const gr_jax_array *array);
/* Whether an array can be in any memory, so that its size does not overflow. */
bool gr_jax_fits_memory(const gr_jax_array *array);

#endif
