// multi_max, multi_finger, multi_scale: the largest magnitude of lists of arrays, their fingerprint, and the
// multiplication by a factor; multi_finish: rounded results.
#include "common/entry.cuh"
#include "multi/bits.cuh"
#include "multi/fingerprint.cuh"
#include "multi/finish.cuh"
#include "multi/scale.cuh"

using namespace gr::multi;

#define KERNELS(name, In)                                                                                    \
    GR_ENTRY((GR_MULTI_THREADS), multi_max_##name, gr_multi_params, largest_of_list<In>)                     \
    GR_ENTRY((GR_MULTI_THREADS, GR_MULTI_BLOCKS), multi_scale_##name, gr_multi_params, scale_list<In>)

KERNELS(f16, gr_f16)
KERNELS(bf16, gr_bf16)
KERNELS(f32, float)
KERNELS(f64, double)

GR_ENTRY((GR_MULTI_THREADS, GR_MULTI_BLOCKS), multi_finger, gr_multi_params, fingerprint_list)

GR_ENTRY((GR_MULTI_FINISH_THREADS), multi_finish_sums, gr_multi_finish_params,
         finish_states<GR_EXACT_WIDE_WORDS, GR_EXACT_WIDE_BELOW>)
GR_ENTRY((GR_MULTI_FINISH_THREADS), multi_finish_squares, gr_multi_finish_params,
         finish_states<GR_EXACT_WIDEST_WORDS, GR_EXACT_WIDEST_BELOW>)
GR_ENTRY((GR_MULTI_FINISH_THREADS), multi_finish_max, gr_multi_finish_params, finish_maxima)
