/* A plan as data: buffers, and steps that work on them in order. Planners of all ladders make programs; run.c
   is where they run, and time.c where they are timed, on any device. */
#ifndef GR_PROGRAM_PROGRAM_H
#define GR_PROGRAM_PROGRAM_H

#include "base/source.h"
#include "device/device.h"

enum {
    GR_MAX_PROGRAM_INPUTS = 8,
    GR_MAX_BUFFERS = 16,
    GR_MAX_STEPS = 36,
    GR_MAX_RELOCATIONS = 208,
    GR_MAX_MAPS = 4,
    GR_PARAM_CAPACITY = 6144, /* bytes, for the parameters of all steps: two of a reduction of eight inputs */
};

typedef enum gr_buffer_kind {
    GR_BUFFER_INPUT,     /* the caller's, which `number` counts */
    GR_BUFFER_OUTPUT,    /* of the results: the caller's, or for the host */
    GR_BUFFER_TEMPORARY, /* for the time of the program */
    GR_BUFFER_ZEROED,    /* the same, but zero before and after it */
} gr_buffer_kind;

typedef struct gr_buffer {
    gr_buffer_kind kind;
    uint32_t number;
    size_t bytes; /* not of inputs */
} gr_buffer;

typedef enum gr_step_kind {
    GR_STEP_LAUNCH,        /* a kernel */
    GR_STEP_MEMCPY_INLINE, /* a few bytes, its parameters, go to the start of a buffer */
    GR_STEP_MEMSET,        /* every byte of a buffer becomes its one parameter */
    GR_STEP_LIBRARY,       /* a library launches by itself; its parameters begin with a gr_library_call */
} gr_step_kind;

typedef struct gr_step {
    gr_step_kind kind;
    uint32_t buffer;     /* of a FILL or PAINT */
    gr_kernel_id kernel; /* of a LAUNCH; of a LIBRARY the function */
    gr_kernel *found;    /* takes the place of `kernel` where it is no kernel of the package */
    uint32_t grid[3], block[3], cluster[3]; /* 0 is as good as 1 */
    uint32_t shared_bytes;
    bool pdl, one_param; /* as in gr_launch */
    size_t serialized_offset;
    size_t params, param_bytes;
} gr_step;

/* Where in the parameters the address of a buffer goes. */
typedef struct gr_relocation {
    size_t offset;
    uint32_t buffer;
} gr_relocation;

/* Where in the parameters a tensor map goes. The tensor's address counts from the start of a buffer. */
typedef struct gr_map {
    size_t offset;
    uint32_t buffer;
    gr_tensor tensor;
} gr_map;

typedef struct gr_program {
    size_t buffer_count, step_count, relocation_count, map_count, param_bytes;
    bool full; /* something did not fit: running it fails */
    gr_buffer buffers[GR_MAX_BUFFERS];
    gr_step steps[GR_MAX_STEPS];
    gr_relocation relocations[GR_MAX_RELOCATIONS];
    gr_map maps[GR_MAX_MAPS];
    _Alignas(16) char params[GR_PARAM_CAPACITY];
} gr_program;

/* On the heap, as a thread's stack may be small. Freed by free(); NULL with the error recorded. */
gr_program *gr_program_new(gr_error *error);

/* Making one. Steps are appended; a place or a map belongs to the step appended last, `offset` counts in its
 * parameters. */
void gr_program_begin(gr_program *program);
uint32_t gr_program_input(gr_program *program, uint32_t number);
uint32_t gr_program_buffer(gr_program *program, gr_buffer_kind kind, size_t bytes);
gr_step *gr_program_step(gr_program *program, gr_step_kind kind, const void *params, size_t bytes);
void gr_program_relocate(gr_program *program, size_t offset, uint32_t buffer);
void gr_program_map(gr_program *program, size_t offset, uint32_t buffer, const gr_tensor *tensor);

/* Gives the buffers of one kind addresses one behind the other, from `base` on; returns the bytes they take.
 */
size_t gr_program_pack(const gr_program *program, gr_buffer_kind kind, gr_devptr base, gr_devptr *addresses);
/* Gives every input its address, and the output unless that is 0. */
void gr_program_bind(const gr_program *program, const gr_devptr *inputs, gr_devptr output,
                     gr_devptr *addresses);

/* Memory for what a program itself needs, and for its output if `output`; writes to addresses[buffer]. */
typedef struct gr_workspace {
    size_t count;
    gr_memory held[GR_MAX_BUFFERS];
} gr_workspace;

gr_status gr_workspace_alloc(gr_device *device, const gr_stream_state *stream_state,
                             const gr_program *program, bool output, gr_devptr *addresses,
                             gr_workspace *workspace, gr_error *error);
void gr_workspace_free(gr_device *device, gr_workspace *workspace, bool usable);

/* Writes one launch a step, whose parameters are put into `params`, program->param_bytes of them. */
gr_status gr_program_instantiate(gr_device *device, const gr_program *program, const gr_devptr *addresses,
                                 gr_stream stream, gr_launch *launches, char *params, gr_error *error);

/* Puts all steps into a stream, every buffer having its address. */
gr_status gr_program_enqueue(gr_device *device, const gr_program *program, const gr_devptr *addresses,
                             gr_stream stream, const gr_interrupt *interrupt, gr_error *error);

/* What a program works on. */
typedef struct gr_binding {
    gr_source inputs[GR_MAX_PROGRAM_INPUTS];
    void *host_out; /* room for the results in host memory; NULL: they go to device_out */
    size_t out_bytes;
    gr_devptr device_out;
    gr_stream stream; /* that the work belongs to */
} gr_binding;

/* Where the work of a binding is done: in its stream or, where something lies in host memory, which another
   library may just be copying to, in the legacy default stream behind it. GR_ERR_VALUE for a stream that is
   being captured, if the host has to wait. */
gr_status gr_binding_stream(gr_device *device, const gr_binding *binding, gr_stream_state *out,
                            gr_error *error);

/* Copies what lies in host memory to the device, runs the program, and brings back what the host is to have.
   It returns when the work is in the stream, and waits only where something lies in host memory. */
gr_status gr_program_run(gr_device *device, const gr_program *program, const gr_binding *binding,
                         const gr_interrupt *interrupt, gr_error *error);

/* What is timed: a program on several sets of buffers alike, one after the other, so that none is found in
 * the L2. */
typedef struct gr_timing {
    size_t buffers;
    const gr_devptr *inputs[2]; /* one a set of buffers; NULL where the program has no such input */
    const gr_devptr *outs;      /* likewise, or NULL: one room for all */
    size_t rounds;              /* times round all the sets in one graph */
    size_t repeats;             /* graph replays, one figure each */
    size_t launches;            /* how many of the program's first ones are timed; 0: all */
} gr_timing;

/* GR_ERR_VALUE on a device that has no clock. */
gr_status gr_program_clock(const gr_device *device, gr_error *error);

/* Writes one figure a repeat, the mean microseconds of the program in that replay, its fills left out.
   Asks for the clock, too. */
gr_status gr_program_time(gr_device *device, const gr_program *program, const gr_timing *timing,
                          double *microseconds, gr_error *error);
/* Times the first launch of a program, and all of it, on timing->buffers copies of its one input, which lies
   in host memory. */
gr_status gr_program_time_copies(gr_device *device, const gr_program *program, const void *data, size_t bytes,
                                 const gr_timing *timing, double *first_launch, double *all_launches,
                                 gr_error *error);

#endif
