/* NVIDIA's CUB, compiled from cuda_kernels/reduce/cub into a library of its own where the build was asked to.
   It is opened at first use. */
#ifndef GR_DEVICE_LIBRARY_H
#define GR_DEVICE_LIBRARY_H

#include "device/backend.h"

/* A reduction, into `stream`. With temp 0 it only says how many bytes that has to have. Returns 0 or an error
   code of the CUDA runtime. */
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

/* Finds the reduction `entry`, such as cub_sum_f32, in the folder of the compiled kernels, for the caller to
   fill in what it works on. GR_ERR_VALUE when this installation has no such library. */
gr_status gr_library_find(const char *folder, const char *entry, gr_cub_call *call, gr_error *error);

/* Asks it for temp_bytes; the device's context is current. */
gr_status gr_library_ask(gr_cub_call *call, gr_error *error);

#endif
