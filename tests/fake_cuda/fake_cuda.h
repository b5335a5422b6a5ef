/* What a test can set and ask of the fake CUDA driver (fake_libcuda.c). Environment variables, read at the
   first call of any kind, set the same things for a program that cannot reach the controls:
     FAKE_CUDA_DEVICES=2
     FAKE_CUDA_CAPABILITY=9.0
     FAKE_CUDA_CLUSTERS=0                 no clusters, whatever the capability
     FAKE_CUDA_SHARED=101376              bytes that a block may be granted
     FAKE_CUDA_MEMORY=1073741824          bytes of a device
     FAKE_CUDA_INIT_MILLISECONDS=500      how long cuInit takes
     FAKE_CUDA_ORDER=7                    when work runs, see set_order
     FAKE_CUDA_FAIL=cuMemAlloc_v2:2:719   the second call of that symbol fails with 719; ":sticky" at the end
                                          leaves the context in that error, as a crashed kernel does */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exact/params.h"
#include "reduce/flat/params.h"
#include "reduce/general/params.h"

enum { FAKE_CUDA_SHARED_OPTIN = 232448, FAKE_CUDA_STATIC_SHARED = 1024, FAKE_CUDA_OCCUPANCY = 2 };

/* Objects alive now. `contexts` counts retained, not yet released, primary contexts; `allocations` is memory
   that nobody has asked to free yet; `owners` are user objects. */
typedef struct fake_cuda_live {
    long contexts, allocations, pinned, modules, streams, graphs, graph_execs, events, pools, owners;
} fake_cuda_live;

typedef struct fake_cuda_launch {
    char name[64];
    unsigned grid[3], block[3], shared_bytes;
    uint64_t in, out, n;
    unsigned shared_limit; /* what the kernel was allowed then */
    unsigned cluster[3];   /* blocks of one, all 0 when not given */
    bool pdl;              /* may start before the kernel before it ends */
    bool default_stream;   /* else it came from a graph or another stream */
    bool is_general;       /* a general kernel, with parameters of its own */
    bool is_flat;          /* a flat kernel, with parameters of its own */
    bool is_exact;         /* one of exact sums, likewise */
    bool single_pass;      /* a ladder kernel that writes one result, not one a block */
    union {
        gr_flat_params flat;
        gr_general_params general;
        gr_exact_params exact;
    };
} fake_cuda_launch;

typedef struct fake_cuda_controls {
    void (*set_devices)(int count);
    void (*set_memory)(size_t bytes);
    /* The nth call of the symbol counted from now on fails, once. A few of these may wait at a time. */
    void (*fail)(const char *symbol, int nth, int error, bool sticky);

    long (*calls)(const char *symbol); /* NULL: all symbols together */
    fake_cuda_live (*live)(void);
    long (*leaked)(void); /* objects that were still alive when their context went */
    /* Work is done when somebody waits for it. With order 0, not a moment before: only what has to come
       before what is waited for. Any other number is the seed of an order in which works of different streams
       run, now and then while calls are made. */
    void (*set_order)(unsigned order);
    size_t (*launches)(fake_cuda_launch *out, size_t size); /* the number of all kernels run so far */

    void (*set_current)(int device); /* makes a context of the caller's own current in this thread */
    int (*current)(int *depth);      /* its device, -1 if none; the depth of this thread's context stack */
} fake_cuda_controls;

/* What the fake puts into the 128 bytes of a tensor map: no more than it was given. */
typedef struct fake_tensor_map {
    uint64_t address, sizes[5], strides[4];
    uint8_t type, rank, swizzle, promotion;
    uint16_t box[5];
} fake_tensor_map;

const fake_cuda_controls *fake_cuda(void);

/* The time that the fake gives a kernel, and adds to the k-th launch of a graph (0 for the first). */
static inline double fake_cuda_kernel_microseconds(unsigned blocks) {
    return 2.0 + 0.125 * blocks;
}
static inline double fake_cuda_graph_microseconds(unsigned k) {
    return 4.0 * k;
}

#endif
