/* Arrays that grow. */
#ifndef PTXSIM_RESERVE_H
#define PTXSIM_RESERVE_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for one more element; false when memory ran out. */
bool ptx_reserve(void *array_pointer, size_t *capacity, size_t count, size_t element_bytes);

#endif
