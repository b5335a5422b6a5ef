/* A program is the plan of a call as data: buffers, and steps (kernel launches, memsets, small uploads, calls
 * of vendor libraries) in the order of execution. The planners of all ladders make programs. run.c executes a
 * program on any device, time.c measures it. */
#ifndef GR_PROGRAM_PROGRAM_H
#define GR_PROGRAM_PROGRAM_H

#include "device/device.h"

enum {
    GR_MAX_PROGRAM_INPUTS = 8,
    GR_MAX_BUFFERS = 16,
    GR_MAX_STEPS = 36,
    GR_MAX_RELOCATIONS = 208,
    GR_MAX_MAPS = 4,
    GR_PARAM_CAPACITY =
        7168, /* bytes for the parameters of all steps: topk of float64 whose results are sorted by digits */
};

typedef enum gr_buffer_kind {
    GR_BUFFER_INPUT,     /* memory of the caller; `number` is its index in gr_binding.inputs */
    GR_BUFFER_OUTPUT,    /* results: memory of the caller, or of the workspace if the host receives them */
    GR_BUFFER_TEMPORARY, /* workspace memory, uninitialised */
    GR_BUFFER_ZEROED,    /* workspace memory that is zero before the program runs and after it */
} gr_buffer_kind;

typedef struct gr_buffer {
    gr_buffer_kind kind;
    uint32_t number;
    size_t bytes; /* size; unused for inputs */
} gr_buffer;

typedef enum gr_step_kind {
    GR_STEP_LAUNCH,        /* a kernel launch */
    GR_STEP_MEMCPY_INLINE, /* copies the parameters of the step (a few bytes) to the start of a buffer */
    GR_STEP_MEMSET,        /* sets every byte of a buffer to the one parameter */
    GR_STEP_LIBRARY, /* a vendor library launches its own kernels; the parameters begin with a gr_library_call
                      */
} gr_step_kind;

typedef struct gr_step {
    gr_step_kind kind;
    uint32_t buffer;     /* destination of a MEMCPY_INLINE or MEMSET */
    gr_kernel_id kernel; /* the kernel of a LAUNCH; the function of a LIBRARY, for messages */
    gr_kernel *found;    /* a kernel that is loaded already, used instead of `kernel`: user kernels */
    uint32_t grid[3], block[3], cluster[3]; /* 0 counts as 1 */
    uint32_t shared_bytes;
    bool pdl, one_param; /* see gr_launch */
    size_t serialized_offset, first_block_offset;
    size_t params, param_bytes;
} gr_step;

/* A relocation: the offset in the parameters, in bytes, at which the address of a buffer is written before
   the launch. */
typedef struct gr_relocation {
    size_t offset;
    uint32_t buffer;
} gr_relocation;

/* The offset in the parameters, in bytes, at which a tensor map (CUtensorMap) is written before the launch.
 * The address in `tensor` is an offset in bytes from the start of the buffer. */
typedef struct gr_map {
    size_t offset;
    uint32_t buffer;
    gr_tensor tensor;
} gr_map;

typedef struct gr_program {
    size_t buffer_count, step_count, relocation_count, map_count, param_bytes;
    bool full;        /* a step, buffer or relocation exceeded a capacity: running the program fails */
    gr_status status; /* of a planner that failed, see gr_program_fail; else GR_OK */
    gr_error *error;
    size_t
        result_bytes; /* size of one result, if each is written once, so that the host can poll it; else 0 */
    size_t input_bytes; /* size of each input, if kernels may read it, contiguous, from mapped host memory;
                           else SIZE_MAX */
    gr_buffer buffers[GR_MAX_BUFFERS];
    gr_step steps[GR_MAX_STEPS];
    gr_relocation relocations[GR_MAX_RELOCATIONS];
    gr_map maps[GR_MAX_MAPS];
    _Alignas(16) char params[GR_PARAM_CAPACITY];
} gr_program;

/* Appends the steps of a request to an empty program. Records a failure in the program. */
typedef void gr_planner(const void *request, gr_device *device, gr_program *program);

/* Allocates a program on the heap, as a thread's stack may be small, and plans it while the device is
 * attached. The caller calls free(*out), which is NULL after an error. */
gr_status gr_program_make(gr_device *device, gr_planner *plan, const void *request, gr_program **out,
                          gr_error *error);

/* These functions build a program; gr_program_begin empties one that is used again. gr_program_input and
 * gr_program_buffer return the index of the new buffer, gr_program_step the new step. Beyond a capacity they
 * set `full`, and what they return may still be used. A relocation or a tensor map belongs to the step that
 * was appended last; `offset` counts bytes from the start of the parameters of that step. */
void gr_program_begin(gr_program *program);
uint32_t gr_program_input(gr_program *program, uint32_t number);
uint32_t gr_program_buffer(gr_program *program, gr_buffer_kind kind, size_t bytes);
gr_step *gr_program_step(gr_program *program, gr_step_kind kind, const void *params, size_t bytes);
/* Appends a memset of a buffer to 0. */
void gr_program_clear(gr_program *program, uint32_t buffer);
void gr_program_relocate(gr_program *program, size_t offset, uint32_t buffer);
void gr_program_map(gr_program *program, size_t offset, uint32_t buffer, const gr_tensor *tensor);
/* Records why there is no plan, in the error of gr_program_make. Only the first failure is recorded: a
 * planner may go on after it. */
void gr_program_fail(gr_program *program, gr_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Assigns consecutive addresses from `base` on to the buffers of one kind, each aligned to 256 bytes. Returns
 * the total size in bytes. */
size_t gr_program_pack(const gr_program *program, gr_buffer_kind kind, gr_devptr base, gr_devptr *addresses);
/* Assigns the addresses of the inputs, and of the output unless that is 0. */
void gr_program_bind(const gr_program *program, const gr_devptr *inputs, gr_devptr output,
                     gr_devptr *addresses);

/* The workspace of a program: its temporary and zeroed buffers, and its output buffer if `output` is true.
 * gr_workspace_alloc writes their addresses to addresses[buffer index]. */
typedef struct gr_workspace {
    size_t count;
    gr_memory held[GR_MAX_BUFFERS];
} gr_workspace;

/* A workspace in memory of the caller, without the output. gr_workspace_bytes returns its size in bytes;
 * gr_workspace_place writes the addresses of the buffers in it, and returns the address of the zeroed
 * buffers, *zeroed bytes, which the caller sets to zero before the program runs. */
size_t gr_workspace_bytes(const gr_program *program);
gr_devptr gr_workspace_place(const gr_program *program, gr_devptr base, gr_devptr *addresses, size_t *zeroed);

gr_status gr_workspace_alloc(gr_device *device, const gr_stream_state *stream_state,
                             const gr_program *program, bool output, gr_devptr *addresses,
                             gr_workspace *workspace, gr_error *error);
/* Fails if a kernel left zeroed workspace that is not zero: see gr_memory_check. */
gr_status gr_workspace_check(gr_device *device, const gr_workspace *workspace, gr_error *error);
void gr_workspace_free(gr_device *device, gr_workspace *workspace, bool usable);

/* Writes one launch per step. The parameters, with all relocations applied, are written to `params`,
 * program->param_bytes bytes. */
gr_status gr_program_instantiate(gr_device *device, const gr_program *program, const gr_devptr *addresses,
                                 gr_stream stream, gr_launch *launches, char *params, gr_error *error);

/* Enqueues all steps in a stream. Every buffer must have an address. */
gr_status gr_program_enqueue(gr_device *device, const gr_program *program, const gr_devptr *addresses,
                             gr_stream stream, const gr_interrupt *interrupt, gr_error *error);

/* Where the elements of an input are: in host memory or in device memory. */
typedef struct gr_source {
    const void *host; /* `bytes` of host memory that hold the elements; NULL: they are on the device */
    size_t bytes;
    uint64_t origin; /* of the first element: byte offset into `host`, or device address */
} gr_source;

/* The memory that a call binds to the inputs and the output of a program (I/O binding). */
typedef struct gr_binding {
    gr_source inputs[GR_MAX_PROGRAM_INPUTS];
    void *host_out; /* destination of the results in host memory; NULL: the results stay in device_out */
    size_t out_bytes;
    gr_devptr device_out;
    gr_stream stream; /* stream of the caller */
    /* Workspace of the caller, for programs that may allocate nothing, as their launches are recorded and
       replayed by another runtime. Its content does not matter. */
    bool has_workspace;
    gr_devptr workspace; /* multiple of 16 */
    size_t workspace_bytes;
    size_t *required_workspace; /* if not NULL, nothing runs: the workspace that the call requires is written
                                   to it */
} gr_binding;

/* Returns the number of inputs in host memory. */
size_t gr_binding_host_inputs(const gr_binding *binding);

/* Chooses the stream of a call: the stream of the binding or, if an operand is in host memory, the legacy
 * default stream after it, as another library may be copying to that memory in the default stream.
 * GR_ERR_VALUE for a stream that is being captured into a graph if the host would have to wait. */
gr_status gr_binding_stream(gr_device *device, const gr_binding *binding, gr_stream_state *out,
                            gr_error *error);

/* What gr_program_time measures: a program on several sets of equal buffers in turn, so that no set is in the
 * L2 cache when its turn comes. */
typedef struct gr_timing {
    size_t buffers;
    const gr_devptr *inputs[2]; /* one address per set of buffers; NULL if the program has no such input */
    const gr_devptr *outs;      /* one address per set, or NULL: all sets share one output */
    size_t rounds;              /* passes over all sets in one graph */
    size_t repeats;             /* graph replays; each gives one figure */
    size_t launches;            /* the number of launches that are measured, from the first on; 0: all */
} gr_timing;

/* GR_ERR_VALUE on the simulator, which has no clock. */
gr_status gr_program_clock(const gr_device *device, gr_error *error);

/* Writes one figure per repeat: the mean time in microseconds of one execution in that graph replay, without
 * memsets and small uploads. GR_ERR_VALUE on the simulator. */
gr_status gr_program_time(gr_device *device, const gr_program *program, const gr_timing *timing,
                          double *microseconds, gr_error *error);
/* Plans a program, and measures its first launch and all launches on timing->buffers copies of its one input,
 * which is in host memory. */
gr_status gr_program_time_copies(gr_device *device, gr_planner *plan, const void *request, const void *data,
                                 size_t bytes, const gr_timing *timing, double *first_launch,
                                 double *all_launches, gr_error *error);

#endif
