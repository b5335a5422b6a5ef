/* Dynamic arrays: an array, its count and its capacity are fields of their owner. */
#ifndef PTXSIM_RESERVE_H
#define PTXSIM_RESERVE_H

#include <stdbool.h>
#include <stddef.h>

/* Ensures capacity for one more element; returns false if memory ran out. */
bool ptx_reserve(void *array_pointer, size_t *capacity, size_t count, size_t element_bytes);

#endif
