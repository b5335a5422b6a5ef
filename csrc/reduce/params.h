/* What `finish` of a variance does besides dividing: bits of `flags` of general and of flat launches. Read by
   C and CUDA alike. */
#ifndef GR_REDUCE_PARAMS_H
#define GR_REDUCE_PARAMS_H

enum {
    GR_FINISH_ROOT = 1 << 8,     /* the result is a standard deviation */
    GR_FINISH_SKIP_NAN = 1 << 9, /* NaNs are left out; of too few other elements the result is NaN */
};

#endif
