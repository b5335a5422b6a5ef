/* NVIDIA's cuBLAS beside the ladder, where it is installed: opened at first use, never linked. */
#ifndef GR_MATMUL_CUBLAS_H
#define GR_MATMUL_CUBLAS_H

#include "matmul/common.h"

/* Has the library opened: $GPUREDUCE_LIBCUBLAS, or libcublas.so of a version that is known, as far as the
   dynamic linker finds it or has it already. GR_ERR_VALUE says what was looked for. */
gr_status gr_cublas_open(gr_error *error);

/* Appends the product; sides that lie neither along rows nor down columns are copied first. The step lacks
   what gr_cublas_complete fills in: the library, and which device it is. */
gr_status gr_cublas_plan(const gr_matmul *self, const gr_matmul_operands *operands, gr_program *program,
                         gr_error *error);
gr_status gr_cublas_complete(gr_device *device, gr_program *program, gr_error *error);

#endif
