/* Matches the operands of a statement with the letters of a signature in opcodes.def; used by decode.c. */
#ifndef PTXSIM_OPERAND_H
#define PTXSIM_OPERAND_H

#include "parser/parser.h"

/* MISFIT: this row does not match, another one may. FAILED: an error has been recorded. */
typedef enum ptx_fit { PTX_FITS, PTX_MISFIT, PTX_FAILED } ptx_fit;

typedef struct ptx_decoding {
    ptx_parser *p;
    const ptx_statement *statement;
    ptx_opcode_parts parts;
    ptx_instr in;          /* its operands are in the parser's slots */
    bool may_sink;         /* the current operand may be `_` */
    unsigned next_operand; /* index of the next parsed operand */
    ptx_token misfit;      /* token and reason of the mismatch */
    char reason[160];
} ptx_decoding;

/* Records why the row does not match. */
ptx_fit ptx_misfit(ptx_decoding *d, const ptx_token *at, const char *reason);
/* Matches an operand with one letter, which may stand for several slots. */
ptx_fit ptx_match_operand(ptx_decoding *d, char letter, const ptx_operand *operand, bool vector);
/* Whether the opcode omits the operand of this letter. */
bool ptx_omits(const ptx_decoding *d, char letter);
/* Adds the default for an omitted operand. */
ptx_fit ptx_match_absent(ptx_decoding *d, char letter);
/* Matches a vector with the letters up to the closing brace; *letters then points behind the brace. */
ptx_fit ptx_match_braces(ptx_decoding *d, const char **letters);
/* Resolves the guard predicate of the instruction. */
bool ptx_match_guard(ptx_decoding *d);

#endif
