/* Fragments of wmma: how matrices are distributed over the registers and lanes of a warp. */
#ifndef PTXSIM_FRAGMENT_H
#define PTXSIM_FRAGMENT_H

#include "interpreter/lanes.h"

/* C stands for D, too. */
typedef enum ptx_fragment_operand { PTX_FRAGMENT_A, PTX_FRAGMENT_B, PTX_FRAGMENT_C } ptx_fragment_operand;

enum {
    PTX_FRAGMENT_LANE_BITS = 5,
    PTX_FRAGMENT_ELEMENT_BITS = 4,
    PTX_FRAGMENT_ELEMENTS = 512, /* maximal number of elements of a matrix */
    PTX_FRAGMENT_LINES = 32      /* maximal number of rows or columns */
};

/* `lane` and `element`: for each bit of a lane's or an element's index, the rows and columns (a place) that
   it adds. */
typedef struct ptx_fragment {
    ptx_fragment_operand operand;
    unsigned rows, columns, bytes; /* bytes per element */
    uint16_t lane[PTX_FRAGMENT_LANE_BITS], element[PTX_FRAGMENT_ELEMENT_BITS];
} ptx_fragment;

/* A place combines a row and a column. */
static inline unsigned ptx_place_row(unsigned place) {
    return place >> 8;
}

static inline unsigned ptx_place_column(unsigned place) {
    return place & 0xff;
}

/* The fragment of an operand of an instruction whose shape is in->shape. */
const ptx_fragment *ptx_fragment_find(const ptx_instr *in, ptx_fragment_operand operand, unsigned bytes);

/* Elements per register. */
static inline unsigned ptx_fragment_packed(const ptx_fragment *fragment) {
    return fragment->bytes < 4 ? 4 / fragment->bytes : 1;
}

/* Registers per lane. Fragments of A and B of f16 always have 8, so that some hold the same elements as
   others. */
unsigned ptx_fragment_registers(const ptx_fragment *fragment, bool f16);

unsigned ptx_fragment_lane_place(const ptx_fragment *fragment, unsigned lane);
/* Sets *repeated if an element with a smaller index has the same place. */
unsigned ptx_fragment_element_place(const ptx_fragment *fragment, unsigned element, bool *repeated);

/* Collects the elements, row-major, from `count` register operands that begin at `first`; scatter stores
   them. Elements have at most 4 bytes. */
void ptx_fragment_gather(const ptx_warp *warp, const ptx_instr *in, const ptx_fragment *fragment,
                         unsigned first, unsigned count, uint32_t *matrix);
void ptx_fragment_scatter(ptx_warp *warp, const ptx_instr *in, const ptx_fragment *fragment, unsigned first,
                          unsigned count, const uint32_t *matrix);

#endif
