// mma.sync of float64: tiles that the copy engine brought, fragments of them, and where the results go.
#pragma once

#include "matmul_stages.cuh"

inline __device__ double load_double(uint32_t at) {
    double value;
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(at) : "memory");
    return value;
}

// sums += a b of 16 rows of 16 of A and 16 rows of eight of B, one product after the other in the order of k.
inline __device__ void multiply(const double (&a)[8], const double (&b)[4], double (&sums)[4]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                 : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
                   "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
}

// Where a lane finds its elements: of A in rows of 16 elements, of B in boxes of 16 rows by 16 columns.
// Either way rows of 128 bytes, whose 16-byte pieces were exchanged. Which rows of A and columns of B a lane
// takes is such that no two of half a warp meet in a bank.
struct Lane {
    unsigned row, column;         // of the first of its results in 16 by 16
    uint32_t of_a[4], of_b[2][2]; // of A by k / 4; of B by k / 4 % 2, for every other 8 columns

    // Of the warp whose tile begins at this row and column of the block's.
    __device__ Lane(unsigned first_row, unsigned first_column) {
        const unsigned group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
        const unsigned piece = group % 4 / 2 * 4 + group / 4;
        row = group % 4 * 2 + group / 4;
        column = member % 2 * 8 + member / 2 * 2;
        for (unsigned i = 0; i < 4; ++i)
            of_a[i] = (first_row + row) * 128 + ((2 * i + member / 2) ^ row) * 16 + member % 2 * 8;
        for (unsigned i = 0; i < 4; ++i)
            of_b[i / 2][i % 2] = first_column * 128 + member * 128 +
                                 ((piece + 2 * (i % 2)) ^ (4 * (i / 2) + member)) * 16 + group % 2 * 8;
        row += first_row;
        column += first_column;
    }
    // 16 rows, `down` rows below.
    __device__ void load_a(uint32_t tile, unsigned down, double (&to)[8]) const {
#pragma unroll
        for (int i = 0; i < 8; ++i)
            to[i] = load_double(tile + of_a[i / 2] + (down + i % 2 * 8) * 128);
    }
    // Eight columns, those of number `eight`.
    __device__ void load_b(uint32_t tile, unsigned eight, double (&to)[4]) const {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            to[i] = load_double(tile + of_b[i % 2][eight % 2] + eight / 2 * 2048 + i * 512);
    }
    // The sums of 16 rows and eight columns.
    __device__ void store(const gr_matmul_params &p, uint64_t pair, Place place, unsigned down,
                          unsigned eight, const double (&sums)[4]) const {
        const uint64_t to_column = place.column + column + eight / 2 * 16 + eight % 2 * 4;
        double *c = reinterpret_cast<double *>(p.c) + pair * p.m * p.n + to_column;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const uint64_t to_row = place.row + row + down + 8 * half;
            if (to_row >= p.m || to_column >= p.n)
                continue;
            double *to = c + to_row * p.n;
            if (p.n % 2 == 0 && p.c % 16 == 0)
                *reinterpret_cast<double2 *>(to) = double2{sums[2 * half], sums[2 * half + 1]};
            else {
                to[0] = sums[2 * half];
                if (to_column + 1 < p.n)
                    to[1] = sums[2 * half + 1];
            }
        }
    }
};
