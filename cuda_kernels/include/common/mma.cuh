// Products of fragments on tensor cores by one warp (mma.sync), and what brings fragments from shared memory
// to registers (ldmatrix). Compute capability 8.0.
#pragma once

#include "common/element_types.cuh"
#include "common/ptx.cuh"

namespace gr::common::ptx {

// Rounds a float32 to TF32, which has 10 bits of fraction, to nearest: the tensor cores truncate.
inline __device__ uint32_t cvt_rna_tf32(uint32_t x) {
    uint32_t y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(__uint_as_float(x)));
    return y;
}

// Loads four 8 x 8 matrices of 16-bit elements; lane i gives the address of row i of all four. `_trans`: each
// matrix transposed.
#define GR_LDMATRIX(name, modifier)                                                                          \
    inline __device__ void name(uint32_t at, uint32_t(&to)[4]) {                                             \
        asm volatile("ldmatrix.sync.aligned.m8n8.x4" modifier ".shared.b16 {%0, %1, %2, %3}, [%4];"          \
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])                                    \
                     : "r"(at)                                                                               \
                     : "memory");                                                                            \
    }
GR_LDMATRIX(ldmatrix_x4, "")
GR_LDMATRIX(ldmatrix_x4_trans, ".trans")
#undef GR_LDMATRIX

// sums += a b of 16 rows and 8 columns, with 8 elements of 4 bytes or 16 elements of 2 bytes along k.
#define GR_MMA(T, SHAPE, TYPES)                                                                              \
    inline __device__ void mma_m16n8(T, const uint32_t(&a)[4], uint32_t b0, uint32_t b1, float(&sums)[4]) {  \
        asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." TYPES                                         \
                     ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                  \
                     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                            \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                        \
    }
GR_MMA(float, "m16n8k8", "tf32.tf32")
GR_MMA(gr_f16, "m16n8k16", "f16.f16")
GR_MMA(gr_bf16, "m16n8k16", "bf16.bf16")
#undef GR_MMA

// sums += a b of 16 rows and 8 columns, with 16 elements of float64 along k, one product after the other in
// the order of k. Compute capability 9.0.
inline __device__ void mma_m16n8k16(const double (&a)[8], const double (&b)[4], double (&sums)[4]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                 : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
                   "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
}

} // namespace gr::common::ptx
