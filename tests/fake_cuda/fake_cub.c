/* Stands in for the library that cuda_kernels/reduce/cub is compiled to. */
#include <stdint.h>

#include "device/library.h"

#define EXPORT __attribute__((visibility("default")))

gr_cub_function cub_sum_f32;
const char *cub_describe(int code);

EXPORT int cub_sum_f32(gr_devptr temp, size_t *temp_bytes, gr_devptr in, gr_devptr out, uint64_t n,
                       void *stream) {
    *temp_bytes = (size_t)(temp + 10 * in + 100 * out + 1000 * n);
    if (stream == NULL)
        return 0;
    *(size_t *)stream = *temp_bytes; /* so that the caller sees what came here */
    return 7;
}

EXPORT const char *cub_describe(int code) {
    return code == 7 ? "seven" : "no error";
}
