/* Changes to PTX as nvcc writes it, before a driver compiles it. */
#ifndef GR_DEVICE_PTX_TEXT_H
#define GR_DEVICE_PTX_TEXT_H

#include <stddef.h>

/* Turns the comments of PTX for compute capability 7.5 that hold an instruction of programmatic dependent
   launch into these instructions, for compute capability 9.0 and later: as with_instructions of
   build_support/kernels.py, in place. */
void gr_enable_remarks(char *text);

/* Copies PTX without the other kernels than `entry`. The caller frees it; NULL if memory ran out. */
char *gr_extract_kernel(const char *text, size_t size, const char *entry);

#endif
