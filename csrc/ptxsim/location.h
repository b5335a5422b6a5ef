/* Source positions of instructions, for messages. */
#ifndef PTXSIM_LOCATION_H
#define PTXSIM_LOCATION_H

#include "ir.h"

/* The name of a source file by its index in .file; "" if unknown. */
const char *ptx_file_name(const ptx_module *module, uint32_t index);
/* Stores file and line of a location (index + 1, 0: unknown) in the error: of the inlined functions, the
   innermost one in the kernel's own file. */
void ptx_copy_location(ptx_error *error, const ptx_module *module, uint32_t location);

#endif
