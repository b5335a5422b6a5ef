/* Access to the register file of a warp: a register is an array of 32 lanes. */
#ifndef PTXSIM_LANES_H
#define PTXSIM_LANES_H

#include <string.h>

#include "interpreter/state.h"

/* Compiles a function for baseline x86-64 and for AVX2; the dynamic linker selects one (IFUNC). Sanitizers
   initialise too late for the selecting code. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&                 \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(PTX_NO_CLONES)
#define PTX_CLONES __attribute__((target_clones("avx2", "default")))
#define PTX_CLONES_FMA __attribute__((target_clones("fma", "default")))
#else
#define PTX_CLONES
#define PTX_CLONES_FMA
#endif

/* Operands of an instruction are identical or disjoint slots, so that iterations over the lanes are
   independent. */
#if defined(__clang__)
#define PTX_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define PTX_IVDEP _Pragma("GCC ivdep")
#endif

/* Element types of register slots; a slot may be accessed with any of them. */
typedef uint32_t ptx_u32 __attribute__((may_alias));
typedef int32_t ptx_s32 __attribute__((may_alias));
typedef uint64_t ptx_u64 __attribute__((may_alias));
typedef int64_t ptx_s64 __attribute__((may_alias));
typedef float ptx_f32 __attribute__((may_alias));
typedef double ptx_f64 __attribute__((may_alias));

/* Short type names for the expressions of handlers. */
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef float f32;
typedef double f64;

/* An entry of the operand list. An index behind its end would read the operands of another instruction, which
   AddressSanitizer cannot detect, so that sanitized builds trap. */
static inline uint32_t ptx_operand_at(const ptx_instr *in, unsigned operand) {
#ifdef __SANITIZE_ADDRESS__
    if (operand >= in->operand_count)
        __builtin_trap();
#endif
    return in->op[operand];
}

static inline void *ptx_lanes(const ptx_warp *warp, const ptx_instr *in, unsigned operand) {
    return __builtin_assume_aligned(warp->registers + ptx_operand_at(in, operand), 64);
}

/* Bytes from one thread's local memory to the next. */
static inline size_t ptx_local_stride(const ptx_kernel *kernel) {
    return (kernel->local_bytes + 15) / 16 * 16;
}

/* The address register of a memory instruction. */
static inline const void *ptx_base_lanes(const ptx_warp *warp, const ptx_instr *in) {
    return __builtin_assume_aligned(warp->registers + in->base, 64);
}

static inline uint32_t *ptx_predicate(const ptx_warp *warp, const ptx_instr *in, unsigned operand) {
    return &warp->predicates[ptx_operand_at(in, operand)];
}

static inline void ptx_set_predicate(ptx_warp *warp, const ptx_instr *in, unsigned operand, uint32_t mask,
                                     uint32_t value) {
    uint32_t *p = ptx_predicate(warp, in, operand);
    *p = (*p & ~mask) | (value & mask);
}

/* Stores the addresses of all lanes of a memory instruction with a register address; returns true if they are
   consecutive with a distance of `size` bytes. */
bool ptx_read_addresses(const ptx_warp *warp, const ptx_instr *in, unsigned size,
                        uint64_t address[PTX_LANES]);

/* ---- operands of one lane ---- */

static inline u64 ptx_address_of(const ptx_warp *w, const ptx_instr *in, unsigned lane) {
    const void *base = ptx_base_lanes(w, in);
    if (in->address == PTX_ADDRESS_32)
        return (u32)(((const ptx_u32 *)base)[lane] + (u32)in->imm);
    return ((const ptx_u64 *)base)[lane] + (u64)in->imm;
}

/* The address in a pair of operands: base and offset. */
static inline u64 ptx_further_address(const ptx_warp *w, const ptx_instr *in, unsigned operand,
                                      unsigned lane) {
    u64 offset = ((const ptx_u64 *)ptx_lanes(w, in, operand + 1))[lane];
    if (ptx_is_wide(in, operand))
        return ((const ptx_u64 *)ptx_lanes(w, in, operand))[lane] + offset;
    return (u32)(((const ptx_u32 *)ptx_lanes(w, in, operand))[lane] + (u32)offset);
}

static inline u32 ptx_number_of(const ptx_warp *w, const ptx_instr *in, unsigned operand, unsigned lane) {
    return ((const ptx_u32 *)ptx_lanes(w, in, operand))[lane];
}

#endif
