/* What the parser hands to the executor: decoded kernels. Internal to ptxsim. */
#ifndef PTXSIM_IR_H
#define PTXSIM_IR_H

#include "ptxsim.h"

enum {
    PTX_LANES = 32,
    PTX_MAX_CLUSTER = 16, /* blocks; more than 8 are not portable */
};

#define PTX_ALL_LANES UINT32_MAX
#define PTX_NO_PC UINT32_MAX           /* reconvergence point of lanes that only meet at the exit */
#define PTX_CONSTANT 0x80000000u       /* operand offset counted from the constant area, until finalised */
#define PTX_SHARED_WINDOW (1ull << 56) /* generic address of shared byte 0, far above any allocation */
/* In shared memory's address space each block of the cluster has a part, which begins with that of the
   executing block. The blocks' own come after it, in order of their ranks. */
#define PTX_SHARED_PART (1ull << 24)
#define PTX_SHARED_WINDOW_BYTES ((1 + PTX_MAX_CLUSTER) * PTX_SHARED_PART)
/* Generic addresses of a thread's local memory, of the parameters, of the module's constants and of its
   variables; the addresses of constants are these in their own space, too. */
#define PTX_LOCAL_WINDOW (1ull << 57)
#define PTX_PARAM_WINDOW (1ull << 58)
#define PTX_CONST_WINDOW (1ull << 59)
#define PTX_VARIABLES_WINDOW (1ull << 60)

/* Predicates are 32-bit lane masks in an array of their own; the first ones are fixed. */
enum {
    PTX_PRED_FALSE,
    PTX_PRED_TRUE,
    PTX_PRED_SINK,
    PTX_PRED_EXPLICIT_CLUSTER,
    PTX_PRED_CARRY, /* what add.cc and its like leave to addc */
    PTX_PRED_FIRST
};

/* A type is its class and its size in bytes, so that both are one mask away. */
enum {
    PTX_CLASS_B = 0x10,
    PTX_CLASS_U = 0x20,
    PTX_CLASS_S = 0x30,
    PTX_CLASS_F = 0x40,
    PTX_TYPE_NONE = 0,
    PTX_TYPE_PRED = 0x50,
    PTX_TYPE_B128 = 0x60, /* two slots of 64 bits, one behind the other */
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

/* What an instruction does that observers want to hear of. */
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
    PTX_COMPARE_EQ,
    PTX_COMPARE_NE,
    PTX_COMPARE_LT,
    PTX_COMPARE_LE,
    PTX_COMPARE_GT,
    PTX_COMPARE_GE,
    PTX_COMPARE_EQU,
    PTX_COMPARE_NEU,
    PTX_COMPARE_LTU,
    PTX_COMPARE_LEU,
    PTX_COMPARE_GTU,
    PTX_COMPARE_GEU,
    PTX_COMPARE_NUM,
    PTX_COMPARE_NAN
} ptx_compare;

typedef enum ptx_rounding {
    PTX_ROUND_NONE,
    PTX_ROUND_NEAREST,
    PTX_ROUND_ZERO,
    PTX_ROUND_DOWN,
    PTX_ROUND_UP
} ptx_rounding;

/* How the address operand of a memory instruction is kept. */
typedef enum ptx_address { PTX_ADDRESS_UNIFORM, PTX_ADDRESS_32, PTX_ADDRESS_64 } ptx_address;

/* What an instruction is: a row of opcodes.def. */
typedef enum ptx_opcode {
#define OP(pattern, signature, name) PTX_OP_##name,
#define COLLECTIVE(pattern, signature, name) PTX_OP_##name,
#define CONTROL(pattern, signature, name, kind) PTX_OP_##name,
#define ALSO(pattern, signature, name)
#include "opcodes.def"
#undef OP
#undef COLLECTIVE
#undef CONTROL
#undef ALSO
    PTX_OPCODE_COUNT
} ptx_opcode;

/* One decoded instruction. A register or constant operand is the byte offset of its lanes in the register
   file of a warp; a predicate is an index. Branches: op[0] is the target, op[1] where the lanes meet again.
   Behind the operands come the bits that say which of them are 64-bit slots; see ptx_is_wide. */
typedef struct ptx_instr {
    uint32_t *op;
    int64_t imm;                /* address offset or immediate operand */
    uint32_t guard, guard_flip; /* executes where predicate[guard] ^ guard_flip has a bit */
    uint32_t base; /* an operand beside the list: the address of a memory instruction, without `imm` */
    uint32_t operand_count;
    uint16_t opcode;
    uint8_t kind, space, address;
    uint8_t vector; /* elements of a vector access, else 1 */
    uint8_t combine, compare, rounding;
    uint8_t effect;
    ptx_type type, type2; /* the last type of the opcode and the one before (cvt's source, destination) */
    bool flip : 1;        /* the source predicate is negated */
    bool ftz : 1, sat : 1, relu : 1;
    bool strong : 1;  /* volatile, relaxed, acquire or release: of memory that other threads use meanwhile */
    bool aligned : 1; /* a barrier that a warp's threads come to together */
    bool target_syncs : 1, next_syncs : 1; /* a branch: that side may reach a collective instruction */
    bool collective : 1;
    bool needs_ticket : 1; /* other blocks may see it, or it may see what they do */
    bool plain : 1; /* one call of its handler for all lanes that are active, without a look at anything */
} ptx_instr;

/* What an instruction does with an operand that is a register; predicates, constants and labels are OTHER. */
typedef enum ptx_role { PTX_ROLE_OTHER, PTX_ROLE_READ, PTX_ROLE_WRITTEN } ptx_role;

/* Behind the list stand four bits for each operand: whether it is wide, and its role. */
enum { PTX_TRAIT_BITS = 4 };

static inline unsigned ptx_traits(const ptx_instr *in, unsigned operand) {
    return in->op[in->operand_count + operand / 8] >> operand % 8 * PTX_TRAIT_BITS & 15;
}

static inline bool ptx_is_wide(const ptx_instr *in, unsigned operand) {
    return ptx_traits(in, operand) & 1;
}

static inline ptx_role ptx_role_of(const ptx_instr *in, unsigned operand) {
    return (ptx_role)(ptx_traits(in, operand) >> 1);
}

/* Operand lists, many in one piece of memory that never moves. */
typedef struct ptx_operands {
    struct ptx_operands *next;
    size_t count, capacity;
    uint32_t words[];
} ptx_operands;

/* Where an instruction came from. */
typedef struct ptx_source {
    uint32_t line, column;
    uint32_t text_offset; /* of the first character of its line in the module's text */
    uint32_t location;    /* the .loc in force: index of the module's + 1, 0 when there is none */
} ptx_source;

/* Constants live behind the registers of each warp, one slot each. */
typedef enum ptx_constant_kind {
    PTX_CONSTANT_VALUE,
    PTX_CONSTANT_SPECIAL, /* a special register, `value` says which */
    PTX_CONSTANT_DYNAMIC_SHARED
} ptx_constant_kind;

typedef struct ptx_constant {
    ptx_constant_kind kind;
    uint64_t value;
    uint32_t bytes;  /* 4 or 8 a lane */
    uint32_t offset; /* in the constant area */
} ptx_constant;

typedef enum ptx_special {
    PTX_TID_X,
    PTX_TID_Y,
    PTX_TID_Z,
    PTX_NTID_X,
    PTX_NTID_Y,
    PTX_NTID_Z,
    PTX_CTAID_X,
    PTX_CTAID_Y,
    PTX_CTAID_Z,
    PTX_NCTAID_X,
    PTX_NCTAID_Y,
    PTX_NCTAID_Z,
    PTX_CLUSTER_CTAID_X,
    PTX_CLUSTER_CTAID_Y,
    PTX_CLUSTER_CTAID_Z,
    PTX_CLUSTER_CTARANK,
    PTX_CLUSTERID_X,
    PTX_CLUSTERID_Y,
    PTX_CLUSTERID_Z,
    PTX_CLUSTER_NCTAID_X,
    PTX_CLUSTER_NCTAID_Y,
    PTX_CLUSTER_NCTAID_Z,
    PTX_CLUSTER_NCTARANK,
    PTX_NCLUSTERID_X,
    PTX_NCLUSTERID_Y,
    PTX_NCLUSTERID_Z,
    PTX_LANEID,
    PTX_WARPID,
    PTX_NWARPID,
    PTX_LANEMASK_EQ,
    PTX_LANEMASK_LT,
    PTX_LANEMASK_LE,
    PTX_LANEMASK_GT,
    PTX_LANEMASK_GE,
    PTX_DYNAMIC_SMEM_SIZE,
    PTX_SPECIAL_COUNT
} ptx_special;

typedef struct ptx_param {
    ptx_type type;
    size_t offset, bytes; /* more bytes than the type's: an array or a structure */
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
    uint32_t register_bytes, constant_bytes; /* of one warp */
    uint32_t poisoned_bytes; /* the first registers, which may be read before they are written */
    uint32_t predicate_count;
    ptx_param *params;
    size_t param_count, param_capacity, param_bytes;
    size_t shared_bytes;  /* static */
    size_t local_bytes;   /* of a thread */
    bool generic_params;  /* it makes generic addresses of them */
    bool uses_wgmma;      /* it has asynchronous ones, which registers are watched for */
    size_t dynamic_align; /* of the .extern .shared array, 1 if there is none */
    uint32_t max_threads; /* product of .maxntid, 0 when not given */
    uint32_t required[3]; /* .reqntid, 0 when not given */
    uint32_t cluster[3];  /* .reqnctapercluster, 0 when not given */
    uint32_t max_cluster; /* .maxclusterrank, 0 when not given */
    bool global_atomics;
    bool strong_global_loads; /* has strong loads from memory that other blocks may write */
};

typedef struct ptx_source_file {
    uint32_t index;
    char *name;
} ptx_source_file;

/* A .loc: a place in a source file, and for inlined code the place that it was inlined at. */
typedef struct ptx_location {
    uint32_t file, line, column; /* `file` is a ptx_source_file's index */
    uint32_t caller;             /* index + 1 of the location it was inlined at, 0 if it was not */
} ptx_location;

/* The variables of a module in one state space: what they are when a launch begins. */
typedef struct ptx_area {
    uint64_t bytes;
    uint8_t *image; /* up to the last byte that is given a value; zeros follow */
    size_t filled;
} ptx_area;

struct ptx_module {
    char *text;
    size_t length;
    ptx_kernel **kernels;
    size_t kernel_count, kernel_capacity;
    ptx_source_file *files;
    size_t file_count, file_capacity;
    ptx_location *locations;
    size_t location_count, location_capacity;
    ptx_area constants, variables; /* .const and .global */
};

#endif
