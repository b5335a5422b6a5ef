/* Powers of two and their logarithms, for planners that share work between threads. */
#ifndef GR_BASE_POWERS_H
#define GR_BASE_POWERS_H

#include <stdint.h>

/* The logarithm of the least power of two that is at least n; at most max_log2. */
static inline uint32_t gr_log2_from(uint64_t n, uint32_t max_log2) {
    uint32_t log2 = 0;
    while (log2 < max_log2 && (uint64_t)1 << log2 < n)
        ++log2;
    return log2;
}

static inline uint32_t gr_log2(uint32_t power) {
    return gr_log2_from(power, 31);
}

/* The least power of two that is at least n or at least `limit`. */
static inline uint32_t gr_power_of_two_from(uint64_t n, uint32_t limit) {
    uint32_t power = 1;
    while (power < n && power < limit)
        power *= 2;
    return power;
}

/* The greatest power of two up to n and `limit`; 1 if one of them is 0. */
static inline uint32_t gr_power_of_two_up_to(uint64_t n, uint32_t limit) {
    uint32_t power = 1;
    while (power * 2 <= n && power * 2 <= limit)
        power *= 2;
    return power;
}

#endif
