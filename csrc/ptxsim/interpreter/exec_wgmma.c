/* wgmma: products of matrices by the four warps of a warpgroup, each of which has 16 of 64 rows. A product is
   computed when it begins; its sums come to their registers when it has been waited for, and until then these
   hold poison. */
#include <stdlib.h>

#include "interpreter/address.h"
#include "interpreter/collective.h"
#include "interpreter/exec.h"
#include "interpreter/fault.h"
#include "interpreter/hooks.h"
#include "interpreter/matrix.h"
#include "interpreter/products.h"
#include "reserve.h"

enum { UNIT = PTX_LANES * 4, WARPGROUP = 4, CHUNK = 16, N = PTX_CORE_COLUMNS };

/* What the warps of a warpgroup have executed must be the same, which is looked at when they end. */
static ptx_status begin(ptx_warp *w, const ptx_instr *in, uint32_t mask) {
    ptx_status status = ptx_need_whole_warp(w, in, mask);
    if (status != PTX_OK)
        return status;
    if (w->index / WARPGROUP * WARPGROUP + WARPGROUP > w->worker->warp_count)
        return ptx_fault(w, in, -1, PTX_ERR_BARRIER, "the block has not all four warps of this warpgroup");
    w->registers_asked = (w->registers_asked + (u64)(in - w->worker->kernel->code)) * 0x9e3779b97f4a7c15u;
    w->registers_in = in;
    if (w->products)
        return PTX_OK;
    const size_t units = w->worker->kernel->register_bytes / UNIT;
    ptx_products *p = calloc(1, sizeof *p);
    if (p) {
        p->units = calloc(units, sizeof *p->units);
        p->sums = malloc(units * UNIT);
    }
    w->products = p;
    if (p && p->units && p->sums)
        return PTX_OK;
    ptx_products_free(w);
    return ptx_fault(w, in, -1, PTX_ERR_MEMORY, "out of memory for products");
}

PTX_HANDLER(wgmma_fence) {
    ptx_status status = begin(w, in, mask);
    if (status != PTX_OK)
        return status;
    ptx_products *p = w->products;
    p->fenced = true;
    for (size_t i = 0; p->watched && i < w->worker->kernel->register_bytes / UNIT; i++)
        p->units[i].touched = false;
    return PTX_OK;
}

PTX_HANDLER(wgmma_commit) {
    ptx_status status = begin(w, in, mask);
    if (status == PTX_OK)
        w->products->groups++;
    return status;
}

static void land(ptx_warp *w, uint32_t unit) {
    ptx_product_unit *u = &w->products->units[unit];
    memcpy(w->registers + (size_t)unit * UNIT, w->products->sums + (size_t)unit * UNIT, UNIT);
    u->summing = 0;
    u->landed = true;
    w->products->pending--;
}

static void tell(const ptx_warp *w, const ptx_product_span *span, bool over) {
    const ptx_async read = {.grouped = true,
                            .over = over,
                            .bytes = span->bytes,
                            .from = {.block = w->block, .offset = span->offset}};
    ptx_hooks_async(w, span->in, &read);
}

PTX_HANDLER(wgmma_wait) {
    ptx_status status = begin(w, in, mask);
    if (status != PTX_OK)
        return status;
    ptx_products *p = w->products;
    const u32 last = p->groups > (u64)in->imm ? p->groups - (u32)in->imm : 0;
    for (uint32_t i = 0; p->watched && i < w->worker->kernel->register_bytes / UNIT; i++) {
        ptx_product_unit *u = &p->units[i];
        if (u->summing && u->summing <= last)
            land(w, i);
        if (u->lent <= last)
            u->lent = 0;
    }
    size_t kept = 0;
    for (size_t i = 0; i < p->span_count; i++) {
        const ptx_product_span span = p->spans[i];
        if (span.group > last)
            p->spans[kept++] = span;
        else if (w->block->observer_count)
            tell(w, &span, true);
    }
    p->span_count = kept;
    /* All lanes are here, and what the products have read or taken from them has been read. */
    if (w->block->observer_count)
        ptx_hooks_warp_sync(w);
    return PTX_OK;
}

/* ---- operands in shared memory ---- */

/* A matrix by its descriptor. `rows` are those of A, or columns of B; with them one behind the other
   (`transposed`), else with the products' factors. */
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

/* Where the 16 bytes are that hold a row's factor at byte `k`, or from row `row` on factor number `k`. */
static u32 chunk_of(const matrix *m, u32 row, u32 k) {
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
    u32 lowest, end; /* of all that is read */
} reader;

static ptx_status read_chunk(reader *r, u32 at, u32 *elements, unsigned stride) {
    const unsigned bytes = 4 / ptx_matrix_packed(r->step.type), count = CHUNK / bytes;
    uint8_t *place;
    ptx_status status = ptx_locate(r->w, r->in, 0, PTX_SPACE_SHARED, at, CHUNK, CHUNK, &place);
    if (status != PTX_OK)
        return status;
    for (unsigned i = 0; i < count; i++) {
        u32 bits = 0;
        memcpy(&bits, place + i * bytes, bytes);
        elements[i * stride] = bits;
    }
    r->lowest = at < r->lowest ? at : r->lowest;
    r->end = at + CHUNK > r->end ? at + CHUNK : r->end;
    return PTX_OK;
}

/* Rows from `first` on: element (row, k) goes to bits[row * along + k * across]. */
static ptx_status read_matrix(reader *r, const matrix *m, u32 first, unsigned rows, u32 *bits, unsigned along,
                              unsigned across) {
    const unsigned bytes = 4 / ptx_matrix_packed(r->step.type), in_chunk = CHUNK / bytes;
    ptx_status status = PTX_OK;
    for (unsigned row = 0; row < rows; row += m->transposed ? in_chunk : 1)
        for (unsigned k = 0; k < r->step.k && status == PTX_OK; k += m->transposed ? 1 : in_chunk)
            status = read_chunk(r, chunk_of(m, first + row, m->transposed ? k : k * bytes),
                                bits + row * along + k * across, m->transposed ? along : across);
    return status;
}

/* What has been read is not to change before it has been waited for. */
static ptx_status note_read(reader *r) {
    ptx_products *p = r->w->products;
    if (r->lowest >= r->end || !r->w->block->observer_count)
        return PTX_OK;
    if (!ptx_reserve(&p->spans, &p->span_capacity, p->span_count, sizeof *p->spans))
        return ptx_fault(r->w, r->in, -1, PTX_ERR_MEMORY, "out of memory for products");
    p->spans[p->span_count] = (ptx_product_span){
        .group = p->groups + 1, .in = r->in, .offset = r->lowest, .bytes = r->end - r->lowest};
    tell(r->w, &p->spans[p->span_count++], false);
    r->lowest = UINT32_MAX;
    r->end = 0;
    return PTX_OK;
}

/* ---- products ---- */

/* Where the operands begin: D as it is written and as it is read, A, B, and whether there is an addend. */
typedef struct places {
    unsigned sums, a, b, keep;
    bool a_in_memory, minus_a, minus_b, a_transposed, b_transposed;
} places;

static places places_of(const ptx_instr *in, ptx_core_step step) {
    places at = {.sums = in->vector * (step.half ? 2u : 4u)};
    at.a = 2 * at.sums;
    at.keep = in->operand_count - 1;
    at.b = at.keep - 1;
    at.a_in_memory = at.b == at.a + 1;
    const bool turns = step.type == PTX_CORE_F16 || step.type == PTX_CORE_BF16;
    s64 said = in->imm; /* a byte each, the last one lowest */
    if (turns) {
        at.b_transposed = said & 1;
        said >>= 8;
    }
    if (turns && at.a_in_memory) {
        at.a_transposed = said & 1;
        said >>= 8;
    }
    at.minus_b = said & 0x80;
    at.minus_a = said >> 8 & 0x80;
    return at;
}

static ptx_status check_registers(ptx_warp *w, const ptx_instr *in, const places *at) {
    const ptx_products *p = w->products;
    const ptx_kernel *kernel = w->worker->kernel;
    if (!p->fenced)
        return ptx_fault(w, in, -1, PTX_ERR_BARRIER,
                         "a wgmma.fence must come before the first wgmma.mma_async");
    for (unsigned i = 0; i < at->sums; i++) {
        const ptx_product_unit *u = &p->units[in->op[i] / UNIT];
        if (u->touched)
            return ptx_fault(
                w, in, -1, PTX_ERR_BARRIER,
                "registers of the sum have been read or written since the product at PTX line %u, and "
                "there was no wgmma.fence since",
                kernel->source[u->in - kernel->code].line);
        if (u->lent)
            return ptx_fault(w, in, -1, PTX_ERR_BARRIER,
                             "the wgmma.mma_async at PTX line %u still takes A from a register of the sum",
                             kernel->source[u->in - kernel->code].line);
    }
    for (unsigned i = at->a; i < at->b && !at->a_in_memory; i++)
        if (ptx_role_of(in, i) == PTX_ROLE_READ && p->units[in->op[i] / UNIT].summing)
            return ptx_fault(w, in, -1, PTX_ERR_BARRIER,
                             "a register of A is one that a wgmma.mma_async still sums into");
    return PTX_OK;
}

/* The registers of D get what they are to hold; those of products under way give it. */
static void bring_sums(ptx_warp *w, const ptx_instr *in, const places *at) {
    for (unsigned i = 0; i < at->sums; i++)
        if (w->products->units[in->op[i] / UNIT].summing)
            land(w, in->op[i] / UNIT);
}

static void begin_sums(ptx_warp *w, const ptx_instr *in, const places *at) {
    ptx_products *p = w->products;
    for (unsigned i = 0; i < at->sums; i++) {
        const uint32_t unit = in->op[i] / UNIT;
        memcpy(p->sums + (size_t)unit * UNIT, w->registers + in->op[i], UNIT);
        memset(w->registers + in->op[i], PTX_POISON, UNIT);
        p->units[unit] = (ptx_product_unit){.summing = p->groups + 1, .in = in};
        p->pending++;
    }
    for (unsigned i = at->a; i < at->b && !at->a_in_memory; i++) {
        if (ptx_role_of(in, i) != PTX_ROLE_READ) /* a constant */
            continue;
        p->units[in->op[i] / UNIT].lent = p->groups + 1;
        p->units[in->op[i] / UNIT].in = in;
    }
    p->watched = true;
}

static u64 descriptor(const ptx_warp *w, const ptx_instr *in, unsigned operand) {
    return ((const ptx_u64 *)ptx_lanes(w, in, operand))[0];
}

static ptx_status read_a(reader *r, const places *at, ptx_core_parts *parts) {
    u32 bits[PTX_CORE_ELEMENTS];
    const u32 first = r->w->index % WARPGROUP * PTX_CORE_ROWS;
    if (at->a_in_memory) {
        const matrix m = matrix_of(descriptor(r->w, r->in, at->a), at->a_transposed);
        ptx_status status = read_matrix(r, &m, first, PTX_CORE_ROWS, bits, r->step.k, 1);
        if (status == PTX_OK)
            status = note_read(r);
        if (status != PTX_OK)
            return status;
    } else {
        ptx_matrix_gather_a(r->w, r->in, at->a, r->step, bits);
    }
    ptx_core_split(r->step.type, bits, PTX_CORE_ROWS * r->step.k, at->minus_a, parts);
    return PTX_OK;
}

static ptx_status multiply_all(reader *r, const places *at) {
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
        ptx_core_split(r->step.type, bits, N * r->step.k, at->minus_b, &b);
        if (keep)
            ptx_matrix_gather_c(w, in, first, r->step.half, d);
        ptx_core_multiply(r->step, PTX_CORE_ROWS, &a, &b, d);
        ptx_matrix_scatter_d(w, in, first, r->step.half, d);
    }
    return status == PTX_OK ? note_read(r) : status;
}

static ptx_status multiply(ptx_warp *w, const ptx_instr *in, uint32_t mask, ptx_core_step step) {
    const places at = places_of(in, step);
    reader r = {.w = w, .in = in, .step = step, .lowest = UINT32_MAX};
    ptx_status status = begin(w, in, mask);
    if (status == PTX_OK)
        status = check_registers(w, in, &at);
    if (status != PTX_OK)
        return status;
    bring_sums(w, in, &at);
    status = multiply_all(&r, &at);
    if (status == PTX_OK)
        begin_sums(w, in, &at);
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
