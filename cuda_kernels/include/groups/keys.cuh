// Keys of elements of groups: the largest key of a group, the sum of its keys, or a bitwise operation on them
// becomes the result.
#pragma once

#include <type_traits>

#include "groups/extremes/params.h"
#include "groups/planes.cuh"

namespace gr::groups {

// atomicMax has no form of uint64_t.
template <class Key>
using Atomic = typename std::conditional<sizeof(Key) == 8, unsigned long long, unsigned>::type;

// Keys of elements, whose bits are In.
template <class In, bool Positional> struct Keys {
    using Word = typename std::conditional<sizeof(In) == 8, uint64_t, uint32_t>::type;
    using Key = Atomic<typename std::conditional<Positional, uint64_t, Word>::type>;

    // A copy of masks in registers.
    const Word sign, negative, magnitude, infinity, nan_key, flip;
    const bool truth;

    __device__ Keys(const gr_extremes_params &q)
        : sign(Word(q.sign)), negative(Word(q.negative)), magnitude(Word(q.magnitude)),
          infinity(Word(q.infinity)), nan_key(Word(q.nan_key)), flip(Word(q.flip)), truth(q.truth) {
    }
    __device__ Key of(In x, uint64_t row) const {
        Word bits = x;
        const Word size = bits & magnitude;
        Word key;
        if (truth) {
            key = Word(size != 0) ^ flip;
        } else {
            if (Positional && size == 0) // -0 equals 0
                bits = 0;
            key = size > infinity ? nan_key : bits ^ (bits & sign ? negative : sign) ^ flip;
        }
        if constexpr (Positional)
            return Key(key) << 32 | uint32_t(~uint32_t(row));
        return key;
    }
};

// How two keys become one.
template <bool Positional> struct Combination {
    const unsigned how;

    __device__ Combination(const gr_extremes_params &q) : how(Positional ? GR_EXTREMES_MAX : q.atomic) {
    }
    template <class Key> __device__ Key of(Key a, Key b) const {
        if (Positional || how == GR_EXTREMES_MAX)
            return a > b ? a : b;
        return how == GR_EXTREMES_OR ? a | b : how == GR_EXTREMES_XOR ? a ^ b : a + b;
    }
    template <class Key> __device__ void add(Key *at, Key key) const {
        if (Positional || how == GR_EXTREMES_MAX)
            atomicMax(at, key);
        else if (how == GR_EXTREMES_OR)
            atomicOr(at, key);
        else if (how == GR_EXTREMES_XOR)
            atomicXor(at, key);
        else
            atomicAdd(at, key);
    }
    // Whether a key may change what is in memory. Most often it does not: a maximum or a union only grows.
    template <class Key> __device__ bool may_change(const volatile Key *at, Key key) const {
        if (key == 0)
            return false;
        if (!Positional && how > GR_EXTREMES_OR)
            return true;
        const Key now = *at;
        return of(now, key) != now;
    }
};

template <class Key> __device__ Key *keys_of(const gr_extremes_params &q) {
    return reinterpret_cast<Key *>(q.keys);
}

// Takes the key of a result that all blocks share, and zeroes it.
template <class Key> __device__ Key take_key(const gr_extremes_params &q, uint64_t result) {
    const Key found = __ldcg(keys_of<Key>(q) + result);
    if (found != 0)
        keys_of<Key>(q)[result] = 0;
    return found;
}

// Writes the result of a key.
template <class Key> __device__ void put_result(const gr_extremes_params &q, uint64_t result, Key found) {
    uint64_t bits = q.rows.empty_result[0];
    if (found != 0) {
        if (q.positional)
            bits = uint32_t(~uint32_t(found));
        else if (q.nan != 0 && (found == Key(q.largest_key) || found == 1))
            bits = q.nan;
        else {
            const Key key = found ^ Key(q.flip);
            bits = q.truth ? key : key ^ (key & Key(q.sign) ? Key(q.sign) : Key(q.negative));
        }
    }
    const uint64_t at = q.rows.out + result * q.result_bytes;
    switch (q.result_bytes) {
    case 1:
        *reinterpret_cast<uint8_t *>(at) = uint8_t(bits);
        break;
    case 2:
        *reinterpret_cast<uint16_t *>(at) = uint16_t(bits);
        break;
    case 4:
        *reinterpret_cast<uint32_t *>(at) = uint32_t(bits);
        break;
    default:
        *reinterpret_cast<uint64_t *>(at) = bits;
    }
}

} // namespace gr::groups
