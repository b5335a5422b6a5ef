/* What the kernels of order statistics are told: read by C and CUDA alike, so only plain types of fixed size.
 */
#ifndef GR_ORDER_PARAMS_H
#define GR_ORDER_PARAMS_H

#include <stdint.h>

enum {
    GR_ORDER_THREADS = 256,  /* of a block at most */
    GR_ORDER_BLOCKS = 4,     /* of a multiprocessor at once */
    GR_ORDER_RANKS = 16,     /* that are looked for at once */
    GR_ORDER_BITS = 11,      /* of a digit at most, where few ranks are looked for */
    GR_ORDER_MANY_BITS = 8,  /* where many are */
    GR_ORDER_TILE = 4096,    /* elements: parts of a line begin at multiples of it */
    GR_ORDER_SORTED = 4096,  /* elements that a block sorts */
    GR_ORDER_NETWORK = 1024, /* that it sorts by a network */
    GR_ORDER_FEWER = 1024,   /* that it sorts with fewer registers */
    GR_ORDER_DIGITS = 256,   /* by which it sorts */
    GR_ORDER_SORTERS = 3,    /* blocks of a multiprocessor that sort at once */
    GR_ORDER_FEW = 128,      /* of a line that a warp takes */
    GR_ORDER_RESULTS = 8,    /* between two elements each, that are made of a line at once */
};

enum {
    GR_ORDER_SIGNED = 1,    /* keys are integers with a sign */
    GR_ORDER_LARGEST = 2,   /* the order is reversed */
    GR_ORDER_EQUAL = 4,     /* zeros of either sign have one key */
    GR_ORDER_NANS = 8,      /* a line that has a NaN has nothing else among its results */
    GR_ORDER_OWN = 16,      /* each line has ranks of its own */
    GR_ORDER_FIRST = 32,    /* no digit is known yet */
    GR_ORDER_LAST = 64,     /* this digit is the last one */
    GR_ORDER_HELD = 128,    /* lines are held in shared memory */
    GR_ORDER_TOP = 256,     /* the elements up to the one rank are gathered */
    GR_ORDER_COUNT = 512,   /* elements below a key, and equal to it, are counted in each part */
    GR_ORDER_VALID = 1024,  /* elements that are no NaN are counted in each line */
    GR_ORDER_GIVEN = 2048,  /* ranks stand in `given` */
    GR_ORDER_TRUTH = 4096,  /* elements are true or not */
    GR_ORDER_RANKED = 8192, /* what is gathered of lines of a warp comes in its order */
};

/* What is known of a rank: the digits of its key so far, and its rank among the elements that have them. */
typedef struct gr_order_state {
    uint64_t prefix, rest;
} gr_order_state;

/* Lines of `length` elements side by side, one behind the other. Keys are the elements' bits, made unsigned
   integers of the same order. */
typedef struct gr_order_params {
    uint64_t in;
    uint64_t out;     /* elements: of a line for each of its ranks, or the first `k` */
    uint64_t indices; /* int64, where those elements stand in their line */
    uint64_t ranks;   /* int64, that ascend */
    uint64_t states;  /* of each line's ranks */
    uint64_t bins;    /* how many elements have each digit: of each line, each chunk of ranks, each group */
    uint64_t tickets; /* of each line and chunk of ranks, two words: a ticket, and whether there are NaNs */
    uint64_t counts;  /* pairs, of each line and part */
    uint64_t lines, length;
    uint64_t rank_count, chunk; /* how many ranks a line has, and are looked for at once */
    uint64_t parts, part;       /* of a line, and their length */
    uint64_t k;
    uint64_t infinity; /* the bits of it, or 0 for integers */
    uint32_t flags;
    uint32_t shift, bits; /* of the digit; of all digits but the last ones, where a block finds them all;
                             2^bits threads of a warp take a line */
    uint64_t given[GR_ORDER_RANKS]; /* ranks of all lines, where they are few */
} gr_order_params;

/* Elements of lines, which are sorted by one digit of their keys after the other, the last digit first. Those
   with the same key stay in their order. */
typedef struct gr_order_sorting {
    uint64_t in;
    uint64_t places;       /* int64, one for each element of `in`; 0: their places in the line */
    uint64_t out, indices; /* elements and their places, in another order */
    uint64_t
        counts; /* of each line and digit: how many elements of each tile have it, then of all tiles before */
    uint64_t sums; /* of each line and digit */
    uint64_t lines, length;
    uint64_t k;     /* of a line, that are written */
    uint64_t tiles; /* of a line */
    uint64_t infinity;
    uint32_t flags, shift; /* of the digit */
} gr_order_sorting;

/* What becomes of two elements of a line, `lower` and `upper` among those that were found. */
typedef enum gr_order_mean {
    GR_ORDER_ALONE,   /* the lower one itself */
    GR_ORDER_MIDDLE,  /* their mean */
    GR_ORDER_BETWEEN, /* lower + (upper - lower) * weight, or upper - (upper - lower) * rest */
} gr_order_mean;

/* Results: a row for each, a column for each of `lines`. */
typedef struct gr_order_ends {
    uint64_t in; /* elements: of a line `ranks` */
    uint64_t out;
    uint64_t lines, ranks, results;
    uint32_t from, to; /* dtypes, as rows of dtypes.def */
    uint32_t mean;
    uint8_t lower[GR_ORDER_RESULTS], upper[GR_ORDER_RESULTS];
    double weight[GR_ORDER_RESULTS], rest[GR_ORDER_RESULTS];
} gr_order_ends;

#endif
