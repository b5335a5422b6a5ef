// N neighbouring elements that one instruction loads or stores, as far as their bytes fit into 16.
#pragma once

namespace gr::common {

constexpr unsigned alignment_of(unsigned bytes) {
    return bytes < 16 ? bytes : 16;
}
template <class T, unsigned N> struct alignas(alignment_of(sizeof(T) * N)) Vec { T at[N]; };

} // namespace gr::common
