// States of group sums: the integers of a result, unrounded, as digits of a superaccumulator. States of parts
// of the rows are added up by others.
#include "common/entry.cuh"
#include "common/pdl.cuh"
#include "groups/result.cuh"

using namespace gr::groups;

// A thread for each result.
template <class In> __device__ void finish_states(const gr_group_params &p) {
    using Traits = Planes<In>;
    constexpr unsigned words = Traits::size.words;
    pdl_as_comments::pdl_launch_dependents();
    pdl_as_comments::pdl_wait();
    const GroupResult<In> results(p, header_of(p) + GR_GROUP_USED);
    const uint64_t result = blockIdx.x * uint64_t(GR_GROUP_THREADS) + threadIdx.x;
    if (result >= p.results)
        return;
    int64_t *const state = reinterpret_cast<int64_t *>(p.out) + result * words;
    GR_EXACT_NO_UNROLL
    for (unsigned i = 0; i < words; ++i)
        state[i] = 0;
    GR_EXACT_NO_UNROLL
    for (int plane = results.first; plane <= results.last; ++plane) {
        if (!results.uses(plane))
            continue;
        int64_t *const at = results.plane_at(plane, result), value = __ldcg(at);
        if (value != 0) {
            *at = 0;
            add_to_state<words - 2>(state, value, results.position_of(plane));
        }
    }
    uint32_t *const flags_at = reinterpret_cast<uint32_t *>(p.flags) + result;
    const uint32_t flags = __ldcg(flags_at);
    if (flags != 0)
        *flags_at = 0;
    // A sum of states is never -0.
    if (reinterpret_cast<const uint64_t *>(p.counts)[result / p.inner % p.groups] > 0)
        state[words - 1] = (flags & ~uint32_t(GR_GROUP_MINUS_ZERO)) | GR_EXACT_NOT_MINUS_ZERO;
}

#define GR_GROUP_STATES(name, In)                                                                            \
    GR_ENTRY((GR_GROUP_THREADS), group_states_##name, __grid_constant__ gr_group_params, finish_states<In>)

GR_GROUP_STATES(f32, float)
GR_GROUP_STATES(f16, gr_f16)
GR_GROUP_STATES(bf16, gr_bf16)
GR_GROUP_STATES(f64, double)
