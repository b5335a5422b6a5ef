/* ptxsim interprets the PTX that nvcc emits on a CPU: warps of 32 lanes execute in lockstep, with a
   divergence stack. This header is the interface to the rest of the project.

   The library uses no Python, keeps no mutable globals, never exits and never prints. A parsed module is
   immutable and may be launched by many threads at once; concurrent launches may share a ptx_memory. */
#ifndef PTXSIM_H
#define PTXSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ptx_status {
    PTX_OK = 0,
    PTX_ERR_MEMORY,      /* the host or the simulated device is out of memory */
    PTX_ERR_SYNTAX,      /* the text is not PTX */
    PTX_ERR_UNSUPPORTED, /* valid PTX, but outside the supported subset */
    PTX_ERR_ARGUMENT,    /* no such kernel, a size out of range, or a bad handle */
    PTX_ERR_ADDRESS,     /* an access outside all allocations, or to a freed allocation */
    PTX_ERR_ALIGNMENT,   /* an access that is not aligned to its size */
    PTX_ERR_BARRIER,     /* a deadlock, divergence at a barrier, or a shfl/vote with missing lanes */
    PTX_ERR_TRAP,        /* trap instruction */
    PTX_ERR_ASSERT,      /* __assertfail was called */
    PTX_ERR_BUDGET, /* the step budget is used up, or the kernel printed more than PTX_MAX_PRINTED bytes */
    PTX_ERR_INTERRUPTED, /* the `interrupted` callback returned true */
} ptx_status;

/* `message` is a complete sentence for a reader. It includes the kernel, the PTX line and its text, the
   block, the warp and the lane if they are known; the fields repeat these for programs. */
typedef struct ptx_error {
    ptx_status status;
    unsigned line, column; /* 1-based, in the PTX text; 0 if unknown */
    char kernel[128];
    char text[160]; /* the PTX line without surrounding blanks */
    char file[256]; /* source file, from .loc; "" if unknown */
    unsigned file_line;
    uint32_t block[3];
    int warp, lane; /* -1 if unknown */
    char message[1024];
} ptx_error;

enum {
    PTX_MAX_STATIC_SHARED = 49152, /* bytes per block that declarations may use: 48 KiB on every device */
    PTX_MAX_SHARED = 232448,       /* bytes per block: 227 KiB, the maximum of current devices */
    PTX_MAX_HOST_THREADS = 256,    /* upper bound of ptx_launch_config.threads */
    PTX_MAX_PRINTED = 64 << 20,    /* bytes that printf may print per launch */
};

typedef struct ptx_module ptx_module;
typedef struct ptx_kernel ptx_kernel;
typedef struct ptx_memory ptx_memory;

/* Parses `length` bytes, which are copied. The message of a syntax error has the line, the column and a line
   with a caret. An instruction outside the supported subset is reported here, with opcode and line, not at
   launch. */
ptx_status ptx_module_parse(const char *text, size_t length, ptx_module **out, ptx_error *error);
void ptx_module_free(ptx_module *module);

/* How to load a module. Zero: as ptx_module_parse does. */
typedef struct ptx_module_options {
    bool lazy; /* bodies of kernels are parsed by ptx_kernel_parse, so that an instruction outside the subset
                  refuses its own kernel only */
    const char *kernel; /* name of the kernel to parse; the others are skipped, whatever is in their bodies.
                           The text ends with a NUL, is not copied and must outlive the module. NULL: all */
    uint64_t constants, variables; /* addresses of the .const and the .global variables, see below */
} ptx_module_options;

/* Addresses for the variables of module `index`: one window of PTX_MODULE_WINDOW bytes per module. */
#define PTX_MODULE_CONSTANTS(index) ((1ull << 59) + (uint64_t)(index)*PTX_MODULE_WINDOW)
#define PTX_MODULE_VARIABLES(index) ((1ull << 60) + (uint64_t)(index)*PTX_MODULE_WINDOW)
#define PTX_MODULE_WINDOW (1ull << 32)

ptx_status ptx_module_open(const char *text, size_t length, const ptx_module_options *options,
                           ptx_module **out, ptx_error *error);
/* Parses the body of a kernel of a lazy module, unless it is parsed already. Not while another thread uses
   the module. */
ptx_status ptx_kernel_parse(const ptx_kernel *kernel, ptx_error *error);
/* Allocates the module's variables in `memory`, with their initial values, so that they outlive a launch;
   otherwise each launch has new ones. `host`: memory of the caller for the .global variables, else NULL. */
ptx_status ptx_module_load(const ptx_module *module, ptx_memory *memory, void *host, ptx_error *error);
/* Returns false if the module has no .global or .const variable of that name. */
bool ptx_module_find_variable(const ptx_module *module, const char *name, uint64_t *address, size_t *bytes);
size_t ptx_module_variable_bytes(const ptx_module *module); /* of the .global variables */
size_t ptx_module_kernel_count(const ptx_module *module);
const ptx_kernel *ptx_module_kernel_at(const ptx_module *module, size_t index);
const ptx_kernel *ptx_module_find(const ptx_module *module, const char *name); /* NULL if absent */
const char *ptx_kernel_name(const ptx_kernel *kernel);
size_t ptx_kernel_param_bytes(const ptx_kernel *kernel);
size_t ptx_kernel_param_count(const ptx_kernel *kernel);
/* Stores where a parameter is in the parameters' bytes. */
void ptx_kernel_param_at(const ptx_kernel *kernel, size_t index, size_t *offset, size_t *bytes);
size_t ptx_kernel_local_bytes(const ptx_kernel *kernel);   /* per thread */
unsigned ptx_kernel_max_threads(const ptx_kernel *kernel); /* per block; 0: no limit of its own */
bool ptx_kernel_uses_heap(const ptx_kernel *kernel);
size_t ptx_kernel_shared_bytes(const ptx_kernel *kernel); /* bytes of static shared memory per block */
bool ptx_kernel_has_global_atomics(const ptx_kernel *kernel);

/* Simulated device memory. Addresses are synthetic 64-bit numbers, aligned to 256 bytes, with guard gaps
   between allocations, and never 0. Every access is checked. limit_bytes = 0 means no limit. */
ptx_status ptx_memory_create(size_t limit_bytes, ptx_memory **out, ptx_error *error);
void ptx_memory_destroy(ptx_memory *memory);
ptx_status ptx_memory_alloc(ptx_memory *memory, size_t bytes, uint64_t *address, ptx_error *error);
/* Makes the caller's memory part of the simulated memory, at an address of the caller's choice. */
ptx_status ptx_memory_map(ptx_memory *memory, uint64_t address, void *host, size_t bytes, ptx_error *error);
ptx_status ptx_memory_free(ptx_memory *memory, uint64_t address, ptx_error *error);
/* Stores the allocation that contains an address; returns false if none does. */
bool ptx_memory_find(ptx_memory *memory, uint64_t address, uint64_t *start, size_t *bytes);
/* Bytes of all allocations. */
size_t ptx_memory_used(ptx_memory *memory);
/* A digest of the addresses and contents of all allocations. */
typedef struct ptx_digest {
    uint64_t words[2];
} ptx_digest;
ptx_digest ptx_memory_digest(ptx_memory *memory);
ptx_status ptx_memory_write(ptx_memory *memory, uint64_t to, const void *from, size_t bytes,
                            ptx_error *error);
/* Acquires (`locked`) or releases the mutex of the memory. A thread that forks holds it, so that the child
   gets a consistent copy. */
void ptx_memory_lock(ptx_memory *memory, bool locked);
ptx_status ptx_memory_read(ptx_memory *memory, void *to, uint64_t from, size_t bytes, ptx_error *error);

/* The heap of malloc and free in kernels: an allocation of `bytes` that blocks of memory are taken from. */
typedef struct ptx_heap ptx_heap;
ptx_status ptx_heap_create(ptx_memory *memory, size_t bytes, ptx_heap **out, ptx_error *error);
void ptx_heap_destroy(ptx_heap *heap, ptx_memory *memory);

/* A launch by a kernel (CUDA dynamic parallelism), which is to be run after that kernel. Without a kernel it
   is a copy: its parameters are three 64-bit numbers, destination, source and bytes. */
typedef struct ptx_device_launch {
    const ptx_kernel *kernel;
    uint32_t grid[3], block[3];
    size_t dynamic_shared_bytes;
    uint64_t order; /* of the launches with one heap, from 1 */
} ptx_device_launch;

enum { PTX_DEVICE_PARAMS = 4096 /* bytes of the parameters of such a launch, at most */ };

/* Removes the earliest launch and copies PTX_DEVICE_PARAMS bytes of parameters; returns false if none is
   left. */
bool ptx_heap_next_launch(ptx_heap *heap, ptx_device_launch *out, void *params);

/* The contents of a tensor map (CUtensorMap): a tensor in global memory and the box of it that one TMA copy
   transfers. The values of the enumerations are the CUDA driver's. */
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

/* TMA swizzle modes: 16-byte chunks within 128 bytes are permuted by an XOR with the number of the 128-byte
   line, so that the chunks of a column are in different banks. */
typedef enum ptx_swizzle { PTX_SWIZZLE_NONE, PTX_SWIZZLE_32, PTX_SWIZZLE_64, PTX_SWIZZLE_128 } ptx_swizzle;

enum { PTX_TENSOR_DIMENSIONS = 5, PTX_TENSOR_MAP_BYTES = 128 };

typedef struct ptx_tensor {
    uint32_t type, swizzle;
    uint32_t rank;
    uint64_t address;
    uint64_t sizes[PTX_TENSOR_DIMENSIONS];       /* elements, innermost dimension first */
    uint64_t strides[PTX_TENSOR_DIMENSIONS - 1]; /* bytes, from the second dimension on */
    uint32_t box[PTX_TENSOR_DIMENSIONS], steps[PTX_TENSOR_DIMENSIONS];
    bool fill_nan; /* elements outside the tensor are filled with NaN instead of 0 */
} ptx_tensor;

/* Writes a tensor map of PTX_TENSOR_MAP_BYTES for kernels. It rejects what the CUDA driver rejects. The
   encoding is the simulator's own, as the driver's is not documented. */
ptx_status ptx_tensor_map_encode(const ptx_tensor *tensor, void *map, ptx_error *error);

/* A texture or a surface: elements of one to four channels in global memory. The values of the address modes
   are the CUDA runtime's. */
typedef enum ptx_texture_format {
    PTX_TEXTURE_SIGNED,
    PTX_TEXTURE_UNSIGNED,
    PTX_TEXTURE_FLOAT,
    PTX_TEXTURE_FORMATS
} ptx_texture_format;
typedef enum ptx_address_mode {
    PTX_ADDRESS_WRAP,
    PTX_ADDRESS_CLAMP,
    PTX_ADDRESS_MIRROR,
    PTX_ADDRESS_BORDER
} ptx_address_mode;

enum { PTX_TEXTURE_BYTES = 128 };

typedef struct ptx_texture {
    uint64_t address;
    uint64_t pitch, slice; /* bytes from row to row, and from slice to slice */
    uint32_t size[3];      /* elements: width, height, and depth or layers; 1 or more */
    uint8_t channels, channel_bytes, format;
    uint8_t mode[3];       /* a ptx_address_mode per axis */
    uint8_t linear_memory; /* no array: elements outside are 0 */
    uint8_t linear_filter, normalized_coordinates, normalized_read, srgb;
    float border[4];
} ptx_texture;

/* Writes a descriptor of PTX_TEXTURE_BYTES. Its address in simulated memory is the handle of the object. */
ptx_status ptx_texture_encode(const ptx_texture *texture, void *descriptor, ptx_error *error);

/* An observer of a launch: see hooks.h, counters.h and racecheck.h. */
typedef struct ptx_observer ptx_observer;

typedef struct ptx_launch_config {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t cluster[3]; /* blocks per cluster; all 0 or 1: as compiled into the kernel, if it is */
    size_t dynamic_shared_bytes;
    const void *params; /* param_bytes bytes in PTX's layout */
    size_t param_bytes;
    unsigned threads;     /* maximal number of host threads. Atomics on global memory and volatile, relaxed,
                             acquire or release accesses take effect in the order of a single thread */
    uint64_t block_order; /* seed of a permutation in which blocks start; 0: the order in schedule.c */
    uint32_t resident_blocks;       /* maximal number of resident blocks per host thread; 0: as on an H200 */
    uint64_t step_budget;           /* maximal warp instructions of the launch; 0: no limit */
    bool (*interrupted)(void *arg); /* called about every 10 ms by the launching thread only; may be NULL */
    void *interrupted_arg;
    /* Receives the text that a block printed; returns false if it ran out of memory. The launching thread
       calls it before ptx_launch returns, in the order of block indices. If it is NULL, a kernel that calls
       printf is stopped. */
    bool (*print)(void *arg, const char *text, size_t length);
    void *print_arg;
    uint64_t grid_workspace; /* address of the workspace of a cooperative launch, in %envreg1 and %envreg2 */
    ptx_heap *heap;          /* NULL: a kernel that calls malloc, or launches a kernel, is stopped */
    ptx_observer *const *observers; /* may be NULL; an observer takes part in one launch at a time */
    size_t observer_count;
} ptx_launch_config;

/* The counters (counters.h) and races (racecheck.h) of launches of a kernel, for users that write them as
   JSON. */
typedef struct ptx_record ptx_record;

/* Which memory is checked for races. */
typedef enum ptx_race_scope {
    PTX_RACES_NONE,
    PTX_RACES_SHARED, /* shared memory */
    PTX_RACES_GLOBAL, /* shared memory, and global memory between blocks */
    PTX_RACE_SCOPES
} ptx_race_scope;

ptx_status ptx_record_create(const ptx_kernel *kernel, bool counters, ptx_race_scope races, ptx_record **out,
                             ptx_error *error);
void ptx_record_free(ptx_record *record);
/* The record also has the steps of one block, by its linear index: at most 10,000 instructions of its warps
   with their accesses and the registers that they write. */
ptx_status ptx_record_trace(ptx_record *record, uint64_t block, ptx_error *error);
/* The observers of the record for ptx_launch_config, which may take part in launch after launch. */
size_t ptx_record_observers(const ptx_record *record, ptx_observer *const **observers);
size_t ptx_record_race_count(const ptx_record *record);
/* Passes an object's fields without braces to `write`, until it returns false. */
bool ptx_record_write(const ptx_record *record, bool (*write)(void *arg, const char *text, size_t length),
                      void *arg);

typedef struct ptx_launch_stats {
    uint64_t warp_instructions;
} ptx_launch_stats;

/* Runs the whole grid. `stats` may be NULL. The results do not depend on `threads`. */
ptx_status ptx_launch(const ptx_kernel *kernel, ptx_memory *memory, const ptx_launch_config *config,
                      ptx_launch_stats *stats, ptx_error *error);

#endif
