// The parts of k of a product, and the steps along k of a block that takes one part after the other.
#pragma once

#include <cstdint>

#include "matmul/params.h"

namespace gr::matmul {

// Parts have whole units of 128 bytes along k, the first ones one more. The last unit may be a short one.
template <class T> struct KParts {
    static constexpr unsigned UNIT = 128 / sizeof(T);
    uint64_t k;
    unsigned each, more; // units of a part; parts that have one more

    __device__ KParts(uint64_t k, unsigned parts) : k(k) {
        const unsigned units = unsigned((k + UNIT - 1) / UNIT);
        each = units / parts;
        more = units - each * parts;
    }
    __device__ uint64_t longest() const {
        return uint64_t(each + (more > 0 ? 1 : 0)) * UNIT;
    }
    __device__ uint64_t begin(unsigned part) const {
        return min(uint64_t(each * part + min(part, more)) * UNIT, k);
    }
};

// A step along k of DEPTH elements: all parts have as many steps, of which the last ones may be empty.
template <class T, int DEPTH> struct KStep {
    uint64_t left;         // elements from here to the end of the part
    unsigned part, number; // of the step in its part

    __device__ KStep(const KParts<T> &parts, unsigned part)
        : left(parts.begin(part + 1) - parts.begin(part)), part(part), number(0) {
    }
    __device__ unsigned deep() const {
        return unsigned(min(left, uint64_t(DEPTH)));
    }
    __device__ void next(const KParts<T> &parts, unsigned steps) {
        left = left > DEPTH ? left - DEPTH : 0;
        if (++number == steps)
            *this = KStep(parts, part + 1);
    }
    __device__ uint64_t begin(const KParts<T> &parts) const {
        return parts.begin(part) + uint64_t(number) * DEPTH;
    }
};

} // namespace gr::matmul
