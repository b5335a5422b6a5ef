/* The intermediate representation: decoded kernels, which the parser produces and the interpreter executes.
   Internal to ptxsim. */
#ifndef PTXSIM_IR_H
#define PTXSIM_IR_H

#include "ptxsim.h"

enum {
    PTX_LANES = 32,
    PTX_MAX_CLUSTER = 16, /* blocks; more than 8 are not portable */
};

#define PTX_ALL_LANES UINT32_MAX
#define PTX_NO_PC UINT32_MAX /* reconvergence point of lanes that reconverge only at the exit */
#define PTX_CONSTANT                                                                                         \
    0x80000000u /* marks an operand offset within the constant area, until join_areas finalises it */
#define PTX_SHARED_WINDOW (1ull << 56) /* generic address of shared byte 0, above all allocations */
/* The shared state space of a cluster is a sequence of parts of this many bytes. Part 0 is the executing
   block; parts 1, 2, ... are the blocks of the cluster by rank. */
#define PTX_SHARED_PART (1ull << 24)
#define PTX_SHARED_WINDOW_BYTES ((1 + PTX_MAX_CLUSTER) * PTX_SHARED_PART)
/* Generic addresses of a thread's local memory, the parameters, the module's constants and the module's
   variables. Addresses in the .const space are the same numbers. */
#define PTX_LOCAL_WINDOW (1ull << 57)
#define PTX_PARAM_WINDOW (1ull << 58)
#define PTX_CONST_WINDOW (1ull << 59)
#define PTX_VARIABLES_WINDOW (1ull << 60)
#define PTX_KERNEL_WINDOW (1ull << 62) /* addresses of kernels, which only launches by kernels take */

/* Predicates are 32-bit lane masks in a separate array, which begins with these fixed entries. */
enum {
    PTX_PRED_FALSE,
    PTX_PRED_TRUE,
    PTX_PRED_SINK,
    PTX_PRED_EXPLICIT_CLUSTER,
    PTX_PRED_CARRY, /* carry flag (CC) of add.cc, sub.cc and mad.cc, which addc, subc and madc read */
    PTX_PRED_FIRST
};

/* A type is its class combined with its size in bytes, so that a mask extracts either. */
enum {
    PTX_CLASS_B = 0x10,
    PTX_CLASS_U = 0x20,
    PTX_CLASS_S = 0x30,
    PTX_CLASS_F = 0x40,
    PTX_TYPE_NONE = 0,
    PTX_TYPE_PRED = 0x50,
    PTX_TYPE_B128 = 0x60, /* two consecutive 64-bit slots */
    PTX_TYPE_BF16 = 0x70 | 2,
    PTX_TYPE_F16 = PTX_CLASS_F | 2,
    PTX_TYPE_F32 = PTX_CLASS_F | 4,
    PTX_TYPE_F64 = PTX_CLASS_F | 8,
};
typedef uint8_t ptx_type;

static inline unsigned ptx_type_bytes(ptx_type type) {
    return type & 0x0fu;
}

static inline unsigned ptx_type_class(ptx_type type) {
    return type & 0xf0u;
}

typedef enum ptx_space {
    PTX_SPACE_GENERIC,
    PTX_SPACE_GLOBAL,
    PTX_SPACE_SHARED,
    PTX_SPACE_CLUSTER, /* shared::cluster */
    PTX_SPACE_PARAM,
    PTX_SPACE_CONST,
    PTX_SPACE_LOCAL
} ptx_space;

typedef enum ptx_kind {
    PTX_RUN,
    PTX_BRANCH,
    PTX_EXIT,
    PTX_BARRIER,
    PTX_CLUSTER_ARRIVE,
    PTX_CLUSTER_WAIT,
    PTX_TRAP
} ptx_kind;

/* Which event of an instruction is reported to observers. */
typedef enum ptx_effect {
    PTX_EFFECT_NONE,
    PTX_EFFECT_LOAD,
    PTX_EFFECT_STORE,
    PTX_EFFECT_ATOMIC,
    PTX_EFFECT_WARP_SYNC
} ptx_effect;

typedef enum ptx_combine { PTX_COMBINE_NONE, PTX_COMBINE_AND, PTX_COMBINE_OR, PTX_COMBINE_XOR } ptx_combine;

typedef enum ptx_compare {
    PTX_COMPARE_NONE,
#define COMPARISON(id, name, test) PTX_COMPARE_##id,
#include "comparisons.def"
} ptx_compare;

typedef enum ptx_rounding {
    PTX_ROUND_NONE,
    PTX_ROUND_NEAREST,
    PTX_ROUND_ZERO,
    PTX_ROUND_DOWN,
    PTX_ROUND_UP
} ptx_rounding;

/* Operand kind of a memory address: the same for all lanes, a 32-bit register, or a 64-bit register. */
typedef enum ptx_address { PTX_ADDRESS_UNIFORM, PTX_ADDRESS_32, PTX_ADDRESS_64 } ptx_address;

/* Shape of a product of fragments (wmma): rows and columns of the result, and products per element. */
typedef struct ptx_shape_size {
    uint8_t m, n, k;
} ptx_shape_size;

typedef enum ptx_shape {
    PTX_SHAPE_NONE,
#define SHAPE(m, n, k) PTX_SHAPE_##m##x##n##x##k,
#include "shapes.def"
} ptx_shape;

static inline ptx_shape_size ptx_shape_size_of(ptx_shape shape) {
    static const ptx_shape_size sizes[] = {
        {0, 0, 0},
#define SHAPE(m, n, k) {m, n, k},
#include "shapes.def"
    };
    return sizes[shape];
}

/* The opcodes, one per name in opcodes.def. */
typedef enum ptx_opcode {
#define OP(pattern, signature, name) PTX_OP_##name,
#define CONTROL(pattern, signature, name, kind) PTX_OP_##name,
#include "opcodes.def"
    PTX_OPCODE_COUNT
} ptx_opcode;

/* One decoded instruction. A register or constant operand is the byte offset of its lanes in the register
   file of a warp; a predicate operand is an index. Of a branch, op[0] is the target and op[1] the
   reconvergence point. The operand list is followed by PTX_TRAIT_BITS bits per operand; see ptx_is_wide and
   ptx_role_of. */
typedef struct ptx_instr {
    uint32_t *op;
    int64_t imm;                /* address offset or immediate operand */
    uint32_t guard, guard_flip; /* the instruction executes in the lanes predicate[guard] ^ guard_flip */
    uint32_t base; /* address register of a memory instruction, without `imm`; not in the operand list */
    uint32_t operand_count;
    uint16_t opcode;
    uint8_t kind, space, address;
    uint8_t vector; /* elements of a vector access, otherwise 1 */
    uint8_t combine, compare, rounding;
    uint8_t shape; /* a ptx_shape; only of wmma */
    uint8_t effect;
    ptx_type type, type2; /* the last type of the opcode and the one before it (cvt: source, destination) */
    bool flip : 1;        /* the source predicate is negated */
    bool ftz : 1, sat : 1, relu : 1;
    bool strong : 1;  /* volatile, relaxed, acquire or release: other threads may access the memory
                         concurrently */
    bool aligned : 1; /* a barrier that all threads of a warp execute together */
    bool target_syncs : 1, next_syncs : 1; /* of a branch: the target, or the next instruction, may reach a
                                              collective instruction */
    bool collective : 1;
    bool first_is_column_major : 1; /* the first layout of the opcode is .col */
    bool needs_ticket : 1; /* its effect is visible to other blocks, or depends on them; see tickets.h */
    bool plain : 1;        /* unguarded: one handler call for all active lanes without further checks */
} ptx_instr;

/* How an instruction uses a register operand; predicates, constants and labels are OTHER. */
typedef enum ptx_role { PTX_ROLE_OTHER, PTX_ROLE_READ, PTX_ROLE_WRITTEN } ptx_role;

/* Bits per operand after the operand list: bit 0 is set for a 64-bit slot, the others are its ptx_role. */
enum { PTX_TRAIT_BITS = 4 };

static inline unsigned ptx_operand_traits(const ptx_instr *in, unsigned operand) {
    return in->op[in->operand_count + operand / 8] >> operand % 8 * PTX_TRAIT_BITS & 15;
}

static inline bool ptx_is_wide(const ptx_instr *in, unsigned operand) {
    return ptx_operand_traits(in, operand) & 1;
}

static inline ptx_role ptx_role_of(const ptx_instr *in, unsigned operand) {
    return (ptx_role)(ptx_operand_traits(in, operand) >> 1);
}

/* Nothing follows an unguarded branch, return or exit. A trap ends the launch; it is treated as falling
   through, so that other lanes still have a reconvergence point. */
static inline bool ptx_ends_block(const ptx_instr *in) {
    return in->kind == PTX_BRANCH || in->kind == PTX_EXIT;
}

static inline bool ptx_is_unguarded(const ptx_instr *in) {
    return in->guard == PTX_PRED_TRUE && in->guard_flip == 0;
}

/* An arena of operand lists, which never moves. */
typedef struct ptx_operands {
    struct ptx_operands *next;
    size_t count, capacity;
    uint32_t words[];
} ptx_operands;

/* Source position of an instruction. */
typedef struct ptx_source {
    uint32_t line, column;
    uint32_t text_offset; /* offset in the module's text of the line's first character */
    uint32_t location;    /* index + 1 in the module's locations (.loc), 0 if none */
} ptx_source;

/* Constants are stored after the registers of each warp, one slot per constant. */
typedef enum ptx_constant_kind {
    PTX_CONSTANT_VALUE,
    PTX_CONSTANT_SPECIAL, /* a special register; `value` is a ptx_special */
    PTX_CONSTANT_DYNAMIC_SHARED
} ptx_constant_kind;

typedef struct ptx_constant {
    ptx_constant_kind kind;
    uint64_t value;
    uint32_t bytes;  /* 4 or 8 per lane */
    uint32_t offset; /* bytes, in the constant area */
} ptx_constant;

typedef enum ptx_special {
#define SPECIAL(id, name, value) PTX_##id,
#include "specials.def"
    PTX_SPECIAL_COUNT
} ptx_special;

typedef struct ptx_param {
    ptx_type type;
    size_t offset, bytes; /* bytes; an array or a structure has more bytes than its type */
} ptx_param;

struct ptx_kernel {
    const ptx_module *module;
    char *name;
    ptx_instr *code;
    ptx_source *source;
    ptx_operands *operands;
    size_t count, code_capacity, source_capacity;
    ptx_constant *constants;
    size_t constant_count, constant_capacity;
    uint32_t register_bytes, constant_bytes; /* bytes per warp */
    uint32_t poisoned_bytes; /* leading bytes of the register file that may be read before they are written */
    uint32_t predicate_count;
    ptx_param *params;
    size_t param_count, param_capacity, param_bytes;
    size_t shared_bytes;  /* bytes per block, static */
    size_t local_bytes;   /* bytes per thread */
    bool generic_params;  /* uses generic addresses of its parameters (cvta.param) */
    bool uses_wgmma;      /* has wgmma instructions, whose registers the interpreter tracks */
    size_t dynamic_align; /* bytes; alignment of the .extern .shared array, otherwise 1 */
    uint32_t max_threads; /* product of .maxntid, 0 if absent */
    uint32_t required[3]; /* .reqntid, 0 if absent */
    uint32_t cluster[3];  /* .reqnctapercluster, 0 if absent */
    uint32_t max_cluster; /* .maxclusterrank, 0 if absent */
    bool global_atomics;
    bool uses_heap;           /* calls malloc or free, or launches kernels */
    bool strong_global_loads; /* loads with volatile, relaxed or acquire semantics from global memory */
};

typedef struct ptx_source_file {
    uint32_t index;
    char *name;
} ptx_source_file;

/* A .loc: a source position, and for inlined code the position of the inlined call. */
typedef struct ptx_location {
    uint32_t file, line, column; /* `file` is the index of a ptx_source_file */
    uint32_t caller;             /* index + 1 of the location of the inlined call, 0 if none */
} ptx_location;

/* Initial contents of a module's variables in one state space. */
typedef struct ptx_area {
    uint64_t bytes;
    uint8_t *image; /* up to the last initialised byte; zeros follow */
    size_t filled;
} ptx_area;

/* A .global or .const variable of a module. */
typedef struct ptx_variable {
    const char *name; /* in the module's text, not terminated */
    size_t length;
    uint64_t address, bytes;
    bool managed;
} ptx_variable;

struct ptx_module {
    struct ptx_parser *parser; /* of a lazy module: parses bodies later */
    const char *text;
    char *copy; /* of the text, NULL if it is the caller's */
    size_t length;
    ptx_kernel **kernels;
    size_t kernel_count, kernel_capacity;
    ptx_source_file *files;
    size_t file_count, file_capacity;
    ptx_location *locations;
    size_t location_count, location_capacity;
    ptx_area constants, variables; /* the .const and the .global variables */
    uint64_t constants_address, variables_address;
    ptx_variable *names;
    size_t name_count, name_capacity;
};

#endif
