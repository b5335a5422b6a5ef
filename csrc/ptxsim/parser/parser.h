/* The parser's state, shared by the grammar (module.c, statement.c, variable.c) and by decoding. */
#ifndef PTXSIM_PARSER_H
#define PTXSIM_PARSER_H

#include "ir.h"
#include "parser/index.h"
#include "parser/lexer.h"
#include "parser/opcodes.h"

typedef enum ptx_operand_kind {
    PTX_OPERAND_NAME,    /* register, special register, variable or label */
    PTX_OPERAND_INTEGER, /* value */
    PTX_OPERAND_F32,
    PTX_OPERAND_F64,
    PTX_OPERAND_DECIMAL,
    PTX_OPERAND_ADDRESS, /* [base + value]; `absolute` without a base; may have coordinates */
    PTX_OPERAND_VECTOR
} ptx_operand_kind;

typedef struct ptx_element {
    ptx_operand_kind kind;
    ptx_token token;
    uint64_t value;
} ptx_element;

typedef struct ptx_operand {
    ptx_operand_kind kind;
    ptx_token token; /* start of the operand; of an address, its base */
    uint64_t value;
    bool negated; /* !p */
    bool absolute;
    bool has_second; /* p|q */
    ptx_token second;
    uint32_t first_element, element_count; /* elements of a vector, or coordinates, in the parser's list */
} ptx_operand;

typedef struct ptx_statement {
    ptx_token opcode;
    bool guarded, guard_negated;
    ptx_token guard;
} ptx_statement;

/* An operand of a decoded instruction; `wide`: a 64-bit slot. */
typedef struct ptx_slot {
    uint32_t op;
    bool wide;
    ptx_role role;
} ptx_slot;

/* A .reg declaration: one name, or `prefix<count>` for prefix0, prefix1, ... A register gets its slot at
   first use. */
typedef struct ptx_registers {
    const char *name;
    size_t length;
    bool numbered;
    ptx_type type;
    uint32_t scope;
    uint32_t count;
    uint32_t *slots; /* slot + 1 per register, 0 if unused */
} ptx_registers;

typedef struct ptx_symbol {
    const char *name;
    size_t length;
    ptx_space space;
    uint64_t offset, bytes, align;
    bool dynamic;     /* .extern .shared name[] */
    bool unsupported; /* declared, but defined in another module */
    bool in_local;    /* a parameter of a function, stored in the thread's local memory */
    bool has_offset;  /* a .shared variable of the module with an offset in the current kernel */
} ptx_symbol;

typedef struct ptx_label {
    const char *name;
    size_t length;
    uint32_t scope;
    uint32_t pc;
} ptx_label;

/* A branch whose label may not be defined yet. */
typedef struct ptx_fixup {
    ptx_token label;
    uint32_t scope;
    uint32_t pc, operand;
} ptx_fixup;

/* A device function; `at` is the lexer position after its .func. */
typedef struct ptx_function {
    const char *name;
    size_t length;
    ptx_lexer at;
} ptx_function;

/* Where the parameters of a kernel of a lazy module begin. */
typedef struct ptx_unparsed {
    ptx_kernel *kernel;
    ptx_lexer lexer;
    ptx_token token, ahead;
} ptx_unparsed;

typedef struct ptx_parser {
    ptx_module *module;
    const char *only; /* name of the kernel to parse, NULL for all */
    bool lazy;
    ptx_unparsed *unparsed; /* one per kernel of a lazy module */
    size_t unparsed_count, unparsed_capacity;
    ptx_error *error;
    ptx_status status;
    ptx_lexer lexer;
    ptx_token token, ahead; /* the current token and the next one */
    ptx_opcode_index opcodes;
    ptx_function *functions;
    size_t function_count, function_capacity;
    ptx_index function_index;

    /* state of the current kernel */
    ptx_kernel *kernel;
    ptx_registers *registers;
    size_t register_count, register_capacity;
    ptx_index register_index;
    ptx_symbol *symbols; /* symbols of the module come first */
    size_t symbol_count, symbol_capacity;
    ptx_index symbol_index;
    ptx_label *labels;
    size_t label_count, label_capacity;
    ptx_index label_index;
    ptx_fixup *fixups;
    size_t fixup_count, fixup_capacity;
    ptx_index constant_index; /* hash index of the kernel's constants */
    uint32_t *scope_parents;
    size_t scope_count, scope_capacity;
    uint32_t scope;
    ptx_symbol *actuals; /* arguments of the calls being inlined: variables for results and parameters */
    size_t actual_count, actual_capacity;
    uint32_t calls, call_depth;
    uint32_t sink32, sink64; /* slot + 1 of the registers for discarded results (`_`) */
    uint32_t location;       /* index + 1 in the module's locations, 0 if none */

    /* state of the current statement */
    ptx_operand *operands;
    size_t operand_count, operand_capacity;
    ptx_element *elements;
    size_t element_count, element_capacity;
    ptx_slot *slots; /* operands of the decoded instruction */
    size_t slot_capacity;
} ptx_parser;

#endif
