/* The inside of the fake driver: its objects, and the frame that every driver function has. */
#ifndef FAKE_STATE_H
#define FAKE_STATE_H

#include <unistd.h>

#include "device/cuda/driver.h"
#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

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
    ILLEGAL_ADDRESS = 700,
    LAUNCH_FAILED = 719,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    INVALID_CLUSTER = 912,
    NOT_READY = 600,
    UNKNOWN = 999,
};

enum { MAX_DEVICES = 8, MAX_LAUNCHES = 4096, MAX_DEPTH = 16 };

typedef struct gr_cu_context_handle {
    long retained;
    size_t used;
    gr_cu_result sticky;
    bool pending; /* work in the default stream that nobody has waited for */
    double clock; /* microseconds of device time */
} context;

typedef enum kind { ALLOCATION, PINNED, MODULE, FUNCTION, STREAM, GRAPH, GRAPH_EXEC, EVENT, KIND_COUNT } kind;

/* Any object of the driver; its address is its handle. */
typedef struct object {
    struct object *next;
    kind kind;
    context *context;
    char *memory; /* ALLOCATION, PINNED */
    size_t bytes;
    struct object *module; /* FUNCTION */
    char name[64];
    unsigned max_dynamic;
    bool any_cluster;
    struct object *graph; /* STREAM: what it captures into */
    bool invalidated;
    fake_cuda_launch *nodes; /* GRAPH, GRAPH_EXEC */
    size_t node_count;
    unsigned launched;
    double time; /* EVENT: -1 before it is recorded */
    int asked;   /* EVENT: how often it was queried */
} object;

typedef struct fake_state {
    int device_count, capability_major, capability_minor;
    unsigned shared_per_block;
    bool clusters;
    size_t memory_limit;
    pid_t owner; /* the process that called cuInit; 0 before */
    context contexts[MAX_DEVICES];
    object *objects;
    long live[KIND_COUNT], leaked, hazards, calls[SYMBOL_COUNT];
    fake_cuda_launch launches[MAX_LAUNCHES];
    size_t launch_count;
} fake_state;

/* Guarded by the lock that `begin` takes and `end` gives back. */
extern fake_state state;

/* A thread's own: its stack of contexts, and the stream in which it captures. */
typedef struct fake_thread {
    context *stack[MAX_DEPTH];
    int depth;
    object *capturing;
} fake_thread;

extern _Thread_local fake_thread thread;

/* What a driver function may ask for: CONTEXT is a current, healthy one; NO_CAPTURE is that, and no capture
   in this thread. */
enum need { ANYTIME, INITIALISED, CONTEXT, NO_CAPTURE };

/* Begins a call, taking the lock; says what stands in the call's way. */
gr_cu_result begin(enum symbol symbol, enum need need);
gr_cu_result end(gr_cu_result result);

/* The context on top of this thread's stack, NULL if there is none. */
context *top(void);
object *make(kind of);
/* The object behind a handle of the current context, or NULL. */
object *known(kind of, const void *handle);
void destroy(object *dead);
/* Host memory behind `bytes` bytes at a device address; NULL where they leave their allocation. */
void *reach(uint64_t address, uint64_t bytes);

bool is_kernel(const char *name);
/* Runs a launch that is on its turn. A kernel that leaves its memory spoils the context, as on a device. */
void run_kernel(const fake_cuda_launch *launch);

#endif
