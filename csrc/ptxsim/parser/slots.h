/* The register file of a kernel while its text is parsed: the slots of registers and of constants. */
#ifndef PTXSIM_SLOTS_H
#define PTXSIM_SLOTS_H

#include "parser/parser.h"

/* Allocates a slot of `bytes` per lane. False if the kernel uses too many registers. */
bool ptx_new_slot(ptx_parser *p, unsigned bytes, uint32_t *slot);
/* Finds or allocates the slot of a constant. False if memory runs out or the kernel uses too many. */
bool ptx_constant_slot(ptx_parser *p, ptx_constant_kind kind, uint64_t value, unsigned bytes, uint32_t *op);
/* Finds the declaration of a register and its number in that; NULL if none is declared. `%r12` can be a
   register of that name, number 12 of `%r<14>`, or number 2 of `%r1<4>`; the last declaration takes
   precedence. */
ptx_registers *ptx_find_register(ptx_parser *p, const ptx_token *name, uint32_t *number);
/* Returns in *op the slot of a register, which is assigned at its first use; of a predicate its index. */
bool ptx_register_slot(ptx_parser *p, ptx_registers *r, uint32_t number, uint32_t *op);

#endif
