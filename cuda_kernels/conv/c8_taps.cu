// c8: implicit GEMM on tensor cores, whose tiles the copy engine gathers.
//
// What c5 and c7 still cost: with many channels, a block loaded its pixels and filters in several passes,
// during which nothing was multiplied, and each element passed through registers before shared memory.
// The change: a tensor map with the axes images, rows, columns and channels lets the engine load a box of x,
// 64 channels (32 of float32, which it rounds to TF32) of each pixel in a row of 128 bytes, with zeros beyond
// the image. Taps that are a stride apart, or next to each other, use the same box: then a tap is an offset
// in it, as in c5, and one box serves them all. A second ring holds the filters, tap by tap. One warp fills
// the rings while eight multiply. A block computes 128 or 256 pixels, of one or more images, by 64 or 128
// filters; if there are few pixels, the blocks of a cluster split the channels, and add their sums. What
// limits it now: the tensor cores, or the bandwidth of the L2 cache. Where it shows: no gather instructions;
// loaded sectors, which taps no longer multiply. It supports channels whose bytes are a multiple of 16; NCHW
// is transposed to NHWC first. c5 and c7 compute all other convolutions.
//
// c9: the same for 2-byte elements, by other entries.
#include "common/cluster.cuh"
#include "common/entry.cuh"
#include "common/vec.cuh"
#include "conv/nchw_to_nhwc.cuh"
#include "conv/tensor_cores.cuh"
#include "matmul/tma_pipeline.cuh"

using namespace gr::conv;

static_assert(row_c8.threads == row_c9.threads, "one kernel");
enum { ROW_BYTES = 128, THREADS = row_c8.threads, MULTIPLYING = 256, EIGHT = 8 };

// The pipelines of pixels and of filters: the plan says how many stages there are, and of how many bytes.
struct PlannedStages {
    uint32_t at, first_barrier;
    unsigned stages, bytes;

    __device__ uint32_t barriers() const {
        return first_barrier;
    }
};
typedef Pipeline<PlannedStages> Stages;

// The first result that a block makes, and the first filter, and its share of the channels, in chunks.
struct Box {
    unsigned group, filter, along, down, picture, share, shares, first, last;

    __device__ Box(const gr_conv_tma_params &p, unsigned number, unsigned filters, unsigned deep)
        : shares(cluster_size()) {
        share = blockIdx.x % shares;
        const unsigned chunks = (unsigned(p.conv.channels) + deep - 1) / deep;
        first = share * chunks / shares;
        last = (share + 1) * chunks / shares;
        filter = next_digit(number, p.filter_tiles) * filters;
        group = next_digit(number, unsigned(p.conv.groups));
        along = next_digit(number, p.boxes_x) * p.box_columns;
        down = next_digit(number, p.boxes_y) * p.box_rows;
        picture = number * p.box_images;
    }
};

// The pixels that the taps of a box see; or, of PLANES, those of each channel in a row of 128 bytes, in as
// many boxes as there are such rows.
template <class T, bool PLANES>
__device__ void bring_pixels(const gr_conv_tma_params &maps, const Stages &pixels, const Box &box,
                             const gr_conv_tap &tap, unsigned channel) {
    constexpr unsigned TILE_K = ROW_BYTES / sizeof(T);
    const gr_conv_params &p = maps.conv;
    pixels.wait_until_empty(maps.box_bytes);
    if (PLANES)
        for (unsigned i = 0; i < maps.box_columns; i += TILE_K)
            ptx::cp_async_bulk_tensor(
                pixels.tiles() + i * ROW_BYTES, &maps.x,
                {box.along + i, box.group * unsigned(p.channels) + channel, box.picture}, pixels.full());
    else
        ptx::cp_async_bulk_tensor(pixels.tiles(), &maps.x,
                                  {int(channel), int(box.group),
                                   int(box.along * unsigned(p.width.stride)) - int(p.width.padding) + tap.dx,
                                   int(box.down * unsigned(p.height.stride)) - int(p.height.padding) + tap.dy,
                                   int(box.picture)},
                                  pixels.full());
}

// Writes zeros behind each box that is smaller than its tiles: wgmma reads whole tiles, and the results of
// this padding are discarded.
inline __device__ void clear_behind(const gr_conv_tma_params &maps, unsigned char *boxes) {
    for (unsigned stage = 0; stage < maps.x_stages; ++stage)
        for (unsigned i = maps.box_bytes + 16 * threadIdx.x; i < maps.x_stage_bytes; i += 16 * THREADS)
            *reinterpret_cast<uint4 *>(boxes + stage * maps.x_stage_bytes + i) = uint4{};
    if (maps.box_bytes < maps.x_stage_bytes)
        ptx::fence_proxy_async_shared();
}

// What the engine is asked for, by one thread.
template <class T, int FILTERS, bool PLANES>
__device__ void bring(const gr_conv_tma_params &maps, const gr_conv_tap *taps, Stages &pixels,
                      Stages &filters, const Box &box) {
    constexpr unsigned TILE_K = ROW_BYTES / sizeof(T);
    for (unsigned chunk = box.first; chunk < box.last; ++chunk)
        for (unsigned i = 0; i < maps.taps; ++i, filters.next()) {
            const gr_conv_tap tap = taps[i];
            if (tap.first) {
                bring_pixels<T, PLANES>(maps, pixels, box, tap, chunk * TILE_K);
                pixels.next();
            }
            filters.wait_until_empty(FILTERS * ROW_BYTES);
            ptx::cp_async_bulk_tensor(
                filters.tiles(), &maps.w,
                {chunk * TILE_K, tap.index, box.group * unsigned(maps.conv.filters) + box.filter},
                filters.full());
        }
}

// Where tile `number` of 64 pixels begins, and its pixel m: counted in the rows of 128 bytes of a box.
inline __device__ unsigned tile_at(const gr_conv_tma_params &p, unsigned number) {
    const unsigned in = number % p.tiles_per_image;
    return number / p.tiles_per_image * p.plane + in / p.tiles_per_row * p.tile_row_pitch +
           in % p.tiles_per_row * EIGHT;
}
inline __device__ unsigned pixel_at(const gr_conv_tma_params &p, unsigned number, unsigned m) {
    return tile_at(p, number) + m / EIGHT * p.group8_pitch + m % EIGHT;
}

// The same of planes: a has 16 rows of 64 pixels.
GR_MULTIPLY_HALVES(multiply_planes, 32, "m64n64k16", "%32", "%33", "%34", ", 1, 0")
GR_MULTIPLY_HALVES(multiply_planes, 64, "m64n128k16", "%64", "%65", "%66", ", 1, 0")

// The products of a tap: `pixels` is where the first tile's are, `tile` how far behind it each tile is. Of
// planes of 4 bytes the tensor cores take no pixels from there: they pass through registers.
template <class T, int TILES, int FILTERS, bool PLANES>
__device__ void multiply_tap(const gr_conv_tma_params &maps, uint32_t pixels, uint32_t filters,
                             const uint32_t (&tile)[TILES], bool fresh, float (&sums)[TILES][FILTERS / 2]) {
    const uint64_t apart = uint64_t(maps.group8_pitch * ROW_BYTES >> 4) << 32 | uint64_t(1) << 62;
    if constexpr (PLANES && sizeof(T) == 4) {
        const BFragments columns;
        uint32_t of[TILES][16];
#pragma unroll
        for (int j = 0; j < TILES; ++j)
            columns.load(pixels + j * 128 * ROW_BYTES, of[j]);
        begin_products();
#pragma unroll
        for (int k = 0; k < 4; ++k)
#pragma unroll
            for (int j = 0; j < TILES; ++j)
                multiply_tf32(sums[j], of[j] + 4 * k, tile_descriptor(filters + 32 * k), fresh && k == 0);
        commit_products();
        wait_for_products<0>(); // before registers change
        return;
    }
    begin_products();
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
        for (int j = 0; j < TILES; ++j)
            if constexpr (PLANES && sizeof(T) == 2)
                multiply_planes(T(), sums[j], tile_descriptor(pixels + tile[j] + 16 * ROW_BYTES * k),
                                tile_descriptor(filters + 32 * k), fresh && k == 0);
            else
                multiply_pixels(T(), sums[j], uint64_t(pixels + tile[j] + 32 * k >> 4) | apart,
                                tile_descriptor(filters + 32 * k), fresh && k == 0);
    commit_products();
    wait_for_products<1>(); // those of the tap before are done
}

template <class T, int TILES, int FILTERS, bool PLANES>
__device__ void multiply(const gr_conv_tma_params &maps, const gr_conv_tap *taps, Stages &pixels,
                         Stages &filters, const Box &box, float (&sums)[TILES][FILTERS / 2]) {
    uint32_t tile[TILES], used = 0, used_box = 0;
#pragma unroll
    for (int i = 0; i < TILES; ++i)
        tile[i] = tile_at(maps, threadIdx.x / 128 * TILES + i) * ROW_BYTES;
    bool fresh = true;
    for (unsigned chunk = box.first; chunk < box.last; ++chunk)
        for (unsigned i = 0; i < maps.taps; ++i, filters.next()) {
            const gr_conv_tap tap = taps[i];
            if (tap.first)
                pixels.wait_until_full();
            filters.wait_until_full();
            multiply_tap<T, TILES, FILTERS, PLANES>(maps, pixels.tiles() + tap.box_offset, filters.tiles(),
                                                    tile, fresh, sums);
            fresh = false;
            if (used)
                filters.release(used);
            if (used_box)
                pixels.release(used_box);
            used = filters.full();
            used_box = tap.last ? pixels.full() : 0;
            if (tap.last)
                pixels.next();
        }
#pragma unroll
    for (int j = 0; j < TILES; ++j)
        finish_products(sums[j]);
    filters.release(used);
    if (used_box)
        pixels.release(used_box);
}

// The products of all parts of k that a block takes, one after the other. The parts are those of the blocks
// of a cluster, and are added up in the same order.
template <class T, int TILES, int FILTERS, bool PLANES, bool PARTS>
__device__ void multiply_parts(const gr_conv_tma_params &maps, const gr_conv_tap *taps, Stages &pixels,
                               Stages &filters, const Box &box, float (&sums)[TILES][FILTERS / 2]) {
    if constexpr (!PARTS) // no registers for a second array of sums
        multiply<T, TILES, FILTERS, PLANES>(maps, taps, pixels, filters, box, sums);
    else {
        Box part = box;
        for (unsigned i = 0; i < maps.rounds; ++i) {
            float more[TILES][FILTERS / 2];
            part.first = box.first + i * (box.last - box.first) / maps.rounds;
            part.last = box.first + (i + 1) * (box.last - box.first) / maps.rounds;
            multiply<T, TILES, FILTERS, PLANES>(maps, taps, pixels, filters, part, more);
#pragma unroll
            for (int tile = 0; tile < TILES; ++tile)
#pragma unroll
                for (int j = 0; j < FILTERS / 2; ++j)
                    sums[tile][j] = i == 0 ? more[tile][j] : sums[tile][j] + more[tile][j];
        }
    }
}

// ---- results

// The warps that multiply sync_consumers.
inline __device__ void sync_consumers() {
    ptx::barrier_sync<3, MULTIPLYING>();
}

// How far the result of a tile's pixel m is from the first of the output, for filter 0; -1 where there is
// none.
inline __device__ int64_t result_offset(const gr_conv_tma_params &maps, const Box &box, unsigned number,
                                        unsigned m) {
    const gr_conv_params &p = maps.conv;
    const unsigned at = pixel_at(maps, number, m), in = at % maps.plane;
    const unsigned row = in / maps.pitch, column = in % maps.pitch;
    const unsigned along = box.along + column, down = box.down + row, picture = box.picture + at / maps.plane;
    const bool there = column < maps.box_columns && row < maps.box_rows && at / maps.plane < maps.box_images;
    return there && along < p.width.out && down < p.height.out && picture < p.batch
               ? conv_offset(p.of_out, picture, down, along, box.group * p.filters)
               : -1;
}

// The pixel of its tile to which a thread's sums belong: four consecutive sums are of two filters of one
// pixel and the same two of another.
template <class T, bool PLANES> __device__ unsigned pixel_of(unsigned which) {
    if (PLANES && sizeof(T) == 4)
        return BFragments().first % 64 + which;
    return threadIdx.x / 32 % 4 * 16 + which * 8 + threadIdx.x % 32 / 4;
}

// The places of a thread's two pixels of a tile, and four of its sums that go there.
template <class T, bool PLANES> struct Places {
    int64_t at[2];

    __device__ Places(const gr_conv_tma_params &maps, const Box &box, unsigned tile)
        : at{result_offset(maps, box, tile, pixel_of<T, PLANES>(0)),
             result_offset(maps, box, tile, pixel_of<T, PLANES>(1))} {
    }
    __device__ void store(const gr_conv_params &p, unsigned filter, const float *sums) const {
        const bool pairs = p.of_out.channel == 1 && p.filters % 2 == 0 && p.out % (2 * sizeof(T)) == 0;
        filter += threadIdx.x % 4 * 2;
#pragma unroll
        for (int which = 0; which < 2; ++which) {
            const T a = T(sums[2 * which]), b = T(sums[2 * which + 1]);
            T *to = reinterpret_cast<T *>(p.out) + at[which] + filter * p.of_out.channel;
            if (at[which] < 0 || filter >= p.filters)
                continue;
            if (pairs)
                *reinterpret_cast<Vec<T, 2> *>(to) = {a, b};
            else {
                to[0] = a;
                if (filter + 1 < p.filters)
                    to[p.of_out.channel] = b;
            }
        }
    }
};

// Stores the sums over all blocks of the cluster, in their order: of 8 filters those of a tile are one
// block's.
template <class T, int TILES, int FILTERS, bool PLANES>
__device__ void add_up(const gr_conv_tma_params &maps, const Box &box, float4 *room,
                       const float (&sums)[TILES][FILTERS / 2]) {
    enum { GROUPS = FILTERS / 8, MOST = 8 };
    if (threadIdx.x < MULTIPLYING) {
        sync_consumers(); // the rings make room
#pragma unroll
        for (int i = 0; i < TILES * GROUPS; ++i) {
            const float *of = &sums[i / GROUPS][i % GROUPS * 4];
            room[i * MULTIPLYING + threadIdx.x] = {of[0], of[1], of[2], of[3]};
        }
    }
    __syncwarp();
    cluster_sync();
    for (unsigned t = 0; t < TILES && threadIdx.x < MULTIPLYING; ++t) {
        const Places<T, PLANES> places(maps, box, threadIdx.x / 128 * TILES + t);
#pragma unroll 2
        for (unsigned i = box.share; i < GROUPS; i += box.shares) {
            float4 more[MOST];
#pragma unroll
            for (unsigned other = 0; other < MOST; ++other)
                if (other < box.shares)
                    more[other] = *in_block(&room[(t * GROUPS + i) * MULTIPLYING + threadIdx.x], other);
            float sum[4] = {more[0].x, more[0].y, more[0].z, more[0].w};
#pragma unroll
            for (unsigned other = 1; other < MOST; ++other)
                if (other < box.shares) {
                    sum[0] += more[other].x;
                    sum[1] += more[other].y;
                    sum[2] += more[other].z;
                    sum[3] += more[other].w;
                }
            places.store(maps.conv, box.filter + 8 * i, sum);
        }
    }
    __syncwarp();
    cluster_sync(); // before any block ends, of which others may still read
}

// NHWC by way of shared memory: of a warp's 16 pixels 128 bytes of filters at a time, in rows that are
// longer, so that no two of them sync_consumers in a bank; then 16 bytes at once, or if filters are not
// aligned, neighbouring elements by neighbouring lanes.
template <class T, int FILTERS, bool ALIGNED>
__device__ void store_rows(const gr_conv_tma_params &maps, const Box &box, unsigned tile, unsigned char *room,
                           const float (&sums)[FILTERS / 2]) {
    enum { SOME = ROW_BYTES / sizeof(T), PITCH = ROW_BYTES + 8 * sizeof(T), LENGTH = 16 / sizeof(T) };
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, piece = lane % 8;
    const int64_t mine = result_offset(maps, box, tile, warp % 4 * 16 + lane % 16);
    unsigned char *rows = room + warp * 16 * PITCH;
#pragma unroll
    for (int first = 0; first < FILTERS; first += SOME) {
        __syncwarp();
#pragma unroll
        for (int i = 0; i < SOME / 4; ++i)
            *reinterpret_cast<Vec<T, 2> *>(rows + (lane / 4 + i % 2 * 8) * PITCH +
                                           (i / 2 * 8 + lane % 4 * 2) * sizeof(T)) = {
                T(sums[first / 2 + 2 * i]), T(sums[first / 2 + 2 * i + 1])};
        __syncwarp();
        if constexpr (!ALIGNED) {
            const unsigned all = unsigned(maps.conv.filters), filters = all - min(box.filter + first, all);
#pragma unroll 1
            for (unsigned row = 0; row < 16; ++row) {
                const int64_t place = __shfl_sync(0xffffffff, mine, row);
                T *to = reinterpret_cast<T *>(maps.conv.out) + place + box.filter + first;
#pragma unroll
                for (unsigned i = lane; i < SOME; i += 32)
                    if (place >= 0 && i < filters)
                        to[i] = reinterpret_cast<const T *>(rows + row * PITCH)[i];
            }
            continue;
        }
        const unsigned filter = box.filter + first + LENGTH * piece;
#pragma unroll
        for (int i = 0; i < 16; i += 4) {
            const unsigned row = i + lane / 8;
            const int64_t place = __shfl_sync(0xffffffff, mine, row);
            if (place >= 0 && filter < maps.conv.filters)
                *reinterpret_cast<uint4 *>(reinterpret_cast<T *>(maps.conv.out) + place + filter) =
                    *reinterpret_cast<uint4 *>(rows + row * PITCH + 16 * piece);
        }
    }
}

// The same for NCHW, 64 pixels of each filter; 16 bytes of a plane at once.
template <class T, int FILTERS, bool PLANES>
__device__ void store_planes(const gr_conv_tma_params &maps, const Box &box, unsigned tile,
                             unsigned char *room, const float (&sums)[FILTERS / 2]) {
    enum { SOME = ROW_BYTES / sizeof(T), LENGTH = 16 / sizeof(T), PITCH = 64 + LENGTH, PIECES = 64 / LENGTH };
    const unsigned group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const unsigned pixel[2] = {pixel_of<T, PLANES>(0), pixel_of<T, PLANES>(1)};
    const int64_t place = result_offset(maps, box, tile, PLANES ? lane % PIECES * LENGTH : lane),
                  second = result_offset(maps, box, tile, lane + 32);
    T *planes = reinterpret_cast<T *>(room) + group * SOME * PITCH;
#pragma unroll
    for (int first = 0; first < FILTERS; first += SOME) {
        const unsigned all = unsigned(maps.conv.filters), filters = all - min(box.filter + first, all);
        T *out = reinterpret_cast<T *>(maps.conv.out) + (box.filter + first) * maps.conv.of_out.channel;
        group_barrier(group);
#pragma unroll
        for (int i = 0; i < SOME / 2; ++i)
            planes[(i / 4 * 8 + lane % 4 * 2 + i % 2) * PITCH + pixel[i / 2 % 2]] = T(sums[first / 2 + i]);
        group_barrier(group);
        if constexpr (PLANES) {
#pragma unroll
            for (unsigned i = 0; i < SOME; i += 128 / PIECES) {
                const unsigned filter = i + threadIdx.x % 128 / PIECES;
                if (place >= 0 && filter < filters)
                    *reinterpret_cast<uint4 *>(out + filter * maps.conv.of_out.channel + place) =
                        *reinterpret_cast<uint4 *>(&planes[filter * PITCH + lane % PIECES * LENGTH]);
            }
        } else {
#pragma unroll 4
            for (unsigned filter = warp; filter < min(filters, unsigned(SOME)); filter += 4) {
                T *to = out + filter * maps.conv.of_out.channel;
                if (place >= 0)
                    to[place] = planes[filter * PITCH + lane];
                if (second >= 0)
                    to[second] = planes[filter * PITCH + lane + 32];
            }
        }
    }
}

template <class T, int TILES, int FILTERS, bool PLANES>
__device__ void store_all(const gr_conv_tma_params &maps, const Box &box, unsigned char *room,
                          const float (&sums)[TILES][FILTERS / 2]) {
    // ptxas keeps more of 128 x 128 results in local memory with these stores (H200: 3 % slower).
    constexpr bool BY_ROWS = TILES > 1 || FILTERS < 128;
    const gr_conv_params &p = maps.conv;
    const bool rows = p.of_out.channel == 1, aligned = p.filters % (16 / sizeof(T)) == 0 && p.out % 16 == 0;
#pragma unroll
    for (int i = 0; i < TILES; ++i) {
        const unsigned tile = threadIdx.x / 128 * TILES + i;
        if (!rows)
            store_planes<T, FILTERS, PLANES>(maps, box, tile, room, sums[i]);
        else if (!PLANES && aligned)
            store_rows<T, FILTERS, true>(maps, box, tile, room, sums[i]);
        else if constexpr (!PLANES && BY_ROWS)
            store_rows<T, FILTERS, false>(maps, box, tile, room, sums[i]);
        else {
            const Places<T, PLANES> places(maps, box, tile);
#pragma unroll
            for (int j = 0; j < FILTERS / 8; ++j)
                places.store(p, box.filter + 8 * j, sums[i] + 4 * j);
        }
    }
}

template <class T, int TILES, int FILTERS, bool PLANES, bool PARTS>
__device__ void conv(const gr_conv_tma_params &maps) {
    extern __shared__ __align__(1024) unsigned char bytes[];
    const uint32_t start = shared_address(bytes), behind = start + maps.x_stages * maps.x_stage_bytes,
                   barriers = behind + maps.w_stages * FILTERS * ROW_BYTES;
    const uint32_t table = barriers + 16 * (maps.x_stages + maps.w_stages);
    gr_conv_tap *taps = reinterpret_cast<gr_conv_tap *>(bytes + (table - start));
    for (unsigned i = threadIdx.x; i < maps.taps; i += THREADS)
        taps[i] = maps.tap[i];
    Stages pixels({start, barriers, maps.x_stages, maps.x_stage_bytes}, READING_WARPS);
    Stages filters({behind, barriers + 16 * maps.x_stages, maps.w_stages, FILTERS * ROW_BYTES},
                   READING_WARPS);
    if (threadIdx.x == 0)
        ptx::fence_mbarrier_init();
    if (threadIdx.x == MULTIPLYING) {
        ptx::prefetch_tensormap(&maps.x);
        ptx::prefetch_tensormap(&maps.w);
    }
    clear_behind(maps, bytes);
    __syncthreads();
    pdl_launch_dependents();
    pdl_wait();
    const unsigned shares = cluster_size();
    float sums[TILES][FILTERS / 2];
    for (unsigned number = blockIdx.x / shares; number < maps.box_count; number += gridDim.x) {
        const Box box(maps, number, FILTERS, ROW_BYTES / sizeof(T));
        if (threadIdx.x == MULTIPLYING)
            bring<T, FILTERS, PLANES>(maps, taps, pixels, filters, box);
        else if (threadIdx.x < MULTIPLYING)
            multiply_parts<T, TILES, FILTERS, PLANES, PARTS>(maps, taps, pixels, filters, box, sums);
        if (shares > 1)
            break; // a cluster has one box
        if (threadIdx.x < MULTIPLYING) {
            if (maps.output_offset == 0)
                sync_consumers(); // the rings make room
            store_all<T, TILES, FILTERS, PLANES>(maps, box, bytes + maps.output_offset, sums);
        }
    }
    if (shares > 1)
        add_up<T, TILES, FILTERS, PLANES>(maps,
                                          Box(maps, blockIdx.x / shares, FILTERS, ROW_BYTES / sizeof(T)),
                                          reinterpret_cast<float4 *>(bytes), sums);
}

// A kernel for these numbers of pixels and filters; `blocks` must fit on a multiprocessor. PARTS: a block can
// take several parts of k.
#define GR_TILES(name, T, pixels, filters, planes, parts, blocks)                                            \
    GR_ENTRY((THREADS, blocks), name, __grid_constant__ gr_conv_tma_params,                                  \
             conv<T, pixels / 128, filters, planes, parts>)
#define GR_CONV(name, T)                                                                                     \
    GR_TILES(name##_128x64, T, 128, 64, false, true, 2)                                                      \
    GR_TILES(name##_128x128, T, 128, 128, false, false, 2)                                                   \
    GR_TILES(name##_128x128_parts, T, 128, 128, false, true, 1)                                              \
    GR_TILES(name##_256x64, T, 256, 64, false, false, 2)                                                     \
    GR_TILES(name##_256x128, T, 256, 128, false, false, 1)                                                   \
    GR_TILES(name##_128x64_planes, T, 128, 64, true, true, 2)                                                \
    GR_TILES(name##_128x128_planes, T, 128, 128, true, sizeof(T) == 4, 1 + (sizeof(T) == 2))

GR_CONV(c8_f32, float)
GR_CONV(c9_f16, gr_f16)
GR_CONV(c9_bf16, gr_bf16)
GR_ENTRY((TURN_THREADS), c8_turn_b2, __grid_constant__ gr_conv_transpose_params, turn<uint16_t>)
GR_ENTRY((TURN_THREADS), c8_turn_b4, __grid_constant__ gr_conv_transpose_params, turn<uint32_t>)
