// wgmma (warpgroup matrix multiply-accumulate, compute capability 9.0): four warps multiply tiles in shared
// memory into sums in their registers, asynchronously.
#pragma once

#include <cstdint>

#include "common/element_types.cuh"
#include "common/vec.cuh"

namespace gr::matmul {

using namespace common;

// The 3xTF32 split: hi is x as the tensor cores truncate it, lo the rest, rounded at the same bit.
inline __device__ uint32_t tf32_hi(uint32_t x) {
    return x & 0xffffe000;
}
inline __device__ uint32_t tf32_lo(uint32_t x) {
    const float all = __uint_as_float(x);
    return __float_as_uint(fabsf(all) == INFINITY ? 0.0f : all - __uint_as_float(tf32_hi(x))) + 0x1000;
}

// The matrix descriptor of a tile in shared memory: rows of 128 bytes with swizzle 128, 1024 bytes from eight
// rows to the next eight. `apart` are the bytes from one such tile to its right neighbour, where rows are
// longer than 128 bytes.
inline __device__ uint64_t tile_descriptor(uint32_t at, unsigned apart = 16) {
    return uint64_t(at >> 4 & 0x3fff) | uint64_t(apart >> 4) << 16 | uint64_t(1024 >> 4) << 32 |
           uint64_t(1) << 62;
}

// wgmma.fence: before the first product, and after writes to registers of the operands.
inline __device__ void begin_products() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

inline __device__ void commit_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most PENDING groups of products are incomplete.
template <int PENDING> __device__ void wait_for_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// Nothing that reads the sums moves up.
template <int LENGTH> __device__ void hold(float (&sums)[LENGTH]) {
#pragma unroll
    for (int i = 0; i < LENGTH; ++i)
        asm volatile("" : "+f"(sums[i])::"memory");
}

// Waits for all products; then their sums may be read.
template <int LENGTH> __device__ void finish_products(float (&sums)[LENGTH]) {
    wait_for_products<0>();
    hold(sums);
}

#define GR_TEN(t)                                                                                            \
    "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
#define GR_12_NAMES "{" GR_TEN() "%10, %11}, "
#define GR_16_NAMES "{" GR_TEN() "%10, %11, %12, %13, %14, %15}, "
#define GR_24_NAMES "{" GR_TEN() GR_TEN(1) "%20, %21, %22, %23}, "
#define GR_32_NAMES "{" GR_TEN() GR_TEN(1) GR_TEN(2) "%30, %31}, "
#define GR_64_NAMES "{" GR_TEN() GR_TEN(1) GR_TEN(2) GR_TEN(3) GR_TEN(4) GR_TEN(5) "%60, %61, %62, %63}, "
#define GR_128_NAMES                                                                                         \
    "{" GR_TEN() GR_TEN(1) GR_TEN(2) GR_TEN(3) GR_TEN(4) GR_TEN(5) GR_TEN(6) GR_TEN(7) GR_TEN(8) GR_TEN(9)   \
        GR_TEN(10) GR_TEN(11) "%120, %121, %122, %123, %124, %125, %126, %127}, "
#define GR_4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define GR_16(d, i) GR_4(d, i), GR_4(d, i + 4), GR_4(d, i + 8), GR_4(d, i + 12)
#define GR_12_SUMS(d) GR_4(d, 0), GR_4(d, 4), GR_4(d, 8)
#define GR_16_SUMS(d) GR_16(d, 0)
#define GR_24_SUMS(d) GR_12_SUMS(d), GR_4(d, 12), GR_4(d, 16), GR_4(d, 20)
#define GR_32_SUMS(d) GR_16(d, 0), GR_16(d, 16)
#define GR_64_SUMS(d) GR_32_SUMS(d), GR_16(d, 32), GR_16(d, 48)
#define GR_128_SUMS(d) GR_64_SUMS(d), GR_16(d, 64), GR_16(d, 80), GR_16(d, 96), GR_16(d, 112)

// sums += a b^T, a: 64 rows of 8 in registers, b: two rows of 8 for each of the sums; or = where `fresh`.
#define GR_MULTIPLY_TF32(COUNT, COLUMNS, A, B, FRESH)                                                        \
    inline __device__ void multiply_tf32(float(&sums)[COUNT], const uint32_t *a, uint64_t b,                 \
                                         bool fresh = false) {                                               \
        asm volatile("{ .reg .pred p; setp.eq.u32 p, " FRESH ", 0;\n\t"                                      \
                     "wgmma.mma_async.sync.aligned.m64n" COLUMNS "k8.f32.tf32.tf32 " GR_##COUNT##_NAMES A    \
                     ", " B ", p, 1, 1; }"                                                                   \
                     : GR_##COUNT##_SUMS(sums)                                                               \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(unsigned(fresh)));            \
    }
GR_MULTIPLY_TF32(32, "64", "{%32, %33, %34, %35}", "%36", "%37")
GR_MULTIPLY_TF32(64, "128", "{%64, %65, %66, %67}", "%68", "%69")
GR_MULTIPLY_TF32(128, "256", "{%128, %129, %130, %131}", "%132", "%133")

// sums += a b, or = where `fresh`; both in shared memory. a: 64 rows, b: two columns per sum, both as deep as
// SHAPE says. LAYOUTS: of 2-byte types, whether a and b are transposed.
#define GR_MULTIPLY(NAME, T, TYPE, COUNT, SHAPE, A, B, FRESH, LAYOUTS)                                       \
    inline __device__ void NAME(T, float(&sums)[COUNT], uint64_t a, uint64_t b, bool fresh = false) {        \
        asm volatile("{ .reg .pred p; setp.eq.u32 p, " FRESH ", 0;\n\t"                                      \
                     "wgmma.mma_async.sync.aligned." SHAPE ".f32." TYPE "." TYPE " " GR_##COUNT##_NAMES A    \
                     ", " B ", p, 1, 1" LAYOUTS "; }"                                                        \
                     : GR_##COUNT##_SUMS(sums)                                                               \
                     : "l"(a), "l"(b), "r"(unsigned(fresh)));                                                \
    }
#define GR_MULTIPLY_HALVES(NAME, ...)                                                                        \
    GR_MULTIPLY(NAME, gr_bf16, "bf16", __VA_ARGS__)                                                          \
    GR_MULTIPLY(NAME, gr_f16, "f16", __VA_ARGS__)
GR_MULTIPLY_HALVES(multiply, 32, "m64n64k16", "%32", "%33", "%34", ", 0, 1")
GR_MULTIPLY_HALVES(multiply, 64, "m64n128k16", "%64", "%65", "%66", ", 0, 1")
GR_MULTIPLY_HALVES(multiply, 128, "m64n256k16", "%128", "%129", "%130", ", 0, 1")
// b has a row for each column of the product, as a has one for each row.
GR_MULTIPLY_HALVES(multiply_k_major, 32, "m64n64k16", "%32", "%33", "%34", ", 0, 0")
GR_MULTIPLY_HALVES(multiply_k_major, 128, "m64n256k16", "%128", "%129", "%130", ", 0, 0")

// The offset of a 16-byte piece of a row of 128 bytes in a tile with swizzle 128.
inline __device__ uint32_t piece_at(unsigned row, unsigned piece) {
    return row * 128 + (piece ^ row % 8) * 16;
}

// The eight sums of this thread of 16 rows by 16 columns, rounded, to shared memory: `at` is where row
// lane % 16 of the 16 has the first, or from lane 16 on the second, eight of its columns.
template <class T> __device__ void store_rounded(uint32_t at, const float *sums) {
    Vec<T, 2> v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
        v[i] = {T(sums[2 * i]), T(sums[2 * i + 1])};
    const uint32_t *bits = reinterpret_cast<const uint32_t *>(v);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(bits[0]),
                 "r"(bits[1]), "r"(bits[2]), "r"(bits[3])
                 : "memory");
}

// One of them again.
template <class T> __device__ T load_half(uint32_t at) {
    uint16_t bits;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(bits) : "r"(at) : "memory");
    return reinterpret_cast<const T &>(bits);
}

} // namespace gr::matmul
