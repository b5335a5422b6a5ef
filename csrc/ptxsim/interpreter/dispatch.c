/* Instantiates the handler table from opcodes.def. */
#include "interpreter/dispatch.h"

ptx_handler *const ptx_handlers[PTX_OPCODE_COUNT] = {
#define OP(pattern, signature, name) [PTX_OP_##name] = ptx_op_##name,
#define COLLECTIVE(pattern, signature, name) [PTX_OP_##name] = ptx_op_##name,
#define CONTROL(pattern, signature, name, kind)
#define ALSO(pattern, signature, name)
#include "opcodes.def"
#undef OP
#undef COLLECTIVE
#undef CONTROL
#undef ALSO
};
