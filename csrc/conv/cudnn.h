/* The rung `cudnn`: NVIDIA's cuDNN for comparison with the ladder, where it is installed. The library is
   opened by dlopen at first use and never linked. */
#ifndef GR_CONV_CUDNN_H
#define GR_CONV_CUDNN_H

#include "conv/conv.h"

/* Opens the library: $GPUREDUCE_LIBCUDNN, else libcudnn.so of the supported version as the dynamic linker
   finds it, unless the process has it already. GR_ERR_VALUE says what was looked for. */
gr_status gr_cudnn_open(gr_error *error);

/* Completes the library step of a program: device, algorithm and size of the workspace. */
gr_status gr_cudnn_complete(gr_device *device, gr_program *program, gr_error *error);

#endif
