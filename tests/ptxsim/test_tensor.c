/* Tensor maps: their validation, and TMA copies of tiles against element-wise copies and an H200's
   results. */
#include <stdlib.h>

#include "check.h"
#include "sim.h"

enum { SOURCE = 1 << 20, REGION = 1 << 15, UNTOUCHED = 0xA5, EMPTY = 0xEE };

static uint8_t source[SOURCE], written[SOURCE], shared[REGION], expected[SOURCE];

/* One thread fills shared memory from `shared`, copies, and stores it back. `%r21` is the destination,
   `%rd29` the map. */
#define REGISTERS ".shared .align 1024 .b8 buf[32768]; .shared .align 8 .b64 bar; mov.u32 %r20, buf;\n"
#define EACH_WORD(label, what)                                                                               \
    "mov.u32 %r1, 0; " label                                                                                 \
    ": add.u32 %r2, %r20, %r1; cvt.u64.u32 %rd1, %r1; add.u64 %rd1, %rd1, %rd31;\n" what                     \
    " add.u32 %r1, %r1, 4; setp.lt.u32 %p1, %r1, 32768; @%p1 bra " label ";\n"
#define FILL EACH_WORD("fill", "ld.global.u32 %r3, [%rd1]; st.shared.u32 [%r2], %r3;")
#define DUMP EACH_WORD("dump", "ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd1], %r3;")
#define WAIT "w: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra w;\n"
#define TO_SHARED "shared::cluster.global.mbarrier::complete_tx::bytes"

typedef struct tile {
    ptx_tensor tensor;
    int32_t at[5];
    unsigned offset; /* bytes, in shared memory */
} tile;

static void coordinates(const tile *t, char *to, size_t size) {
    size_t used = 0;
    for (unsigned i = 0; i < t->tensor.rank; i++)
        used += (size_t)snprintf(to + used, size - used, "%s%d", i ? ", " : "", t->at[i]);
}

static unsigned bytes_of(const ptx_tensor *t) {
    static const unsigned sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return sizes[t->type];
}

static unsigned length(const ptx_tensor *t, unsigned i) {
    return i ? (t->box[i] + t->steps[i] - 1) / t->steps[i] : t->box[0];
}

static unsigned box_bytes(const ptx_tensor *t) {
    unsigned bytes = bytes_of(t);
    for (unsigned i = 0; i < t->rank; i++)
        bytes *= length(t, i);
    return bytes;
}

/* Launches `text` with a map of the tile's tensor, whose address is relative to the source. */
static ptx_status launch(const tile *t, const char *statements, unsigned cluster, ptx_error *error) {
    sim s;
    char *text = sim_kernel(statements);
    uint64_t map_at;
    uint8_t map[PTX_TENSOR_MAP_BYTES];
    ptx_tensor tensor = t->tensor;
    sim_open(&s, text, source, sizeof source, sizeof shared);
    CHECK_EQUAL(ptx_memory_alloc(s.memory, sizeof map, &map_at, &s.error), PTX_OK);
    tensor.address += s.in;
    s.config.cluster[0] = cluster;
    check_report(ptx_tensor_map_encode(&tensor, map, &s.error) == PTX_OK, statements, 0, s.error.message);
    CHECK_EQUAL(ptx_memory_write(s.memory, map_at, map, sizeof map, &s.error), PTX_OK);
    CHECK_EQUAL(ptx_memory_write(s.memory, s.out, shared, sizeof shared, &s.error), PTX_OK);
    ptx_status status = sim_run(&s, "k", cluster, 1, map_at, shared);
    if (status == PTX_OK)
        CHECK_EQUAL(ptx_memory_read(s.memory, written, s.in, sizeof written, &s.error), PTX_OK);
    *error = s.error;
    sim_close(&s);
    free(text);
    return status;
}

static void load_text(const tile *t, char *text, size_t size) {
    char at[100];
    coordinates(t, at, sizeof at);
    snprintf(text, size,
             "%s%smbarrier.init.shared.b64 [bar], 1; add.u32 %%r21, %%r20, %u;\n"
             "mbarrier.arrive.expect_tx.shared.b64 _, [bar], %u;\n"
             "cp.async.bulk.tensor.%ud." TO_SHARED " [%%r21], [%%rd29, {%s}], [bar];\n%s",
             REGISTERS, FILL, t->offset, box_bytes(&t->tensor), t->tensor.rank, at, WAIT DUMP);
}

static void store_text(const tile *t, char *text, size_t size) {
    char at[100];
    coordinates(t, at, sizeof at);
    snprintf(text, size,
             "%s%sadd.u32 %%r21, %%r20, %u;\n"
             "cp.async.bulk.tensor.%ud.global.shared::cta.bulk_group [%%rd29, {%s}], [%%r21];\n"
             "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n%s",
             REGISTERS, FILL, t->offset, t->tensor.rank, at, DUMP);
}

/* ---- expected results ---- */

/* Swizzle: which 16-byte chunk of a 128-byte line is at which position, for lines 0 to 7. */
static unsigned piece_of(unsigned swizzle, unsigned line, unsigned piece) {
    static const unsigned taken[] = {0, 1, 3, 7};
    return piece ^ (line & taken[swizzle]);
}

/* Stores write whole 16-byte chunks. Calls a function for each element of the box with its number, its offset
   in shared memory, and its offset in the source, or -1 outside the tensor. */
static void for_each_element(const tile *t, bool stores,
                             void (*visit)(const tile *t, unsigned place, int64_t from)) {
    const ptx_tensor *x = &t->tensor;
    const unsigned size = bytes_of(x), count = box_bytes(x) / size;
    for (unsigned e = 0; e < count; e++) {
        unsigned number = e;
        bool inside = true;
        int64_t from = (int64_t)x->address;
        for (unsigned i = 0; i < x->rank; i++) {
            const int64_t at = t->at[i] + (int64_t)(number % length(x, i)) * (i ? x->steps[i] : 1);
            number /= length(x, i);
            const int64_t end =
                i || !stores ? (int64_t)x->sizes[i] : (int64_t)(x->sizes[0] * size + 15) / 16 * 16 / size;
            inside = inside && at >= 0 && at < end;
            from += at * (int64_t)(i ? x->strides[i - 1] : size);
        }
        const unsigned row = e / x->box[0], pitch = x->swizzle ? 16u << x->swizzle : x->box[0] * size;
        const unsigned linear = t->offset + row * pitch + e % x->box[0] * size;
        const unsigned piece = piece_of(x->swizzle, linear / 128, linear % 128 / 16);
        visit(t, linear / 128 * 128 + piece * 16 + linear % 16, inside ? from : -1);
    }
}

static void expect_loaded(const tile *t, unsigned place, int64_t from) {
    const unsigned size = bytes_of(&t->tensor);
    if (from >= 0) {
        uint32_t word;
        memcpy(&word, source + from, size < sizeof word ? size : sizeof word);
        if (t->tensor.type >= PTX_TENSOR_TF32) /* round to nearest even, and a single NaN */
            word =
                (word & 0x7fffffff) > 0x7f800000 ? 0x7fffe000 : (word + 0xfff + (word >> 13 & 1)) >> 13 << 13;
        memcpy(expected + place, source + from, size);
        if (t->tensor.type >= PTX_TENSOR_TF32)
            memcpy(expected + place, &word, sizeof word);
        return;
    }
    for (unsigned i = 0; i < size; i++)
        expected[place + i] = !t->tensor.fill_nan ? 0 : i % 2 ? 0x7F : 0xF7;
}

static void expect_stored(const tile *t, unsigned place, int64_t from) {
    if (from >= 0)
        memcpy(expected + from, shared + place, bytes_of(&t->tensor));
}

/* `hard`: floats half way between two TF32 values or nearly so, and the limits of the range. */
static bool run_load(const tile *t, bool hard) {
    static const uint32_t lows[] = {0x1000, 0x0fff, 0x1001, 0x3000, 0x2fff, 0x3001, 0x0000, 0x1fff};
    static const uint32_t highs[] = {0x3f800000, 0x7f7fc000, 0x7f800000, 0x00000000, 0x007fc000, 0x7fc00000,
                                     0xff7fc000, 0xff800000, 0x80000000, 0x4b120000, 0x7f804000, 0xc1484000};
    char text[3000];
    ptx_error error = {.message = ""};
    for (unsigned i = 0; i < SOURCE / 4; i++) {
        uint32_t word = i * 2654435761u ^ (i >> 7) * 40503u;
        if (hard)
            word = highs[i / 8 % 12] | lows[i % 8];
        memcpy(source + 4 * i, &word, sizeof word);
    }
    memset(shared, UNTOUCHED, REGION);
    load_text(t, text, sizeof text);
    const bool good = launch(t, text, 1, &error) == PTX_OK;
    check_report(good, text, 0, error.message);
    return good;
}

static bool run_store(const tile *t) {
    char text[3000];
    ptx_error error = {.message = ""};
    memset(source, EMPTY, SOURCE);
    for (unsigned i = 0; i < REGION; i++)
        shared[i] = (uint8_t)((i * 2654435761u) >> 24);
    store_text(t, text, sizeof text);
    const bool good = launch(t, text, 1, &error) == PTX_OK;
    check_report(good, text, 0, error.message);
    return good;
}

static void test_load(const tile *t, unsigned number) {
    run_load(t, false);
    memset(expected, UNTOUCHED, REGION);
    for_each_element(t, false, expect_loaded);
    check_report(memcmp(shared, expected, REGION) == 0, __FILE__, (int)number, "shared memory");
    CHECK(memcmp(written, source, SOURCE) == 0);
}

static void test_store(const tile *t, unsigned number) {
    run_store(t);
    memset(expected, EMPTY, SOURCE);
    for_each_element(t, true, expect_stored);
    check_report(memcmp(written, expected, SOURCE) == 0, __FILE__, (int)number, "the tensor");
}

/* ---- tiles ---- */

static uint32_t seed = 18;

static unsigned draw(unsigned below) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* A tensor and a box of random type and shape, at coordinates that may be outside. */
static tile random_tile(void) {
    static const unsigned lengths[] = {1, 2, 3, 5, 8, 16, 33};
    for (;;) {
        tile t = {.tensor = {.type = draw(PTX_TENSOR_TYPES), .swizzle = draw(4), .rank = 1 + draw(5)},
                  .offset = 128 * draw(9)};
        ptx_tensor *x = &t.tensor;
        const unsigned size = bytes_of(x), most = x->swizzle ? 1 << x->swizzle : 32;
        x->address = 16 * draw(6);
        x->fill_nan = x->type >= PTX_TENSOR_F16 && draw(2);
        uint64_t bytes = 0;
        for (unsigned i = 0; i < x->rank; i++) {
            x->box[i] = i ? lengths[draw(7)] : 16 * (1 + draw(most)) / size;
            x->steps[i] = i && draw(4) == 0 ? 1 + draw(4) : 1;
            x->sizes[i] = x->box[i] + draw(9) > 4 ? x->box[i] + draw(9) - 4 : 1;
            if (x->sizes[i] > 1u << 31 || x->sizes[i] == 0)
                x->sizes[i] = 1;
            if (i)
                x->strides[i - 1] = bytes += 16 * draw(3);
            bytes = i ? bytes * x->sizes[i] : (x->sizes[0] * size + 15) / 16 * 16;
            t.at[i] =
                draw(2) ? 0 : (int32_t)draw(x->box[i] + (unsigned)x->sizes[i] + 2) - (int32_t)x->box[i] - 1;
        }
        t.at[0] = t.at[0] * (int32_t)size / 16 * 16 / (int32_t)size;
        const uint64_t room =
            box_bytes(x) / x->box[0] / size * (x->swizzle ? 16u << x->swizzle : x->box[0] * size);
        if (x->box[0] <= 256 && x->address + bytes <= SOURCE && t.offset + room + 128 <= REGION)
            return t;
    }
}

static void test_tiles(void) {
    for (unsigned i = 0; i < 150; i++) {
        tile t = random_tile();
        test_load(&t, i);
        for (unsigned k = 0; k < 5; k++)
            t.at[k] = t.at[k] < 0 ? 0 : t.at[k];
        test_store(&t, i);
    }
}

/* 64 x 64 floats, boxes of 32 x 8. */
static tile plain_tile(void) {
    return (tile){.tensor = {.type = PTX_TENSOR_F32,
                             .rank = 2,
                             .sizes = {64, 64},
                             .strides = {256},
                             .box = {32, 8},
                             .steps = {1, 1}}};
}

/* ---- results of an H200, recorded by tests/gpu/tensor_maps.py ---- */

typedef struct recorded {
    long long v[33]; /* the columns of tensor_h200.def */
    int encode;      /* the driver's status for the map; for accepted maps, hashes of the results */
    uint64_t shared, source;
} recorded;

static uint64_t digest(const uint8_t *bytes, size_t count) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++)
        h = (h ^ bytes[i]) * 0x100000001b3u;
    return h;
}

static void test_recorded(void) {
    static const recorded rows[] = {
#define ROW(result, in_shared, in_source, ...) {{__VA_ARGS__}, result, in_shared, in_source},
#include "tensor_h200.def"
#undef ROW
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        const long long *v = rows[k].v;
        const int number = (int)v[0];
        tile t = {.tensor = {.type = (uint32_t)v[2],
                             .swizzle = (uint32_t)v[25],
                             .rank = (uint32_t)v[3],
                             .address = (uint64_t)v[4],
                             .fill_nan = v[26] != 0},
                  .offset = v[32] & 0xffff};
        for (unsigned i = 0; i < 5; i++) {
            t.tensor.sizes[i] = (uint64_t)v[5 + i];
            t.tensor.box[i] = (uint32_t)v[14 + i];
            t.tensor.steps[i] = (uint32_t)v[19 + i];
            t.at[i] = (int32_t)v[27 + i];
            if (i < 4)
                t.tensor.strides[i] = (uint64_t)v[10 + i];
        }
        uint8_t map[PTX_TENSOR_MAP_BYTES];
        ptx_error error;
        const bool taken = ptx_tensor_map_encode(&t.tensor, map, &error) == PTX_OK;
        check_report(taken == (rows[k].encode == 0), "tensor_h200.def", number, "whether the map is taken");
        if (!taken || v[1] == 2 || !(v[1] == 1 ? run_store(&t) : run_load(&t, v[1] == 4)))
            continue;
        check_report(digest(shared, REGION) == rows[k].shared, "tensor_h200.def", number, "shared memory");
        check_report(digest(written, SOURCE) == rows[k].source, "tensor_h200.def", number, "the tensor");
    }
}

/* A map in the parameters, as nvcc passes it, and a prefetched one. */
static void test_map_parameter(void) {
    static const char text[] = SIM_HEADER
        ".entry k(.param .align 128 .b8 map[128], .param .u64 out) {\n"
        ".reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .pred %p; .shared .align 128 .b8 buf[1024];\n"
        ".shared .align 8 .b64 bar; mov.b64 %rd1, map; cvta.param.u64 %rd2, %rd1;\n"
        "prefetch.tensormap [%rd2]; prefetch.param.tensormap [map]; mov.u32 %r1, 32; mov.u32 %r2, 9;\n"
        "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd2, {%r1, %r2}];\n"
        "mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 1024;\n"
        "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
        "[buf], [%rd2, {%r1, %r2}], [bar], %rd1;\n"
        "w: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra w;\n"
        "ld.param.u64 %rd3, [out]; ld.shared.u32 %r3, [buf+516]; st.global.u32 [%rd3], %r3; }\n";
    sim s;
    struct {
        uint8_t map[PTX_TENSOR_MAP_BYTES];
        uint64_t out;
    } params;
    uint32_t got, want;
    tile t = plain_tile();
    for (unsigned i = 0; i < SOURCE; i++)
        source[i] = (uint8_t)(i * 7 + i / 256);
    sim_open(&s, text, source, sizeof source, sizeof got);
    t.tensor.address = s.in;
    CHECK_EQUAL(ptx_tensor_map_encode(&t.tensor, params.map, &s.error), PTX_OK);
    params.out = s.out;
    s.config = (ptx_launch_config){
        .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = &params, .param_bytes = sizeof params};
    const ptx_status status = ptx_launch(ptx_module_find(s.module, "k"), s.memory, &s.config, NULL, &s.error);
    check_report(status == PTX_OK, text, 0, s.error.message);
    CHECK_EQUAL(ptx_memory_read(s.memory, &got, s.out, sizeof got, &s.error), PTX_OK);
    memcpy(&want, source + (9 + 4) * 256 + (32 + 1) * 4, sizeof want);
    CHECK_EQUAL(got, want);
    sim_close(&s);
}

/* One block of two copies a tile to both (multicast), and the mbarriers of both complete. */
#define MULTICAST(blocks)                                                                                    \
    REGISTERS "mbarrier.init.shared.b64 [bar], 1; mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p1, %r1, 1;\n" \
              "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 1024; mov.u16 %h1, " #blocks ";\n"             \
              "barrier.cluster.arrive; barrier.cluster.wait;\n"                                              \
              "@%p1 cp.async.bulk.tensor.2d." TO_SHARED                                                      \
              ".multicast::cluster [buf], [%rd29, {32, 9}], [bar], %h1;\n" WAIT                              \
              "ld.shared.u32 %r3, [buf+516]; st.global.u32 [%rd28], %r3;\n"                                  \
              "barrier.cluster.arrive; barrier.cluster.wait;"

static void test_multicast(void) {
    const tile t = plain_tile();
    ptx_error error = {.message = ""};
    for (unsigned i = 0; i < SOURCE; i++)
        source[i] = (uint8_t)(i * 7 + i / 256);
    check_report(launch(&t, MULTICAST(3), 2, &error) == PTX_OK, __FILE__, __LINE__, error.message);
    for (unsigned b = 0; b < 2; b++)
        CHECK(memcmp(shared + 4 * b, source + (9 + 4) * 256 + (32 + 1) * 4, 4) == 0);
    CHECK_EQUAL(launch(&t, MULTICAST(1), 2, &error), PTX_ERR_BARRIER);
    CHECK_CONTAINS(error.message, "deadlock");
    CHECK_EQUAL(launch(&t, MULTICAST(7), 2, &error), PTX_ERR_ADDRESS);
    CHECK_CONTAINS(error.message, "a copy to block 2, which the cluster does not have");
}

/* ---- rejected copies ---- */

static void test_rules(void) {
    uint8_t map[PTX_TENSOR_MAP_BYTES];
    ptx_error error;
    const ptx_tensor good = plain_tile().tensor;
    CHECK_EQUAL(ptx_tensor_map_encode(&good, map, &error), PTX_OK);
#define REFUSED(change, part)                                                                                \
    do {                                                                                                     \
        ptx_tensor t = good;                                                                                 \
        change;                                                                                              \
        CHECK_EQUAL_AS(ptx_tensor_map_encode(&t, map, &error), PTX_ERR_ARGUMENT, #change);                   \
        CHECK_CONTAINS(error.message, part);                                                                 \
    } while (0)
    REFUSED(t.rank = 0, "0 dimensions; 1 to 5");
    REFUSED(t.rank = 6, "6 dimensions; 1 to 5");
    REFUSED(t.type = PTX_TENSOR_TYPES, "no such type");
    REFUSED(t.swizzle = 4, "no such type or swizzle");
    REFUSED(t.address = 8, "0x8 is not aligned to 16");
    REFUSED(t.sizes[1] = 0, "0 elements along dimension 1");
    REFUSED(t.sizes[0] = (1ull << 32) + 1, "4294967297 elements along dimension 0");
    REFUSED(t.strides[0] = 264, "264 bytes from one to the next along dimension 1");
    REFUSED(t.strides[0] = 1ull << 40, "a multiple of 16 below 2^40");
    REFUSED(t.box[0] = 257, "a box of 257 elements along dimension 0; 1 to 256");
    REFUSED(t.box[1] = 0, "a box of 0 elements along dimension 1");
    REFUSED(t.steps[1] = 0, "a step of 0 along dimension 1; 1 to 8");
    REFUSED(t.steps[1] = 9, "a step of 9 along dimension 1");
    REFUSED(t.box[0] = 30, "120 bytes of the box lie together, which is no multiple of 16");
    REFUSED(t.swizzle = PTX_SWIZZLE_64, "128 bytes of the box lie together; the swizzle takes 64");
    REFUSED(t.box[0] = t.box[1] = 256, "a box of 262144 bytes");
    REFUSED((t.type = PTX_TENSOR_U32, t.fill_nan = true), "integers cannot be filled with NaN");
}

static void refuse(const tile *t, const char *text, ptx_status want, const char *part) {
    ptx_error error = {.message = ""};
    CHECK_EQUAL_AS(launch(t, text, 1, &error), want, text);
    CHECK_CONTAINS(error.message, part);
}

#define LOAD(dimensions, operands)                                                                           \
    REGISTERS "mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 1024;\n"    \
              "cp.async.bulk.tensor." dimensions "." TO_SHARED " " operands ";\n" WAIT
#define STORE(operands)                                                                                      \
    REGISTERS "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group " operands                              \
              ";\ncp.async.bulk.commit_group;\n"

static void test_errors(void) {
    tile t = plain_tile();
    refuse(&t, LOAD("2d", "[%r20+64], [%rd29, {0, 0}], [bar]"), PTX_ERR_ALIGNMENT, "not aligned to the 128");
    refuse(&t, LOAD("2d", "[%r20+31872], [%rd29, {0, 0}], [bar]"), PTX_ERR_ADDRESS,
           "1024 bytes at the shared");
    refuse(&t, LOAD("2d", "[%r20], [%rd29+16, {0, 0}], [bar]"), PTX_ERR_ALIGNMENT, "not aligned to the 64");
    refuse(&t, LOAD("2d", "[%r20], [%rd30, {0, 0}], [bar]"), PTX_ERR_ARGUMENT, "there is no tensor map at");
    refuse(&t, LOAD("3d", "[%r20], [%rd29, {0, 0, 0}], [bar]"), PTX_ERR_ARGUMENT,
           "the tensor map is of 2 dimensions, the instruction of 3");
    refuse(&t, LOAD("2d", "[%r20], [%rd29, {0, 0}], [%r20]"), PTX_ERR_BARRIER, "no initialised mbarrier");
    refuse(&t, "prefetch.tensormap [%rd30];", PTX_ERR_ARGUMENT, "there is no tensor map at");
    /* fewer bytes are expected than the box has, including its part outside the tensor */
    t.at[1] = 60;
    refuse(&t,
           REGISTERS "mbarrier.init.shared.b64 [bar], 1;\n"
                     "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;\n"
                     "cp.async.bulk.tensor.2d." TO_SHARED " [%r20], [%rd29, {0, 60}], [bar];\n" WAIT,
           PTX_ERR_BARRIER, "for -512 bytes");
    /* a tensor that exceeds its allocation */
    t.tensor.sizes[1] = 1 << 20;
    refuse(&t, LOAD("2d", "[%r20], [%rd29, {0, 4096}], [bar]"), PTX_ERR_ADDRESS, "128 bytes at the global");
    refuse(&t, STORE("[%rd29, {0, 4096}], [%r20]") "cp.async.bulk.wait_group.read 0;", PTX_ERR_ADDRESS,
           "128 bytes at the global");
    refuse(&t, STORE("[%rd29, {0, 0}], [%r20+64]"), PTX_ERR_ALIGNMENT, "not aligned to the 128");
    /* an illegal instruction on an H200 */
    refuse(&t, LOAD("2d", "[%r20], [%rd29, {-2, 0}], [bar]"), PTX_ERR_ALIGNMENT, "begins at element -2");
    refuse(&t, STORE("[%rd29, {0, -8}], [%r20]"), PTX_ERR_ADDRESS, "stored at the coordinate -8");
    /* a warp that exits with a pending copy, and a wait that leaves it pending */
    refuse(&t, STORE("[%rd29, {0, 0}], [%r20]"), PTX_ERR_BARRIER, "no wait for its group");
    refuse(&t, STORE("[%rd29, {0, 0}], [%r20]") "cp.async.bulk.wait_group 1;", PTX_ERR_BARRIER,
           "no wait for its group");
    refuse(&t, REGISTERS "cp.async.bulk.global.shared::cta.bulk_group [%rd31], [%r20], 64;", PTX_ERR_BARRIER,
           "no wait for its group");
    ptx_error error;
    char *text = sim_kernel("cp.async.bulk.tensor.2d." TO_SHARED " [%r20], [%rd29, {%r1}], [%r21];");
    CHECK_EQUAL(sim_parse(text, &error), PTX_ERR_SYNTAX);
    CHECK_CONTAINS(error.message, "[map, {coordinates}], as many as the opcode says");
    free(text);
    text = sim_kernel("ld.global.u32 %r1, [%rd1, {%r2}];");
    CHECK_EQUAL(sim_parse(text, &error), PTX_ERR_SYNTAX);
    CHECK_CONTAINS(error.message, "expected an address in brackets");
    free(text);
    text = sim_kernel("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                      "[%r20], [%rd29, {%r1, %r1, %r1}], [%r21], {%h1};");
    CHECK_EQUAL(sim_parse(text, &error), PTX_ERR_UNSUPPORTED);
    CHECK_CONTAINS(error.message, "other than tiles");
    free(text);
}

int main(void) {
    test_tiles();
    test_recorded();
    test_map_parameter();
    test_multicast();
    test_rules();
    test_errors();
    return finish_checks("test_tensor");
}
