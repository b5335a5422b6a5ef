/* The inside of the fake driver: its objects, and the frame that every driver function has. */
#ifndef FAKE_STATE_H
#define FAKE_STATE_H

#include <unistd.h>

#include "device/cuda/driver.h"
#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

#define GR_CUDA_SYMBOL(field, symbol, parameters) EXPORT gr_cu_result symbol parameters;
#include "device/cuda/driver.def"
#undef GR_CUDA_SYMBOL

enum symbol {
#define GR_CUDA_SYMBOL(field, symbol, parameters) S_##symbol,
#include "device/cuda/driver.def"
#undef GR_CUDA_SYMBOL
    SYMBOL_COUNT
};

enum {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    LAUNCH_FAILED = 719,
    NOT_PERMITTED = 800,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURE_MERGE = 902,
    CAPTURE_UNMATCHED = 903,
    CAPTURE_UNJOINED = 904,
    CAPTURE_ISOLATION = 905,
    CAPTURE_IMPLICIT = 906,
    CAPTURED_EVENT = 907,
    CAPTURE_WRONG_THREAD = 908,
    INVALID_CLUSTER = 912,
    UNKNOWN = 999,
};

enum { MAX_DEVICES = 8, MAX_LAUNCHES = 4096, MAX_DEPTH = 16, MAX_PENDING = 1024 };

typedef struct gr_cu_context_handle {
    long retained;
    size_t used;
    gr_cu_result sticky;
    double clock; /* microseconds of device time */
} context;

/* A thread's own: its stack of contexts, and what captures keep it from. */
typedef struct fake_thread {
    context *stack[MAX_DEPTH];
    int depth;
    int mode;           /* GR_CU_CAPTURE_... */
    bool in_destructor; /* of a user object, from which the driver must not be called */
} fake_thread;

typedef enum kind {
    ALLOCATION,
    PINNED,
    POOL,
    MODULE,
    FUNCTION,
    STREAM,
    GRAPH,
    GRAPH_EXEC,
    EVENT,
    OWNER,
    KIND_COUNT
} kind;

typedef enum action { RUN_KERNEL, RUN_GRAPH, COPY_IN, COPY_OUT, FILL, ALLOCATE, RELEASE, MARK } action;

/* A piece of work in a stream, or a node of a graph. */
typedef struct work {
    action action;
    uint64_t id;    /* later work has a higher one */
    uint64_t after; /* the work of another stream that comes before this, or 0 */
    uint64_t lane;  /* its stream's; 0: the legacy default stream of its context */
    bool blocking;  /* a stream that waits for the legacy one, and the other way round */
    context *context;
    struct object *on; /* RUN_GRAPH: exec; MARK: the event, or NULL; ALLOCATE, RELEASE: memory */
    uint64_t device;
    void *host;  /* COPY_IN, COPY_OUT */
    bool staged; /* `host` is a copy of our own */
    unsigned char value;
    size_t bytes;
    fake_cuda_launch launch;
} work;

typedef struct hold {
    struct object *owner;
    unsigned count;
} hold;

/* Any object of the driver; its address is its handle. */
typedef struct object {
    struct object *next;
    kind kind;
    context *context;
    char *memory; /* ALLOCATION, PINNED */
    size_t bytes;
    bool live;  /* ALLOCATION: device code may touch it now */
    bool freed; /* ALLOCATION of a pool: cuMemFreeAsync was called, by which work, in which stream */
    uint64_t freed_by, freed_in;
    struct object *pool;   /* ALLOCATION: where it came from, or NULL */
    uint64_t threshold;    /* POOL */
    struct object *module; /* FUNCTION */
    char name[64];
    unsigned max_dynamic;
    bool any_cluster, loaded;
    uint64_t lane; /* STREAM; GRAPH: of the stream in which the capture began */
    bool blocking;
    struct object *graph; /* STREAM: what it captures into; EVENT: the capture that recorded it */
    bool invalidated;     /* GRAPH; EVENT: it was recorded by a capture that is over */
    int mode;
    const fake_thread *by; /* GRAPH: who began the capture; NULL when that is over */
    uint64_t capture;
    work *nodes; /* GRAPH, GRAPH_EXEC */
    size_t node_count;
    unsigned launched;
    hold *holds;
    size_t hold_count;
    uint64_t last;       /* GRAPH_EXEC: the work that ran it last; EVENT: the work that it marks */
    double time;         /* EVENT: -1 before it is done */
    int asked;           /* EVENT: how often it was queried */
    unsigned references; /* OWNER */
    void *owned;
    void (*release)(void *);
} object;

typedef struct fake_state {
    int device_count, capability_major, capability_minor;
    unsigned shared_per_block;
    bool clusters;
    size_t memory_limit;
    unsigned order; /* 0: work runs as late as it can; else the seed of when it runs */
    pid_t owner;    /* the process that called cuInit; 0 before */
    context contexts[MAX_DEVICES];
    object *objects;
    long live[KIND_COUNT], leaked, calls[SYMBOL_COUNT];
    uint64_t last_id, last_lane;
    work *pending[MAX_PENDING]; /* in the order of their ids */
    size_t pending_count;
    fake_cuda_launch launches[MAX_LAUNCHES];
    size_t launch_count;
} fake_state;

/* Guarded by the lock that `begin` takes and `end` gives back. */
extern fake_state state;
extern _Thread_local fake_thread thread;

/* What a driver function may ask for: CONTEXT is a current, healthy one; SAFE is that, and no capture that
   forbids this thread what may be unsafe. */
enum need { ANYTIME, INITIALISED, CONTEXT, SAFE };

/* Begins a call, taking the lock; says what stands in the call's way. */
gr_cu_result begin(enum symbol symbol, enum need need);
gr_cu_result end(gr_cu_result result);

/* The context on top of this thread's stack, NULL if there is none. */
context *top(void);
object *make(kind of);
/* The object behind a handle of the current context, or NULL. */
object *known(kind of, const void *handle);
void destroy(object *dead);
gr_cu_result destroy_handle(enum symbol symbol, kind of, const void *handle);

/* ---- fake_work.c ---- */

/* Puts work into a stream (NULL: the legacy one), or into the graph that the stream captures. */
gr_cu_result put(object *stream, work item);
bool is_done(uint64_t id);
void run_until(uint64_t id);
void run_nodes(const object *exec);
/* Runs what a stream (NULL: the legacy one) holds, or all of a context. */
gr_cu_result wait_for(const object *stream);
void drain(const context *of);
/* Forgets an object that work has still to do with. */
void forget(const object *dead);
/* Of `count` works, those that have to come before the last one are marked, and itself. */
void mark_before(work *const *works, size_t count, bool *marked);

/* ---- fake_capture.c ---- */

/* Whether a handle names a stream that may be used now; *out is NULL for the legacy one. */
gr_cu_result find_stream(gr_cu_stream handle, object **out);
/* A capture that forbids this thread unsafe calls is invalid from now on. */
bool forbidden(void);
/* Ends the hopes of a capture; gives the result. */
gr_cu_result spoil(object *graph, gr_cu_result result);
void drop_holds(object *graph);

/* ---- fake_memory.c ---- */

/* The memory of a context behind `bytes` bytes at an address, or NULL. */
object *memory_at(const context *of, uint64_t address, uint64_t bytes);
/* Where device code may reach them now, and NULL where it may not. */
void *reach(const context *of, uint64_t address, uint64_t bytes);
void trim(object *pool, uint64_t keep);

/* ---- fake_kernels.c ---- */

bool is_kernel(const char *name);
/* Runs a launch that is on its turn. A kernel that leaves its memory spoils the context, as on a device. */
void run_kernel(context *in, const fake_cuda_launch *launch);

#endif
