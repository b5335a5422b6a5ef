/* What instruction handlers see of the executor, and the loops they are made of. */
#ifndef PTXSIM_EXEC_H
#define PTXSIM_EXEC_H

#include <string.h>

#include "ir.h"
#include "machine/memory.h"
#include "text/opcodes.h"

/* Compiles a handler twice, for any x86-64 and for AVX2, where the linker can choose at load time. Sanitizers
   start too late for the code that does the choosing. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&                 \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(PTX_NO_CLONES)
#define PTX_CLONES __attribute__((target_clones("avx2", "default")))
#define PTX_CLONES_FMA __attribute__((target_clones("fma", "default")))
#else
#define PTX_CLONES
#define PTX_CLONES_FMA
#endif

/* Operands of an instruction are the same slot or disjoint ones, so lanes never depend on each other. */
#if defined(__clang__)
#define PTX_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define PTX_IVDEP _Pragma("GCC ivdep")
#endif

/* Lanes of the register file; a slot holds any of them by turns. */
typedef uint32_t ptx_u32 __attribute__((may_alias));
typedef int32_t ptx_s32 __attribute__((may_alias));
typedef uint64_t ptx_u64 __attribute__((may_alias));
typedef int64_t ptx_s64 __attribute__((may_alias));
typedef float ptx_f32 __attribute__((may_alias));
typedef double ptx_f64 __attribute__((may_alias));

typedef struct ptx_worker ptx_worker;
typedef struct ptx_block ptx_block;
typedef struct ptx_cluster ptx_cluster;

/* What a handler returns when its warp should let others go on: the instruction is done. */
#define PTX_PAUSED ((ptx_status)0x100)

/* What a handler returns where lanes that it needs are elsewhere, before it is sure that they won't come. */
#define PTX_APART ((ptx_status)0x101)

/* Lanes that wait for others: they go on at `pc` until they reach `meeting`. */
typedef struct ptx_stack_entry {
    uint32_t pc, meeting, mask;
    bool held; /* by an instruction that needs lanes that are elsewhere */
} ptx_stack_entry;

/* What an instruction that waits for others saw the last time. */
typedef struct ptx_poll {
    const ptx_instr *in;
    uint32_t mask;
    uint64_t seen;
} ptx_poll;

/* Each level of divergence splits the active lanes, so 31 levels of two entries are the most there can be. */
enum { PTX_STACK = 64, PTX_MAX_WARPS = 32, PTX_BARRIERS = 16, PTX_POLLS = 4, PTX_OBSERVERS = 4 };

typedef enum ptx_warp_state {
    PTX_WARP_READY,
    PTX_WARP_WAITING,    /* at a barrier of its block */
    PTX_WARP_AT_CLUSTER, /* at the barrier of its cluster */
    PTX_WARP_DONE
} ptx_warp_state;

struct ptx_warp {
    uint8_t *registers;
    uint32_t *predicates;
    ptx_worker *worker;
    ptx_block *block;
    uint32_t pc, meeting, active;
    uint32_t live; /* lanes that have not exited */
    uint32_t index;
    ptx_warp_state state;
    uint32_t barrier; /* while waiting: which one, and for how many warps, 0 for all */
    uint32_t expected;
    uint32_t arrived; /* lanes that arrived at the cluster's barrier, which is not complete */
    uint32_t passing; /* lanes that arrived at one that is, and have not waited for it yet */
    ptx_poll polls[PTX_POLLS];
    uint32_t next_poll;
    bool moved;   /* in this turn it found something new */
    bool stalled; /* its last turn ended because it found nothing new */
    uint64_t digest;
    bool alone; /* lanes that an instruction misses will not come */
    uint32_t depth;
    ptx_stack_entry stack[PTX_STACK];
};

/* A stretch of simulated memory and where its bytes are. */
typedef struct ptx_window {
    uint64_t address;
    uint64_t bytes;
    uint8_t *host;
} ptx_window;

/* An observer and its state for a block's place, which holds one block at a time; see hooks.h. */
typedef struct ptx_attached {
    const struct ptx_hooks *hooks;
    void *state;
} ptx_attached;

/* A thread block under way. */
struct ptx_block {
    ptx_worker *worker;
    ptx_cluster *cluster;
    uint32_t rank; /* in its cluster */
    uint32_t index[3];
    ptx_window shared;
    unsigned live_warps;
    unsigned waiting[PTX_BARRIERS];
    uint8_t *registers;
    uint32_t *predicates;
    unsigned observer_count;
    ptx_attached observers[PTX_OBSERVERS];
    ptx_warp warps[PTX_MAX_WARPS];
};

/* A bulk copy that has begun and will report to an mbarrier; the warp and the instruction that issued it. */
typedef struct ptx_copy {
    ptx_warp *warp;
    const ptx_instr *in;
    unsigned lane;
    uint32_t bytes;
    uint8_t *to, *barrier;
    const uint8_t *from;
} ptx_copy;

/* Blocks that run at the same time; one alone where the kernel is launched without clusters. */
struct ptx_cluster {
    ptx_cluster *next;
    uint64_t index;       /* in the order in which clusters begin */
    unsigned live_blocks; /* blocks, and threads, that have not exited */
    uint32_t live_threads, arrived_threads;
    ptx_copy *copies;
    size_t copy_count, copy_capacity;
    ptx_block *blocks[PTX_MAX_CLUSTER];
};

/* One host thread's share of a launch: a cluster at a time, or several where they wait for each other. */
struct ptx_worker {
    struct ptx_run *run;
    const ptx_kernel *kernel;
    ptx_window params, recent; /* `recent` is the allocation last accessed */
    const ptx_view *view;
    unsigned warp_count; /* of a block */
    ptx_cluster *running, *idle;
    unsigned resident; /* blocks of the running clusters */
    bool giving_up;    /* nothing can go on: the next one that waits in vain says so */
    uint64_t steps;    /* not yet reported to the run */
    bool caller;       /* this is the thread that called ptx_launch */
    uint64_t polled;   /* when it last asked whether to stop, in nanoseconds */
    ptx_error error;
};

/* To be called by an instruction that may be waiting for others, with a digest of what it found. When that is
   what it found the last time, the warp gives up its turn. */
ptx_status ptx_poll_watch(ptx_warp *warp, const ptx_instr *in, uint32_t mask, uint64_t seen);

/* Records an error at this instruction (lane -1 when it concerns the warp) and returns `status`. */
ptx_status ptx_fault(ptx_warp *warp, const ptx_instr *in, int lane, ptx_status status, const char *format,
                     ...) __attribute__((format(printf, 5, 6)));

/* The same for an access of `size` bytes outside every allocation; names the nearest one. */
ptx_status ptx_fault_address(ptx_warp *warp, const ptx_instr *in, int lane, uint64_t address, uint64_t size);

/* The host's place of `size` bytes at an address of a state space, checked. */
ptx_status ptx_locate(ptx_warp *warp, const ptx_instr *in, unsigned lane, unsigned space, uint64_t address,
                      uint64_t size, unsigned alignment, uint8_t **place);

/* The addresses of all lanes of a memory instruction whose address is not uniform; true if they follow each
   other at a distance of `size`. */
bool ptx_read_addresses(const ptx_warp *warp, const ptx_instr *in, unsigned size,
                        uint64_t address[PTX_LANES]);

static inline void *ptx_lanes(const ptx_warp *warp, const ptx_instr *in, unsigned operand) {
    return __builtin_assume_aligned(warp->registers + in->op[operand], 64);
}

static inline uint32_t *ptx_predicate(const ptx_warp *warp, const ptx_instr *in, unsigned operand) {
    return &warp->predicates[in->op[operand]];
}

static inline void ptx_set_predicate(ptx_warp *warp, const ptx_instr *in, unsigned operand, uint32_t mask,
                                     uint32_t value) {
    uint32_t *p = ptx_predicate(warp, in, operand);
    *p = (*p & ~mask) | (value & mask);
}

/* Stores `value`, an expression of the lane number i, to every lane of the mask. Computing it for all lanes
   and keeping the old value of the others lets the loop be vectorised. */
#define PTX_STORE_LANES(type, d, value)                                                                      \
    if (mask == PTX_ALL_LANES) {                                                                             \
        PTX_IVDEP for (unsigned i = 0; i < PTX_LANES; i++) d[i] = (type)(value);                             \
    } else {                                                                                                 \
        PTX_IVDEP for (unsigned i = 0; i < PTX_LANES; i++) {                                                 \
            type result = (type)(value);                                                                     \
            d[i] = mask >> i & 1 ? result : d[i];                                                            \
        }                                                                                                    \
    }

/* The same, for values too dear to compute for lanes that don't want them. */
#define PTX_STORE_EACH_LANE(type, d, value)                                                                  \
    for (uint32_t left = mask; left; left &= left - 1) {                                                     \
        unsigned i = (unsigned)__builtin_ctz(left);                                                          \
        d[i] = (type)(value);                                                                                \
    }

/* Handlers from an expression of their sources x, y, z, u. T is the type of the result, A to E the sources'.
 */
#define PTX_HANDLER(name) ptx_status ptx_op_##name(ptx_warp *w, const ptx_instr *in, uint32_t mask)

#define PTX_UNARY_AS(clones, store, name, T, A, value)                                                       \
    static inline T value_##name(A x) {                                                                      \
        return (T)(value);                                                                                   \
    }                                                                                                        \
    clones PTX_HANDLER(name) {                                                                               \
        ptx_##T *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_##A *a = ptx_lanes(w, in, 1);                                                              \
        store(T, d, value_##name(a[i])) return PTX_OK;                                                       \
    }

#define PTX_BINARY_AS(clones, store, name, T, A, B, value)                                                   \
    static inline T value_##name(A x, B y) {                                                                 \
        return (T)(value);                                                                                   \
    }                                                                                                        \
    clones PTX_HANDLER(name) {                                                                               \
        ptx_##T *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_##A *a = ptx_lanes(w, in, 1);                                                              \
        const ptx_##B *b = ptx_lanes(w, in, 2);                                                              \
        store(T, d, value_##name(a[i], b[i])) return PTX_OK;                                                 \
    }

#define PTX_TERNARY_AS(clones, store, name, T, A, B, C, value)                                               \
    static inline T value_##name(A x, B y, C z) {                                                            \
        return (T)(value);                                                                                   \
    }                                                                                                        \
    clones PTX_HANDLER(name) {                                                                               \
        ptx_##T *d = ptx_lanes(w, in, 0);                                                                    \
        const ptx_##A *a = ptx_lanes(w, in, 1);                                                              \
        const ptx_##B *b = ptx_lanes(w, in, 2);                                                              \
        const ptx_##C *c = ptx_lanes(w, in, 3);                                                              \
        store(T, d, value_##name(a[i], b[i], c[i])) return PTX_OK;                                           \
    }

#define PTX_UNARY(...) PTX_UNARY_AS(PTX_CLONES, PTX_STORE_LANES, __VA_ARGS__)
#define PTX_BINARY(...) PTX_BINARY_AS(PTX_CLONES, PTX_STORE_LANES, __VA_ARGS__)
#define PTX_TERNARY(...) PTX_TERNARY_AS(PTX_CLONES, PTX_STORE_LANES, __VA_ARGS__)

/* The short names that handlers' expressions are written in. */
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef float f32;
typedef double f64;

static inline f32 ptx_f32_of(u32 bits) {
    f32 value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline u32 ptx_bits_f32(f32 value) {
    u32 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline f64 ptx_f64_of(u64 bits) {
    f64 value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline u64 ptx_bits_f64(f64 value) {
    u64 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The one NaN that f32 arithmetic gives. */
#define PTX_NAN_F32 0x7fffffffu

static inline f32 ptx_result_f32(f32 value) {
    return value != value ? ptx_f32_of(PTX_NAN_F32) : value;
}

/* .ftz: a subnormal becomes a zero of its sign. */
static inline f32 ptx_flush(f32 value) {
    u32 bits = ptx_bits_f32(value);
    return ptx_f32_of(bits & 0x7f800000u ? bits : bits & 0x80000000u);
}

static inline f32 ptx_min_f32(f32 x, f32 y) {
    f32 least = x < y || (x == y && ptx_bits_f32(x) >> 31) ? x : y;
    return ptx_result_f32(x != x ? y : y != y ? x : least);
}

static inline f32 ptx_max_f32(f32 x, f32 y) {
    f32 most = x > y || (x == y && ptx_bits_f32(y) >> 31) ? x : y;
    return ptx_result_f32(x != x ? y : y != y ? x : most);
}

/* A NaN result of f64 arithmetic is the first NaN among the operands, in the order given here, quieted;
   without one it is the NaN of an invalid operation. Each instruction has an order of its own, read off an
   H200. (ptxas may swap the operands of an addition or a product, so no test should lean on whole kernels'
   payloads.) */
static inline f64 ptx_result_f64(f64 value, f64 first, f64 second, f64 third) {
    const u64 quiet = 1ull << 51;
    u64 nan = first != first     ? ptx_bits_f64(first) | quiet
              : second != second ? ptx_bits_f64(second) | quiet
              : third != third   ? ptx_bits_f64(third) | quiet
                                 : 0xfff8000000000000ull;
    return value != value ? ptx_f64_of(nan) : value;
}

#endif
