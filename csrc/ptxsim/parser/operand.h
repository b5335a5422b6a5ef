/* Operands of a statement against the letters of a signature; for decode.c. */
#ifndef PTXSIM_OPERAND_H
#define PTXSIM_OPERAND_H

#include "parser/parser.h"

/* MISFIT: this row does not take the operand, another may. FAILED: an error has been recorded. */
typedef enum ptx_fit { PTX_FITS, PTX_MISFIT, PTX_FAILED } ptx_fit;

typedef struct ptx_decoding {
    ptx_parser *p;
    const ptx_statement *statement;
    ptx_opcode_parts parts;
    ptx_instr in;          /* its operands are in the parser's slots */
    bool may_sink;         /* the operand at hand may be `_` */
    unsigned next_operand; /* parsed operands consumed */
    ptx_token misfit;      /* where and why this row did not fit */
    char reason[160];
} ptx_decoding;

/* Records where and why the row does not fit. */
ptx_fit ptx_misfit(ptx_decoding *d, const ptx_token *at, const char *reason);
/* The operand for one letter, which may stand for several slots. */
ptx_fit ptx_match_operand(ptx_decoding *d, char letter, const ptx_operand *operand, bool vector);
/* Whether the opcode leaves the letter's operand out. */
bool ptx_omits(const ptx_decoding *d, char letter);
/* An operand that is not there. */
ptx_fit ptx_match_absent(ptx_decoding *d, char letter);
/* The letters up to the closing brace against a vector; *letters is left behind the brace. */
ptx_fit ptx_match_braces(ptx_decoding *d, const char **letters);
/* The predicate in front of the instruction. */
bool ptx_match_guard(ptx_decoding *d);

#endif
