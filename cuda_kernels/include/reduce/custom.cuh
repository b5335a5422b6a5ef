// A ReductionKernel of a user as a functor of the general kernels. gpureduce.ReductionKernel writes a struct
// User around the expressions; this file, which NVRTC compiles at run time, makes kernels of it.
#pragma once

#include "common/complex.cuh"
#include "common/entry.cuh"
#include "reduce/by_element.cuh"
#include "reduce/custom/params.h"
#include "reduce/flat/flat.cuh"
#include "reduce/general/axis.cuh"
#include "reduce/general/columns.cuh"
#include "reduce/general/last.cuh"
#include "reduce/general/map.cuh"
#include "reduce/general/rows.cuh"
#include "reduce/general/spread.cuh"
#include "reduce/general/tiles.cuh"

namespace gr::reduce {

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif

// Elements as in memory; common/element_types.cuh needs headers that only the CUDA toolkit has.
struct gr_bool {
    uint8_t value;
};
struct gr_f16 {
    uint16_t bits;
};
struct gr_bf16 {
    uint16_t bits;
};
using gr_c64 = complex<float>;
using gr_c128 = complex<double>;

// An element and the Value that expressions see: the Value of a half is float, rounded once when it is
// stored.
template <class In> struct Element {
    using Stored = In;
    using Value = In;
    static __device__ Value load(Stored x) {
        return x;
    }
    static __device__ Stored store(Value x) {
        return x;
    }
};
template <> struct Element<gr_bool> {
    using Stored = gr_bool;
    using Value = bool;
    static __device__ Value load(Stored x) {
        return x.value != 0;
    }
    static __device__ Stored store(Value x) {
        return {x};
    }
};
template <> struct Element<gr_f16> {
    using Stored = gr_f16;
    using Value = float;
    static __device__ Value load(Stored x) {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
        return value;
    }
    static __device__ Stored store(Value x) {
        Stored stored;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(stored.bits) : "f"(x));
        return stored;
    }
};
template <> struct Element<gr_bf16> {
    using Stored = gr_bf16;
    using Value = float;
    static __device__ Value load(Stored x) {
        return __uint_as_float(uint32_t(x.bits) << 16);
    }
    static __device__ Stored store(Value x) { // to nearest even
        const uint32_t bits = __float_as_uint(x);
        return {uint16_t(x != x ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
    }
};

// element_float32 and so on, by NumPy's names.
#define GR_DTYPE(name, numpy_name, In, Acc, kind, sum, mean, scope, bytes)                                   \
    using element_##numpy_name = Element<In>;
#include "base/dtypes.def"
#undef GR_DTYPE

// How an input is read.
template <class E> __device__ typename E::Value read_address(uint64_t address) {
    return E::load(*reinterpret_cast<const typename E::Stored *>(address));
}
template <class E, bool Even>
__device__ typename E::Value read_position(const gr_custom_input &input, int64_t position) {
    const int64_t offset =
        Even ? position * input.dims.stride[0] : offsets(input.dims, uint64_t(position)).in;
    return read_address<E>(input.address + offset);
}
template <class E> __device__ typename E::Value read_scalar(const gr_custom_input &input) {
    typename E::Stored stored;
    memcpy(&stored, input.value, sizeof stored);
    return E::load(stored);
}

// Storage for a Value whose size is a multiple of four bytes; without an identity it may be empty.
template <class User, bool = User::has_identity>
struct alignas(alignof(typename User::Value) < 4 ? 4 : alignof(typename User::Value)) CustomState {
    typename User::Value value;
    static __device__ CustomState none() {
        return {User::identity()};
    }
    static __device__ CustomState one(typename User::Value value) {
        return {value};
    }
    static __device__ CustomState both(CustomState a, CustomState b) {
        return {User::reduce(a.value, b.value)};
    }
};
template <class User>
struct alignas(alignof(typename User::Value) < 4 ? 4
                                                 : alignof(typename User::Value)) CustomState<User, false> {
    typename User::Value value;
    uint32_t present;
    static __device__ CustomState none() {
        return {typename User::Value(), 0};
    }
    static __device__ CustomState one(typename User::Value value) {
        return {value, 1};
    }
    static __device__ CustomState both(CustomState a, CustomState b) {
        if (!a.present || !b.present)
            return a.present ? a : b;
        return {User::reduce(a.value, b.value), 1};
    }
};

template <class User> struct Custom {
    using State = CustomState<User>;
    using Out = typename User::Out;
    static_assert(sizeof(State) <= GR_STATE_BYTES,
                  "reduce_type: its values have at most 48 bytes, or 44 where there is no identity");
    static __device__ State identity() {
        return State::none();
    }
    static __device__ State load(typename User::First::Stored x, uint64_t position) {
        return State::one(User::map_one(User::First::load(x), int64_t(position)));
    }
    static __device__ State combine(State a, State b) {
        return State::both(a, b);
    }
    static __device__ Out finish(State s, uint64_t) {
        return User::result(s.value);
    }
};

template <class User, bool Even> struct FromInputs : OneByOne { // an expression may be long
    using Loaded = typename User::Loaded; // mapped already, unless that takes the element's number
    using State = typename Custom<User>::State;
    static __device__ Loaded fetch(const gr_general_params &p, int64_t in, int64_t second) {
        const gr_custom_params &whole = reinterpret_cast<const gr_custom_params &>(p);
        return User::template load_at<Even>(whole, in, second);
    }
    static __device__ State add(State s, const Loaded &loaded, uint64_t k) {
        return Custom<User>::combine(s, State::one(User::map_loaded(loaded, int64_t(k))));
    }
};

// Calls body(loader). Even inputs have kernel code of their own, without a branch between one load and the
// next.
template <class User, class Body> __device__ void with_loader(const gr_general_params &p, const Body &body) {
    if constexpr (User::by_position) {
        if (!reinterpret_cast<const gr_custom_params &>(p).even) {
            body(FromInputs<User, false>());
            return;
        }
    }
    body(FromInputs<User, true>());
}
template <class User> __device__ void custom_axis(const gr_general_params &p) {
    with_loader<User>(p, [&](auto from) { reduce_axis<Custom<User>, decltype(from)>(p); });
}
template <class User> __device__ void custom_whole(const gr_general_params &p) {
    with_loader<User>(p, [&](auto from) { reduce_whole<Custom<User>, decltype(from)>(p); });
}

} // namespace gr::reduce

#define GR_CUSTOM_ENTRY(blocks, name, ...)                                                                   \
    extern "C" __global__ void __launch_bounds__(GR_GENERAL_THREADS, blocks)                                 \
        name(const gr_custom_params p) {                                                                     \
        __VA_ARGS__(p.general);                                                                              \
    }

// A kernel of a struct User each; a program has those that a plan asks for. For any layout:
#define GR_CUSTOM_AXIS(name) GR_CUSTOM_ENTRY(1, name##_axis, gr::reduce::custom_axis<User>)
#define GR_CUSTOM_WHOLE(name) GR_CUSTOM_ENTRY(1, name##_whole, gr::reduce::custom_whole<User>)
#define GR_CUSTOM_LAST(name)                                                                                 \
    GR_CUSTOM_ENTRY(1, name##_last, gr::reduce::reduce_last<gr::reduce::Custom<User>>)

// For contiguous elements of one input:
#define GR_CUSTOM_FLAT(name)                                                                                 \
    GR_ENTRY((GR_FLAT_MAX_THREADS), name##_flat, gr_flat_params,                                             \
             gr::reduce::flat<gr::reduce::ByElement<GR_CUSTOM_TYPES>, User::First::Stored, false,            \
                              (sizeof(User::First::Stored) > 1)>)

// For elements that are contiguous along other axes:
#define GR_CUSTOM_TYPES gr::reduce::Custom<User>, User::First::Stored
#define GR_CUSTOM_ROWS(name)                                                                                 \
    GR_CUSTOM_ENTRY((gr::reduce::rows_occupancy<GR_CUSTOM_TYPES>), name##_rows,                              \
                    gr::reduce::reduce_rows<gr::reduce::Custom<User>,                                        \
                                            gr::reduce::ByElement<GR_CUSTOM_TYPES>, User::First::Stored>)
#define GR_CUSTOM_COLUMNS(name)                                                                              \
    GR_CUSTOM_ENTRY((gr::reduce::columns_occupancy<GR_CUSTOM_TYPES>), name##_columns,                        \
                    gr::reduce::reduce_columns<GR_CUSTOM_TYPES>)
#define GR_CUSTOM_SPREAD(name)                                                                               \
    GR_CUSTOM_ENTRY((gr::reduce::columns_occupancy<GR_CUSTOM_TYPES>), name##_spread,                         \
                    gr::reduce::reduce_spread<GR_CUSTOM_TYPES>)
#define GR_CUSTOM_TILES(name) GR_CUSTOM_ENTRY(1, name##_tiles, gr::reduce::reduce_tiles<GR_CUSTOM_TYPES>)
#define GR_CUSTOM_MAP(name) GR_CUSTOM_ENTRY(1, name##_map, gr::reduce::map_elements<GR_CUSTOM_TYPES>)

// Before those, of a struct User with several outputs: each goes to an array of its own, for which the
// general kernels' way of writing is made anew.
#define GR_CUSTOM_OUTPUTS                                                                                    \
    namespace gr::reduce {                                                                                   \
    template <>                                                                                              \
    __device__ void put<Custom<User>>(const gr_general_params &p, uint64_t index, Custom<User>::State s) {   \
        if (p.flags & GR_FINAL)                                                                              \
            User::spread(reinterpret_cast<const gr_custom_params &>(p), index, User::result(s.value));       \
        else                                                                                                 \
            reinterpret_cast<Custom<User>::State *>(p.out)[index] = s;                                       \
    }                                                                                                        \
    template <>                                                                                              \
    __device__ void put_vector<Custom<User>, column_width<User::First::Stored>>(                             \
        const gr_general_params &p, uint64_t index,                                                          \
        const Custom<User>::State (&s)[column_width<User::First::Stored>]) {                                 \
        for (unsigned e = 0; e < column_width<User::First::Stored>; ++e)                                     \
            put<Custom<User>>(p, index + e, s[e]);                                                           \
    }                                                                                                        \
    template <>                                                                                              \
    __device__ void map_elements<Custom<User>, User::First::Stored>(const gr_general_params &p) {            \
        const uint64_t first = uint64_t(blockIdx.x) * (GR_MAP_VECTORS * GR_GENERAL_THREADS) + threadIdx.x;   \
        for (unsigned j = 0; j < GR_MAP_VECTORS; ++j) {                                                      \
            const uint64_t at = first + j * GR_GENERAL_THREADS;                                              \
            if (at < p.results)                                                                              \
                put<Custom<User>>(                                                                           \
                    p, at, Custom<User>::load(reinterpret_cast<const User::First::Stored *>(p.in)[at], 0));  \
        }                                                                                                    \
    }                                                                                                        \
    }
