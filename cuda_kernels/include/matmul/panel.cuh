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

// Panels of OTHERS rows or columns and DEPTH elements along k, one after the other along k, which THREADS
// threads load, each of them by the same vectors.
template <class T, int OTHERS, int DEPTH, int THREADS> struct Panel {
    static constexpr int LENGTH = 16 / sizeof(T), COUNT = OTHERS * DEPTH / THREADS, VECTORS = COUNT / LENGTH;
    static_assert(COUNT % LENGTH == 0 && DEPTH % LENGTH == 0,
                  "whole vectors, with the same shifts in each panel");
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
    const Lines<T> &of;
    const char *origin;                 // the first element of the panel
    int64_t step, first_byte, end_byte; // to the next panel; of all vectors, from the origin on
    const char *windows[VECTORS];       // the boundaries before a thread's vectors
    unsigned shift[VECTORS];            // and the bytes from there on
    unsigned others, deep;              // rows or columns, and elements along k, that are inside
    Vector low[VECTORS], high[VECTORS];
    unsigned by[VECTORS]; // the bytes by which these are shifted

    __device__ Panel(const Lines<T> &of, uint64_t first, uint64_t k, unsigned others)
        : of(of), origin(reinterpret_cast<const char *>(of.at(first, k))), others(others) {
        constexpr int BYTES = sizeof(T);
        const int64_t span = int64_t((of.along_k ? others : DEPTH) - 1) * of.line * BYTES;
        const unsigned length = of.along_k ? DEPTH : (others + LENGTH - 1) / LENGTH * LENGTH;
        step = DEPTH * (of.along_k ? of.element : of.line) * BYTES;
        first_byte = min(span, int64_t(0));
        end_byte = max(span, int64_t(0)) + int64_t(length * BYTES) + (of.aligned ? 0 : 16);
        if (of.along_k)
            find_windows<true>();
        else
            find_windows<false>();
    }
    // Calls work(number, line, place in the line) for a thread's vectors.
    template <bool ALONG_K, class Work> static __device__ void each_vector(Work work) {
        constexpr unsigned OF_LINE = (ALONG_K ? DEPTH : OTHERS) / LENGTH;
#pragma unroll
        for (int i = 0; i < VECTORS; ++i) {
            const unsigned unit = i * THREADS + threadIdx.x;
            work(i, unit / OF_LINE, unit % OF_LINE * LENGTH);
        }
    }
    // Calls work(number, line, place in the line) for a thread's elements.
    template <class Work> __device__ void each_element(Work work) const {
        const unsigned inner = of.along_k ? DEPTH : OTHERS;
#pragma unroll
        for (int i = 0; i < COUNT; ++i)
            work(i, (i * THREADS + threadIdx.x) / inner, (i * THREADS + threadIdx.x) % inner);
    }
    // Rows and columns beyond the last one have the vectors of another one.
    template <bool ALONG_K> __device__ void find_windows() {
        each_vector<ALONG_K>([&](int i, unsigned line, unsigned place) {
            const int64_t to_line = int64_t(ALONG_K ? min(line, others - 1) : line) * of.line,
                          to_place = ALONG_K || place < others ? place : 0;
            const char *at = origin + (to_line + to_place) * int64_t(sizeof(T));
            shift[i] = unsigned(reinterpret_cast<uint64_t>(at)) & 15;
            windows[i] = at - shift[i];
        });
    }
    // Whether all vectors of the panel lie inside of the matrix.
    __device__ bool is_inside() const {
        const uint64_t at = reinterpret_cast<uint64_t>(origin);
        return deep == DEPTH && at + first_byte >= of.least && at + end_byte <= of.most + 16;
    }
    __device__ void load_inside() {
#pragma unroll
        for (int i = 0; i < VECTORS; ++i) {
            low[i].words = *reinterpret_cast<const Words *>(windows[i]);
            if (!of.aligned)
                high[i].words = *reinterpret_cast<const Words *>(windows[i] + 16);
            by[i] = shift[i];
        }
    }
    // At the edges of a matrix. Loads are of the nearest vectors inside: ptxas puts loads with a condition
    // where they wait for one another. A vector that is not inside is read by elements.
    template <bool ALONG_K> __device__ void load_edge() {
        const auto inside = [&](uint64_t address) {
            return *reinterpret_cast<const Words *>(max(of.least, min(address, of.most)));
        };
        each_vector<ALONG_K>([&](int i, unsigned, unsigned) {
            const uint64_t window = reinterpret_cast<uint64_t>(windows[i]);
            low[i].words = inside(window);
            high[i].words = inside(window + 16);
            by[i] = shift[i];
        });
        each_vector<ALONG_K>([&](int i, unsigned line, unsigned place) {
            const uint64_t window = reinterpret_cast<uint64_t>(windows[i]);
            if ((ALONG_K ? place : line) >= deep ||
                (window >= of.least && window + (shift[i] > 0 ? 16 : 0) <= of.most))
                return;
            const T *at = reinterpret_cast<const T *>(windows[i] + shift[i]);
            const unsigned valid = ALONG_K ? deep - place : others - (place < others ? place : 0);
#pragma unroll
            for (int j = 0; j < LENGTH; ++j)
                low[i].element[j] = j < valid ? at[j] : T(0.f);
            by[i] = 0;
        });
    }
    __device__ void load_elements() {
        const unsigned lines = of.along_k ? others : deep, length = of.along_k ? deep : others;
        const T *at = reinterpret_cast<const T *>(origin);
        each_element([&](int i, unsigned line, unsigned place) {
            low[i / LENGTH].element[i % LENGTH] =
                at[int64_t(min(line, lines - 1)) * of.line + int64_t(min(place, length - 1)) * of.element];
        });
    }
    // Loads the next panel, of which `deep_` elements along k are inside.
    __device__ void load(unsigned deep_) {
        deep = deep_;
        if (!of.vectors)
            load_elements();
        else if (is_inside())
            load_inside();
        else if (of.along_k)
            load_edge<true>();
        else
            load_edge<false>();
        origin += step;
#pragma unroll
        for (int i = 0; i < VECTORS; ++i)
            windows[i] += step;
    }
    // Elements beyond the end along k become zeros.
    template <bool ALONG_K> __device__ void store_vectors(T *to) const {
        each_vector<ALONG_K>([&](int i, unsigned line, unsigned place) {
            Vector x;
            x.words = of.aligned ? low[i].words : shifted<sizeof(T)>(low[i].words, high[i].words, by[i]);
            if (deep < DEPTH)
#pragma unroll
                for (int j = 0; j < LENGTH; ++j)
                    x.element[j] = (ALONG_K ? place + j : line) < deep ? x.element[j] : T(0.f);
            *reinterpret_cast<Words *>(to + line * (ALONG_K ? K_PITCH : PITCH) + place) = x.words;
        });
    }
    __device__ void store(T *to) const {
        if (!of.vectors)
            each_element([&](int i, unsigned line, unsigned place) {
                to[line * (of.along_k ? K_PITCH : PITCH) + place] =
                    (of.along_k ? place : line) < deep ? low[i / LENGTH].element[i % LENGTH] : T(0.f);
            });
        else if (of.along_k)
            store_vectors<true>(to);
        else
            store_vectors<false>(to);
    }
};

} // namespace gr::matmul
