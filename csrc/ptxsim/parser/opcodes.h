/* Looking opcodes up in opcodes.def. */
#ifndef PTXSIM_OPCODES_H
#define PTXSIM_OPCODES_H

#include "ir.h"

/* A row of opcodes.def. */
typedef struct ptx_opcode_row {
    const char *pattern;
    const char *signature;
    ptx_opcode opcode;
} ptx_opcode_row;

/* What all rows of an opcode have in common. */
typedef struct ptx_opcode_traits {
    ptx_kind kind;
    bool collective; /* needs its lanes together: barriers, shuffles, votes */
} ptx_opcode_traits;

ptx_opcode_traits ptx_opcode_traits_of(ptx_opcode opcode);

/* What the parts of an opcode say. */
typedef struct ptx_opcode_parts {
    ptx_space space;
    ptx_type type, type2;
    unsigned vector;
    uint8_t rank; /* of the tensor of a copy */
    ptx_combine combine;
    ptx_compare compare;
    ptx_rounding rounding;
    ptx_effect effect;
    bool ftz, sat, relu, aligned;
    bool strong;     /* volatile, relaxed, acquire or release */
    bool cache_hint; /* a cache policy is the last operand */
} ptx_opcode_parts;

/* An opcode that was met before, where it stands in the text, and the first row that matches it. */
typedef struct ptx_opcode_cached {
    const char *name;
    size_t length;
    ptx_opcode_parts parts;
    const ptx_opcode_row *row;
} ptx_opcode_cached;

enum { PTX_OPCODE_BUCKETS = 256 };

/* Rows chained by the first part of their pattern; built once for a parse, whose text stays where it is. */
typedef struct ptx_opcode_index {
    uint16_t first[PTX_OPCODE_BUCKETS]; /* row + 1 */
    uint16_t *next;
    ptx_opcode_cached known[PTX_OPCODE_BUCKETS];
} ptx_opcode_index;

bool ptx_opcode_index_init(ptx_opcode_index *index);
void ptx_opcode_index_free(ptx_opcode_index *index);

/* What is known of an opcode in the text, which has few of them many times. */
const ptx_opcode_cached *ptx_opcode_lookup(ptx_opcode_index *index, const char *name, size_t length);

/* The next row after `previous` (NULL: the first) whose pattern matches the opcode; NULL if there is none. */
const ptx_opcode_row *ptx_opcode_find(const ptx_opcode_index *index, const char *name, size_t length,
                                      const ptx_opcode_row *previous);
/* Whether any row has this opcode's first part, for the wording of an error. */
bool ptx_opcode_base_known(const ptx_opcode_index *index, const char *name, size_t length);

/* The table's rows, one after the other; NULL behind the last. */
const ptx_opcode_row *ptx_opcode_row_at(size_t index);

/* Instructions that PTX has and that are not simulated yet. */
typedef struct ptx_unsupported_row {
    const char *start,
        *part; /* what the opcode begins with, or what is a part of it; the other one is NULL */
    const char *what;
} ptx_unsupported_row;

const ptx_unsupported_row *ptx_unsupported_at(size_t index);
/* The row that an opcode falls under, NULL if there is none. */
const ptx_unsupported_row *ptx_unsupported_find(const char *name, size_t length);

ptx_opcode_parts ptx_opcode_split(const char *name, size_t length);

/* The type a name such as "u32" stands for, PTX_TYPE_NONE if it is no type. */
ptx_type ptx_type_named(const char *name, size_t length);

#endif
