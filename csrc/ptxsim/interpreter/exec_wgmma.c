/* Handlers of wgmma: matrix multiplication by the four warps of a warpgroup, 16 of 64 rows each.

   The result is computed when wgmma.mma_async is issued and written to the accumulator registers by
   wgmma.wait_group. Until then these hold poison, so that a missing wait shows. */
#include <stdlib.h>

#include "interpreter/address.h"
#include "interpreter/exec.h"
#include "interpreter/fault.h"
#include "interpreter/hooks.h"
#include "interpreter/matrix.h"
#include "interpreter/wgmma_state.h"
#include "reserve.h"

enum { REGISTER_BYTES = PTX_LANES * 4, WARPGROUP = 4, CHUNK = 16, N = PTX_CORE_COLUMNS };

/* Common checks. The digest of executed instructions must be equal in all warps of a warpgroup when they
   exit. */
static ptx_status begin_wgmma(ptx_warp *w, const ptx_instr *in, uint32_t mask) {
    ptx_status status = ptx_require_whole_warp(w, in, mask);
    if (status != PTX_OK)
        return status;
    if (w->index / WARPGROUP * WARPGROUP + WARPGROUP > w->worker->warp_count)
        return ptx_fault(w, in, -1, PTX_ERR_BARRIER,
                         "the block does not have all four warps of this warpgroup");
    w->warpgroup_digest = (w->warpgroup_digest + (u64)(in - w->worker->kernel->code)) * 0x9e3779b97f4a7c15u;
    w->warpgroup_last = in;
    if (w->wgmma)
        return PTX_OK;
    const size_t count = w->worker->kernel->register_bytes / REGISTER_BYTES;
    ptx_wgmma_state *p = calloc(1, sizeof *p);
    if (p) {
        p->registers = calloc(count, sizeof *p->registers);
        p->accumulators = malloc(count * REGISTER_BYTES);
    }
    w->wgmma = p;
    if (p && p->registers && p->accumulators)
        return PTX_OK;
    ptx_wgmma_free(w);
    return ptx_fault(w, in, -1, PTX_ERR_MEMORY, "out of memory for products");
}

PTX_HANDLER(wgmma_fence) {
    ptx_status status = begin_wgmma(w, in, mask);
    if (status != PTX_OK)
        return status;
    ptx_wgmma_state *p = w->wgmma;
    p->fenced = true;
    for (size_t i = 0; p->active && i < w->worker->kernel->register_bytes / REGISTER_BYTES; i++)
        p->registers[i].accessed = false;
    return PTX_OK;
}

PTX_HANDLER(wgmma_commit) {
    ptx_status status = begin_wgmma(w, in, mask);
    if (status == PTX_OK)
        w->wgmma->committed_groups++;
    return status;
}

static void write_back(ptx_warp *w, uint32_t index) {
    ptx_wgmma_register *reg = &w->wgmma->registers[index];
    memcpy(w->registers + (size_t)index * REGISTER_BYTES,
           w->wgmma->accumulators + (size_t)index * REGISTER_BYTES, REGISTER_BYTES);
    reg->accumulating = 0;
    reg->completed_sum = true;
    w->wgmma->pending--;
}

static void notify_read(const ptx_warp *w, const ptx_wgmma_read *read, bool completed) {
    const ptx_async event = {.grouped = true,
                             .completed = completed,
                             .bytes = read->bytes,
                             .from = {.block = w->block, .offset = read->offset}};
    ptx_hooks_async(w, read->in, &event);
}

PTX_HANDLER(wgmma_wait) {
    ptx_status status = begin_wgmma(w, in, mask);
    if (status != PTX_OK)
        return status;
    ptx_wgmma_state *p = w->wgmma;
    const u32 last = p->committed_groups > (u64)in->imm ? p->committed_groups - (u32)in->imm : 0;
    for (uint32_t i = 0; p->active && i < w->worker->kernel->register_bytes / REGISTER_BYTES; i++) {
        ptx_wgmma_register *reg = &p->registers[i];
        if (reg->accumulating && reg->accumulating <= last)
            write_back(w, i);
        if (reg->reading_a <= last)
            reg->reading_a = 0;
    }
    size_t remaining = 0;
    for (size_t i = 0; i < p->read_count; i++) {
        const ptx_wgmma_read read = p->reads[i];
        if (read.group > last)
            p->reads[remaining++] = read;
        else if (w->block->observer_count)
            notify_read(w, &read, true);
    }
    p->read_count = remaining;
    /* all lanes are convergent here, and the completed groups have read their operands */
    if (w->block->observer_count)
        ptx_hooks_warp_sync(w);
    return PTX_OK;
}

/* ---- operands in shared memory ---- */

/* A matrix in shared memory by its descriptor. Rows are those of A or the columns of B. They are contiguous
   if `transposed`, otherwise the k dimension is contiguous. */
typedef struct matrix {
    u32 start, leading, stride, base, width, swizzled;
    bool transposed;
} matrix;

static matrix matrix_of(u64 descriptor, bool transposed) {
    static const u32 widths[] = {CHUNK, 128, 64, 32};
    const u32 swizzle = (u32)(descriptor >> 62);
    return (matrix){.start = (u32)(descriptor & 0x3fff) << 4,
                    .leading = (u32)(descriptor >> 16 & 0x3fff) << 4,
                    .stride = (u32)(descriptor >> 32 & 0x3fff) << 4,
                    .base = (u32)(descriptor >> 49 & 7),
                    .width = widths[swizzle],
                    .swizzled = swizzle ? widths[swizzle] / CHUNK - 1 : 0,
                    .transposed = transposed};
}

/* Offset of the 16-byte chunk of row `row` at byte `k`; if transposed, of the chunk from row `row` on at
   index `k`. */
static u32 chunk_offset(const matrix *m, u32 row, u32 k) {
    const u32 outer = m->transposed ? row * 2 : k, inner = m->transposed ? k : row;
    u32 at = m->start + inner % 8 * m->width;
    if (m->swizzled)
        at += inner / 8 * m->stride +
              (m->transposed ? outer / m->width * m->leading + outer % m->width : outer);
    else if (m->transposed)
        at += outer / CHUNK * m->stride + inner / 8 * m->leading;
    else
        at += inner / 8 * m->stride + outer / CHUNK * m->leading;
    return at ^ (((at >> 7) - m->base) & m->swizzled) << 4;
}

typedef struct reader {
    ptx_warp *w;
    const ptx_instr *in;
    ptx_core_step step;
    u32 lowest, end; /* range of shared memory that was read */
} reader;

static ptx_status read_chunk(reader *r, u32 at, u32 *elements, unsigned stride) {
    const unsigned bytes = 4 / ptx_matrix_packed(r->step.type), count = CHUNK / bytes;
    uint8_t *host;
    ptx_status status = ptx_locate(r->w, r->in, 0, PTX_SPACE_SHARED, at, CHUNK, CHUNK, &host);
    if (status != PTX_OK)
        return status;
    for (unsigned i = 0; i < count; i++) {
        u32 bits = 0;
        memcpy(&bits, host + i * bytes, bytes);
        elements[i * stride] = bits;
    }
    r->lowest = at < r->lowest ? at : r->lowest;
    r->end = at + CHUNK > r->end ? at + CHUNK : r->end;
    return PTX_OK;
}

/* Reads rows from `first` on: element (row, k) is stored to bits[row * along + k * across]. */
static ptx_status read_matrix(reader *r, const matrix *m, u32 first, unsigned rows, u32 *bits,
                              unsigned row_stride, unsigned k_stride) {
    const unsigned bytes = 4 / ptx_matrix_packed(r->step.type), in_chunk = CHUNK / bytes;
    ptx_status status = PTX_OK;
    for (unsigned row = 0; row < rows; row += m->transposed ? in_chunk : 1)
        for (unsigned k = 0; k < r->step.k && status == PTX_OK; k += m->transposed ? 1 : in_chunk)
            status =
                read_chunk(r, chunk_offset(m, first + row, m->transposed ? k : k * bytes),
                           bits + row * row_stride + k * k_stride, m->transposed ? row_stride : k_stride);
    return status;
}

/* Records the range: it must not change before the group has been waited for. */
static ptx_status record_read(reader *r) {
    ptx_wgmma_state *p = r->w->wgmma;
    if (r->lowest >= r->end || !r->w->block->observer_count)
        return PTX_OK;
    if (!ptx_reserve(&p->reads, &p->read_capacity, p->read_count, sizeof *p->reads))
        return ptx_fault(r->w, r->in, -1, PTX_ERR_MEMORY, "out of memory for products");
    p->reads[p->read_count] = (ptx_wgmma_read){
        .group = p->committed_groups + 1, .in = r->in, .offset = r->lowest, .bytes = r->end - r->lowest};
    notify_read(r->w, &p->reads[p->read_count++], false);
    r->lowest = UINT32_MAX;
    r->end = 0;
    return PTX_OK;
}

/* ---- multiplication ---- */

/* Indices of the operands: D (as results, then as sources), A, B, and the predicate scale-d. */
typedef struct operand_layout {
    unsigned accumulators, a, b, keep;
    bool a_in_memory, negate_a, negate_b, a_transposed, b_transposed;
} operand_layout;

static operand_layout operand_layout_of(const ptx_instr *in, ptx_core_step step) {
    operand_layout at = {.accumulators = in->vector * (step.half ? 2u : 4u)};
    at.a = 2 * at.accumulators;
    at.keep = in->operand_count - 1;
    at.b = at.keep - 1;
    at.a_in_memory = at.b == at.a + 1;
    const bool turns = step.type == PTX_CORE_F16 || step.type == PTX_CORE_BF16;
    s64 immediates = in->imm; /* one byte per immediate, the last one lowest */
    if (turns) {
        at.b_transposed = immediates & 1;
        immediates >>= 8;
    }
    if (turns && at.a_in_memory) {
        at.a_transposed = immediates & 1;
        immediates >>= 8;
    }
    at.negate_b = immediates & 0x80;
    at.negate_a = immediates >> 8 & 0x80;
    return at;
}

static ptx_status check_registers(ptx_warp *w, const ptx_instr *in, const operand_layout *at) {
    const ptx_wgmma_state *p = w->wgmma;
    const ptx_kernel *kernel = w->worker->kernel;
    if (!p->fenced)
        return ptx_fault(w, in, -1, PTX_ERR_BARRIER,
                         "a wgmma.fence must come before the first wgmma.mma_async");
    for (unsigned i = 0; i < at->accumulators; i++) {
        const ptx_wgmma_register *reg = &p->registers[in->op[i] / REGISTER_BYTES];
        if (reg->accessed)
            return ptx_fault(
                w, in, -1, PTX_ERR_BARRIER,
                "registers of the sum have been read or written since the product at PTX line %u, and "
                "there was no wgmma.fence since",
                kernel->source[reg->in - kernel->code].line);
        if (reg->reading_a)
            return ptx_fault(w, in, -1, PTX_ERR_BARRIER,
                             "the wgmma.mma_async at PTX line %u still takes A from a register of the sum",
                             kernel->source[reg->in - kernel->code].line);
    }
    for (unsigned i = at->a; i < at->b && !at->a_in_memory; i++)
        if (ptx_role_of(in, i) == PTX_ROLE_READ && p->registers[in->op[i] / REGISTER_BYTES].accumulating)
            return ptx_fault(w, in, -1, PTX_ERR_BARRIER,
                             "a register of A is one that a wgmma.mma_async still sums into");
    return PTX_OK;
}

/* A wgmma that accumulates into registers of a pending one continues with its results. */
static void write_back_accumulators(ptx_warp *w, const ptx_instr *in, const operand_layout *at) {
    for (unsigned i = 0; i < at->accumulators; i++)
        if (w->wgmma->registers[in->op[i] / REGISTER_BYTES].accumulating)
            write_back(w, in->op[i] / REGISTER_BYTES);
}

static void start_accumulators(ptx_warp *w, const ptx_instr *in, const operand_layout *at) {
    ptx_wgmma_state *p = w->wgmma;
    for (unsigned i = 0; i < at->accumulators; i++) {
        const uint32_t index = in->op[i] / REGISTER_BYTES;
        memcpy(p->accumulators + (size_t)index * REGISTER_BYTES, w->registers + in->op[i], REGISTER_BYTES);
        memset(w->registers + in->op[i], PTX_POISON, REGISTER_BYTES);
        p->registers[index] = (ptx_wgmma_register){.accumulating = p->committed_groups + 1, .in = in};
        p->pending++;
    }
    for (unsigned i = at->a; i < at->b && !at->a_in_memory; i++) {
        if (ptx_role_of(in, i) != PTX_ROLE_READ) /* a constant */
            continue;
        p->registers[in->op[i] / REGISTER_BYTES].reading_a = p->committed_groups + 1;
        p->registers[in->op[i] / REGISTER_BYTES].in = in;
    }
    p->active = true;
}

static u64 descriptor(const ptx_warp *w, const ptx_instr *in, unsigned operand) {
    return ((const ptx_u64 *)ptx_lanes(w, in, operand))[0];
}

static ptx_status read_a(reader *r, const operand_layout *at, ptx_core_parts *parts) {
    u32 bits[PTX_CORE_ELEMENTS];
    const u32 first = r->w->index % WARPGROUP * PTX_CORE_ROWS;
    if (at->a_in_memory) {
        const matrix m = matrix_of(descriptor(r->w, r->in, at->a), at->a_transposed);
        ptx_status status = read_matrix(r, &m, first, PTX_CORE_ROWS, bits, r->step.k, 1);
        if (status == PTX_OK)
            status = record_read(r);
        if (status != PTX_OK)
            return status;
    } else {
        ptx_matrix_gather_a(r->w, r->in, at->a, r->step, bits);
    }
    ptx_core_split(r->step.type, bits, PTX_CORE_ROWS * r->step.k, at->negate_a, parts);
    return PTX_OK;
}

static ptx_status multiply_tiles(reader *r, const operand_layout *at) {
    ptx_warp *w = r->w;
    const ptx_instr *in = r->in;
    ptx_core_parts a, b;
    const matrix m = matrix_of(descriptor(w, in, at->b), at->b_transposed);
    const bool keep = *ptx_predicate(w, in, at->keep) & 1;
    ptx_status status = read_a(r, at, &a);
    for (unsigned i = 0; i < in->vector && status == PTX_OK; i++) {
        const unsigned first = i * (r->step.half ? 2 : 4);
        u32 bits[PTX_CORE_K * N], d[PTX_CORE_ROWS * N] = {0};
        status = read_matrix(r, &m, i * N, N, bits, 1, N);
        if (status != PTX_OK)
            break;
        ptx_core_split(r->step.type, bits, N * r->step.k, at->negate_b, &b);
        if (keep)
            ptx_matrix_gather_c(w, in, first, r->step.half, d);
        ptx_core_multiply(r->step, PTX_CORE_ROWS, &a, &b, d);
        ptx_matrix_scatter_d(w, in, first, r->step.half, d);
    }
    return status == PTX_OK ? record_read(r) : status;
}

static ptx_status multiply(ptx_warp *w, const ptx_instr *in, uint32_t mask, ptx_core_step step) {
    const operand_layout at = operand_layout_of(in, step);
    reader r = {.w = w, .in = in, .step = step, .lowest = UINT32_MAX};
    ptx_status status = begin_wgmma(w, in, mask);
    if (status == PTX_OK)
        status = check_registers(w, in, &at);
    if (status != PTX_OK)
        return status;
    write_back_accumulators(w, in, &at);
    status = multiply_tiles(&r, &at);
    if (status == PTX_OK)
        start_accumulators(w, in, &at);
    return status;
}

#define WGMMA(name, type, half, k)                                                                           \
    PTX_HANDLER(wgmma_##name) {                                                                              \
        return multiply(w, in, mask, (ptx_core_step){type, half, k});                                        \
    }

WGMMA(tf32, PTX_CORE_TF32, false, 8)
WGMMA(bf16, PTX_CORE_BF16, false, 16)
WGMMA(f16, PTX_CORE_F16, false, 16)
WGMMA(half, PTX_CORE_F16, true, 16)
WGMMA(e4m3, PTX_CORE_E4M3, false, 32)
WGMMA(e5m2, PTX_CORE_E5M2, false, 32)
