/* Options of a variance's `finish` step, as bits of `flags` of general and flat launches. Read by C and
   CUDA. */
#ifndef GR_REDUCE_PARAMS_H
#define GR_REDUCE_PARAMS_H

enum {
    GR_FINISH_ROOT = 1 << 8,     /* The result is the square root: a standard deviation. */
    GR_FINISH_SKIP_NAN = 1 << 9, /* NaNs are skipped. The result is NaN if too few other elements remain. */
};

#endif
