/* ptxsim: runs the PTX that nvcc emits on a CPU, 32-lane warps in lockstep.

   A library of its own: no Python, no globals that change, no exit, no printing. A parsed module is
   immutable and may be launched from many threads; a ptx_memory may be shared between launches. */
#ifndef PTXSIM_H
#define PTXSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ptx_status {
    PTX_OK = 0,
    PTX_ERR_MEMORY,      /* host memory, or the device memory limit, ran out */
    PTX_ERR_SYNTAX,      /* the text is not PTX we can read */
    PTX_ERR_UNSUPPORTED, /* valid PTX, but an opcode, modifier or directive we do not know */
    PTX_ERR_ARGUMENT,    /* no such kernel, grid/block/parameter size out of range, bad handle */
    PTX_ERR_ADDRESS,     /* an access outside every allocation, or to a freed one */
    PTX_ERR_ALIGNMENT,   /* an access not aligned to its size */
    PTX_ERR_BARRIER,     /* deadlock, divergence at a barrier, shfl/vote with missing lanes */
    PTX_ERR_TRAP,        /* trap instruction */
    PTX_ERR_ASSERT,      /* a failed assert */
    PTX_ERR_BUDGET,      /* the step budget ran out, or a kernel printed too much */
    PTX_ERR_INTERRUPTED, /* the interrupt callback said so */
} ptx_status;

/* `message` is a whole sentence for a person and already holds kernel, PTX line, its text, block, warp
   and lane where they are known; the fields repeat them for programs. */
typedef struct ptx_error {
    ptx_status status;
    unsigned line, column; /* 1-based in the PTX text; 0 when not known */
    char kernel[128];
    char text[160]; /* the PTX line, trimmed */
    uint32_t block[3];
    int warp, lane; /* -1 when not known */
    char message[1024];
} ptx_error;

enum {
    PTX_MAX_STATIC_SHARED = 49152, /* bytes of a block that declarations may take: 48 KiB on every device */
    PTX_MAX_SHARED = 232448,       /* bytes of a block: 227 KiB, the most on current devices */
    PTX_MAX_HOST_THREADS = 256,    /* the most that a launch makes use of */
    PTX_MAX_PRINTED = 64 << 20,    /* bytes that printf may print in one launch */
};

typedef struct ptx_module ptx_module;
typedef struct ptx_kernel ptx_kernel;
typedef struct ptx_memory ptx_memory;

/* Parses `length` bytes; the text is copied. Syntax errors carry line, column and a caret line. An
   instruction outside the supported subset is an error here (naming opcode and line), not at launch. */
ptx_status ptx_module_parse(const char *text, size_t length, ptx_module **out, ptx_error *error);
void ptx_module_free(ptx_module *module);
size_t ptx_module_kernel_count(const ptx_module *module);
const ptx_kernel *ptx_module_kernel_at(const ptx_module *module, size_t index);
const ptx_kernel *ptx_module_find(const ptx_module *module, const char *name); /* NULL if absent */
const char *ptx_kernel_name(const ptx_kernel *kernel);
size_t ptx_kernel_param_bytes(const ptx_kernel *kernel);
size_t ptx_kernel_shared_bytes(const ptx_kernel *kernel); /* static shared memory of a block */
bool ptx_kernel_has_global_atomics(const ptx_kernel *kernel);

/* Simulated device memory: synthetic 64-bit addresses (256-byte aligned, guard gaps between allocations,
   never 0), every access checked. limit_bytes 0 means no limit. */
ptx_status ptx_memory_create(size_t limit_bytes, ptx_memory **out, ptx_error *error);
void ptx_memory_destroy(ptx_memory *memory);
ptx_status ptx_memory_alloc(ptx_memory *memory, size_t bytes, uint64_t *address, ptx_error *error);
ptx_status ptx_memory_free(ptx_memory *memory, uint64_t address, ptx_error *error);
ptx_status ptx_memory_write(ptx_memory *memory, uint64_t to, const void *from, size_t bytes,
                            ptx_error *error);
/* Takes the memory's lock, or gives it back, so that nobody else is in the middle of a change. */
void ptx_memory_lock(ptx_memory *memory, bool locked);
ptx_status ptx_memory_read(ptx_memory *memory, void *to, uint64_t from, size_t bytes, ptx_error *error);

/* What a tensor map says: a tensor in global memory, and the box of it that a copy moves. The numbers of the
   enumerations are those of the CUDA driver. */
typedef enum ptx_tensor_type {
    PTX_TENSOR_U8,
    PTX_TENSOR_U16,
    PTX_TENSOR_U32,
    PTX_TENSOR_S32,
    PTX_TENSOR_U64,
    PTX_TENSOR_S64,
    PTX_TENSOR_F16,
    PTX_TENSOR_F32,
    PTX_TENSOR_F64,
    PTX_TENSOR_BF16,
    PTX_TENSOR_F32_FTZ,
    PTX_TENSOR_TF32,
    PTX_TENSOR_TF32_FTZ,
    PTX_TENSOR_TYPES
} ptx_tensor_type;

/* 16-byte pieces of a line of 128 bytes change places, by the number of the line: so that a column of a box
   lies in different banks. */
typedef enum ptx_swizzle { PTX_SWIZZLE_NONE, PTX_SWIZZLE_32, PTX_SWIZZLE_64, PTX_SWIZZLE_128 } ptx_swizzle;

enum { PTX_TENSOR_DIMENSIONS = 5, PTX_TENSOR_MAP_BYTES = 128 };

typedef struct ptx_tensor {
    uint32_t type, swizzle;
    uint32_t rank;
    uint64_t address;
    uint64_t sizes[PTX_TENSOR_DIMENSIONS];       /* elements, of the dimension that lies together first */
    uint64_t strides[PTX_TENSOR_DIMENSIONS - 1]; /* bytes, of the second dimension first */
    uint32_t box[PTX_TENSOR_DIMENSIONS], steps[PTX_TENSOR_DIMENSIONS];
    bool fill_nan; /* of the floats of a box that lie outside the tensor, else zero */
} ptx_tensor;

/* Writes a tensor map as kernels take it, PTX_TENSOR_MAP_BYTES; refuses what the driver would. The bytes are
   the simulator's own: a driver's are not known. */
ptx_status ptx_tensor_map_encode(const ptx_tensor *tensor, void *map, ptx_error *error);

/* Watches a launch: see hooks.h, counters.h and racecheck.h. */
typedef struct ptx_observer ptx_observer;

typedef struct ptx_launch_config {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t cluster[3]; /* blocks of a cluster; all 0 or 1: as the kernel was compiled, else none */
    size_t dynamic_shared_bytes;
    const void *params; /* ptx_kernel_param_bytes bytes, laid out as PTX does */
    size_t param_bytes;
    unsigned threads; /* host threads; what blocks do with atomics on global memory, or with accesses to it
                         that are volatile, relaxed, acquire or release, comes in the order of one */
    uint64_t step_budget;           /* warp instructions in the whole launch; 0 means no limit */
    bool (*interrupted)(void *arg); /* called on the launching thread only, about every 10 ms; may be NULL */
    void *interrupted_arg;
    /* Takes the text that a block printed; false where memory ran out. Called on the launching thread before
       ptx_launch returns, in the order of the blocks' indices. A kernel that calls printf is stopped where
       this is NULL. */
    bool (*print)(void *arg, const char *text, size_t length);
    void *print_arg;
    ptx_observer *const *observers; /* may be NULL; each sees one launch at a time */
    size_t observer_count;
} ptx_launch_config;

typedef struct ptx_launch_stats {
    uint64_t warp_instructions;
} ptx_launch_stats;

/* Runs the grid to its end. `stats` may be NULL. Results do not depend on `threads`. */
ptx_status ptx_launch(const ptx_kernel *kernel, ptx_memory *memory, const ptx_launch_config *config,
                      ptx_launch_stats *stats, ptx_error *error);

#endif
