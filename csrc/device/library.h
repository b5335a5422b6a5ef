/* NVIDIA's CUB, compiled from cuda_kernels/reduce/cub into a shared library if the build was asked for it.
 * The library is opened at its first use. */
#ifndef GR_DEVICE_LIBRARY_H
#define GR_DEVICE_LIBRARY_H

#include "device/backend.h"

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

/* Queries temp_bytes; the context of the device must be current. */
gr_status gr_library_ask(gr_cub_call *call, gr_error *error);

#endif
