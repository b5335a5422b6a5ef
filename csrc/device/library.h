/* Shared libraries that are opened by dlopen at their first use, never linked: cuBLAS and cuDNN, and CUB,
 * which is compiled from cuda_kernels/reduce/cub into a library if the build was asked for it. */
#ifndef GR_DEVICE_LIBRARY_H
#define GR_DEVICE_LIBRARY_H

#include <pthread.h>

#include "device/backend.h"

/* A function of a library, and where its address is written. */
typedef struct gr_symbol {
    const char *name;
    void *out; /* address of a function pointer */
} gr_symbol;

/* Finds functions up to a symbol without a name. Returns the name of the first one that is missing, or NULL.
 */
const char *gr_find_symbols(void *library, const gr_symbol *symbols);

/* ---- libraries of NVIDIA that a variant calls ---- */

typedef struct gr_vendor {
    const char *variant, *needed; /* the variant and the required library, for messages */
    const char *environment;      /* environment variable that names another file */
    const char *names[2];         /* file names for dlopen; the second may be NULL */
    const gr_symbol *symbols;
    const char *(*const *describe)(int status); /* describes a result; one of `symbols` */
    pthread_mutex_t lock; /* guards the library and its handles, of which the stream is a property */
    void *library;        /* NULL before gr_vendor_open */
} gr_vendor;

/* For a table of functions X(field, symbol, parameters) that return a status: the fields of a struct
 * `functions`, and their symbols. */
#define GR_VENDOR_POINTER(field, symbol, parameters) int(*field) parameters;
#define GR_VENDOR_SYMBOL(field, symbol, parameters) {symbol, &functions.field},

/* Opens the library and finds its functions, unless that is done. GR_ERR_VALUE with the names that were
 * tried. */
gr_status gr_vendor_open(gr_vendor *self, gr_error *error);
/* Converts a result of the library: 0 to GR_OK, others to GR_ERR_DEVICE. `doing` begins the message. */
gr_status gr_vendor_check(const gr_vendor *self, int code, const char *doing, gr_error *error);

/* ---- CUB ---- */

/* Enqueues a reduction in `stream`. With temp 0 it only writes the required size of temp to *temp_bytes.
 * Returns 0 or an error code of the CUDA runtime. */
typedef int gr_cub_function(gr_devptr temp, size_t *temp_bytes, gr_devptr in, gr_devptr out, uint64_t n,
                            void *stream);

typedef struct gr_cub_call {
    gr_library_call call;
    gr_cub_function *reduce;
    const char *(*describe)(int code);
    gr_devptr temp;
    size_t temp_bytes;
    gr_devptr in, out;
    uint64_t n;
} gr_cub_call;

/* Finds the function `entry`, such as cub_sum_f32, in the folder of the compiled kernels. The caller fills in
 * the operands. GR_ERR_VALUE if this installation has no such library. */
gr_status gr_library_find(const char *folder, const char *entry, gr_cub_call *call, gr_error *error);

/* Writes the required size to call->temp_bytes; the context of the device must be current. GR_ERR_DEVICE on
   failure. */
gr_status gr_library_query_temp_bytes(gr_cub_call *call, gr_error *error);

#endif
