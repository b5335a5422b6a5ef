/* The heap of a device: memory of malloc and free in kernels, and the launches of kernels by kernels. */
#ifndef PTXSIM_HEAP_H
#define PTXSIM_HEAP_H

#include <pthread.h>

#include "interpreter/state.h"

typedef struct ptx_heap_block {
    uint64_t address, bytes;
} ptx_heap_block;

/* A launch by a kernel; it has a buffer for parameters until it is launched. */
typedef struct ptx_heap_launch {
    ptx_device_launch launch;
    void *params;    /* owned; NULL until it is launched */
    uint64_t buffer; /* address of the block of the heap, 0 once it is launched */
} ptx_heap_launch;

struct ptx_heap {
    pthread_mutex_t lock;
    uint64_t address, bytes;
    ptx_heap_block *blocks; /* in use, by address */
    size_t count, capacity;
    ptx_heap_launch *launches; /* in the order in which kernels allocated their buffers */
    size_t launch_count, launch_capacity;
    uint64_t launch_number;
};

/* Both functions require the lock. Returns the address of `bytes` of memory, 0 if no gap is large enough. */
uint64_t ptx_heap_take(ptx_heap *heap, uint64_t bytes);
/* Returns false if no block begins at the address. */
bool ptx_heap_give_back(ptx_heap *heap, uint64_t address);

#endif
