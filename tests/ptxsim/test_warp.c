/* Warp-level instructions, barriers and atomics: results and rejected uses. */
#include <stdlib.h>

#include "check.h"
#include "sim.h"

static uint32_t out[1024];

static ptx_status launch(const char *statements, unsigned grid, unsigned block, ptx_error *error,
                         uint64_t *steps) {
    static uint32_t in[256];
    for (unsigned i = 0; i < 256; i++)
        in[i] = i * i + 3;
    memset(out, 0, sizeof out);
    char *text = sim_kernel(statements);
    sim s;
    sim_open(&s, text, in, sizeof in, sizeof out);
    s.config.step_budget = 1000000;
    ptx_status status = sim_run(&s, "k", grid, block, 0, out);
    if (error)
        *error = s.error;
    else
        check_report(status == PTX_OK, statements, 0, status == PTX_OK ? "" : s.error.message);
    if (steps)
        *steps = s.stats.warp_instructions;
    sim_close(&s);
    free(text);
    return status;
}

static void refuse(const char *statements, unsigned block, const char *part) {
    ptx_error error;
    CHECK_EQUAL_AS(launch(statements, 1, block, &error, NULL), PTX_ERR_BARRIER, statements);
    CHECK_CONTAINS(error.message, part);
}

/* ---- shfl, by the definition in the PTX manual, lane by lane ---- */

static int shuffled(const char *mode, int lane, int b, int c, int *in_range) {
    int mask = c >> 8 & 31, clamp = c & 31, distance = b & 31, source;
    int most = (lane & mask) | (clamp & ~mask);
    if (strcmp(mode, "up") == 0) {
        source = lane - distance;
        *in_range = source >= most;
    } else if (strcmp(mode, "down") == 0) {
        source = lane + distance;
        *in_range = source <= most;
    } else if (strcmp(mode, "bfly") == 0) {
        source = lane ^ distance;
        *in_range = source <= most;
    } else {
        source = (lane & mask) | (distance & ~mask);
        *in_range = source <= most;
    }
    return *in_range ? source : lane;
}

static void test_shuffles(void) {
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    static const int clamps[] = {31, 0, 0x1800 | 7, 0x1c00 | 3, 0x1000, 0x1e1f, 0x0f0f};
    for (size_t m = 0; m < 4; m++)
        for (size_t k = 0; k < sizeof clamps / sizeof clamps[0]; k++)
            for (int distance = 0; distance < 34; distance += 1 + distance / 5) {
                char text[400];
                snprintf(text, sizeof text,
                         "mul.lo.u32 %%r1, %%r31, 11;\nshfl.sync.%s.b32 %%r2|%%p1, %%r1, %d, %d, -1;\n"
                         "@%%p1 or.b32 %%r2, %%r2, 0x10000;\nst.global.u32 [%%rd28], %%r2;",
                         modes[m], distance, clamps[k]);
                launch(text, 1, 64, NULL, NULL);
                for (int i = 0; i < 64; i++) {
                    int in_range, source = shuffled(modes[m], i % 32, distance, clamps[k], &in_range);
                    CHECK_EQUAL_AS(out[i], 11 * (source + i / 32 * 32) | in_range << 16, text);
                }
            }
}

static void test_shuffle_details(void) {
    /* a distance in a register that differs per lane; no predicate */
    launch("mul.lo.u32 %r1, %r31, 3; shfl.sync.idx.b32 %r1, %r1, %r1, 31, -1; st.global.u32 [%rd28], %r1;", 1,
           32, NULL, NULL);
    for (unsigned i = 0; i < 32; i++)
        CHECK_EQUAL(out[i], 3 * (3 * i % 32));
    /* half a warp: inactive lanes supply poison instead of their value */
    launch("setp.lt.u32 %p1, %r31, 16; mov.u32 %r2, 7;\n@%p1 shfl.sync.down.b32 %r2, %r31, 4, 31, 0xffff;\n"
           "st.global.u32 [%rd28], %r2;",
           1, 32, NULL, NULL);
    for (unsigned i = 0; i < 32; i++)
        CHECK_EQUAL(out[i], i < 12 ? i + 4 : i < 16 ? 0xFFFFFFFFu : 7);
    /* the same after the other lanes exited: they need not take part, nor do the missing lanes of a partial
       warp */
    launch("setp.ge.u32 %p1, %r31, 16; @%p1 exit;\nshfl.sync.down.b32 %r2, %r31, 4, 15, -1; st.global.u32 "
           "[%rd28], "
           "%r2;",
           1, 32, NULL, NULL);
    CHECK_EQUAL(out[3], 7);
    CHECK_EQUAL(out[13], 13);
    launch("shfl.sync.bfly.b32 %r2, %r31, 1, 31, -1; st.global.u32 [%rd28], %r2;", 1, 40, NULL, NULL);
    for (unsigned i = 0; i < 40; i++)
        CHECK_EQUAL(out[i], i ^ 1);
}

static void test_votes(void) {
    launch(
        "and.b32 %r1, %r31, 3; setp.eq.u32 %p1, %r1, 1; vote.sync.ballot.b32 %r2, %p1, -1;\n"
        "vote.sync.any.pred %p2, %p1, -1; vote.sync.all.pred %p3, %p1, -1; vote.sync.uni.pred %p4, %p1, -1;\n"
        "vote.sync.ballot.b32 %r3, !%p1, -1; xor.b32 %r2, %r2, %r3; setp.ne.u32 %p5, %r2, -1;\n"
        "selp.u32 %r4, 1, 0, %p2; @%p3 add.u32 %r4, %r4, 10; @%p4 add.u32 %r4, %r4, 100; @%p5 add.u32 %r4, "
        "%r4, "
        "1000;\n"
        "vote.sync.all.pred %p6, 1, -1; @%p6 add.u32 %r4, %r4, 10000; vote.sync.uni.pred %p6, 0, -1; @%p6 "
        "add.u32 "
        "%r4, %r4, 100000;\nst.global.u32 [%rd28], %r4;",
        1, 32, NULL, NULL);
    for (unsigned i = 0; i < 32; i++)
        CHECK_EQUAL(out[i], 110001);
    /* a membermask for each half; the ballot has only the votes of its half */
    launch("setp.lt.u32 %p1, %r31, 16; selp.b32 %r1, 0xffff, 0xffff0000, %p1; and.b32 %r2, %r31, 1;\n"
           "setp.eq.u32 %p2, %r2, 1; vote.sync.ballot.b32 %r3, %p2, %r1; or.pred %p3, %p1, %p2;\n"
           "vote.sync.all.pred %p4, %p3, %r1; @%p4 add.u32 %r3, %r3, 1; st.global.u32 [%rd28], %r3;",
           1, 32, NULL, NULL);
    for (unsigned i = 0; i < 32; i++)
        CHECK_EQUAL(out[i], i < 16 ? 0xaaabu : 0xaaaa0000u);
    launch("setp.gt.u32 %p1, %r31, 20; @%p1 activemask.b32 %r1; @!%p1 mov.u32 %r1, 1; st.global.u32 [%rd28], "
           "%r1;",
           1, 32, NULL, NULL);
    for (unsigned i = 0; i < 32; i++)
        CHECK_EQUAL(out[i], i > 20 ? 0xffe00000u : 1);
}

static void test_redux(void) {
    static const struct {
        const char *op;
        uint32_t low, high; /* of lanes 0-15 and 16-31, whose values are lane - 20 */
    } ops[] = {
        {"add.s32", (uint32_t)-200, 56},
        {"min.s32", (uint32_t)-20, (uint32_t)-4},
        {"max.s32", (uint32_t)-5, 11},
        {"min.u32", (uint32_t)-20, 0},
        {"max.u32", (uint32_t)-5, (uint32_t)-1},
        {"and.b32", 0xffffffe0u, 0},
        {"or.b32", 0xffffffffu, ~0u},
        {"xor.b32", 0, 0},
    };
    for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
        char text[300];
        snprintf(
            text, sizeof text,
            "setp.lt.u32 %%p1, %%r31, 16; selp.b32 %%r1, 0xffff, 0xffff0000, %%p1; sub.s32 %%r2, %%r31, 20;\n"
            "redux.sync.%s %%r3, %%r2, %%r1; st.global.u32 [%%rd28], %%r3;",
            ops[k].op);
        launch(text, 1, 32, NULL, NULL);
        for (unsigned i = 0; i < 32; i++)
            CHECK_EQUAL_AS(out[i], i < 16 ? ops[k].low : ops[k].high, ops[k].op);
    }
}

static void test_members(void) {
    refuse("shfl.sync.idx.b32 %r1, %r31, 0, 31, 0xffff;", 32,
           "the lane is not in its own membermask 0x0000ffff");
    refuse("setp.lt.u32 %p1, %r31, 16; @%p1 shfl.sync.idx.b32 %r1, %r31, 0, 31, -1;", 32,
           "has lanes that do not execute this instruction (0xffff0000)");
    /* Lanes that only have to return are not waited for. */
    launch("setp.lt.u32 %p1, %r31, 8; @%p1 bra a; bar.warp.sync -1; a: ret;", 1, 32, NULL, NULL);
    refuse("setp.lt.u32 %p1, %r31, 8; @%p1 bra a; bar.warp.sync -1; bra b; a: bar.warp.sync -1; b: ret;", 32,
           "do not execute this instruction (0x");
    refuse("setp.lt.u32 %p1, %r31, 8; @%p1 vote.sync.any.pred %p2, %p1, 0x1ff;", 32,
           "do not execute this instruction (0x00000100)");
    refuse("setp.lt.u32 %p1, %r31, 8; @%p1 redux.sync.add.u32 %r1, %r31, -1;", 12,
           "do not execute this instruction (0x00000f00)");
    launch("setp.lt.u32 %p1, %r31, 8; @%p1 bar.warp.sync 0xff; @!%p1 bar.warp.sync 0xffffff00;", 1, 32, NULL,
           NULL);
}

/* ---- barriers ---- */

static void test_barriers(void) {
    static const char reverse[] =
        ".shared .b32 s[256]; mov.u32 %r1, s; mad.lo.u32 %r2, %r31, 4, %r1;\n"
        "st.shared.u32 [%r2], %r31; bar.sync 0;\n"
        "sub.u32 %r3, %ntid.x, %r31; sub.u32 %r3, %r3, 1; mad.lo.u32 %r3, %r3, 4, %r1;\n"
        "ld.shared.u32 %r4, [%r3]; st.global.u32 [%rd28], %r4;";
    for (unsigned block = 1; block <= 256; block += 51) {
        launch(reverse, 1, block, NULL, NULL);
        for (unsigned i = 0; i < block; i++)
            CHECK_EQUAL(out[i], block - 1 - i);
    }
    /* producer and consumer warps synchronise at named barriers of 64 threads */
    launch(".shared .b32 s[4]; mov.u32 %r1, s; shr.u32 %r2, %r31, 6; mad.lo.u32 %r1, %r2, 4, %r1; add.u32 "
           "%r2, %r2, 1;\n"
           "and.b32 %r3, %r31, 63; setp.eq.u32 %p1, %r3, 32; @%p1 st.shared.u32 [%r1], %r31; barrier.sync "
           "%r2, 64;\n"
           "ld.shared.u32 %r4, [%r1]; st.global.u32 [%rd28], %r4;",
           1, 128, NULL, NULL);
    for (unsigned i = 0; i < 128; i++)
        CHECK_EQUAL(out[i], i < 64 ? 32 : 96);
    /* exited warps are not waited for, whether they exit first or last */
    launch("setp.lt.u32 %p1, %r31, 96; @%p1 exit; bar.sync 0; st.global.u32 [%rd28], 5;", 1, 128, NULL, NULL);
    CHECK(out[95] != 5 && out[96] == 5 && out[127] == 5);
    launch("setp.ge.u32 %p1, %r31, 32; @%p1 exit; bar.sync 0; st.global.u32 [%rd28], 5;", 1, 128, NULL, NULL);
    CHECK(out[0] == 5 && out[31] == 5 && out[32] != 5);
    /* lanes that return before the barrier, on either side of the branch */
    launch("setp.lt.u32 %p1, %r31, 20; @%p1 bra stay; ret; stay: bar.sync 0; st.global.u32 [%rd28], 5;", 1,
           32, NULL, NULL);
    CHECK(out[19] == 5 && out[20] != 5);
    launch(
        "setp.ge.u32 %p1, %r31, 20; @%p1 bra leave; bar.sync 0; st.global.u32 [%rd28], 5; ret; leave: ret;",
        1, 32, NULL, NULL);
    CHECK(out[19] == 5 && out[20] != 5);
}

static void test_bad_barriers(void) {
    refuse("setp.lt.u32 %p1, %r31, 8; @%p1 bra a; bar.sync 0; a: bar.sync 0;", 32,
           "a divergent barrier: lanes 0xffffff00 are here, lanes 0x000000ff of the warp are elsewhere");
    refuse("setp.lt.u32 %p1, %r31, 8; @%p1 bar.sync 0;", 64, "a divergent barrier");
    refuse("bar.sync 16;", 32, "there is no barrier 16");
    refuse("barrier.sync 0, 33;", 64, "the thread count 33");
    ptx_error error;
    CHECK_EQUAL(launch("setp.lt.u32 %p1, %r31, 32;\n@%p1 bra a;\nbar.sync 1;\nret;\na: bar.sync 2;", 1, 96,
                       &error, NULL),
                PTX_ERR_BARRIER);
    CHECK_CONTAINS(error.message, "deadlock");
    CHECK_CONTAINS(error.message,
                   "warp 0 at PTX line 22 (barrier 2), warp 1 at PTX line 20 (barrier 1), warp 2 at PTX "
                   "line 20 (barrier 1)");
    refuse("barrier.sync 3, 128;", 96, "deadlock");
    refuse("setp.lt.u32 %p1, %r31, 32; @%p1 exit; barrier.sync 0, 64;", 64,
           "warp 1 at PTX line 18 (barrier 0)");
    refuse("bar.sync %r31;", 1024, "there is no barrier 32");
}

/* A warp that polls the flag of another warp must not starve it. */
static void test_spin(void) {
    launch(".shared .b32 flag; setp.ge.u32 %p1, %r31, 32; mov.u32 %r1, flag; @%p1 bra set;\n"
           "wait: ld.volatile.shared.u32 %r2, [%r1]; setp.ne.u32 %p2, %r2, 9; @%p2 bra wait;\n"
           "st.global.u32 [%rd28], %r2; ret;\nset: st.volatile.shared.u32 [%r1], 9;",
           1, 64, NULL, NULL);
    CHECK_EQUAL(out[31], 9);
}

/* ---- atomics ---- */

static void test_atomics(void) {
    static const struct {
        const char *op, *operands;
        uint32_t start, want; /* after lanes 0-31 each applied lane + 1 */
    } ops[] = {
        {"add.u32", "%r1", 10, 538},     {"add.s32", "%r1", (uint32_t)-528, 0},
        {"min.u32", "%r1", 40, 1},       {"min.s32", "%r1", (uint32_t)-5, (uint32_t)-5},
        {"max.u32", "%r1", 3, 32},       {"max.s32", "%r1", (uint32_t)-5, 32},
        {"and.b32", "%r1", 0xff, 0},     {"or.b32", "%r1", 0x100, 0x13f},
        {"xor.b32", "%r1", 7, 7 ^ 32},   {"inc.u32", "20", 0, 11},
        {"dec.u32", "20", 5, 15},        {"exch.b32", "%r1", 1, 32},
        {"cas.b32", "%r31, %r1", 0, 32},
    };
    static const char *const spaces[] = {"global", "shared"};
    for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++)
        for (int form = 0; form < 4; form++) {
            bool returns = form / 2 == 0;
            if (!returns && (strncmp(ops[k].op, "exch", 4) == 0 || strncmp(ops[k].op, "cas", 3) == 0))
                continue;
            char text[600];
            snprintf(
                text, sizeof text,
                ".shared .b32 s; mov.u64 %%rd1, %s; add.u32 %%r1, %%r31, 1; setp.eq.u32 %%p1, %%r31, 0;\n"
                "@%%p1 st.%s.u32 [%%rd1], %u;\n%s.%s.%s %s [%%rd1], %s;\nld.%s.u32 %%r3, [%%rd1]; "
                "@!%%p1 st.global.u32 [%%rd28], %%r3;\n@%%p1 st.global.u32 [%%rd28], %%r3;",
                form % 2 ? "s" : "%rd31", spaces[form % 2], ops[k].start, returns ? "atom" : "red",
                spaces[form % 2], ops[k].op, returns ? "%r2," : "", ops[k].operands, spaces[form % 2]);
            launch(text, 1, 32, NULL, NULL);
            CHECK_EQUAL_AS(out[7], ops[k].want, text);
        }
    /* old values are returned in lane order */
    launch("st.global.u32 [%rd31], 100; atom.global.add.u32 %r1, [%rd31], 2; st.global.u32 [%rd28], %r1;", 1,
           32, NULL, NULL);
    for (unsigned i = 0; i < 32; i++)
        CHECK_EQUAL(out[i], 100 + 2 * i);
}

static void test_wide_and_float_atomics(void) {
    launch("setp.eq.u32 %p1, %r31, 0; @%p1 st.global.u64 [%rd31+128], 5000000000; add.u64 %rd1, %rd31, 128;\n"
           "cvt.u64.u32 %rd2, %r31; atom.global.add.u64 %rd3, [%rd1], %rd2; atom.add.u64 %rd3, [%rd1], "
           "4294967296;\n"
           "@%p1 st.global.f32 [%rd31+136], 0f3F800000; atom.global.add.f32 %f1, [%rd31+136], 0f3F000000;\n"
           "@%p1 st.global.f64 [%rd31+144], 0d3FF0000000000000; red.global.add.f64 [%rd31+144], "
           "0d3FE0000000000000;\n"
           "@%p1 st.global.u64 [%rd31+152], 7; atom.global.max.s64 %rd4, [%rd31+152], %rd2; "
           "atom.global.min.u64 %rd4, [%rd31+152], 30; atom.global.cas.b64 %rd4, [%rd31+152], 30, -2;\n"
           "atom.global.exch.b64 _, [%rd31+160], %rd2;",
           1, 32, NULL, NULL);
    uint64_t wide[9];
    float single;
    double both;
    memcpy(wide, out, sizeof wide);
    memcpy(wide, (char *)out + 128, 40);
    memcpy(&single, &wide[1], sizeof single);
    memcpy(&both, &wide[2], sizeof both);
    CHECK_EQUAL(wide[0], 5000000000u + 496 + 32 * 4294967296u);
    CHECK(single == 17.0f);
    CHECK(both == 17.0);
    CHECK_EQUAL(wide[3], (uint64_t)-2);
    CHECK_EQUAL(wide[4], 31);
}

/* atom.add.f32 flushes subnormals in global memory and keeps them in shared memory, as on an H200. */
static void test_subnormal_sums(void) {
    launch(".shared .b32 s; setp.eq.u32 %p1, %r31, 0; mov.b32 %f1, 5;\n@%p1 st.shared.u32 [s], 0; @%p1 "
           "st.global.u32 "
           "[%rd31], 0;\n"
           "red.shared.add.f32 [s], %f1; red.global.add.f32 [%rd31], %f1; ld.shared.u32 %r1, [s];\n"
           "@%p1 st.global.u32 [%rd31+4], %r1;",
           1, 32, NULL, NULL);
    CHECK_EQUAL(out[0], 0);
    CHECK_EQUAL(out[1], 160);
}

/* Element (r, c) of matrix k is 100 k + 10 r + c, in the fragment layout of the PTX manual; memory receives
   the rows, or the columns. */
static void test_matrix_stores(void) {
    for (unsigned matrices = 1; matrices <= 4; matrices *= 2)
        for (unsigned trans = 0; trans < 2; trans++) {
            static const char *const held[] = {"", "{%r4}", "{%r4, %r5}", "", "{%r4, %r5, %r6, %r7}"};
            char text[1200];
            snprintf(
                text, sizeof text,
                ".shared .align 16 .b16 s[256]; mov.u32 %%r20, s; shr.u32 %%r1, %%r31, 2; and.b32 %%r2, "
                "%%r31, 3;\n"
                "mul.lo.u32 %%r1, %%r1, 10; mad.lo.u32 %%r1, %%r2, 2, %%r1; mul.lo.u32 %%r4, %%r1, 65537;\n"
                "add.u32 %%r4, %%r4, 65536; add.u32 %%r5, %%r4, 6553700; add.u32 %%r6, %%r5, 6553700;\n"
                "add.u32 %%r7, %%r6, 6553700; mad.lo.u32 %%r3, %%r31, 16, %%r20;\n"
                "stmatrix.sync.aligned.m8n8.x%u%s.shared.b16 [%%r3], %s;\n"
                "mov.u32 %%r1, 0; mov.u32 %%r9, 0; n: mad.lo.u32 %%r2, %%r1, 64, %%r20; mad.lo.u32 %%r2, "
                "%%r31, 2, "
                "%%r2;\nld.shared.u16 %%h1, [%%r2]; cvt.u32.u16 %%r8, %%h1; mad.wide.u32 %%rd1, %%r1, 128, "
                "%%rd28;\n"
                "st.global.u32 [%%rd1], %%r8; add.u32 %%r1, %%r1, 1; setp.lt.u32 %%p1, %%r1, %u; @%%p1 bra "
                "n;",
                matrices, trans ? ".trans" : "", held[matrices], 2 * matrices);
            launch(text, 1, 32, NULL, NULL);
            for (unsigned i = 0; i < 64 * matrices; i++) {
                const unsigned row = i / 8 % 8, column = i % 8, k = i / 64;
                CHECK_EQUAL(out[i], (100 * k + (trans ? 10 * column + row : 10 * row + column)) & 0xffff);
            }
        }
    refuse(".shared .align 16 .b16 s[256]; mov.u32 %r3, s; setp.lt.u32 %p1, %r31, 16;\n"
           "@%p1 stmatrix.sync.aligned.m8n8.x1.shared::cta.b16 [%r3], {%r4};",
           32, "the whole warp stores together");
}

/* Two warps pass a slot back and forth with two barriers: each arrives at one and waits at the other. */
static void test_arrivals(void) {
    launch(
        ".shared .b32 s[32]; mov.u32 %r1, 0; mov.u32 %r9, 0; and.b32 %r2, %r31, 31; shl.b32 %r2, %r2, 2; "
        "mov.u32 "
        "%r3, s;\n"
        "add.u32 %r2, %r2, %r3; setp.lt.u32 %p1, %r31, 32; @!%p1 bra read;\n"
        "write: bar.sync 2, 64; mad.lo.u32 %r4, %r1, %r31, 7; st.shared.u32 [%r2], %r4; bar.arrive 1, 64;\n"
        "add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 10; @%p2 bra write; bar.sync 2, 64; ret;\n"
        "read: barrier.cta.arrive.aligned 2, 64;\n"
        "next: barrier.sync 1, 64; ld.shared.u32 %r4, [%r2]; mad.lo.u32 %r9, %r9, 3, %r4; bar.cta.arrive 2, "
        "64;\n"
        "add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 10; @%p2 bra next; st.global.u32 [%rd28], %r9;",
        1, 64, NULL, NULL);
    for (unsigned t = 0; t < 32; t++) {
        uint32_t want = 0;
        for (uint32_t i = 0; i < 10; i++)
            want = want * 3 + i * t + 7;
        CHECK_EQUAL(out[32 + t], want);
    }
    refuse("bar.arrive 1, 0;", 64, "needs a thread count");
    refuse("bar.arrive 1, 48;", 64, "no multiple of 32");
    refuse("bar.arrive 1, 96; bar.arrive 1, 96;", 64, "the warp arrived at barrier 1 before");
    refuse("setp.lt.u32 %p1, %r31, 32; @%p1 bra e; bar.sync 1, 96; ret; e: bar.arrive 1, 96;", 64,
           "deadlock");
}

/* setmaxnreg has no effect, but the four warps of a warpgroup must execute it with the same number. */
static void test_registers(void) {
    static const char roles[] =
        "setp.lt.u32 %p1, %r31, 128; @%p1 bra c; setmaxnreg.dec.sync.aligned.u32 40; bra e;\n"
        "c: setmaxnreg.inc.sync.aligned.u32 232;\ne: st.global.u32 [%rd28], %r31;";
    launch(roles, 1, 256, NULL, NULL);
    CHECK_EQUAL(out[127] + out[128], 255);
    launch("setmaxnreg.dec.sync.aligned.u32 40;", 1, 160, NULL,
           NULL); /* the last warpgroup has a single warp */
    refuse("setp.lt.u32 %p1, %r31, 64; @%p1 bra e; setmaxnreg.dec.sync.aligned.u32 40; e: ret;", 128,
           "the warps of a warpgroup do not all execute this");
    refuse("setp.lt.u32 %p1, %r31, 64; @%p1 bra c; setmaxnreg.dec.sync.aligned.u32 40; ret; c: "
           "setmaxnreg.dec.sync.aligned.u32 48;",
           128, "same register count");
    refuse("setp.lt.u32 %p1, %r31, 7; @%p1 setmaxnreg.dec.sync.aligned.u32 40;", 128,
           "lanes 0x0000007f are here, lanes 0xffffff80 of the warp are elsewhere");
    static const char *const numbers[] = {"16", "42", "264"};
    for (unsigned i = 0; i < 3; i++) {
        char text[100];
        ptx_error error;
        snprintf(text, sizeof text, "setmaxnreg.inc.sync.aligned.u32 %s;", numbers[i]);
        CHECK_EQUAL_AS(launch(text, 1, 128, &error, NULL), PTX_ERR_ARGUMENT, text);
        CHECK_CONTAINS(error.message, "a multiple of 8 from 24 to 256");
    }
}

int main(void) {
    test_shuffles();
    test_shuffle_details();
    test_votes();
    test_redux();
    test_members();
    test_barriers();
    test_matrix_stores();
    test_arrivals();
    test_registers();
    test_bad_barriers();
    test_spin();
    test_atomics();
    test_wide_and_float_atomics();
    test_subnormal_sums();
    return finish_checks("test_warp");
}
