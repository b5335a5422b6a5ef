/* Restores PTX of a release, and changes PTX as nvcc writes it before a driver compiles it. */
#ifndef GR_DEVICE_PTX_TEXT_H
#define GR_DEVICE_PTX_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether a text has registers and labels numbered by differences: see build_support/packing.py. */
bool gr_has_differences(const char *text);

typedef enum gr_restore_result { GR_RESTORE_OK, GR_RESTORE_DAMAGED, GR_RESTORE_NO_MEMORY } gr_restore_result;

/* Restores the PTX of a text with differences, and appends a NUL. The text ends in a NUL. The caller frees
 *ptx, which is NULL after a failure. */
gr_restore_result gr_restore_registers(const char *text, size_t size, char **ptx, size_t *ptx_size);

/* Turns the comments of PTX for compute capability 7.5 that hold an instruction of programmatic dependent
   launch, or the conversion of two numbers, into these instructions, for compute capability 9.0 and later: in
   place, as with_instructions of build_support/kernels.py does. */
void gr_enable_remarks(char *text);

/* Returns a copy of PTX that leaves out all kernels but `entry`. The caller frees it; NULL if memory ran out.
 */
char *gr_extract_kernel(const char *text, size_t size, const char *entry);

#endif
