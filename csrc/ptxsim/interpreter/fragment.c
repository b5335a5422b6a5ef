/* The table of fragments, and moves between matrices and registers. */
#include "interpreter/fragment.h"

#define ROW(n) (uint16_t)((n) << 8)
#define COL(n) (uint16_t)(n)
#define LANES(...)                                                                                           \
    { __VA_ARGS__ }
#define ELEMENTS(...)                                                                                        \
    { __VA_ARGS__ }

static const ptx_fragment fragments[] = {
#define FRAGMENT(operand, rows, columns, bytes, lanes, elements)                                             \
    {PTX_FRAGMENT_##operand, rows, columns, bytes, lanes, elements},
#include "interpreter/fragments.def"
#undef FRAGMENT
};
enum { FRAGMENTS = sizeof fragments / sizeof fragments[0] };

const ptx_fragment *ptx_fragment_find(const ptx_instr *in, ptx_fragment_operand operand, unsigned bytes) {
    const ptx_shape_size size = ptx_shape_size_of((ptx_shape)in->shape);
    const unsigned rows = operand == PTX_FRAGMENT_B ? size.k : size.m;
    const unsigned columns = operand == PTX_FRAGMENT_A ? size.k : size.n;
    const ptx_fragment *f = fragments;
    while (f < fragments + FRAGMENTS - 1 &&
           !(f->operand == operand && f->rows == rows && f->columns == columns && f->bytes == bytes))
        f++;
    return f;
}

unsigned ptx_fragment_registers(const ptx_fragment *f, bool f16) {
    enum { REGISTERS_F16 = 8 };
    if (f16 && f->operand != PTX_FRAGMENT_C)
        return REGISTERS_F16;
    return f->rows * f->columns / ptx_fragment_packed(f) / PTX_LANES;
}

unsigned ptx_fragment_lane_place(const ptx_fragment *f, unsigned lane) {
    unsigned place = 0;
    for (unsigned bit = 0; bit < PTX_FRAGMENT_LANE_BITS; bit++)
        place += lane >> bit & 1 ? f->lane[bit] : 0;
    return place;
}

unsigned ptx_fragment_element_place(const ptx_fragment *f, unsigned element, bool *repeated) {
    unsigned place = 0;
    *repeated = false;
    for (unsigned bit = 0; bit < PTX_FRAGMENT_ELEMENT_BITS; bit++)
        if (element >> bit & 1) {
            place += f->element[bit];
            *repeated |= f->element[bit] == 0;
        }
    return place;
}

/* Index in the matrix, row-major. */
static inline unsigned index_of(const ptx_fragment *f, unsigned place) {
    return ptx_place_row(place) * f->columns + ptx_place_column(place);
}

static void find_lanes(const ptx_fragment *f, unsigned *index) {
    for (unsigned i = 0; i < PTX_LANES; i++)
        index[i] = index_of(f, ptx_fragment_lane_place(f, i));
}

void ptx_fragment_gather(const ptx_warp *w, const ptx_instr *in, const ptx_fragment *f, unsigned first,
                         unsigned count, uint32_t *matrix) {
    const unsigned packed = ptx_fragment_packed(f), width = 8 * f->bytes;
    unsigned lane[PTX_LANES];
    find_lanes(f, lane);
    for (unsigned r = 0; r < count; r++) {
        const ptx_u32 *registers = ptx_lanes(w, in, first + r);
        for (unsigned e = 0; e < packed; e++) {
            bool repeated;
            const unsigned at = index_of(f, ptx_fragment_element_place(f, r * packed + e, &repeated));
            if (repeated)
                continue;
            for (unsigned i = 0; i < PTX_LANES; i++)
                matrix[lane[i] + at] = registers[i] >> e * width & UINT32_MAX >> (32 - width);
        }
    }
}

void ptx_fragment_scatter(ptx_warp *w, const ptx_instr *in, const ptx_fragment *f, unsigned first,
                          unsigned count, const uint32_t *matrix) {
    const unsigned packed = ptx_fragment_packed(f), width = 8 * f->bytes;
    unsigned lane[PTX_LANES];
    find_lanes(f, lane);
    for (unsigned r = 0; r < count; r++) {
        ptx_u32 *registers = ptx_lanes(w, in, first + r);
        memset(registers, 0, PTX_LANES * sizeof *registers);
        for (unsigned e = 0; e < packed; e++) {
            bool repeated;
            const unsigned at = index_of(f, ptx_fragment_element_place(f, r * packed + e, &repeated));
            for (unsigned i = 0; i < PTX_LANES; i++)
                registers[i] |= matrix[lane[i] + at] << e * width;
        }
    }
}
