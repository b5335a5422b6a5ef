/* Mean, variance, skewness and kurtosis from sums of powers in device memory. */
#ifndef GR_REDUCE_MOMENTS_MOMENTS_H
#define GR_REDUCE_MOMENTS_MOMENTS_H

#include "program/program.h"
#include "reduce/moments/params.h"

/* The addresses are left 0: input 0 is the sums, and the output the arrays of moments. */
typedef struct gr_moments {
    gr_moments_params params;
} gr_moments;

/* Returns the bytes from an array of the output to the next one, for this number of results. */
uint64_t gr_moments_pitch(uint64_t results);

/* Plans and runs the computation for at least one result. */
gr_status gr_moments_run(gr_device *device, const gr_moments *self, const gr_binding *binding,
                         const gr_interrupt *interrupt, gr_error *error);

#endif
