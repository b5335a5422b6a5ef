/* Growth of dynamic arrays by doubling. */
#include "reserve.h"

#include <stdlib.h>
#include <string.h>

bool ptx_reserve(void *array_pointer, size_t *capacity, size_t count, size_t element_bytes) {
    if (count < *capacity)
        return true;
    void *old;
    memcpy(&old, array_pointer, sizeof old);
    size_t wanted = *capacity ? 2 * *capacity : 16;
    void *grown = realloc(old, wanted * element_bytes);
    if (!grown)
        return false;
    memcpy(array_pointer, &grown, sizeof grown);
    *capacity = wanted;
    return true; /* cppcheck-suppress memleak ; `grown` went to *array_pointer */
}
