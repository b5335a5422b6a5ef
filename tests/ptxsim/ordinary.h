/* Inputs of kernels/ordinary.cu, and a hash of everything that a kernel wrote. */
#ifndef PTXSIM_TEST_ORDINARY_H
#define PTXSIM_TEST_ORDINARY_H

#include <stddef.h>
#include <stdint.h>

enum { ORDINARY_THREADS = 256, ORDINARY_SOURCES = 4 * 1024 };

static inline void ordinary_source(uint64_t source[ORDINARY_SOURCES]) {
    uint64_t state = 88172645463325252u;
    for (unsigned i = 0; i < ORDINARY_SOURCES; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        source[i] = state;
    }
}

static inline uint64_t ordinary_fold(const uint64_t out[ORDINARY_THREADS]) {
    uint64_t sum = 0;
    for (unsigned t = 0; t < ORDINARY_THREADS; t++)
        sum = (sum ^ out[t]) * 0x9e3779b97f4a7c15u;
    return sum;
}

#endif
