/* Included once before a part of opcodes.def by the file of its handlers, which the rows with a value then
 * define. */
#include "interpreter/exec.h"

#define OP(pattern, signature, name)
#define ALSO(pattern, signature, name)
#define VALUE(kind, pattern, signature, ...) PTX_##kind(__VA_ARGS__)
