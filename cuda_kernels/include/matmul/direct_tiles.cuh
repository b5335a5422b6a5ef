// Tiles of matrices in shared memory as they lie in memory, in windows of 16 bytes that begin on boundaries
// of 16 bytes, and the fragments of mma.sync that lanes read from them at any alignment.
#pragma once

#include <type_traits>

#include "common/mma.cuh"
#include "common/ptx.cuh"
#include "matmul/global_load.cuh"
#include "matmul/matmul.cuh"

namespace gr::matmul {

using namespace common;

// The elements of a row of A or of a column of B that a lane has in a product of STEP elements along k;
// `k_of` says which. Within a product of halves or in TF32 the order of k does not matter.
template <class T> struct FragmentOf { // float16 and bfloat16
    typedef float Sum;
    static constexpr int STEP = 16, COUNT = 4, DEPTH = 128, GROUP = 64;
    uint32_t words[2];
    static __device__ unsigned k_of(unsigned member, int i) {
        return 4 * member + i;
    }
};
template <> struct FragmentOf<float> { // TF32
    typedef float Sum;
    static constexpr int STEP = 8, COUNT = 2, DEPTH = 64, GROUP = 32;
    uint32_t words[2];
    static __device__ unsigned k_of(unsigned member, int i) {
        return member + 4 * i;
    }
};
template <> struct FragmentOf<double> {
    typedef double Sum;
    static constexpr int STEP = 16, COUNT = 4, DEPTH = 32, GROUP = 16;
    double words[4];
    static __device__ unsigned k_of(unsigned member, int i) {
        return member + 4 * i;
    }
};

template <class T>
__device__ void multiply(const FragmentOf<T> (&a)[2], const FragmentOf<T> &b, float (&sums)[4]) {
    const uint32_t words[4] = {a[0].words[0], a[1].words[0], a[0].words[1], a[1].words[1]};
    ptx::mma_m16n8(T(), words, b.words[0], b.words[1], sums);
}
inline __device__ void multiply(const FragmentOf<double> (&a)[2], const FragmentOf<double> &b,
                                double (&sums)[4]) {
    double of_a[8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
        of_a[i] = a[i % 2].words[i / 2];
    ptx::mma_m16n8k16(of_a, b.words, sums);
}

template <class W> __device__ W load_shared(const unsigned char *at) {
    return *reinterpret_cast<const W *>(at);
}

// Copies the first `size` bytes of a window; the others become zeros. `least`: the address of the matrix,
// before which nothing is read.
template <class T>
__device__ void copy_window(unsigned char *to, const char *from, unsigned size, uint64_t least) {
    if (size == 0 || reinterpret_cast<uint64_t>(from) >= least) {
        ptx::cp_async<16>(to, from, size);
        return;
    }
    const T *elements = reinterpret_cast<const T *>(from);
#pragma unroll 1
    for (int i = 0; i < int(16 / sizeof(T)); ++i)
        reinterpret_cast<T *>(to)[i] =
            reinterpret_cast<uint64_t>(elements + i) >= least && unsigned(i * sizeof(T)) < size
                ? load_global(elements + i)
                : T(0.f);
}

// Returns the lowest address of `lines` lines.
template <class T> __device__ uint64_t lowest(const T *matrix, uint64_t lines, int64_t line) {
    const int64_t span = int64_t(lines - 1) * line;
    return reinterpret_cast<uint64_t>(matrix + (span < 0 ? span : 0));
}

// A tile of LINES rows of A, or columns of B, of contiguous elements along k, which the first THREADS threads
// copy.
template <class T, int LINES, int THREADS> struct LinesAlongK {
    typedef FragmentOf<T> Fragment;
    static constexpr int SIZE = sizeof(T), DEPTH_BYTES = Fragment::DEPTH * SIZE;
    static constexpr int PITCH = DEPTH_BYTES + (SIZE == 4 ? 16 : 32), BYTES = LINES * PITCH;
    static constexpr int WINDOWS = DEPTH_BYTES / 16 + 1, ALL = LINES * WINDOWS,
                         EACH = (ALL + THREADS - 1) / THREADS;
    const char *from[EACH]; // this thread's windows at k = 0
    unsigned to[EACH];      // their place in shared memory
    int after[EACH];        // bytes from a line's beginning to the window's
    // A bit for each window of a line that is inside. The others become zeros: if they were copies of the
    // last line, all blocks would read that line many times.
    unsigned is_inside = 0;
    uint64_t least;

    __device__ LinesAlongK(const T *matrix, int64_t line, uint64_t lines, uint64_t, uint64_t first,
                           unsigned inside)
        : least(lowest(matrix, lines, line)) {
        const char *const origin = reinterpret_cast<const char *>(matrix + int64_t(first) * line);
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            const unsigned unit = i * THREADS + threadIdx.x, number = unit / WINDOWS, window = unit % WINDOWS;
            const char *const begin = origin + int64_t(min(number, inside - 1)) * line * SIZE;
            const unsigned shift = unsigned(reinterpret_cast<uint64_t>(begin)) & 15;
            after[i] = int(window * 16) - int(shift);
            from[i] = begin + after[i];
            to[i] = number * PITCH + window * 16;
            is_inside = number < inside ? is_inside | 1u << i : is_inside;
        }
    }
    // Begins to copy the elements from k on, of which `deep` are inside; zeros follow as far as products
    // read.
    __device__ void load(unsigned char *tile, uint64_t k, unsigned deep) const {
        const int end = int((deep + Fragment::GROUP - 1) / Fragment::GROUP * Fragment::GROUP * SIZE);
#pragma unroll
        for (int i = 0; i < EACH; ++i)
            if (after[i] < end + (SIZE == 2 ? 8 : 0) &&
                (ALL % THREADS == 0 || i < EACH - 1 || i * THREADS + threadIdx.x < ALL))
                copy_window<T>(
                    tile + to[i], from[i] + k * SIZE,
                    is_inside >> i & 1 ? unsigned(max(0, min(int(deep * SIZE) - after[i], 16))) : 0, least);
    }

    // Bytes from a boundary to the first line, and more for each further line of those that are inside.
    struct Place {
        unsigned first_shift, line_shift, inside;

        __device__ Place(const T *matrix, int64_t line, uint64_t first, unsigned inside)
            : first_shift(unsigned(reinterpret_cast<uint64_t>(matrix + int64_t(first) * line)) & 15),
              line_shift(unsigned(line * SIZE) & 15), inside(inside) {
        }
    };
    struct Reader {
        unsigned at, shift;

        __device__ Reader() {
        }
        __device__ Reader(const Place &place, unsigned line, unsigned member) {
            at = line * PITCH + ((place.first_shift + min(line, place.inside - 1) * place.line_shift) & 15) +
                 Fragment::k_of(member, 0) * SIZE;
            shift = SIZE == 2 ? at & 7 : 0;
            at -= shift;
        }
        __device__ Fragment load(const unsigned char *tile, int k) const {
            const unsigned char *const from = tile + at + k * SIZE;
            Fragment found;
            if constexpr (SIZE == 2) {
                const uint2 low = load_shared<uint2>(from), high = load_shared<uint2>(from + 8);
                const bool far = shift & 4;
                const uint32_t x = far ? low.y : low.x, y = far ? high.x : low.y, z = far ? high.y : high.x;
                found.words[0] = __funnelshift_r(x, y, shift % 4 * 8);
                found.words[1] = __funnelshift_r(y, z, shift % 4 * 8);
            } else {
#pragma unroll
                for (int i = 0; i < Fragment::COUNT; ++i)
                    found.words[i] = element(from + 4 * i * SIZE, T());
            }
            return found;
        }
        static __device__ uint32_t element(const unsigned char *from, float) {
            uint32_t rounded;
            asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(load_shared<float>(from)));
            return rounded;
        }
        static __device__ double element(const unsigned char *from, double) {
            return load_shared<double>(from);
        }
    };
};

// A tile of LENGTH columns of B, of contiguous elements along n: a line for each element along k.
template <class T, int LENGTH, int THREADS> struct LinesAlongN {
    typedef FragmentOf<T> Fragment;
    static constexpr int SIZE = sizeof(T), LINES = Fragment::DEPTH;
    static constexpr int WINDOWS = LENGTH * SIZE / 16 + 1;
    static constexpr int PITCH = WINDOWS * 16 % 64 == 32 ? WINDOWS * 16 + 16 : WINDOWS * 16,
                         BYTES = LINES * PITCH;
    static constexpr int ALL = LINES * WINDOWS, EACH = (ALL + THREADS - 1) / THREADS;
    const char *from[EACH];                      // this thread's windows at k = 0
    unsigned to[EACH], size[EACH], number[EACH]; // place in shared memory, bytes that are inside, line
    uint64_t least;
    int64_t pitch;

    __device__ LinesAlongN(const T *matrix, int64_t line, uint64_t, uint64_t k, uint64_t first,
                           unsigned inside)
        : least(lowest(matrix, k, line)), pitch(line * SIZE) {
        const char *const origin = reinterpret_cast<const char *>(matrix + first);
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            const unsigned unit = i * THREADS + threadIdx.x, window = unit % WINDOWS;
            number[i] = unit / WINDOWS;
            const char *const begin = origin + int64_t(number[i]) * pitch;
            const unsigned shift = unsigned(reinterpret_cast<uint64_t>(begin)) & 15;
            const int after = int(window * 16) - int(shift);
            from[i] = begin + after;
            to[i] = number[i] * PITCH + window * 16;
            size[i] = unsigned(max(0, min(int(inside * SIZE) - after, 16)));
        }
    }
    __device__ void load(unsigned char *tile, uint64_t k, unsigned deep) const {
        const unsigned end = (deep + Fragment::GROUP - 1) / Fragment::GROUP * Fragment::GROUP;
#pragma unroll
        for (int i = 0; i < EACH; ++i)
            if (number[i] < end && (ALL % THREADS == 0 || i < EACH - 1 || i * THREADS + threadIdx.x < ALL))
                copy_window<T>(tile + to[i], from[i] + int64_t(k) * pitch, number[i] < deep ? size[i] : 0,
                               least);
    }

    struct Place {
        unsigned first_shift, line_shift;

        __device__ Place(const T *matrix, int64_t line, uint64_t first, unsigned)
            : first_shift(unsigned(reinterpret_cast<uint64_t>(matrix + first)) & 15),
              line_shift(unsigned(line * SIZE) & 15) {
        }
    };
    struct Reader {
        unsigned at[Fragment::COUNT];

        __device__ Reader() {
        }
        __device__ Reader(const Place &place, unsigned column, unsigned member) {
#pragma unroll
            for (int i = 0; i < Fragment::COUNT; ++i) {
                const unsigned line = Fragment::k_of(member, i);
                at[i] = line * PITCH + ((place.first_shift + line * place.line_shift) & 15) + column * SIZE;
            }
        }
        __device__ Fragment load(const unsigned char *tile, int k) const {
            const unsigned char *const from = tile + k * PITCH;
            Fragment found;
            if constexpr (SIZE == 2) {
#pragma unroll
                for (int i = 0; i < 2; ++i)
                    found.words[i] = load_shared<uint16_t>(from + at[2 * i]) |
                                     uint32_t(load_shared<uint16_t>(from + at[2 * i + 1])) << 16;
            } else {
#pragma unroll
                for (int i = 0; i < Fragment::COUNT; ++i)
                    found.words[i] = LinesAlongK<T, LENGTH, THREADS>::Reader::element(from + at[i], T());
            }
            return found;
        }
    };
};

template <class T, bool K_MAJOR, int COLUMNS, int THREADS> struct BTile {
    typedef typename std::conditional<K_MAJOR, LinesAlongK<T, COLUMNS, THREADS>,
                                      LinesAlongN<T, COLUMNS, THREADS>>::type type;
};

} // namespace gr::matmul
