// c8: an implicit product on tensor cores, whose tiles the copy engine gathers.
//
// What c5 and c7 still cost: with many channels a block's pixels and filters came in several turns, in which
// nothing was multiplied, and each element passed through registers on its way to shared memory.
// The change: for one tap, what 128 results see is a box of x, moved by the tap: a tensor map of pictures,
// rows, columns and channels has the engine bring it, zeros where it reaches beyond the picture, as a tile of
// 64 channels (32 of float32, which it rounds to TF32). So the matrix that c1 wrote to memory is put together
// in shared memory, tile by tile, in a ring of stages, which one warp fills while eight multiply. A block
// makes a box of 128 pixels, of one or more pictures, and 128 or 64 filters. What limits it now: each element
// comes once for each tap, if from the L2 cache. Where it shows: no instructions that gather. This is for
// strides of one and channels whose bytes are a multiple of 16; NCHW is copied to NHWC first. c5 and c7 make
// all others.
// c9: the same of halves, by other entries.
#include "conv_cores.cuh"
#include "matmul_stages.cuh"

enum { PIXELS = 128, ROW_BYTES = 128, A_BYTES = PIXELS * ROW_BYTES, STAGES = 3, THREADS = 288 };

inline __device__ void copy_box(uint32_t to, const void *map, int channel, int along, int down, int picture,
                                uint32_t barrier) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
                 "l"(map), "r"(channel), "r"(along), "r"(down), "r"(picture), "r"(barrier)
                 : "memory");
}

// The first result of a block, and its first filter.
struct Box {
    unsigned filter, along, down, picture;

    __device__ explicit Box(const gr_conv_maps &p, unsigned filters) {
        unsigned number = blockIdx.x;
        filter = number % unsigned(p.parts) * filters;
        number /= unsigned(p.parts);
        along = number % unsigned(p.across) * unsigned(p.box_columns);
        number /= unsigned(p.across);
        down = number % unsigned(p.down) * unsigned(p.box_rows);
        picture = number / unsigned(p.down) * unsigned(p.box_pictures);
    }
};

template <int FILTERS, int DEEP, class Stages>
__device__ void bring(const gr_conv_maps &maps, Stages &ring, const Box &box) {
    const gr_conv_params &p = maps.conv;
    unsigned tap = 0;
    for (unsigned i = 0; i < p.down.kernel; ++i)
        for (unsigned j = 0; j < p.along.kernel; ++j, ++tap)
            for (unsigned channel = 0; channel < p.channels; channel += DEEP, ring.next()) {
                ring.wait_until_empty(A_BYTES + FILTERS * ROW_BYTES);
                copy_box(ring.tiles(), &maps.x, channel,
                         int(box.along + j * unsigned(p.along.dilation)) - int(p.along.padding),
                         int(box.down + i * unsigned(p.down.dilation)) - int(p.down.padding), box.picture,
                         ring.full());
                copy_tile(ring.tiles() + A_BYTES, &maps.w, channel, tap, box.filter, ring.full());
            }
}

template <class T, int FILTERS, class Stages>
__device__ void multiply(unsigned steps, Stages &ring, unsigned group, float (&sums)[FILTERS / 2]) {
    uint32_t last = 0;
    for (unsigned step = 0; step < steps; ++step, ring.next()) {
        ring.wait_until_full();
        const uint32_t a = ring.tiles() + group * (A_BYTES / 2), b = ring.tiles() + A_BYTES;
        begin_products();
#pragma unroll
        for (int i = 0; i < 4; ++i)
            multiply_pixels(T(), sums, tile_descriptor(a + 32 * i), tile_descriptor(b + 32 * i),
                            step == 0 && i == 0);
        commit_products();
        wait_for_products<1>(); // those of the step before are done
        if (step > 0)
            ring.release(last);
        last = ring.full();
    }
    finish_products(sums);
}

// The results of 64 pixels: those of a row of the box are neighbours, and so on.
template <class T, int FILTERS>
__device__ void store(const gr_conv_maps &maps, const Box &box, unsigned group,
                      const float (&sums)[FILTERS / 2]) {
    const gr_conv_params &p = maps.conv;
    const unsigned columns = unsigned(maps.box_columns), rows = unsigned(maps.box_rows),
                   lane = threadIdx.x % 32;
    const bool pairs = p.of_out.channel == 1 && p.filters % 2 == 0 && p.out % (2 * sizeof(T)) == 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const unsigned number = group * 64 + threadIdx.x / 32 % 4 * 16 + h * 8 + lane / 4;
        const unsigned along = box.along + number % columns, down = box.down + number / columns % rows;
        const unsigned picture = box.picture + number / columns / rows;
        if (along >= p.along.out || down >= p.down.out || picture >= p.batch)
            continue;
        T *to = reinterpret_cast<T *>(p.out) + conv_offset(p.of_out, picture, down, along, 0);
#pragma unroll
        for (int j = 0; j < FILTERS / 8; ++j) {
            const unsigned first = box.filter + 8 * j + lane % 4 * 2;
            const float a = sums[4 * j + 2 * h], b = sums[4 * j + 2 * h + 1];
            if (pairs && first < p.filters)
                *reinterpret_cast<Two<T> *>(to + first) = {T(a), T(b)};
            else if (!pairs) {
                if (first < p.filters)
                    to[first * p.of_out.channel] = T(a);
                if (first + 1 < p.filters)
                    to[(first + 1) * p.of_out.channel] = T(b);
            }
        }
    }
}

template <class T, int FILTERS> __device__ void conv(const gr_conv_maps &maps) {
    constexpr int DEEP = ROW_BYTES / sizeof(T);
    extern __shared__ __align__(1024) unsigned char bytes[];
    Ring<STAGES, A_BYTES + FILTERS * ROW_BYTES> ring(shared_address(bytes));
    const gr_conv_params &p = maps.conv;
    const Box box(maps, FILTERS);
    let_next_in();
    wait_for_previous();
    if (threadIdx.x >= 256) {
        if (threadIdx.x == 256)
            bring<FILTERS, DEEP>(maps, ring, box);
        return;
    }
    const unsigned steps = unsigned(p.down.kernel * p.along.kernel * ((p.channels + DEEP - 1) / DEEP));
    float sums[FILTERS / 2];
    multiply<T, FILTERS>(steps, ring, threadIdx.x / 128, sums);
    store<T, FILTERS>(maps, box, threadIdx.x / 128, sums);
}

#define GR_CONV(rung, suffix, T)                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, 2)                                                 \
        rung##_##suffix##_128(const __grid_constant__ gr_conv_maps maps) {                                   \
        conv<T, 128>(maps);                                                                                  \
    }                                                                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS, 2)                                                 \
        rung##_##suffix##_64(const __grid_constant__ gr_conv_maps maps) {                                    \
        conv<T, 64>(maps);                                                                                   \
    }

GR_CONV(c8, f32, float)
GR_CONV(c9, f16, gr_f16)
GR_CONV(c9, bf16, gr_bf16)
