/* Few slots of the register file for the many registers of PTX, which has a new one for each value. */
#ifndef PTXSIM_REGISTERS_H
#define PTXSIM_REGISTERS_H

#include "ir.h"

/* Gives registers of which never both are alive one slot. The register file of a warp gets some five times
   smaller, so that it stays in the first cache, and need not be filled before each block: only registers that
   may be read before they are written are, and have a slot for themselves. Without memory, or for code that
   takes too long to look through, all stays as it is. To be called once branches have their targets. */
void ptx_allocate_registers(ptx_kernel *kernel);

#endif
