/* Lookup of opcodes in opcodes.def, and the attributes that the dotted parts of an opcode specify. */
#ifndef PTXSIM_OPCODES_H
#define PTXSIM_OPCODES_H

#include "ir.h"

/* A row of opcodes.def. */
typedef struct ptx_opcode_row {
    const char *pattern;
    const char *signature;
    ptx_opcode opcode;
} ptx_opcode_row;

/* Attributes common to all rows of an opcode. */
typedef struct ptx_opcode_traits {
    ptx_kind kind;
    bool collective; /* lanes must execute it convergently: barriers, shuffles, votes */
} ptx_opcode_traits;

ptx_opcode_traits ptx_opcode_traits_of(ptx_opcode opcode);

/* Attributes that the parts of an opcode specify. */
typedef struct ptx_opcode_parts {
    ptx_space space;
    ptx_type type, type2;
    unsigned vector;
    uint8_t rank; /* dimensions of the tensor of a copy */
    ptx_combine combine;
    ptx_compare compare;
    ptx_rounding rounding;
    ptx_shape shape;
    ptx_effect effect;
    bool ftz, sat, relu, aligned;
    bool strong;       /* volatile, relaxed, acquire or release */
    bool column_major; /* the first layout of the opcode is .col */
    bool has_layout;   /* .row or .col */
    bool cache_hint;   /* the last operand is a cache policy */
} ptx_opcode_parts;

/* Cache entry for an opcode of the text: its attributes and the first matching row. */
typedef struct ptx_opcode_cached {
    const char *name;
    size_t length;
    ptx_opcode_parts parts;
    const ptx_opcode_row *row;
} ptx_opcode_cached;

enum { PTX_OPCODE_BUCKETS = 256 };

/* Rows chained by the first part of their pattern. The cache refers to the text, which must outlive the
   index. */
typedef struct ptx_opcode_index {
    uint16_t first[PTX_OPCODE_BUCKETS]; /* row + 1 */
    uint16_t *next;
    ptx_opcode_cached known[PTX_OPCODE_BUCKETS];
} ptx_opcode_index;

bool ptx_opcode_index_init(ptx_opcode_index *index);
void ptx_opcode_index_free(ptx_opcode_index *index);

/* The attributes and the first row of an opcode, cached, as a text repeats few opcodes many times. */
const ptx_opcode_cached *ptx_opcode_lookup(ptx_opcode_index *index, const char *name, size_t length);

/* The next row after `previous` (NULL: the first) whose pattern matches the opcode; NULL if none
   does. */
const ptx_opcode_row *ptx_opcode_find(const ptx_opcode_index *index, const char *name, size_t length,
                                      const ptx_opcode_row *previous);
/* Whether any row has the opcode's first part, for error messages. */
bool ptx_opcode_base_known(const ptx_opcode_index *index, const char *name, size_t length);

/* The rows of the table by index; NULL behind the last. */
const ptx_opcode_row *ptx_opcode_row_at(size_t index);

/* A row of unsupported.def: instructions of PTX that are not simulated. */
typedef struct ptx_unsupported_row {
    const char *start, *part; /* the first parts of the opcode, or one of its parts; the other one is NULL */
    const char *what;
} ptx_unsupported_row;

const ptx_unsupported_row *ptx_unsupported_at(size_t index);
/* The row that matches an opcode; NULL if none does. */
const ptx_unsupported_row *ptx_unsupported_find(const char *name, size_t length);

/* The type with this name, such as "u32"; PTX_TYPE_NONE if it names no type. */
ptx_type ptx_type_named(const char *name, size_t length);

#endif
