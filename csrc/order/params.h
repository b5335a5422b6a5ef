/* Parameters of the kernels of order statistics: radix select (Alabi et al.), radix sort, bitonic sort and
   interpolation. Read by C and CUDA, so all types are plain and of fixed size. */
#ifndef GR_ORDER_PARAMS_H
#define GR_ORDER_PARAMS_H

#include <stdint.h>

enum {
    GR_ORDER_THREADS = 256,             /* max. per block */
    GR_ORDER_BLOCKS_PER_SM = 4,         /* blocks that an SM holds at once (occupancy) */
    GR_ORDER_MAX_RANKS = 16,            /* ranks that one pass looks for */
    GR_ORDER_FEW_RANKS_DIGIT_BITS = 11, /* max. bits of a digit if few ranks are looked for */
    GR_ORDER_DIGIT_BITS = 8,            /* bits of a digit if many ranks are looked for */
    GR_ORDER_TILE = 4096,               /* elements: parts of a line begin at multiples of it */
    GR_ORDER_SORT_TILE = 4096,          /* max. elements that a block sorts by radix sort */
    GR_ORDER_NETWORK_TILE = 1024,       /* max. elements that a block sorts by a sorting network */
    GR_ORDER_SMALL_SORT_TILE = 1024,    /* max. elements that a block sorts with half of the registers */
    GR_ORDER_DIGITS = 256,              /* digit values of the radix sort */
    GR_ORDER_SORT_BLOCKS_PER_SM = 3,    /* blocks of the radix sort that an SM holds at once (occupancy) */
    GR_ORDER_WARP_TILE = 128,           /* max. elements of a line that a warp selects from */
    GR_ORDER_MAX_QUANTILES = 8,         /* max. results interpolated per line in a launch */
    GR_ORDER_BLOCK_THREADS = 1024,      /* max. per block that selects from a line or a list */
    GR_ORDER_BLOCK_TOP = 2048,          /* max. elements that such a block gathers and sorts */
    GR_ORDER_SAMPLES_EACH = 4,          /* samples that a thread collects */
    GR_ORDER_STAGED = 2048,             /* elements of a list that a block collects in shared memory */
};

enum {
    GR_ORDER_SIGNED = 1,             /* Keys are signed integers. */
    GR_ORDER_DESCENDING = 2,         /* The order is descending. */
    GR_ORDER_EQUAL_ZEROS = 4,        /* -0 and +0 have one key. */
    GR_ORDER_PROPAGATE_NAN = 8,      /* All results of a line with a NaN are NaN. */
    GR_ORDER_RANKS_PER_LINE = 16,    /* Each line has its own ranks. */
    GR_ORDER_FIRST_DIGIT = 32,       /* First digit: all elements are candidates. */
    GR_ORDER_LAST_DIGIT = 64,        /* Last digit: the elements of the ranks are known. */
    GR_ORDER_IN_SHARED = 128,        /* Lines are held in shared memory. */
    GR_ORDER_TOPK = 256,             /* Gather the elements up to the one rank. */
    GR_ORDER_COUNT_PARTS = 512,      /* Count elements below and equal to a key, per part. */
    GR_ORDER_COUNT_VALID = 1024,     /* Count elements that are not NaN, per line. */
    GR_ORDER_INLINE_RANKS = 2048,    /* Ranks are in `inline_ranks`. */
    GR_ORDER_BOOL = 4096,            /* Elements are booleans. */
    GR_ORDER_SORTED_OUTPUT = 8192,   /* A warp writes the gathered elements in order. */
    GR_ORDER_VALID_MIDDLE = 16384,   /* A line's ranks are the two in the middle of its valid elements. */
    GR_ORDER_VALID_QUANTILE = 32768, /* A line's ranks are the two around the quantile `q` of them. */
    GR_ORDER_COUNTS_LINES = 65536,   /* The kernel that selects writes the number of valid elements first. */
    GR_ORDER_SAMPLED = 131072,       /* Lists have the keys of the elements in the windows of lines. */
    GR_ORDER_MIDDLE_RESULT = 262144, /* The result of a line is the mean of the elements of its ranks. */
    GR_ORDER_PREFETCH = 524288,      /* A block has one tile of a line at most, which it may prefetch. */
};

/* State of the selection of one rank: the digits of its key so far, and its rank among the elements that
   have these digits. */
typedef struct gr_order_state {
    uint64_t prefix, rest;
} gr_order_state;

/* The elements of a line in a range of keys, and of indices at its ends, that are kept in a list. */
typedef struct gr_order_window {
    uint64_t first, last;             /* keys, inclusive */
    uint32_t first_index, last_index; /* least and greatest index of elements that have these keys */
    uint64_t below, count;            /* elements before the window and in it */
    uint32_t nans;                    /* an element of the line is NaN */
} gr_order_window;

/* Lines of `length` contiguous elements that follow each other. Keys are the elements' bits as unsigned
   integers of the same order. */
typedef struct gr_order_params {
    uint64_t in;
    uint64_t out;     /* address of elements: per line one for each rank, or the first `k` */
    uint64_t indices; /* address of the int64 indices of those elements in their line */
    uint64_t ranks;   /* address of ascending int64 ranks; with GR_ORDER_VALID_*, of the number of valid
                         elements of each line */
    uint64_t states;  /* address of one gr_order_state per line and rank */
    uint64_t bins;    /* address of digit histograms, per line, chunk of ranks and group */
    uint64_t tickets; /* address of a ticket and a NaN flag per line and chunk of ranks */
    uint64_t counts;  /* address of pairs of counts, per line and part */
    uint64_t window;  /* address of one gr_order_window per line */
    uint64_t list, list_indices; /* addresses of `capacity` keys per line, first those of its samples, and of
                                    their uint32 indices, or 0 */
    uint64_t sample_tickets;     /* address of a ticket per line */
    uint64_t samples, capacity;  /* per line */
    uint64_t lines, length;
    uint64_t rank_count, chunk; /* ranks per line, and ranks that one pass looks for */
    uint64_t parts, part;       /* parts per line, and elements per part */
    uint64_t k;
    uint64_t infinity; /* bit pattern of infinity, or 0 for integers */
    double q;          /* of GR_ORDER_VALID_QUANTILE, from 0 to 1 */
    uint32_t flags;
    uint32_t shift, bits; /* position and bits of the digit; a block that selects all digits uses `bits` for
                             all but the last; small lines: 2^bits threads of a warp share a line */
    uint64_t inline_ranks[GR_ORDER_MAX_RANKS]; /* ranks of all lines, if few */
} gr_order_params;

/* Stable LSD radix sort of lines: one digit of the keys per pass, the least significant first. */
typedef struct gr_order_sort_params {
    uint64_t in;
    uint64_t in_indices;   /* address of one int64 index per element of `in`; 0: the position in the line */
    uint64_t out, indices; /* addresses of elements and of their indices, in the new order */
    uint64_t counts;       /* address of histograms per line, digit and tile, then their prefix sums */
    uint64_t sums;         /* address of one total per line and digit */
    uint64_t lines, length;
    uint64_t k;     /* elements per line that are written */
    uint64_t tiles; /* tiles per line */
    uint64_t infinity;
    uint32_t flags, shift; /* shift: position of the digit */
} gr_order_sort_params;

/* Interpolation between two selected elements of a line, numbers `lower` and `upper`. */
typedef enum gr_order_interpolation {
    GR_ORDER_LOWER,    /* the lower one */
    GR_ORDER_MIDPOINT, /* their mean */
    GR_ORDER_LINEAR,   /* lower + (upper - lower) * weight, or upper - (upper - lower) * rest */
} gr_order_interpolation;

/* Results have a row per quantile and a column per line. */
typedef struct gr_order_quantiles {
    uint64_t in; /* address of `ranks` elements per line */
    uint64_t out;
    uint64_t counts; /* address of the number of valid elements of each line: if it is odd, the midpoint is
                        the lower one, and weights follow from it and the quantile weight[0]; 0: they are
                        in `weight` */
    uint64_t lines, ranks, results;
    uint32_t from, to; /* rows of dtypes.def */
    uint32_t mean;
    uint8_t lower[GR_ORDER_MAX_QUANTILES], upper[GR_ORDER_MAX_QUANTILES];
    double weight[GR_ORDER_MAX_QUANTILES], rest[GR_ORDER_MAX_QUANTILES];
} gr_order_quantiles;

#endif
