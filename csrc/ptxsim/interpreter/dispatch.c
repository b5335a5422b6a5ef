/* Instantiates the handler table from opcodes.def. */
#include "interpreter/dispatch.h"

ptx_handler *const ptx_handlers[PTX_OPCODE_COUNT] = {
#define OP(pattern, signature, name) [PTX_OP_##name] = ptx_op_##name,
#include "opcodes.def"
};
