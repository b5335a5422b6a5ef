/* Powers of two. */
#ifndef GR_REDUCE_GENERAL_POWERS_H
#define GR_REDUCE_GENERAL_POWERS_H

#include <stdint.h>

static inline uint32_t power_of_two_from(uint64_t n, uint32_t limit) {
    uint32_t power = 1;
    while (power < n && power < limit)
        power *= 2;
    return power;
}

/* The largest power of two up to n and limit. */
static inline uint32_t power_of_two_up_to(uint64_t n, uint32_t limit) {
    uint32_t power = 1;
    while (power * 2 <= n && power * 2 <= limit)
        power *= 2;
    return power;
}

static inline uint32_t log2_of(uint32_t power) {
    uint32_t bits = 0;
    while (power >> bits > 1)
        ++bits;
    return bits;
}

#endif
