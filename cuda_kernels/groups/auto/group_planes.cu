// Group sums by additions to planes in device memory: for rows of any strides, any number of columns, and any
// number of groups.
#include <type_traits>

#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "groups/planes.cuh"

using namespace gr::groups;

template <class In> __device__ void add_elements(const gr_group_params &p) {
    __shared__ uint32_t used_in_block[3];
    if (threadIdx.x < 3)
        used_in_block[threadIdx.x] = 0;
    __syncthreads();
    UsedPlanes<In> used{used_in_block};
    const PlaneAdder<In> adder{p, used};
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const In *in = reinterpret_cast<const In *>(p.in);
    each_element(
        p, [&](int64_t index) { return in[index]; },
        [&](In x, uint64_t result, uint64_t group, bool counts, uint64_t) {
            adder.add(x, result);
            if (counts && p.options & GR_GROUP_MEAN)
                count_row(p, group);
        });
    adder.publish();
}

template <class In> __device__ int64_t integer_of(In x) {
    return int64_t(x);
}
__device__ int64_t integer_of(gr_bool x) {
    return x.value != 0;
}

// Sums wrap, as the first plane does. Means also need the bits above, whose plane gets the upper halves of
// 64-bit elements.
template <class In> __device__ void add_integers_as(const gr_group_params &p) {
    constexpr bool wide = sizeof(In) == 8;
    const In *in = reinterpret_cast<const In *>(p.in);
    auto *planes = reinterpret_cast<unsigned long long *>(p.planes);
    const bool mean = p.options & GR_GROUP_MEAN;
    each_element(
        p, [&](int64_t index) { return in[index]; },
        [&](In x, uint64_t result, uint64_t group, bool counts, uint64_t) {
            const auto value = static_cast<unsigned long long>(integer_of(x));
            atomicAdd(planes + result, wide && mean ? value & 0xffffffff : value);
            if (wide && mean) {
                const bool is_signed = std::is_signed<In>::value;
                atomicAdd(planes + p.results + result,
                          is_signed ? static_cast<unsigned long long>(int64_t(value) >> 32) : value >> 32);
            }
            if (mean && counts)
                count_row(p, group);
        });
}

__device__ void add_integers(const gr_group_params &p) {
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    switch (p.from) {
#define GR_INTEGER(name, In)                                                                                 \
    case GR_GROUP_##name:                                                                                    \
        add_integers_as<In>(p);                                                                              \
        break;
        GR_GROUP_INTEGERS(GR_INTEGER)
#undef GR_INTEGER
    }
}

GR_ENTRY((GR_GROUP_THREADS), group_planes_f32, gr_group_params, add_elements<float>)
GR_ENTRY((GR_GROUP_THREADS), group_planes_f16, gr_group_params, add_elements<gr_f16>)
GR_ENTRY((GR_GROUP_THREADS), group_planes_bf16, gr_group_params, add_elements<gr_bf16>)
GR_ENTRY((GR_GROUP_THREADS), group_planes_f64, gr_group_params, add_elements<double>)
GR_ENTRY((GR_GROUP_THREADS), group_planes_integers, gr_group_params, add_integers)
