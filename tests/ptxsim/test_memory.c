/* Loads and stores of every width, allocation and copies, and every kind of memory fault. */
#include <stdlib.h>

#include "check.h"
#include "sim.h"

static uint32_t in_words[1024], out_words[1024];

static void expect_run(const char *statements, unsigned block, uint64_t n, void *out, size_t out_bytes) {
    char *text = sim_kernel(statements);
    sim s;
    sim_open(&s, text, in_words, sizeof in_words, out_bytes);
    ptx_status status = sim_run(&s, "k", 1, block, n, out);
    check_report(status == PTX_OK, statements, 0, status == PTX_OK ? "" : s.error.message);
    sim_close(&s);
    free(text);
}

static void test_widths(void) {
    static const struct {
        const char *load;
        uint32_t want; /* for the bytes 0x81 0x92 0xa3 0xb4 */
    } loads[] = {
        {"ld.global.u8 %r1, [%rd1];", 0x81},
        {"ld.global.s8 %r1, [%rd1];", 0xffffff81},
        {"ld.global.u16 %r1, [%rd1];", 0x9281},
        {"ld.global.s16 %r1, [%rd1];", 0xffff9281},
        {"ld.global.u8 %h1, [%rd1+3]; cvt.u32.u16 %r1, %h1;", 0xb4},
        {"ld.global.s8 %h1, [%rd1+3]; cvt.u32.u16 %r1, %h1;", 0xffb4},
        {"ld.global.b16 %h1, [%rd1+2]; cvt.u32.u16 %r1, %h1;", 0xb4a3},
        {"ld.global.nc.f32 %f1, [%rd1]; mov.b32 %r1, %f1;", 0xb4a39281},
        {"ld.volatile.global.b32 %r1, [%rd1];", 0xb4a39281},
        {"ld.global.ca.L1::no_allocate.L2::128B.u32 %r1, [%rd1+-0];", 0xb4a39281},
        {"ld.relaxed.gpu.global.u32 %r1, [%rd1];", 0xb4a39281},
        {"ld.u32 %r1, [%rd1];", 0xb4a39281},
        {"ld.global.s32 %rd2, [%rd1]; shr.u64 %rd2, %rd2, 32; cvt.u32.u64 %r1, %rd2;", 0xffffffff},
        {"ld.global.u32 %rd2, [%rd1]; shr.u64 %rd2, %rd2, 16; cvt.u32.u64 %r1, %rd2;", 0xb4a3},
        {"ld.global.s16 %rd2, [%rd1]; cvt.u32.u64 %r1, %rd2;", 0xffff9281},
        {"ld.global.u8 %rd2, [%rd1]; cvt.u32.u64 %r1, %rd2;", 0x81},
    };
    for (size_t k = 0; k < sizeof loads / sizeof loads[0]; k++)
        for (unsigned stride = 4; stride <= 12; stride += 8)
            for (unsigned block = 31; block <= 32; block++) {
                char text[300];
                snprintf(text, sizeof text,
                         "mad.wide.u32 %%rd1, %%r31, %u, %%rd30;\n%s\nst.global.u32 [%%rd28], %%r1;", stride,
                         loads[k].load);
                for (unsigned i = 0; i < 1024; i++)
                    in_words[i] = 0xb4a39281;
                memset(out_words, 0, sizeof out_words);
                expect_run(text, block, 0, out_words, 128);
                for (unsigned i = 0; i < block; i++)
                    CHECK_EQUAL_AS(out_words[i], loads[k].want, loads[k].load);
            }
}

/* Contiguous narrow and wide accesses with a different value per lane. */
static void test_lane_order(void) {
    static const char *const copies[] = {
        "mad.wide.u32 %rd1, %r31, 1, %rd30; mad.wide.u32 %rd2, %r31, 1, %rd31; ld.global.u8 %r1, [%rd1]; "
        "st.global.u8 [%rd2], %r1;",
        "mad.wide.u32 %rd1, %r31, 2, %rd30; mad.wide.u32 %rd2, %r31, 2, %rd31; ld.global.u16 %h1, [%rd1]; "
        "st.global.u16 [%rd2], %h1;",
        "mad.wide.u32 %rd1, %r31, 4, %rd30; ld.global.f32 %f1, [%rd1]; st.global.f32 [%rd28], %f1;",
        "mad.wide.u32 %rd1, %r31, 8, %rd30; mad.wide.u32 %rd2, %r31, 8, %rd31; ld.global.f64 %fd1, [%rd1]; "
        "st.global.f64 [%rd2], %fd1;",
        "mad.wide.u32 %rd1, %r31, 8, %rd30; mad.wide.u32 %rd2, %r31, 8, %rd31; ld.global.v2.b32 {%r1, %r2}, "
        "[%rd1]; "
        "st.global.v2.b32 [%rd2], {%r1, %r2};",
        "mad.wide.u32 %rd1, %r31, 16, %rd30; mad.wide.u32 %rd2, %r31, 16, %rd31; ld.global.v4.f32 {%f1, %f2, "
        "%f3, "
        "%f4}, [%rd1]; st.global.v4.f32 [%rd2], {%f1, %f2, %f3, %f4};",
        "mad.wide.u32 %rd1, %r31, 16, %rd30; mad.wide.u32 %rd2, %r31, 16, %rd31; ld.global.v2.u64 {%rd3, "
        "%rd4}, "
        "[%rd1]; st.global.v2.u64 [%rd2], {%rd3, %rd4};",
        "mad.wide.u32 %rd1, %r31, 4, %rd30; mad.wide.u32 %rd2, %r31, 4, %rd31; ld.global.v4.u8 {%h1, %h2, "
        "%h3, %h4}, "
        "[%rd1]; st.global.v4.u8 [%rd2], {%h1, %h2, %h3, %h4};",
        "mad.wide.u32 %rd1, %r31, 4, %rd30; ld.global.u32 %rd3, [%rd1]; st.global.u32 [%rd28], %rd3;",
    };
    static const unsigned bytes[] = {1, 2, 4, 8, 8, 16, 16, 4, 4};
    for (unsigned i = 0; i < 1024; i++)
        in_words[i] = i * 2654435761u + 17;
    for (size_t k = 0; k < sizeof copies / sizeof copies[0]; k++)
        for (unsigned block = 5; block <= 32; block += 27) {
            memset(out_words, 0, sizeof out_words);
            expect_run(copies[k], block, 0, out_words, 1024);
            check_report(memcmp(in_words, out_words, bytes[k] * block) == 0, copies[k], (int)block, "copied");
            CHECK_EQUAL_AS(((uint8_t *)out_words)[bytes[k] * block], 0xFF, copies[k]);
        }
}

/* Shared memory with 32-bit, 64-bit and generic addresses, static and dynamic. */
static void test_shared(void) {
    static const char text[] = SIM_HEADER
        ".extern .shared .align 16 .b8 dyn[];\n" SIM_ENTRY "{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"
        ".shared .align 4 .b8 fixed[130];\n"
        "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, fixed; add.u32 %r3, %r3, %r2;\n"
        "mov.u32 %r4, dyn; add.u32 %r4, %r4, %r2;\n"
        "add.u32 %r5, %r1, 100; st.shared.u32 [%r3], %r5; add.u32 %r6, %r1, 1000; st.shared.u32 [%r4], %r6;\n"
        "bar.sync 0;\n"
        "mov.u64 %rd1, fixed; cvta.shared.u64 %rd1, %rd1; cvt.u64.u32 %rd2, %r2; add.u64 %rd1, %rd1, %rd2;\n"
        "ld.u32 %r7, [%rd1]; ld.shared.u32 %r8, [dyn+8]; add.u32 %r7, %r7, %r8;\n"
        "cvta.to.shared.u64 %rd3, %rd1; ld.shared.u32 %r8, [%rd3]; add.u32 %r7, %r7, %r8;\n"
        "ld.param.u64 %rd4, [out]; add.u64 %rd4, %rd4, %rd2; st.u32 [%rd4], %r7; ret;\n}\n";
    sim s;
    uint32_t out[32];
    sim_open(&s, text, in_words, 128, sizeof out);
    s.config.dynamic_shared_bytes = 128;
    CHECK_EQUAL(sim_run(&s, "k", 2, 32, 0, out), PTX_OK);
    for (unsigned i = 0; i < 32; i++)
        CHECK_EQUAL(out[i], 100 + i + 1002 + 100 + i);
    s.config.dynamic_shared_bytes = 64;
    CHECK_EQUAL(sim_run(&s, "k", 1, 32, 0, out), PTX_ERR_ADDRESS);
    CHECK_CONTAINS(s.error.message, "4 bytes at the shared address 0xd0 are outside the block's 208 bytes");
    CHECK_EQUAL(s.error.lane, 16);
    s.config.dynamic_shared_bytes = 232448;
    CHECK_EQUAL(sim_run(&s, "k", 1, 32, 0, out), PTX_ERR_ARGUMENT);
    sim_close(&s);
}

/* Shared memory, device memory and registers are poisoned, anew in every block. */
static void test_poison(void) {
    uint32_t out[64];
    char *text = sim_kernel(".shared .b32 cell[32]; mov.u32 %r1, cell; mad.lo.u32 %r1, %r31, 4, %r1;\n"
                            "ld.shared.u32 %r2, [%r1]; st.shared.u32 [%r1], 7; add.u32 %r2, %r2, %r9;\n"
                            "mov.u32 %r9, 3; ld.global.u32 %r3, [%rd28]; add.u32 %r2, %r2, %r3; "
                            "st.global.u32 [%rd28], %r2;");
    sim s;
    sim_open(&s, text, in_words, 4, sizeof out);
    CHECK_EQUAL(sim_run(&s, "k", 2, 32, 0, out), PTX_OK);
    for (unsigned i = 0; i < 64; i++)
        CHECK_EQUAL(out[i], 3u * 0xFFFFFFFFu);
    sim_close(&s);
    free(text);
}

static void expect_fault(const char *statements, ptx_status status, int lane, const char *part) {
    char *text = sim_kernel(statements);
    sim s;
    sim_open(&s, text, in_words, 256, 256);
    CHECK_EQUAL_AS(sim_run(&s, "k", 1, 64, 0, NULL), status, statements);
    CHECK_EQUAL_AS(s.error.status, status, statements);
    CHECK_EQUAL_AS(s.error.lane, lane, statements);
    CHECK_CONTAINS(s.error.message, part);
    CHECK_CONTAINS(s.error.message, "kernel k, PTX line");
    CHECK(strcmp(s.error.kernel, "k") == 0);
    sim_close(&s);
    free(text);
}

static void test_faults(void) {
    expect_fault("mov.u64 %rd1, 0; ld.global.u32 %r1, [%rd1];", PTX_ERR_ADDRESS, 0,
                 "address 0x0 are not allocated");
    expect_fault("mad.wide.u32 %rd1, %r31, 4, %rd30; ld.global.u32 %r1, [%rd1+64];", PTX_ERR_ADDRESS, 16,
                 "0 bytes past the end of the allocation of 256 bytes");
    expect_fault("mad.wide.u32 %rd1, %r31, 4, %rd30; ld.global.u32 %r1, [%rd1-4];", PTX_ERR_ADDRESS, 0,
                 "4 bytes before the allocation of 256 bytes");
    expect_fault("mad.wide.u32 %rd1, %r31, 16, %rd31; st.global.u32 [%rd1], %r31;", PTX_ERR_ADDRESS, 16,
                 "past the end of the allocation of 256 bytes");
    expect_fault("ld.global.u64 %rd1, [%rd30+252];", PTX_ERR_ALIGNMENT, 0, "not aligned to the 8 bytes");
    expect_fault("add.u64 %rd1, %rd30, %rd30;\nld.u8 %r1, [%rd1];", PTX_ERR_ADDRESS, 0, "not allocated");
    expect_fault("setp.eq.u32 %p1, %r31, 40; add.u64 %rd1, %rd30, 2; @%p1 ld.global.u32 %r1, [%rd1];",
                 PTX_ERR_ALIGNMENT, 8, "not aligned to the 4 bytes");
    expect_fault("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd30+8];", PTX_ERR_ALIGNMENT, 0, "16 bytes");
    expect_fault("ld.global.v2.f64 {%fd1, %fd2}, [%rd30+248];", PTX_ERR_ALIGNMENT, 0, "16 bytes");
    expect_fault(".shared .b32 s[8]; mov.u32 %r1, s; mad.lo.u32 %r1, %r31, 4, %r1; st.shared.u32 [%r1], 0;",
                 PTX_ERR_ADDRESS, 8, "shared address 0x20 are outside the block's 32 bytes");
    expect_fault(".shared .b32 s[8]; ld.shared.u32 %r1, [s+2];", PTX_ERR_ALIGNMENT, 0, "shared address 0x2");
    expect_fault(".shared .b32 s[8]; ld.shared.u32 %r1, [s+-4];", PTX_ERR_ADDRESS, 0,
                 "outside the block's 32 bytes");
    expect_fault("mov.b64 %rd1, in; ld.param.u64 %rd1, [%rd1+24];", PTX_ERR_ADDRESS, 0,
                 "outside the 24 bytes of parameters");
    expect_fault("ld.param.u64 %rd1, [n+8];", PTX_ERR_ADDRESS, 0, "outside the 24 bytes of parameters");
    expect_fault("atom.global.add.u32 %r1, [%rd30+256], 1;", PTX_ERR_ADDRESS, 0, "not allocated");
    expect_fault("red.global.add.u64 [%rd30+4], 1;", PTX_ERR_ALIGNMENT, 0, "8 bytes");
}

/* Block, warp and lane of a fault, in the fields and in the message. */
static void test_fault_place(void) {
    char *text = sim_kernel("setp.ne.u32 %p1, %r30, 300; @%p1 ret;\nld.global.u32 %r1, [0];");
    sim s;
    sim_open(&s, text, in_words, 4, 4);
    s.config.threads = 2;
    CHECK_EQUAL(sim_run(&s, "k", 4, 128, 0, NULL), PTX_ERR_ADDRESS);
    CHECK_EQUAL(s.error.block[0], 2);
    CHECK_EQUAL(s.error.warp, 1);
    CHECK_EQUAL(s.error.lane, 12);
    CHECK_EQUAL(s.error.line, 19);
    CHECK(strcmp(s.error.text, "ld.global.u32 %r1, [0];") == 0);
    CHECK_CONTAINS(s.error.message, "PTX line 19");
    CHECK_CONTAINS(s.error.message, "[block (2, 0, 0), warp 1, lane 12]");
    CHECK_CONTAINS(s.error.message, "ld.global.u32 %r1, [0];");
    sim_close(&s);
    free(text);
}

static void test_memory_functions(void) {
    ptx_memory *memory;
    ptx_error error;
    uint64_t a, b, c;
    uint8_t bytes[64];
    CHECK_EQUAL(ptx_memory_create(1000, &memory, &error), PTX_OK);
    CHECK_EQUAL(ptx_memory_alloc(memory, 600, &a, &error), PTX_OK);
    CHECK(a != 0 && a % 256 == 0);
    CHECK_EQUAL(ptx_memory_alloc(memory, 401, &b, &error), PTX_ERR_MEMORY);
    CHECK_CONTAINS(error.message, "401 bytes asked for, 400 of 1000 left");
    CHECK_EQUAL(b, 0);
    CHECK_EQUAL(ptx_memory_alloc(memory, 400, &b, &error), PTX_OK);
    CHECK(b > a + 600);
    CHECK_EQUAL(ptx_memory_read(memory, bytes, b + 336, 64, &error), PTX_OK);
    CHECK_EQUAL(bytes[63], 0xFF);
    CHECK_EQUAL(ptx_memory_read(memory, bytes, b + 337, 64, &error), PTX_ERR_ADDRESS);
    CHECK_CONTAINS(error.message, "a copy of 64 bytes");
    CHECK_EQUAL(ptx_memory_write(memory, a + 590, bytes, 11, &error), PTX_ERR_ADDRESS);
    CHECK_EQUAL(ptx_memory_write(memory, a - 1, bytes, 1, &error), PTX_ERR_ADDRESS);
    memset(bytes, 9, sizeof bytes);
    CHECK_EQUAL(ptx_memory_write(memory, a + 590, bytes, 10, &error), PTX_OK);
    CHECK_EQUAL(ptx_memory_read(memory, bytes, a + 589, 11, &error), PTX_OK);
    CHECK(bytes[0] == 0xFF && bytes[1] == 9 && bytes[10] == 9);
    CHECK_EQUAL(ptx_memory_free(memory, a + 1, &error), PTX_ERR_ARGUMENT);
    CHECK_EQUAL(ptx_memory_free(memory, 0, &error), PTX_OK);
    CHECK_EQUAL(ptx_memory_free(memory, a, &error), PTX_OK);
    CHECK_EQUAL(ptx_memory_free(memory, a, &error), PTX_ERR_ARGUMENT);
    CHECK_EQUAL(ptx_memory_read(memory, bytes, a, 1, &error), PTX_ERR_ADDRESS);
    CHECK_CONTAINS(error.message, "that was freed");
    CHECK_EQUAL(ptx_memory_alloc(memory, 600, &c, &error), PTX_OK);
    CHECK(c != a);
    CHECK_EQUAL(ptx_memory_read(memory, bytes, 5, 0, &error), PTX_OK);
    CHECK_EQUAL(ptx_memory_alloc(memory, SIZE_MAX, &a, &error), PTX_ERR_MEMORY);
    ptx_memory_destroy(memory);
    CHECK_EQUAL(ptx_memory_create(0, &memory, &error), PTX_OK);
    CHECK_EQUAL(ptx_memory_alloc(memory, SIZE_MAX, &a, &error), PTX_ERR_MEMORY);
    CHECK_EQUAL(ptx_memory_alloc(memory, (size_t)1 << 62, &a, &error), PTX_ERR_MEMORY);
    CHECK_EQUAL(ptx_memory_alloc(memory, 0, &a, &error), PTX_OK);
    CHECK_EQUAL(ptx_memory_alloc(memory, 16, &b, &error), PTX_OK);
    CHECK_EQUAL(ptx_memory_free(memory, a, &error), PTX_OK);
    ptx_memory_destroy(memory);
}

/* ---- address patterns ---- */

enum { PATTERNS = 14, DATA = 1024 }; /* offset of the data in bytes */

/* The position of a lane in elements: uniform, consecutive, rows of 8 or 16 lanes of either kind, also with
   one deviating lane, and irregular. */
static uint32_t place_in(unsigned pattern, unsigned lane) {
    const uint32_t row = lane / 8, half = lane / 16, in_row = lane % 8, in_half = lane % 16;
    const uint32_t places[PATTERNS] = {9,
                                       lane + 3,
                                       row * 5 + 1,
                                       row * 11 + in_row,
                                       half * 20 + 2,
                                       half * 40 + in_half,
                                       in_row,
                                       in_half + 4,
                                       31 - lane,
                                       2 * lane,
                                       lane == 13 ? 40 : 9,
                                       lane == 22 ? 50 : lane,
                                       row * 8 + (in_row ^ 1),
                                       (lane * 2654435761u >> 8) % 60};
    return places[pattern];
}

static uint32_t data_at(uint32_t byte) {
    return byte * 2654435761u >> 24;
}

static uint32_t word_at(uint32_t byte) {
    return data_at(byte) | data_at(byte + 1) << 8 | data_at(byte + 2) << 16 | data_at(byte + 3) << 24;
}

static void lay_out(unsigned pattern, unsigned bytes) {
    for (unsigned i = 0; i < 32; i++)
        in_words[i] = place_in(pattern, i) * bytes;
    for (unsigned i = DATA; i < sizeof in_words; i += 4)
        in_words[i / 4] = word_at(i);
}

/* %r1: the lane's offset; %p1: whether the lane is in the mask `n`. */
#define LANES                                                                                                \
    "mad.wide.u32 %rd1, %r31, 4, %rd30; ld.global.u32 %r1, [%rd1]; cvt.u32.u64 %r2, %rd29;\n"                \
    "shr.u32 %r2, %r2, %r31; and.b32 %r2, %r2, 1; setp.ne.u32 %p1, %r2, 0; mov.u32 %r4, 0;\n"                \
    "cvt.u64.u32 %rd2, %r1; add.u64 %rd2, %rd2, %rd30; mov.u32 %r3, 7; mov.u32 %r5, 0; mov.u32 %r6, 0;\n"
/* Copies all data to shared memory, every 32nd word per lane. */
#define COPY                                                                                                 \
    ".shared .align 16 .b8 s[3072]; mov.u32 %r8, s; mad.lo.u32 %r9, %r31, 4, %r8; mov.u32 %r10, 0;\n"        \
    "h: ld.global.u32 %r11, [%rd1+1024]; st.shared.u32 [%r9], %r11; add.u64 %rd1, %rd1, 128;\n"              \
    "add.u32 %r9, %r9, 128; add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 24; @%p2 bra h; add.u32 %r8, "     \
    "%r8, "                                                                                                  \
    "%r1;\nbar.warp.sync -1;\n"

static const uint32_t masks[] = {UINT32_MAX, 0x7fffffff, 0xffff0000, 0x00ff00ff,
                                 0x55555555, 0x80000001, 0x1f};

static void test_patterns_of_loads(void) {
    static const struct {
        const char *load;
        unsigned bytes;
    } loads[] = {
        {"u32 %%r3", 4}, {"u8 %%r3", 1}, {"v2.u32 {%%r3, %%r4}", 8}, {"v4.u32 {%%r3, %%r4, %%r5, %%r6}", 16}};
    char text[2000], load[100];
    for (unsigned k = 0; k < 4 * 3 * PATTERNS; k++) {
        const unsigned pattern = k % PATTERNS, which = k / PATTERNS % 4, space = k / PATTERNS / 4;
        static const char *const places[] = {"ld.global.%s, [%%rd2+1024];", "ld.%s, [%%rd2+1024];",
                                             "ld.shared.%s, [%%r8];"};
        const unsigned bytes = loads[which].bytes;
        snprintf(load, sizeof load, places[space], "LOAD");
        char *at = strstr(load, "LOAD");
        char vector[64], after[100];
        snprintf(vector, sizeof vector, loads[which].load, 0);
        snprintf(after, sizeof after, "%s", at + 4);
        *at = 0;
        snprintf(text, sizeof text,
                 "%s%s@%%p1 %s%s%s\nxor.b32 %%r3, %%r3, %%r4; xor.b32 %%r3, %%r3, %%r5;\n"
                 "xor.b32 %%r3, %%r3, %%r6; st.global.u32 [%%rd28], %%r3;",
                 LANES, space == 2 ? COPY : "", load, vector, after);
        lay_out(pattern, bytes);
        for (unsigned m = 0; m < sizeof masks / sizeof masks[0]; m++) {
            expect_run(text, 32, masks[m], out_words, 128);
            for (unsigned i = 0; i < 32; i++) {
                const uint32_t byte = DATA + in_words[i];
                uint32_t want = bytes == 1 ? data_at(byte) : 0;
                for (unsigned e = 0; e < bytes / 4; e++)
                    want ^= word_at(byte + 4 * e);
                CHECK_EQUAL_AS(out_words[i], masks[m] >> i & 1 ? want : 7, vector);
            }
        }
    }
}

/* If several lanes store to one address, the last lane's value remains. */
static void test_patterns_of_stores(void) {
    static const char *const stores[] = {
        "add.u64 %rd2, %rd2, %rd31; sub.u64 %rd2, %rd2, %rd30; @%p1 st.global.u32 [%rd2], %r31;",
        ".shared .align 16 .b8 s[4096]; mov.u32 %r8, s; add.u32 %r8, %r8, %r1; @%p1 st.shared.u32 [%r8], "
        "%r31;\n"
        "bar.warp.sync -1; mad.lo.u32 %r9, %r31, 4, s; mov.u32 %r10, 0; h: ld.shared.u32 %r11, [%r9];\n"
        "st.global.u32 [%rd28], %r11; add.u64 %rd28, %rd28, 128; add.u32 %r9, %r9, 128; add.u32 %r10, %r10, "
        "1;\n"
        "setp.lt.u32 %p2, %r10, 3; @%p2 bra h;"};
    char text[2000];
    for (unsigned k = 0; k < 2 * PATTERNS; k++) {
        snprintf(text, sizeof text, "%s%s", LANES, stores[k / PATTERNS]);
        lay_out(k % PATTERNS, 4);
        for (unsigned m = 0; m < sizeof masks / sizeof masks[0]; m++) {
            uint32_t want[96];
            memset(want, 0xff, sizeof want);
            for (unsigned i = 0; i < 32; i++)
                if (masks[m] >> i & 1)
                    want[in_words[i] / 4] = i;
            expect_run(text, 32, masks[m], out_words, sizeof want);
            CHECK(memcmp(out_words, want, sizeof want) == 0);
        }
    }
}

/* One lane's address is invalid, slightly or by far: the fault names the lane if it is active. */
static void test_patterns_of_faults(void) {
    static const struct {
        const char *access;
        uint32_t offset; /* relative to the lane's position */
        ptx_status status;
    } wrong[] = {{"ld.global.u32 %r3, [%rd2+1024]", 2, PTX_ERR_ALIGNMENT},
                 {"ld.global.u32 %r3, [%rd2+1024]", 3072, PTX_ERR_ADDRESS},
                 {"st.global.u32 [%rd2+1024], %r3", 0xfffffff0, PTX_ERR_ADDRESS},
                 {"ld.shared.u32 %r3, [%r8]", 1, PTX_ERR_ALIGNMENT},
                 {"ld.shared.u32 %r3, [%r8]", 3072, PTX_ERR_ADDRESS},
                 {"ld.shared.u32 %r3, [%r8+-4]", 0, PTX_ERR_ADDRESS},
                 {"st.shared.u32 [%r8], %r3", 0x80000000, PTX_ERR_ADDRESS}};
    char text[2000];
    for (unsigned k = 0; k < 7 * 8; k++) {
        const unsigned which = k % 7, lane = k / 7 * 37 % 32;
        snprintf(text, sizeof text, "%s%s@%%p1 %s;", LANES, COPY, wrong[which].access);
        lay_out(1, 4);
        in_words[lane] = wrong[which].offset;
        expect_run(text, 32, ~(1u << lane), NULL, 128);
        char *kernel = sim_kernel(text);
        sim s;
        sim_open(&s, kernel, in_words, sizeof in_words, 128);
        CHECK_EQUAL_AS(sim_run(&s, "k", 1, 32, UINT32_MAX, NULL), wrong[which].status, wrong[which].access);
        CHECK_EQUAL_AS(s.error.lane, lane, wrong[which].access);
        sim_close(&s);
        free(kernel);
    }
}

/* Lanes that access two allocations are no error. */
static void test_two_allocations(void) {
    lay_out(1, 4);
    memset(out_words, 0, sizeof out_words);
    expect_run(LANES
               "and.b32 %r4, %r31, 1; setp.eq.u32 %p3, %r4, 1; st.global.u32 [%rd28], 5; bar.warp.sync -1;\n"
               "add.u64 %rd3, %rd30, 1024; selp.b64 %rd2, %rd28, %rd3, %p3; ld.global.u32 %r3, [%rd2];\n"
               "st.global.u32 [%rd28], %r3;",
               32, UINT32_MAX, out_words, 128);
    for (unsigned i = 0; i < 32; i++)
        CHECK_EQUAL(out_words[i], i % 2 ? 5 : word_at(DATA));
}

int main(void) {
    test_widths();
    test_lane_order();
    test_shared();
    test_poison();
    test_faults();
    test_fault_place();
    test_memory_functions();
    test_patterns_of_loads();
    test_patterns_of_stores();
    test_patterns_of_faults();
    test_two_allocations();
    return finish_checks("test_memory");
}
