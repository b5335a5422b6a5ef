/* Parameters of the kernel that computes moments from sums of powers. Read by C and CUDA. */
#ifndef GR_REDUCE_MOMENTS_PARAMS_H
#define GR_REDUCE_MOMENTS_PARAMS_H

#include <stdint.h>

enum { GR_MOMENTS_THREADS = 128 };

enum {
    GR_MOMENTS_BIAS = 1,      /* Skewness and kurtosis are not corrected for their bias. */
    GR_MOMENTS_FISHER = 2,    /* The kurtosis of a normal distribution is 0, not 3. */
    GR_MOMENTS_OMIT_NAN = 4,  /* Moments of a result from which NaNs were left out are not NaN. */
    GR_MOMENTS_OF_DOUBLE = 8, /* The moments are float64, not float32. */
};

/* `out` has an array per moment, from the count (int64) on; array k begins `pitch` * k bytes after it. */
typedef struct gr_moments_params {
    uint64_t sums; /* address of six float64 per result: PowerSums of reduce/ops/moments.cuh */
    uint64_t out;
    uint64_t results, pitch;
    double ddof;
    uint32_t order; /* of the highest moment: 1 to 4 */
    uint32_t flags;
} gr_moments_params;

#endif
