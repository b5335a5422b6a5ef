/* The table of instruction handlers by opcode. */
#ifndef PTXSIM_DISPATCH_H
#define PTXSIM_DISPATCH_H

#include "interpreter/exec.h"

/* NULL for control instructions. */
extern ptx_handler *const ptx_handlers[PTX_OPCODE_COUNT];

#endif
