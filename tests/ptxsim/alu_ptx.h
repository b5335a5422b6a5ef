/* Generates the PTX of a kernel around a single instruction, for test_alu.c and gpu_check.c. */
#ifndef PTXSIM_ALU_PTX_H
#define PTXSIM_ALU_PTX_H

#include <stddef.h>
#include <stdint.h>

enum { ALU_SOURCES = 4 };

/* `shape` has one letter per operand, the result first: h 16, w 32, l 64 bits, p predicate. `extra` is
   appended to the operands. Thread t reads its sources from in[4 * t ...] and writes out[t], both u64. */
void alu_ptx(char *text, size_t size, const char *op, const char *shape, const char *extra);

#endif
