// Sixteen bytes of elements, the largest load of a thread (LDG.128), kept as 32-bit words; and an element
// whose conversion is deferred, so that several loads are in flight.
#pragma once

#include <cstdint>

namespace gr::common {

// The unsigned integer of this number of bytes.
template <unsigned Bytes> struct Bits;
template <> struct Bits<1> { using type = uint8_t; };
template <> struct Bits<2> { using type = uint16_t; };
template <> struct Bits<4> { using type = uint32_t; };
template <> struct Bits<8> { using type = uint64_t; };

// Elements as words: an array of small elements would take a register for each element.
template <class In, unsigned Words> struct alignas(4 * Words) Packed {
    static constexpr unsigned length = 4 * Words / sizeof(In);
    uint32_t words[Words];

    __device__ uint32_t word(unsigned i) const {
        return words[i];
    }
    __device__ void set_word(unsigned i, uint32_t word) {
        words[i] = word;
    }
    __device__ In at(unsigned e) const {
        if constexpr (sizeof(In) > 4) {
            constexpr unsigned each = sizeof(In) / 4;
            union Both {
                uint32_t words[each];
                In element;
                __device__ Both() {
                }
            } both;
#pragma unroll
            for (unsigned i = 0; i < each; ++i)
                both.words[i] = words[e * each + i];
            return both.element;
        } else {
            constexpr unsigned each = 4 / sizeof(In);
            union Both {
                typename Bits<sizeof(In)>::type bits;
                In element;
                __device__ Both() {
                }
            } both;
            both.bits = typename Bits<sizeof(In)>::type(words[e / each] >> 8 * sizeof(In) * (e % each));
            return both.element;
        }
    }
};
template <class In> using Vec16 = Packed<In, 4>;

// Element and word number i of several vectors.
template <class In> __device__ In element_of(const Vec16<In> *x, unsigned i) {
    return x[i / Vec16<In>::length].at(i % Vec16<In>::length);
}
template <class In> __device__ uint32_t word_of(const Vec16<In> *x, unsigned i) {
    return x[i / 4].word(i % 4);
}

// For making a Vec16 of elements.
template <class In> union Vec16Elements {
    In element[16 / sizeof(In)];
    Vec16<In> chunk;
    __device__ Vec16Elements() {
    }
};

// A Vec16 with the same element at all places.
template <class In> __device__ Vec16<In> broadcast_vec16(In x) {
    Vec16Elements<In> all;
#pragma unroll
    for (unsigned e = 0; e < Vec16<In>::length; ++e)
        all.element[e] = x;
    return all.chunk;
}

// Loads 16 bytes that are not needed again, without a place in L1 (ld.global.L1::no_allocate).
template <class In> __device__ Vec16<In> load_vec16(const Vec16<In> *from) {
    Vec16<In> x;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.words[0]), "=r"(x.words[1]), "=r"(x.words[2]), "=r"(x.words[3])
                 : "l"(from));
    return x;
}

// An element in flight. Only element() uses it, so instructions in between do not wait for it.
template <class In> struct DeferredLoad {
    static constexpr unsigned count = sizeof(In) > 4 ? sizeof(In) / 4 : 1;
    uint32_t words[count];

    __device__ void load(const In *from) {
        if constexpr (sizeof(In) <= 4)
            words[0] = *reinterpret_cast<const typename Bits<sizeof(In)>::type *>(from);
        else
#pragma unroll
            for (unsigned i = 0; i < count; ++i)
                words[i] = reinterpret_cast<const uint32_t *>(from)[i];
    }
    __device__ In element() const {
        Vec16<In> x;
#pragma unroll
        for (unsigned i = 0; i < count; ++i) {
            x.words[i] = words[i];
            asm volatile("" : "+r"(x.words[i])); // no conversion is moved up to the load
        }
        return x.at(0);
    }
};

// The second vector of a pair, whose alignment may be different.
template <class In> struct Source {
    uint64_t at;

    explicit __device__ Source(uint64_t address) : at(address) {
    }
    __device__ Vec16<In> vec16_at(uint64_t index) const {
        const uint64_t from = at + 16 * index;
        if (at % 16 == 0)
            return load_vec16(reinterpret_cast<const Vec16<In> *>(from));
        Vec16Elements<In> x;
#pragma unroll
        for (unsigned e = 0; e < Vec16<In>::length; ++e)
            x.element[e] = reinterpret_cast<const In *>(from)[e];
        return x.chunk;
    }
};

} // namespace gr::common
