/* The rung `cublas`: NVIDIA's cuBLAS for comparison with the ladder, where it is installed. The library is
   opened by dlopen at first use and never linked. */
#ifndef GR_MATMUL_CUBLAS_H
#define GR_MATMUL_CUBLAS_H

#include "matmul/matmul.h"

/* Opens the library: $GPUREDUCE_LIBCUBLAS, else libcublas.so of a supported version as the dynamic linker
   finds it, unless the process has it already. GR_ERR_VALUE says what was looked for. */
gr_status gr_cublas_open(gr_error *error);

/* Completes the library step of a program: sets the function to run and the device. */
gr_status gr_cublas_complete(gr_device *device, gr_program *program, gr_error *error);

#endif
