/* Simulated device memory: the allocations and the view of them that one launch works on. */
#ifndef PTXSIM_MEMORY_H
#define PTXSIM_MEMORY_H

#include "ptxsim.h"

/* What fresh memory is filled with: a NaN in every float type, so that no sum hides its use. */
enum { PTX_POISON = 0xFF };

typedef struct ptx_allocation {
    uint64_t address;
    size_t bytes;
    uint8_t *host;
    size_t filled;       /* bytes that were written or poisoned; the rest is poisoned when it may be seen */
    unsigned references; /* the memory's own and one for each launch that may still use it */
} ptx_allocation;

/* The allocations of one moment, in order of address. Holding it keeps their bytes alive. */
typedef struct ptx_view {
    ptx_allocation **items;
    size_t count;
} ptx_view;

ptx_status ptx_view_open(ptx_memory *memory, ptx_view *view, ptx_error *error);
void ptx_view_close(ptx_memory *memory, ptx_view *view);
/* Adds an allocation of the launch's own, at an address above all others: `image` and zeros behind it. */
ptx_status ptx_view_add(ptx_view *view, uint64_t address, size_t bytes, const void *image, size_t filled,
                        ptx_error *error);
/* The allocation that holds `address`, NULL if none does. */
const ptx_allocation *ptx_view_find(const ptx_view *view, uint64_t address);
/* Says in words where an address lies: which allocation is nearest, or which freed one held it. */
void ptx_memory_describe(ptx_memory *memory, const ptx_view *view, uint64_t address, char *to, size_t size);

#endif
