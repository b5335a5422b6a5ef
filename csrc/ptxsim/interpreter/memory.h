/* Simulated device memory: its allocations, and the snapshot of them that a launch uses. */
#ifndef PTXSIM_MEMORY_H
#define PTXSIM_MEMORY_H

#include "ptxsim.h"

/* Byte pattern of uninitialised memory: a NaN in every floating-point type, so that a sum reveals its use. */
enum { PTX_POISON = 0xFF };

typedef struct ptx_allocation {
    uint64_t address;
    size_t bytes;
    uint8_t *host;
    size_t filled; /* bytes that were written or poisoned; the rest is poisoned when it becomes visible */
    bool mapped;   /* `host` belongs to the caller */
    unsigned references; /* reference count: one of the memory, one of each launch that may use it */
} ptx_allocation;

/* A snapshot of the allocations, sorted by address, which holds a reference to each. */
typedef struct ptx_view {
    ptx_allocation **items;
    size_t count;
} ptx_view;

/* Allocates at a given address. Contents: `image`, then zeros. */
ptx_status ptx_memory_alloc_at(ptx_memory *memory, uint64_t address, size_t bytes, const void *image,
                               size_t filled, ptx_error *error);

/* Calls `visit` for each allocation in the order of addresses. Uninitialised bytes are poisoned. */
void ptx_memory_each(ptx_memory *memory, void (*visit)(void *arg, const ptx_allocation *allocation),
                     void *arg);

ptx_status ptx_view_open(ptx_memory *memory, ptx_view *view, ptx_error *error);
void ptx_view_close(ptx_memory *memory, ptx_view *view);
/* Adds an allocation that belongs to the launch. Contents: `image`, then zeros. */
ptx_status ptx_view_add(ptx_view *view, uint64_t address, size_t bytes, const void *image, size_t filled,
                        ptx_error *error);
/* The allocation that contains `address`; NULL if none does. */
const ptx_allocation *ptx_view_find(const ptx_view *view, uint64_t address);
/* Describes an address in words: the nearest allocation, or the freed allocation that contained it. */
void ptx_memory_describe(ptx_memory *memory, const ptx_view *view, uint64_t address, char *to, size_t size);

#endif
