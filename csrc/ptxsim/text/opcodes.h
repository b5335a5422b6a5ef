/* Looking opcodes up in opcodes.def. */
#ifndef PTXSIM_OPCODES_H
#define PTXSIM_OPCODES_H

#include "ir.h"

/* Declares every handler that opcodes.def names. */
#define OP(pattern, signature, handler) ptx_handler ptx_op_##handler;
#define COLLECTIVE(pattern, signature, handler) ptx_handler ptx_op_##handler;
#define CONTROL(pattern, signature, kind)
#include "text/opcodes.def"
#undef OP
#undef COLLECTIVE
#undef CONTROL

enum { PTX_OPCODE_BUCKETS = 256 };

/* Rows chained by the first part of their pattern; built once for a parse. */
typedef struct ptx_opcode_index {
    uint16_t first[PTX_OPCODE_BUCKETS]; /* row + 1 */
    uint16_t *next;
} ptx_opcode_index;

bool ptx_opcode_index_init(ptx_opcode_index *index);
void ptx_opcode_index_free(ptx_opcode_index *index);

/* The next row after `previous` (NULL: the first) whose pattern matches the opcode; NULL if there is none. */
const ptx_opcode *ptx_opcode_find(const ptx_opcode_index *index, const char *name, size_t length,
                                  const ptx_opcode *previous);
/* Whether any row has this opcode's first part, for the wording of an error. */
bool ptx_opcode_base_known(const ptx_opcode_index *index, const char *name, size_t length);

/* What the parts of an opcode say. */
typedef struct ptx_opcode_parts {
    ptx_space space;
    ptx_type type, type2;
    unsigned vector;
    ptx_combine combine;
    ptx_rounding rounding;
    ptx_effect effect;
    bool ftz, sat, aligned;
    bool strong;     /* volatile, relaxed or acquire */
    bool cache_hint; /* a cache policy is the last operand */
} ptx_opcode_parts;

ptx_opcode_parts ptx_opcode_split(const char *name, size_t length);

/* The type a name such as "u32" stands for, PTX_TYPE_NONE if it is no type. */
ptx_type ptx_type_named(const char *name, size_t length);

#endif
