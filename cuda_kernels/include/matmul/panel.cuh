// Panels of matrices of any strides and alignment, on their way through registers to shared memory, where
// they lie as in memory: lines along k, or lines along m or n. Lines of contiguous elements are read by
// vectors of 16 bytes. Where lines do not begin on boundaries of 16 bytes, two neighbouring vectors are read
// and shifted.
#pragma once

#include "matmul/vec16_rows.cuh"

namespace gr::matmul {

// The lines of a matrix, contiguous if either of its strides is 1.
template <class T> struct Lines {
    const T *first;
    int64_t line, element; // elements from one line to the next, and from one element of a line to the next
    uint64_t least, most;  // addresses of the first and the last vector that lie inside
    bool along_k, vectors, aligned;

    // `others`: the number of rows of A or columns of B; `begin`: of the panels along k.
    __device__ Lines(const T *matrix, uint64_t others, uint64_t k, int64_t stride, int64_t k_stride,
                     uint64_t begin)
        : first(matrix), along_k(k_stride == 1 || (stride != 1 && llabs(k_stride) < llabs(stride))) {
        line = along_k ? stride : k_stride;
        element = along_k ? k_stride : stride;
        const int64_t span = int64_t((along_k ? others : k) - 1) * line;
        const int64_t length = int64_t(along_k ? k : others);
        least = (reinterpret_cast<uint64_t>(matrix + (span < 0 ? span : 0)) + 15) & ~uint64_t(15);
        most = (reinterpret_cast<uint64_t>(matrix + (span > 0 ? span : 0) + length) & ~uint64_t(15)) - 16;
        vectors = element == 1 && least <= most;
        aligned = rows_aligned(matrix, line) && (!along_k || begin * sizeof(T) % 16 == 0);
    }
    __device__ const T *at(uint64_t other, uint64_t k) const {
        return first + int64_t(along_k ? other : k) * line + int64_t(along_k ? k : other) * element;
    }
};

// A vector as four words.
typedef Vec<uint32_t, 4> Words;

// The 16 bytes from byte `shift` on of two neighbouring vectors of elements of SIZE bytes.
template <int SIZE> __device__ Words shifted(const Words &low, const Words &high, unsigned shift) {
    uint32_t words[8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
        words[i] = i < 4 ? low.at[i] : high.at[i - 4];
#pragma unroll
    for (int i = 0; i < 6; ++i)
        words[i] = shift & 8 ? words[i + 2] : words[i];
    if (SIZE <= 4)
#pragma unroll
        for (int i = 0; i < 5; ++i)
            words[i] = shift & 4 ? words[i + 1] : words[i];
    Words found;
#pragma unroll
    for (int i = 0; i < 4; ++i)
        found.at[i] = SIZE < 4 ? __funnelshift_r(words[i], words[i + 1], shift % 4 * 8) : words[i];
    return found;
}

// A panel of OTHERS rows or columns and DEPTH elements along k, which THREADS threads share.
template <class T, int OTHERS, int DEPTH, int THREADS> struct Panel {
    static constexpr int LENGTH = 16 / sizeof(T), COUNT = OTHERS * DEPTH / THREADS, VECTORS = COUNT / LENGTH;
    static_assert(COUNT % LENGTH == 0, "whole vectors");
    // Elements from one line to the next in shared memory, so that lanes that are served at once have other
    // banks: of lines along k, and of the others.
    static constexpr int K_PITCH = DEPTH + (sizeof(T) == 2 ? 8 : 4);
    static constexpr int PITCH = OTHERS + (sizeof(T) == 8 ? 4 : 8);
    static constexpr int ROOM = OTHERS * K_PITCH > DEPTH *PITCH ? OTHERS *K_PITCH : DEPTH *PITCH;

    union Vector {
        Words words;
        T element[LENGTH];
        __device__ Vector() : words() {
        }
    };
    Vector low[VECTORS], high[VECTORS];
    unsigned shift[VECTORS], deep; // bytes, and elements along k inside of the matrix or part

    // Calls work(number, line, place in the line) for a thread's vectors.
    template <bool ALONG_K, class Work> static __device__ void each_vector(Work work) {
        constexpr unsigned OF_LINE = (ALONG_K ? DEPTH : OTHERS) / LENGTH;
#pragma unroll
        for (int i = 0; i < VECTORS; ++i) {
            const unsigned unit = i * THREADS + threadIdx.x;
            work(i, unit / OF_LINE, unit % OF_LINE * LENGTH);
        }
    }
    // Loads are of the nearest vectors inside the matrix: ptxas puts loads with a condition where they wait
    // for one another. A vector that is not inside is read by elements, as far as the panel has them.
    template <bool ALONG_K> __device__ void load_vectors(const Lines<T> &of, const T *at, unsigned others) {
        const unsigned lines = ALONG_K ? others : deep, length = ALONG_K ? deep : others;
        const auto inside = [&](uint64_t address) {
            return *reinterpret_cast<const Words *>(max(of.least, min(address, of.most)));
        };
        const auto address_of = [&](unsigned line, unsigned place) {
            return reinterpret_cast<uint64_t>(at + int64_t(line) * of.line + place);
        };
        each_vector<ALONG_K>([&](int i, unsigned line, unsigned place) {
            const uint64_t address = address_of(line, place), window = address & ~uint64_t(15);
            shift[i] = unsigned(address) & 15;
            low[i].words = inside(window);
            if (!of.aligned)
                high[i].words = inside(window + 16);
        });
        each_vector<ALONG_K>([&](int i, unsigned line, unsigned place) {
            const uint64_t window = address_of(line, place) & ~uint64_t(15);
            if (line >= lines || place >= length ||
                (window >= of.least && window + (shift[i] > 0 ? 16 : 0) <= of.most))
                return;
#pragma unroll
            for (int j = 0; j < LENGTH; ++j)
                low[i].element[j] = place + j < length ? at[int64_t(line) * of.line + place + j] : T(0.f);
            shift[i] = 0;
        });
    }
    // Calls work(number, line, place in the line) for a thread's elements.
    template <class Work> static __device__ void each_element(bool along_k, Work work) {
        const unsigned inner = along_k ? DEPTH : OTHERS;
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            work(i, (i * THREADS + threadIdx.x) / inner, (i * THREADS + threadIdx.x) % inner);
    }
    __device__ void load_elements(const Lines<T> &of, const T *at, unsigned others) {
        const unsigned lines = of.along_k ? others : deep, length = of.along_k ? deep : others;
        each_element(of.along_k, [&](int i, unsigned line, unsigned place) {
            low[i / LENGTH].element[i % LENGTH] =
                at[int64_t(min(line, lines - 1)) * of.line + int64_t(min(place, length - 1)) * of.element];
        });
    }
    // Loads `others` by `deep_` elements from `at` on.
    __device__ void load(const Lines<T> &of, const T *at, unsigned others, unsigned deep_) {
        deep = deep_;
        if (of.vectors)
            of.along_k ? load_vectors<true>(of, at, others) : load_vectors<false>(of, at, others);
        else
            load_elements(of, at, others);
    }
    // Elements beyond the end along k become zeros.
    template <bool ALONG_K> __device__ void store_vectors(bool aligned, T *to) const {
        each_vector<ALONG_K>([&](int i, unsigned line, unsigned place) {
            Vector x;
            x.words = aligned ? low[i].words : shifted<sizeof(T)>(low[i].words, high[i].words, shift[i]);
            if (deep < DEPTH)
#pragma unroll
                for (int j = 0; j < LENGTH; ++j)
                    x.element[j] = (ALONG_K ? place + j : line) < deep ? x.element[j] : T(0.f);
            *reinterpret_cast<Words *>(to + line * (ALONG_K ? K_PITCH : PITCH) + place) = x.words;
        });
    }
    __device__ void store_elements(bool along_k, T *to) const {
        each_element(along_k, [&](int i, unsigned line, unsigned place) {
            to[line * (along_k ? K_PITCH : PITCH) + place] =
                (along_k ? place : line) < deep ? low[i / LENGTH].element[i % LENGTH] : T(0.f);
        });
    }
    __device__ void store(const Lines<T> &of, T *to) const {
        if (of.vectors)
            of.along_k ? store_vectors<true>(of.aligned, to) : store_vectors<false>(of.aligned, to);
        else
            store_elements(of.along_k, to);
    }
};

} // namespace gr::matmul
