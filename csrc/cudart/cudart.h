/* The CUDA runtime on the simulator: whole programs run without a GPU when the dynamic linker finds this
   library instead of NVIDIA's libcudart. Everything that a program starts is done before the call returns, so
   that streams are in order and a run is deterministic.

   Every function of the interface is one call of CUDART_RUN, which takes the lock, reports errors of earlier
   kernels, and keeps the last error of the thread. */
#ifndef CUDART_H
#define CUDART_H

#include <stdbool.h>
#include <stdio.h>

#include "cudart/types.h"
#include "ptxsim/ptxsim.h"

#define CUDART_API __attribute__((visibility("default"))) cudaError_t
/* Another name of a function, for a default stream per thread, which has the same order here. */
#define CUDART_ALSO(name, other)                                                                             \
    extern __typeof__(other) name __attribute__((alias(#other), visibility("default")));
#define CUDART_RUN(expression)                                                                               \
    do {                                                                                                     \
        cudaError_t error_ = cudart_enter();                                                                 \
        if (error_ == cudaSuccess)                                                                           \
            error_ = (expression);                                                                           \
        return cudart_leave(error_);                                                                         \
    } while (0)

enum { CUDART_VERSION = 13000, CUDART_SMS = 132, CUDART_BLOCKS_PER_SM = 32, CUDART_THREADS_PER_SM = 2048 };
enum { CUDART_SHARED_PER_SM = 233472, CUDART_SHARED_RESERVED = 1024, CUDART_REGISTERS = 65536 };

typedef struct cudart_variable {
    struct cudart_variable *next;
    const void *host; /* the host's variable of that name, which marks it; NULL once freed */
    void **managed;   /* where the program stores the address of a managed variable; NULL: not managed */
    const char *name;
    size_t bytes;
} cudart_variable;

typedef struct cudart_function {
    struct cudart_function *next;
    struct cudart_module *module;
    const void *host;         /* the host's stub */
    const char *name, *title; /* title: the name as in the source; NULL before the first use */
    const ptx_kernel *kernel; /* NULL before the first use */
    int max_dynamic_shared;
} cudart_function;

/* A fat binary that the program registered, and what was parsed of it. */
typedef struct cudart_module {
    struct cudart_module *next;
    const void *fatbin;
    ptx_module *ptx; /* NULL before the first use */
    cudaError_t failed;
    uint64_t index;
    void *host; /* the memory of its variables if any is managed */
    cudart_function *functions;
    cudart_variable *variables;
} cudart_module;

/* Counters and races of the launches of a kernel with one grid. */
typedef struct cudart_record {
    struct cudart_record *next;
    const cudart_function *function;
    ptx_record *ptx;
    uint32_t grid[3], block[3];
    size_t dynamic_shared;
    uint64_t launches;
} cudart_record;

/* Memory that the host and the device share, at one address. */
typedef struct cudart_host_block {
    struct cudart_host_block *next;
    void *address;
    size_t bytes;
    enum cudaMemoryType type;
    unsigned flags;
    bool registered; /* the program's own memory */
} cudart_host_block;

typedef struct cudart_text {
    char *bytes;
    size_t length, capacity;
} cudart_text;

typedef struct cudart_state {
    bool ready;
    ptx_memory *memory;
    ptx_heap *heap;
    size_t heap_bytes, limits[CUDART_LIMITS];
    cudart_module *modules;
    uint64_t module_count;
    cudart_host_block *host_blocks;
    cudart_record *records;
    cudart_record *traced;       /* the launch whose steps are recorded, once it has begun */
    cudaError_t pending, sticky; /* errors of a kernel: not yet returned, and already returned by a call */
    uint64_t clock;              /* warp instructions of all launches */
    uint64_t launches, failed, repeated; /* repeated: only counted, see repeat.c */
    cudart_text printed;                 /* output of printf that is not yet written to standard output */
    char refusal[1024];                  /* the last message of cudart_refuse */
    bool times_read;                     /* the program has called cudaEventElapsedTime */
    volatile bool running, interrupted;

    /* from the environment */
    size_t memory_bytes;
    uint64_t budget;
    uint64_t traced_launch, traced_block; /* from 0; traced_launch UINT64_MAX: none */
    unsigned threads;
    ptx_race_scope races;
    bool counters, wall, every_launch;
    FILE *report;
} cudart_state;

extern cudart_state cudart;

/* ---- message.c ---- */

/* Writes a line on standard error. */
void cudart_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes on standard error why a call fails, and stores the message in cudart.refusal for the report. Returns
   `error`. */
cudaError_t cudart_refuse(cudaError_t error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns the runtime's error code for a status of the simulator. */
cudaError_t cudart_error_of(ptx_status status);
/* Calls cudart_refuse with the code and the message of a simulator's error. */
cudaError_t cudart_refuse_as(const ptx_error *error);

/* ---- state.c ---- */

/* Takes the lock. Returns the error of an earlier kernel, or of preparing the simulator at the first call, if
   any. */
cudaError_t cudart_enter(void);
/* Records the thread's last error, releases the lock and returns `error`. */
cudaError_t cudart_leave(cudaError_t error);
void cudart_lock(bool locked);
/* Writes the pending output of kernels to standard output. */
void cudart_show_printed(void);

/* ---- report.c ---- */

/* Writes the records of kernels and the summary to the report. */
void cudart_finish_report(void);
/* Writes to the report that a launch of the kernel failed, with the message cudart.refusal. */
void cudart_report_failure(const char *kernel, cudaError_t code);

/* ---- signals.c ---- */

/* Installs handlers of signals that would end the program without a report. */
void cudart_install_handlers(void);
/* Ends the program by the interrupt that stopped a launch. */
void cudart_end_by_interrupt(void);

/* ---- fatbin.c ---- */

/* Writes to *text the PTX of a fat binary for the highest architecture that the simulator supports. The
   caller frees it. */
cudaError_t cudart_unpack(const void *wrapper, char **text, size_t *length);

/* ---- module.c ---- */

/* Finds the function of a host stub or a kernel handle, with its kernel; the body is parsed only before a
   launch. */
cudaError_t cudart_find_function(const void *host, cudart_function **out);
cudaError_t cudart_find_symbol(const void *host, uint64_t *address, size_t *bytes);

/* ---- memory.c ---- */

cudart_host_block *cudart_find_host_block(const void *address);
cudaError_t cudart_allocate(void **out, size_t bytes);
cudaError_t cudart_release(void *address);
/* Frees device or managed memory. */
cudaError_t cudart_free(void *address);
/* Returns anonymous memory at a multiple of `alignment`, which is a power of two; NULL if memory ran out. */
void *cudart_map(size_t bytes, size_t alignment);

/* ---- copy.c ---- */

cudaError_t cudart_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);

cudaError_t cudart_copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                             size_t rows, enum cudaMemcpyKind kind);
cudaError_t cudart_copy_box(const cudaMemcpy3DParms *box);
/* Ends a blocking copy: writes the output of earlier kernels, and returns `error`. */
cudaError_t cudart_blocking(cudaError_t error);

/* ---- array.c ---- */

/* A CUDA array: rows of elements in device memory. */
struct cudart_array {
    cudaChannelFormatDesc format;
    cudaExtent extent; /* as the program set it: 0 where a dimension is absent */
    unsigned flags;
    void *data;
    size_t pitch, rows, slices; /* bytes of a row; rows and slices are 1 or more */
};

static inline size_t cudart_element_bytes(const cudaChannelFormatDesc *format) {
    return (size_t)(format->x + format->y + format->z + format->w) / 8;
}

/* ---- stream.c ---- */

cudaError_t cudart_check_stream(cudaStream_t stream);

/* ---- repeat.c ---- */

typedef struct cudart_repeat cudart_repeat;

/* Returns the record of an equal earlier launch; NULL if there is none, or if the launch cannot be skipped,
   or not in less time than it takes. */
cudart_repeat *cudart_find_repeat(const cudart_function *function, const ptx_launch_config *config);
/* Whether the launch would change nothing; stores its warp instructions. Otherwise the caller runs it, and
   then calls cudart_keep_repeat. */
bool cudart_skip_repeat(cudart_repeat *repeat, uint64_t *warp_instructions);
/* Records a launch that has run; `silent`: without an error and without output. */
void cudart_keep_repeat(cudart_repeat *repeat, bool silent, uint64_t warp_instructions);

/* ---- launch.c ---- */

typedef struct cudart_launch {
    const void *function;
    dim3 grid, block, cluster; /* cluster.x 0: none */
    size_t dynamic_shared;
    void **arguments;
    cudaStream_t stream;
    bool cooperative;
} cudart_launch;

cudaError_t cudart_run(const cudart_launch *launch);
/* Returns the number of blocks of a kernel that a multiprocessor holds at once (occupancy). */
unsigned cudart_occupancy(const cudart_function *function, unsigned threads, size_t dynamic_shared);

/* ---- graph_nodes.c ---- */

/* A node of a graph: work that each launch of the graph does. */
typedef struct cudart_work {
    enum cudaGraphNodeType type;
    cudart_launch launch;   /* of a kernel; `arguments` is a copy that the node owns */
    cudaMemcpy3DParms copy; /* memcpy */
    cudaMemsetParams fill;
    cudaHostNodeParams host;
    cudaGraph_t child;
    void *address; /* of memory that a node allocates or frees */
} cudart_work;

cudaError_t cudart_graph_create(cudaGraph_t *out);
/* Adds a copy of the work, which depends on other nodes. */
cudaError_t cudart_graph_add(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *needs,
                             size_t need_count, const cudart_work *work);
/* Whether memory belongs to a graph, and is freed with it. */
bool cudart_is_graph_memory(const void *address);
/* Returns the work of a copy of bytes. */
cudart_work cudart_copy_work(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);

/* ---- capture.c ---- */

/* If the stream captures, adds the work to its graph instead of doing it, stores the result in `error` and
   returns true. */
bool cudart_capture(cudaStream_t stream, const cudart_work *work, cudaError_t *error);
/* Capture the record of an event by a stream that captures, and the wait of a stream for such an event; that
   stream then captures, too. False: not captured. */
bool cudart_capture_record(cudaStream_t stream, cudaEvent_t event);
bool cudart_capture_wait(cudaStream_t stream, cudaEvent_t event);
cudaError_t cudart_begin_capture(cudaStream_t stream);
cudaError_t cudart_end_capture(cudaStream_t stream, cudaGraph_t *graph);
/* Returns the graph to which a stream that captures adds its work; NULL if it does not capture. */
cudaGraph_t cudart_captured_graph(cudaStream_t stream);

#endif
