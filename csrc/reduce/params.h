/* Options of `finish` steps. Read by C, CUDA and, as constants of gpureduce._core, Python. */
#ifndef GR_REDUCE_PARAMS_H
#define GR_REDUCE_PARAMS_H

/* Options of a variance: bits of `flags` of general and flat launches. */
enum {
    GR_FINISH_ROOT = 1 << 8,     /* The result is the square root: a standard deviation. */
    GR_FINISH_SKIP_NAN = 1 << 9, /* NaNs are skipped. The result is NaN if too few other elements remain. */
};

/* Bit of `flags` of logsumexp: the results are denominators of a softmax, two numbers each. */
enum { GR_FINISH_DENOMINATOR = 1 << 15 };

/* Options of `extremes`: values of its parameter. */
enum {
    GR_DIFFERENCE = 2, /* The result is the largest element less the smallest. */
    GR_MAGNITUDE = 3,  /* The result is the largest magnitude. */
};

#endif
