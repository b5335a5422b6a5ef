/* The reference device, an H200, for which all grids are planned, and limits of launches and transports.
   Every device gets the same grid, so that results have the same bits on all of them. */
#ifndef GR_BASE_LIMITS_H
#define GR_BASE_LIMITS_H

#include <stdint.h>

/* Constants, never queried from the device that runs a plan: the order of a floating-point sum, and so its
   last bits, depend on them. */
typedef struct gr_limits {
    uint32_t multiprocessors;
    uint32_t threads_per_multiprocessor;
    uint32_t waves;
} gr_limits;

/* An H200: 132 multiprocessors with 2048 resident threads each, filled once. */
static const gr_limits gr_reference_device = {
    .multiprocessors = 132, .threads_per_multiprocessor = 2048, .waves = 1};

enum { GR_REFERENCE_SHARED = 227 << 10 }; /* bytes of shared memory that a block of it has at most */

enum { GR_ZERO_COPY_BYTES = 256 << 10 }; /* max. bytes of host elements that kernels read by zero-copy */

enum { GR_MAX_GRID = 2147483647, GR_MAX_GRID_YZ = 65535 }; /* max. blocks along x; along y and along z */

/* A size that a caller has set to 0; 0 itself stands for the default. */
#define GR_EXPLICIT_ZERO INT64_MIN

static inline uint64_t gr_min(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static inline uint64_t gr_max(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static inline uint64_t gr_ceil_div(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

static inline uint64_t gr_common_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#endif
