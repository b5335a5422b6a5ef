// mma.sync of float64: which elements of tiles that TMA brought belong to a lane's fragments, their products,
// and where the results are stored. A tile has rows of 128 bytes with swizzled 16-byte pieces (swizzle 128):
// the rows of A, in boxes next to each other, and 16 rows of B in boxes of 2048 bytes. Rows of A and columns
// of B are assigned to lanes so that lanes that are served at once have no bank conflicts.
#pragma once

#include "common/mma.cuh"
#include "matmul/tma_pipeline.cuh"

namespace gr::matmul {

enum { TILE_K = 16 }; // elements along k that a stage brings

// sums += a b of 16 rows of eight of A and eight rows of eight of B, in the order of k.
inline __device__ void multiply_8(const double (&a)[4], const double (&b)[2], double (&sums)[4]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}

// The lanes of a warp, whose tile begins at `first_row` and `first_column` of the block's.
struct OfDouble {
    enum { BYTES = 8, HALVES = 1 }; // of an element; of a stage, which are multiplied one after the other
    typedef Vec<double, 8> A;       // 16 rows
    typedef Vec<double, 4> B, Sums; // eight columns
    unsigned row, column;           // of the first of a lane's results
    uint32_t of_a[4], of_b[2][2];   // by k / 4; by k / 4 % 2, and for every other eight columns

    __device__ OfDouble(unsigned first_row, unsigned first_column) {
        const unsigned group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
        const unsigned own = group % 4 * 2 + group / 4, piece = group % 4 / 2 * 4 + group / 4;
        row = first_row + own;
        column = first_column + member % 2 * 8 + member / 2 * 2;
        for (unsigned i = 0; i < 4; ++i) {
            of_a[i] = row * 128 + ((2 * i + member / 2) ^ own) * 16 + member % 2 * 8;
            of_b[i / 2][i % 2] = first_column * 128 + member * 128 +
                                 ((piece + i % 2 * 2) ^ (i / 2 * 4 + member)) * 16 + group % 2 * 8;
        }
    }
    static __device__ double load(uint32_t at) {
        double value;
        asm volatile("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(at) : "memory");
        return value;
    }
    __device__ A load_a(uint32_t tile, unsigned m) const {
        A a;
#pragma unroll
        for (int i = 0; i < 8; ++i)
            a.at[i] = load(tile + of_a[i / 2] + (m + i % 2 * 8) * 128);
        return a;
    }
    __device__ B load_b(uint32_t tile, unsigned, unsigned eight) const {
        B b;
#pragma unroll
        for (int i = 0; i < 4; ++i)
            b.at[i] = load(tile + of_b[i % 2][eight % 2] + eight / 2 * 2048 + i * 512);
        return b;
    }
    static __device__ void multiply(const A &a, const B &b, Sums &sums) {
        ptx::mma_m16n8k16(a.at, b.at, sums.at);
    }
    __device__ void store(const gr_matmul_params &p, uint64_t pair, TileCoord place, unsigned m,
                          unsigned eight, const Sums &sums) const {
        const uint64_t to_column = place.column + column + eight / 2 * 16 + eight % 2 * 4;
        double *c = reinterpret_cast<double *>(p.c) + pair * p.m * p.n + to_column;
#pragma unroll
        for (int i = 0; i < 4; i += 2) {
            const uint64_t to_row = place.row + row + m + 4 * i;
            if (to_row < p.m && to_column < p.n)
                store_pair(c + to_row * p.n, p.n % 2 == 0 && p.c % 16 == 0, to_column, p.n, sums.at[i],
                           sums.at[i + 1]);
        }
    }
    // Adds what the same call of store left in C.
    __device__ void add(const gr_matmul_params &p, uint64_t pair, TileCoord place, unsigned m, unsigned eight,
                        Sums &sums) const {
        const uint64_t first = place.column + column + eight / 2 * 16 + eight % 2 * 4;
        const double *c = reinterpret_cast<const double *>(p.c) + pair * p.m * p.n + first;
        const bool aligned = p.n % 2 == 0 && p.c % 16 == 0;
#pragma unroll
        for (int i = 0; i < 4; i += 2) {
            const uint64_t from_row = place.row + row + m + 4 * i;
            if (from_row >= p.m || first >= p.n)
                continue;
            const double *from = c + from_row * p.n;
            const Vec<double, 2> pair = aligned ? *reinterpret_cast<const Vec<double, 2> *>(from)
                                                : Vec<double, 2>{from[0], first + 1 < p.n ? from[1] : 0.0};
            sums.at[i] = pair.at[0] + sums.at[i];
            sums.at[i + 1] = pair.at[1] + sums.at[i + 1];
        }
    }
};

// Complex numbers, by four products of real ones.
struct OfComplex {
    enum { BYTES = 16, HALVES = 2 };
    template <int N> struct Elements { double re[N], im[N]; };
    typedef Elements<4> A, Sums;
    typedef Elements<2> B;
    unsigned row, column;
    uint32_t of_a[2], of_b[2]; // by k / 4 % 2

    __device__ OfComplex(unsigned first_row, unsigned first_column) {
        const unsigned group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
        const unsigned own = group % 2 * 4 + group / 2;
        row = first_row + own;
        column = first_column + member;
        for (unsigned i = 0; i < 2; ++i) {
            of_a[i] = row * 128 + ((i * 4 + member) ^ own) * 16;
            of_b[i] = first_column * 256 + member * 128 + (own ^ (i * 4 + member)) * 16;
        }
    }
    static __device__ void load(uint32_t at, double &re, double &im) {
        asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(re), "=d"(im) : "r"(at) : "memory");
    }
    __device__ A load_a(uint32_t tile, unsigned m) const {
        A a;
#pragma unroll
        for (int i = 0; i < 4; ++i)
            load(tile + of_a[i / 2] + (m + i % 2 * 8) * 128, a.re[i], a.im[i]);
        return a;
    }
    __device__ B load_b(uint32_t tile, unsigned half, unsigned eight) const {
        B b;
#pragma unroll
        for (int i = 0; i < 2; ++i)
            load(tile + of_b[i] + eight * 2048 + half * 1024 + i * 512, b.re[i], b.im[i]);
        return b;
    }
    static __device__ void multiply(const A &a, const B &b, Sums &sums) {
        const double minus[4] = {-a.im[0], -a.im[1], -a.im[2], -a.im[3]};
        multiply_8(a.re, b.re, sums.re);
        multiply_8(a.re, b.im, sums.im);
        multiply_8(minus, b.im, sums.re);
        multiply_8(a.im, b.re, sums.im);
    }
    __device__ void store(const gr_matmul_params &p, uint64_t pair, TileCoord place, unsigned m,
                          unsigned eight, const Sums &sums) const {
        double2 *c = reinterpret_cast<double2 *>(p.c) + pair * p.m * p.n;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const uint64_t to_row = place.row + row + m + i / 2 * 8;
            const uint64_t to_column = place.column + column + eight * 8 + i % 2 * 4;
            if (to_row < p.m && to_column < p.n)
                c[to_row * p.n + to_column] = double2{sums.re[i], sums.im[i]};
        }
    }
    __device__ void add(const gr_matmul_params &p, uint64_t pair, TileCoord place, unsigned m, unsigned eight,
                        Sums &sums) const {
        const double2 *c = reinterpret_cast<const double2 *>(p.c) + pair * p.m * p.n;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const uint64_t from_row = place.row + row + m + i / 2 * 8;
            const uint64_t from_column = place.column + column + eight * 8 + i % 2 * 4;
            if (from_row < p.m && from_column < p.n) {
                const double2 before = c[from_row * p.n + from_column];
                sums.re[i] = before.x + sums.re[i];
                sums.im[i] = before.y + sums.im[i];
            }
        }
    }
};

} // namespace gr::matmul
