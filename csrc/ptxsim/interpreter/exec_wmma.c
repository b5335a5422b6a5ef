/* Handlers of wmma: loads and stores of fragments, and products of fragments. A product is that of mma, whose
   arithmetic is in tensor_core.c; of integers it is exact. */
#include "interpreter/address.h"
#include "interpreter/exec.h"
#include "interpreter/fault.h"
#include "interpreter/fragment.h"
#include "interpreter/half.h"
#include "interpreter/hooks.h"
#include "interpreter/tensor_core.h"

enum { MAX_ACCESS = 16 /* bytes per lane of an access that is reported */ };

/* ---- matrices in memory ---- */

/* A matrix in memory: consecutive elements form lines, which are rows, or columns of a column-major
   matrix. */
typedef struct matrix {
    const ptx_fragment *fragment;
    bool column_major;
    unsigned lines, length; /* length: elements per line */
    u64 address, stride;    /* stride: bytes from line to line */
    uint8_t *line[PTX_FRAGMENT_LINES];
} matrix;

static unsigned line_of(const matrix *m, unsigned place) {
    return m->column_major ? ptx_place_column(place) : ptx_place_row(place);
}

static unsigned position_in_line(const matrix *m, unsigned place) {
    return m->column_major ? ptx_place_row(place) : ptx_place_column(place);
}

static u64 address_of(const ptx_warp *w, const ptx_instr *in, unsigned lane) {
    return in->address == PTX_ADDRESS_UNIFORM ? *(const ptx_u64 *)ptx_base_lanes(w, in)
                                              : ptx_address_of(w, in, lane);
}

/* Operand `registers` is the stride in elements, if there is one. */
static u64 stride_of(const ptx_warp *w, const ptx_instr *in, unsigned registers, unsigned lane,
                     const matrix *m) {
    const u32 elements =
        in->operand_count > registers ? ptx_number_of(w, in, registers, lane) : (u32)m->length;
    return (u64)elements * m->fragment->bytes;
}

static ptx_status locate(ptx_warp *w, const ptx_instr *in, unsigned registers, matrix *m) {
    const ptx_fragment *f = m->fragment;
    m->column_major = in->first_is_column_major;
    m->lines = m->column_major ? f->columns : f->rows;
    m->length = m->column_major ? f->rows : f->columns;
    m->address = address_of(w, in, 0);
    m->stride = stride_of(w, in, registers, 0, m);
    for (unsigned i = 1; i < PTX_LANES; i++)
        if (address_of(w, in, i) != m->address || stride_of(w, in, registers, i, m) != m->stride)
            return ptx_fault(w, in, (int)i, PTX_ERR_ADDRESS,
                             "the address or the stride of the matrix differs from that of lane 0");
    ptx_status status = PTX_OK;
    for (unsigned i = 0; i < m->lines && status == PTX_OK; i++)
        status = ptx_locate(w, in, 0, in->space, m->address + i * m->stride, (u64)m->length * f->bytes,
                            f->bytes < 4 ? 4 : f->bytes, &m->line[i]);
    return status;
}

/* ---- accesses, for observers ---- */

/* The number of elements of a lane that are consecutive in memory. */
static unsigned run_length(const matrix *m) {
    const ptx_fragment *f = m->fragment;
    unsigned run = 1;
    for (unsigned bit = 0; bit < PTX_FRAGMENT_ELEMENT_BITS && run * f->bytes < MAX_ACCESS; bit++) {
        const unsigned place = f->element[bit];
        if (line_of(m, place) || position_in_line(m, place) != run)
            break;
        run *= 2;
    }
    return run;
}

static ptx_space space_of(const ptx_instr *in, u64 *address) {
    if (in->space != PTX_SPACE_GENERIC)
        return (ptx_space)in->space;
    const u64 offset = *address - PTX_SHARED_WINDOW;
    if (offset >= PTX_SHARED_WINDOW_BYTES)
        return PTX_SPACE_GLOBAL;
    *address = offset;
    return offset < PTX_SHARED_PART ? PTX_SPACE_SHARED : PTX_SPACE_CLUSTER;
}

/* Reports one access per run of elements of a lane. */
static void report(const ptx_warp *w, const ptx_instr *in, const matrix *m, unsigned elements,
                   ptx_effect effect) {
    const unsigned run = run_length(m), bytes = m->fragment->bytes;
    u64 start = m->address;
    const ptx_space space = space_of(in, &start);
    for (unsigned e = 0; e < elements; e += run) {
        bool repeated;
        const unsigned at = ptx_fragment_element_place(m->fragment, e, &repeated);
        if (repeated)
            continue;
        ptx_access access = {.effect = effect, .space = space, .mask = PTX_ALL_LANES, .bytes = run * bytes};
        for (unsigned i = 0; i < PTX_LANES; i++) {
            const unsigned place = at + ptx_fragment_lane_place(m->fragment, i);
            access.address[i] =
                start + line_of(m, place) * m->stride + (u64)position_in_line(m, place) * bytes;
        }
        ptx_hooks_access(w, in, &access);
    }
}

/* ---- loads and stores ---- */

static u64 read_element(const matrix *m, unsigned place) {
    const unsigned bytes = m->fragment->bytes;
    u64 value = 0;
    memcpy(&value, m->line[line_of(m, place)] + position_in_line(m, place) * bytes, bytes);
    return value;
}

static void write_element(const matrix *m, unsigned place, u64 value) {
    const unsigned bytes = m->fragment->bytes;
    memcpy(m->line[line_of(m, place)] + position_in_line(m, place) * bytes, &value, bytes);
}

/* Finds a matrix in memory, and reports the accesses of the whole warp to it. */
static ptx_status reach(ptx_warp *w, const ptx_instr *in, uint32_t mask, unsigned registers,
                        ptx_effect effect, matrix *m) {
    ptx_status status = ptx_require_whole_warp(w, in, mask);
    if (status == PTX_OK)
        status = locate(w, in, registers, m);
    if (status == PTX_OK && w->block->observer_count)
        report(w, in, m, registers * ptx_fragment_packed(m->fragment), effect);
    return status;
}

static ptx_status load(ptx_warp *w, const ptx_instr *in, uint32_t mask, ptx_fragment_operand operand) {
    const unsigned bytes = in->type ? ptx_type_bytes(in->type) : 4; /* tf32 is no type of registers */
    matrix m = {.fragment = ptx_fragment_find(in, operand, bytes)};
    const unsigned registers = ptx_fragment_registers(m.fragment, in->type == PTX_TYPE_F16);
    const unsigned packed = ptx_fragment_packed(m.fragment);
    bool repeated;
    const ptx_status status = reach(w, in, mask, registers, PTX_EFFECT_LOAD, &m);
    if (status != PTX_OK)
        return status;
    for (unsigned i = 0; i < PTX_LANES; i++) {
        const unsigned lane = ptx_fragment_lane_place(m.fragment, i);
        for (unsigned r = 0; r < registers; r++) {
            u64 value = 0;
            for (unsigned e = 0; e < packed; e++)
                value |=
                    read_element(&m, lane + ptx_fragment_element_place(m.fragment, r * packed + e, &repeated))
                    << 8 * bytes * e;
            if (bytes == 8)
                ((ptx_u64 *)ptx_lanes(w, in, r))[i] = value;
            else
                ((ptx_u32 *)ptx_lanes(w, in, r))[i] = (u32)value;
        }
    }
    return PTX_OK;
}

PTX_HANDLER(wmma_load_a) {
    return load(w, in, mask, PTX_FRAGMENT_A);
}

PTX_HANDLER(wmma_load_b) {
    return load(w, in, mask, PTX_FRAGMENT_B);
}

PTX_HANDLER(wmma_load_c) {
    return load(w, in, mask, PTX_FRAGMENT_C);
}

PTX_HANDLER(wmma_store) {
    const unsigned bytes = ptx_type_bytes(in->type);
    matrix m = {.fragment = ptx_fragment_find(in, PTX_FRAGMENT_C, bytes)};
    const unsigned registers = ptx_fragment_registers(m.fragment, false);
    const unsigned packed = ptx_fragment_packed(m.fragment);
    const ptx_status status = reach(w, in, mask, registers, PTX_EFFECT_STORE, &m);
    if (status != PTX_OK)
        return status;
    for (unsigned i = 0; i < PTX_LANES; i++) {
        const unsigned lane = ptx_fragment_lane_place(m.fragment, i);
        for (unsigned k = 0; k < registers * packed; k++) {
            bool repeated;
            const unsigned place = lane + ptx_fragment_element_place(m.fragment, k, &repeated);
            const void *lanes = ptx_lanes(w, in, k / packed);
            write_element(&m, place,
                          bytes == 8 ? ((const ptx_u64 *)lanes)[i]
                                     : ((const ptx_u32 *)lanes)[i] >> k % packed * 8 * bytes);
        }
    }
    return PTX_OK;
}

/* ---- products ---- */

/* The matrices of a product, row-major, as bits. */
typedef struct product {
    ptx_shape_size size;
    u32 a[PTX_FRAGMENT_ELEMENTS], b[PTX_FRAGMENT_ELEMENTS], d[PTX_FRAGMENT_ELEMENTS];
} product;

/* Bytes of an element of A and B, of C, and of D. */
typedef struct element_sizes {
    unsigned ab, c, d;
} element_sizes;

/* Reads A and B, and C into d. */
static ptx_status gather(ptx_warp *w, const ptx_instr *in, uint32_t mask, element_sizes bytes, bool f16,
                         product *p) {
    const ptx_status status = ptx_require_whole_warp(w, in, mask);
    if (status != PTX_OK)
        return status;
    const ptx_fragment *a = ptx_fragment_find(in, PTX_FRAGMENT_A, bytes.ab),
                       *b = ptx_fragment_find(in, PTX_FRAGMENT_B, bytes.ab),
                       *c = ptx_fragment_find(in, PTX_FRAGMENT_C, bytes.c);
    const unsigned of_a = ptx_fragment_registers(a, f16), of_b = ptx_fragment_registers(b, f16);
    const unsigned of_d = ptx_fragment_registers(ptx_fragment_find(in, PTX_FRAGMENT_C, bytes.d), false);
    p->size = ptx_shape_size_of((ptx_shape)in->shape);
    ptx_fragment_gather(w, in, a, of_d, of_a, p->a);
    ptx_fragment_gather(w, in, b, of_d + of_a, of_b, p->b);
    ptx_fragment_gather(w, in, c, of_d + of_a + of_b, ptx_fragment_registers(c, false), p->d);
    return PTX_OK;
}

static void scatter(ptx_warp *w, const ptx_instr *in, unsigned bytes, const product *p) {
    const ptx_fragment *d = ptx_fragment_find(in, PTX_FRAGMENT_C, bytes);
    ptx_fragment_scatter(w, in, d, 0, ptx_fragment_registers(d, false), p->d);
}

/* Copies `rows` rows of `columns` elements between matrices whose rows are `from_stride` and `to_stride`
   elements apart. */
static void copy_rows(u32 *to, unsigned to_stride, const u32 *from, unsigned from_stride, unsigned rows,
                      unsigned columns) {
    for (unsigned i = 0; i < rows; i++)
        memcpy(to + i * to_stride, from + i * from_stride, columns * sizeof *to);
}

/* Multiplies the columns of A and the rows of B from k on, in blocks of at most 16 rows and of 8 columns. Not
   inlined, as the matrices of both functions would not fit one stack frame. */
__attribute__((noinline)) static void multiply_step(product *p, ptx_core_step step, unsigned k) {
    const unsigned rows = p->size.m < PTX_CORE_ROWS ? p->size.m : PTX_CORE_ROWS, n = p->size.n;
    u32 a[PTX_CORE_ELEMENTS], b[PTX_CORE_K * PTX_CORE_COLUMNS], d[PTX_CORE_ROWS * PTX_CORE_COLUMNS];
    ptx_core_parts parts_a, parts_b;
    for (unsigned row = 0; row < p->size.m; row += rows) {
        copy_rows(a, step.k, p->a + row * p->size.k + k, p->size.k, rows, step.k);
        ptx_core_split(step.type, a, rows * step.k, false, &parts_a);
        for (unsigned column = 0; column < n; column += PTX_CORE_COLUMNS) {
            u32 *sums = p->d + row * n + column;
            copy_rows(b, PTX_CORE_COLUMNS, p->b + k * n + column, n, step.k, PTX_CORE_COLUMNS);
            ptx_core_split(step.type, b, PTX_CORE_COLUMNS * step.k, false, &parts_b);
            copy_rows(d, PTX_CORE_COLUMNS, sums, n, rows, PTX_CORE_COLUMNS);
            ptx_core_multiply(step, rows, &parts_a, &parts_b, d);
            copy_rows(sums, n, d, PTX_CORE_COLUMNS, rows, PTX_CORE_COLUMNS);
        }
    }
}

/* As measured on an H200: tf32 takes two steps; results of f16 with addends of f32 are rounded at the end. */
static ptx_status multiply(ptx_warp *w, const ptx_instr *in, uint32_t mask, ptx_core_type type, bool half_c,
                           bool half_d) {
    product p;
    const element_sizes bytes = {type == PTX_CORE_TF32 ? 4 : 2, half_c ? 2 : 4, half_d ? 2 : 4};
    const ptx_status status = gather(w, in, mask, bytes, type == PTX_CORE_F16, &p);
    if (status != PTX_OK)
        return status;
    const unsigned count = p.size.m * p.size.n;
    const ptx_core_step step = {type, half_c && half_d, type == PTX_CORE_TF32 ? 4 : p.size.k};
    for (unsigned i = 0; half_c && !half_d && i < count; i++)
        p.d[i] = ptx_bits_f32(ptx_f32_of_half(p.d[i]));
    for (unsigned k = 0; k < p.size.k; k += step.k)
        multiply_step(&p, step, k);
    for (unsigned i = 0; half_d && !half_c && i < count; i++)
        p.d[i] = ptx_half_of_f32(ptx_f32_of(p.d[i]));
    scatter(w, in, bytes.d, &p);
    return PTX_OK;
}

/* The types of D and C are the last two of the opcode. */
PTX_HANDLER(wmma_f16) {
    return multiply(w, in, mask, PTX_CORE_F16, in->type == PTX_TYPE_F16, in->type2 == PTX_TYPE_F16);
}

PTX_HANDLER(wmma_bf16) {
    return multiply(w, in, mask, PTX_CORE_BF16, false, false);
}

PTX_HANDLER(wmma_tf32) {
    return multiply(w, in, mask, PTX_CORE_TF32, false, false);
}

/* ---- integers ---- */

static s32 byte_value(u32 bits, bool is_signed) {
    return is_signed ? (s32)(bits ^ 0x80) - 0x80 : (s32)bits;
}

static u32 saturated(s64 value) {
    return value > INT32_MAX ? (u32)INT32_MAX : value < INT32_MIN ? (u32)INT32_MIN : (u32)value;
}

static ptx_status multiply_bytes(ptx_warp *w, const ptx_instr *in, uint32_t mask, bool saturates) {
    product p;
    const bool is_signed = ptx_type_class(in->type2) == PTX_CLASS_S;
    const ptx_status status = gather(w, in, mask, (element_sizes){1, 4, 4}, false, &p);
    if (status != PTX_OK)
        return status;
    for (unsigned row = 0; row < p.size.m; row++)
        for (unsigned column = 0; column < p.size.n; column++) {
            u32 *d = &p.d[row * p.size.n + column];
            s64 sum = (s32)*d;
            for (unsigned k = 0; k < p.size.k; k++)
                sum += byte_value(p.a[row * p.size.k + k], is_signed) *
                       byte_value(p.b[k * p.size.n + column], is_signed);
            *d = saturates ? saturated(sum) : (u32)sum;
        }
    scatter(w, in, 4, &p);
    return PTX_OK;
}

PTX_HANDLER(wmma_bytes) {
    return multiply_bytes(w, in, mask, false);
}

PTX_HANDLER(wmma_bytes_saturated) {
    return multiply_bytes(w, in, mask, true);
}
