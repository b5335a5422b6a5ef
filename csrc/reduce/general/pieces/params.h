/* Sizes of the kernel `pieces` (pieces.cuh), which cuts a result by its number of elements. Read by C and
 * CUDA. */
#ifndef GR_REDUCE_GENERAL_PIECES_PARAMS_H
#define GR_REDUCE_GENERAL_PIECES_PARAMS_H

#include "reduce/general/params.h"

enum {
    GR_PIECE_VECTORS = 4, /* vectors of a piece that a thread loads at once */
    GR_PIECE_BYTES = GR_GENERAL_THREADS * GR_PIECE_VECTORS * GR_VECTOR_BYTES,
    GR_PIECE_SLOTS = 64,     /* States in which it, or `last`, combines those of pieces */
    GR_PIECES_OCCUPANCY = 3, /* blocks per multiprocessor that its registers must allow */
};

#endif
