/* NVIDIA's CUB, compiled from cuda_kernels/reduce/cub into a library of its own where the build was asked to.
   It is opened at first use. */
#ifndef GR_DEVICE_LIBRARY_H
#define GR_DEVICE_LIBRARY_H

#include "device/backend.h"

/* Finds the reduction `entry`, such as cub_sum_f32, in the folder of the compiled kernels, for the caller to
   fill in what it works on. GR_ERR_VALUE when this installation has no such library. */
gr_status gr_library_find(const char *folder, const char *entry, gr_library_call *call, gr_error *error);

#endif
