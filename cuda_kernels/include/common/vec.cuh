// Neighbouring elements that are loaded or stored together.
#pragma once

constexpr unsigned alignment_of(unsigned bytes) {
    return bytes < 16 ? bytes : 16;
}
template <class T, unsigned N> struct alignas(alignment_of(sizeof(T) * N)) Vec { T at[N]; };
