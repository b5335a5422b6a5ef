/* The race detector: small kernels with and without their barriers, and the exact reports. */
#include <stdlib.h>

#include "check.h"
#include "instrumentation/racecheck.h"
#include "sim.h"

#define SLOTS ".shared .align 16 .b8 s[4096];\nshl.b32 %r1, %r31, 2; mov.u32 %r2, s; add.u32 %r3, %r2, %r1;\n"

/* Each thread reads its neighbour's word: `before` precedes the read, `after` the next write. */
#define NEIGHBOUR(before, after)                                                                             \
    SLOTS "st.shared.u32 [%r3], %r31;\n" before "xor.b32 %r4, %r1, 4; add.u32 %r4, %r4, %r2;\n"              \
          "ld.shared.u32 %r5, [%r4];\n" after "st.shared.u32 [%r3], %r5;"
/* The same with the thread 32 further on, in the other of two warps. */
#define OTHER_WARP(before, after)                                                                            \
    SLOTS "st.shared.u32 [%r3], %r31;\n" before "xor.b32 %r4, %r1, 128; add.u32 %r4, %r4, %r2;\n"            \
          "ld.shared.u32 %r5, [%r4];\n" after "st.shared.u32 [%r3], %r5;"

enum { MOST = 8 };

typedef struct found {
    size_t count;
    ptx_race races[MOST];
    ptx_status status;
    unsigned first_line[MOST], second_line[MOST];
} found;

static found check(const char *statements, unsigned grid, unsigned block, unsigned threads) {
    static uint32_t in[256], out[65536];
    found f = {.count = 0};
    char *text = sim_kernel(statements);
    sim s;
    sim_open(&s, text, in, sizeof in, sizeof out);
    const ptx_kernel *kernel = ptx_module_find(s.module, "k");
    ptx_racecheck *races;
    CHECK_EQUAL(ptx_racecheck_create(&races, &s.error), PTX_OK);
    ptx_observer *observers[] = {&races->base};
    s.config.observers = observers;
    s.config.observer_count = 1;
    s.config.threads = threads;
    f.status = sim_run(&s, "k", grid, block, 0, NULL);
    const ptx_race *all = races->table.races;
    f.count = races->table.count;
    for (size_t i = 0; i < f.count && i < MOST; i++) {
        f.races[i] = all[i];
        f.first_line[i] = all[i].first_pc == PTX_NO_PC ? 0 : kernel->source[all[i].first_pc].line;
        f.second_line[i] = all[i].second_pc == PTX_NO_PC ? 0 : kernel->source[all[i].second_pc].line;
    }
    ptx_racecheck_free(races);
    sim_close(&s);
    free(text);
    return f;
}

static void expect_clean(const char *statements, unsigned block) {
    found f = check(statements, 3, block, 1);
    CHECK_EQUAL_AS(f.status, PTX_OK, statements);
    CHECK_EQUAL_AS(f.count, 0, statements);
}

/* Expects exactly these hazards, in the order of the reports. */
static found expect(const char *statements, unsigned block, size_t count, const ptx_hazard *hazards) {
    found f = check(statements, 3, block, 1);
    CHECK_EQUAL_AS(f.count, count, statements);
    for (size_t i = 0; i < count && i < f.count; i++)
        CHECK_EQUAL_AS(f.races[i].hazard, hazards[i], statements);
    return f;
}

#define EXPECT(statements, block, ...)                                                                       \
    expect(statements, block, sizeof((ptx_hazard[]){__VA_ARGS__}) / sizeof(ptx_hazard),                      \
           (ptx_hazard[]){__VA_ARGS__})

#define BAR "bar.sync 0;\n"
#define WARP "bar.warp.sync -1;\n"

static void test_between_warps(void) {
    expect_clean(OTHER_WARP(BAR, BAR), 64);
    expect_clean(NEIGHBOUR(BAR, BAR), 64);
    EXPECT(OTHER_WARP("", BAR), 64, PTX_HAZARD_WRITE_READ, PTX_HAZARD_READ_WRITE, PTX_HAZARD_UNINITIALISED);
    found f = EXPECT(OTHER_WARP(BAR, ""), 64, PTX_HAZARD_WRITE_READ, PTX_HAZARD_READ_WRITE);
    CHECK_EQUAL(f.races[1].first_thread, 32);
    CHECK_EQUAL(f.races[1].second_thread, 0);
    CHECK_EQUAL(f.races[1].count, 3 * 32);
    /* a warp barrier orders nothing between warps */
    EXPECT(OTHER_WARP(BAR, WARP), 64, PTX_HAZARD_WRITE_READ, PTX_HAZARD_READ_WRITE);
}

static void test_within_a_warp(void) {
    expect_clean(NEIGHBOUR(WARP, WARP), 64);
    expect_clean(NEIGHBOUR(WARP, BAR), 40);
    found f = EXPECT(NEIGHBOUR("", WARP), 64, PTX_HAZARD_WRITE_READ);
    CHECK_EQUAL(f.races[0].first_thread, 1);
    CHECK_EQUAL(f.races[0].second_thread, 0);
    CHECK_EQUAL(f.races[0].count, 3 * 64);
    CHECK_EQUAL(f.races[0].address, 4);
    CHECK_EQUAL(f.races[0].block, 0);
    CHECK_EQUAL(f.second_line[0] - f.first_line[0], 2);
    f = EXPECT(NEIGHBOUR(WARP, ""), 32, PTX_HAZARD_READ_WRITE);
    CHECK_EQUAL(f.races[0].count, 3 * 32);
    /* a shuffle synchronises lanes but orders no memory */
    EXPECT(NEIGHBOUR("shfl.sync.idx.b32 %r6, %r31, 0, 31, -1;\n", WARP), 32, PTX_HAZARD_WRITE_READ);
}

/* bar.warp.sync with a partial membermask orders these lanes, and transitively others through a common
   lane. */
static void test_parts_of_a_warp(void) {
    expect_clean(NEIGHBOUR("shr.u32 %r6, %r31, 1; and.b32 %r6, %r6, 15; shl.b32 %r6, %r6, 1; shl.b32 %r7, 3, "
                           "%r6; bar.warp.sync %r7;\n",
                           WARP),
                 32);
    EXPECT(NEIGHBOUR("setp.lt.u32 %p1, %r31, 16; selp.b32 %r7, 0xffff, 0xffff0000, %p1; bar.warp.sync %r7;\n"
                     "xor.b32 %r1, %r1, 64;\n",
                     WARP),
           32, PTX_HAZARD_WRITE_READ);
    /* lane 0 writes; lanes 0-1 synchronise, lanes 1-2 synchronise, lane 2 reads: ordered. Lane 3 took part in
       neither. */
    static const char chain[] = SLOTS
        "st.shared.u32 [%r3], %r31; setp.eq.u32 %p1, %r31, {%s}; setp.lt.u32 %p2, %r31, 2;\n"
        "@%p2 bar.warp.sync 3; setp.eq.u32 %p3, %r31, 1; setp.eq.u32 %p4, %r31, 2; or.pred %p3, %p3, %p4;\n"
        "@%p3 bar.warp.sync 6; @%p1 ld.shared.u32 %r5, [s];";
    char text[sizeof chain];
    for (unsigned reader = 1; reader < 4; reader++) {
        snprintf(text, sizeof text, "%s", chain);
        char *place = strstr(text, "{%s}");
        memset(place, ' ', 4);
        *place = (char)('0' + reader);
        if (reader < 3)
            expect_clean(text, 32);
        else
            EXPECT(text, 32, PTX_HAZARD_WRITE_READ);
    }
}

/* Named barriers of some warps order those warps, and what happened before for them. */
static void test_parts_of_a_block(void) {
    static const char pair[] = SLOTS
        "st.shared.u32 [%r3], %r31; setp.lt.u32 %p1, %r31, 64; @%p1 bar.sync 1, 64;\n"
        "@!%p1 bar.sync 2, 64;\nxor.b32 %r4, %r1, 128; add.u32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4];";
    expect_clean(pair, 128);
    static const char chain[] = SLOTS
        "st.shared.u32 [%r3], %r31; shr.u32 %r6, %r31, 5; setp.le.u32 %p1, %r6, 1; setp.ge.u32 %p2, "
        "%r6, 1;\n"
        "@%p1 bar.sync 1, 64; @%p2 bar.sync 2, 64; setp.eq.u32 %p3, %r6, 2; @%p3 ld.shared.u32 %r5, [s];";
    expect_clean(chain, 96);
    static const char apart[] =
        SLOTS "st.shared.u32 [%r3], %r31; shr.u32 %r6, %r31, 5; setp.lt.u32 %p1, %r6, 2;\n"
              "@%p1 bar.sync 1, 64; setp.eq.u32 %p3, %r6, 2; @%p3 ld.shared.u32 %r5, [s];";
    EXPECT(apart, 96, PTX_HAZARD_WRITE_READ);
}

/* A barrier with a thread count does not wait for exited warps; one of all threads does. */
static void test_exited_warps(void) {
    static const char kernel[] =
        "%sst.shared.u32 [%%r3], %%r31; bar.sync 0; setp.lt.u32 %%p1, %%r31, 32;\n"
        "@%%p1 ld.shared.u32 %%r5, [s]; @%%p1 exit; %s; setp.eq.u32 %%p2, %%r31, 64;\n"
        "@%%p2 st.shared.u32 [s], 1;";
    char text[sizeof kernel + sizeof SLOTS + 100];
    snprintf(text, sizeof text, kernel, SLOTS, "bar.sync 1, 64");
    found f = EXPECT(text, 96, PTX_HAZARD_READ_WRITE);
    CHECK_EQUAL(f.races[0].first_thread, 0);
    CHECK_EQUAL(f.races[0].second_thread, 64);
    CHECK_EQUAL(f.races[0].count, 3);
    snprintf(text, sizeof text, kernel, SLOTS, "bar.sync 1");
    expect_clean(text, 96);
    /* nor does the next barrier order their accesses */
    snprintf(text, sizeof text, kernel, SLOTS, "bar.sync 1, 64; bar.sync 2, 64");
    EXPECT(text, 96, PTX_HAZARD_READ_WRITE);
    snprintf(text, sizeof text, kernel, SLOTS, "bar.sync 1; bar.sync 2, 64");
    expect_clean(text, 96);
}

/* Every reading warp counts, whichever the writer synchronised with: warp 7 writes after a barrier with all
   but one of them, which then reads for the second time. */
static void test_many_readers(void) {
    static const char kernel[] =
        "%sst.shared.u32 [%%r3], %%r31; bar.sync 0; shr.u32 %%r6, %%r31, 5;\n"
        "setp.ne.u32 %%p1, %%r6, 7; setp.ne.u32 %%p2, %%r6, %u; setp.eq.u32 %%p3, %%r31, 224;\n"
        "@%%p1 ld.shared.u32 %%r5, [s+8]; @%%p2 bar.sync 1, %u; @%%p3 st.shared.u32 [s+8], 1; bar.sync 0;\n"
        "@%%p1 ld.shared.u32 %%r5, [s+8]; @%%p2 bar.sync 1, %u; @%%p3 st.shared.u32 [s+8], 2;";
    char text[sizeof kernel + sizeof SLOTS + 100];
    for (unsigned reader = 0; reader < 7; reader++) {
        snprintf(text, sizeof text, kernel, SLOTS, reader, 224u, 224u);
        found f = EXPECT(text, 256, PTX_HAZARD_READ_WRITE, PTX_HAZARD_READ_WRITE);
        for (unsigned i = 0; i < 2; i++) {
            CHECK_EQUAL(f.races[i].first_thread, 32 * reader);
            CHECK_EQUAL(f.races[i].second_thread, 224);
            CHECK_EQUAL(f.races[i].address, 8);
            CHECK_EQUAL(f.races[i].count, 3);
        }
    }
    snprintf(text, sizeof text, kernel, SLOTS, 8u, 256u, 256u);
    expect_clean(text, 256);
}

static void test_uninitialised(void) {
    found f = EXPECT(SLOTS "setp.lt.u32 %p1, %r31, 20; @%p1 st.shared.u32 [%r3], %r31; bar.sync 0;\n"
                           "ld.shared.u32 %r5, [%r3];",
                     32, PTX_HAZARD_UNINITIALISED);
    CHECK_EQUAL(f.races[0].second_thread, 20);
    CHECK_EQUAL(f.races[0].count, 3 * 12);
    CHECK_EQUAL(f.races[0].address, 80);
    CHECK_EQUAL(f.first_line[0], 0);
    /* the writes of one block are not visible to the next one */
    f = EXPECT(SLOTS "setp.eq.u32 %p1, %r30, %r31; @!%p1 ld.shared.u32 %r5, [%r3]; @%p1 st.shared.u32 [%r3], "
                     "%r31;",
               32, PTX_HAZARD_UNINITIALISED);
    CHECK_EQUAL(f.races[0].count, 2 * 32);
    EXPECT(SLOTS "atom.shared.add.u32 %r4, [s], 1;", 32, PTX_HAZARD_UNINITIALISED);
}

static void test_atomics(void) {
    static const char start[] = SLOTS "setp.eq.u32 %p1, %r31, 0; @%p1 st.shared.u32 [s], 0; bar.sync 0;\n"
                                      "red.shared.add.u32 [s], 1;\n";
    char text[800];
    snprintf(text, sizeof text, "%sbar.sync 0; ld.shared.u32 %%r4, [s];", start);
    expect_clean(text, 64);
    /* additions are unordered with any reader, including the last addition */
    for (unsigned reader = 0; reader < 32; reader += 31) {
        snprintf(text, sizeof text, "%ssetp.eq.u32 %%p2, %%r31, %u; @%%p2 ld.shared.u32 %%r4, [s];", start,
                 reader);
        EXPECT(text, 32, PTX_HAZARD_WRITE_READ);
    }
    snprintf(text, sizeof text, "%ssetp.eq.u32 %%p2, %%r31, 31; @%%p2 st.shared.u32 [s], 1;", start);
    EXPECT(text, 32, PTX_HAZARD_WRITE_WRITE);
    /* lane by lane, each after the previous one */
    expect_clean(SLOTS "setp.eq.u32 %p1, %r31, 0; setp.eq.u32 %p2, %r31, 1; @%p1 st.shared.u32 [s], 0;\n"
                       "bar.warp.sync -1; @%p1 red.shared.add.u32 [s], 1; bar.warp.sync -1;\n"
                       "@%p2 red.shared.add.u32 [s], 1; @%p2 ld.shared.u32 %r4, [s];",
                 32);
}

static void test_writes_of_one_instruction(void) {
    EXPECT(SLOTS "st.shared.u32 [s], %r31;", 32, PTX_HAZARD_WRITE_WRITE);
    expect_clean(SLOTS "shr.u32 %r4, %r31, 5; st.shared.u32 [s], %r4;", 32);
    /* two warps do not execute it as one instruction */
    EXPECT(SLOTS "mov.u32 %r4, 5; st.shared.u32 [s], %r4;", 64, PTX_HAZARD_WRITE_WRITE);
    /* only the second element of the vector differs */
    expect_clean(SLOTS "mov.u32 %r4, 5; st.shared.v2.u32 [s], {%r4, %r4};", 32);
    EXPECT(SLOTS "mov.u32 %r4, 5; st.shared.v2.u32 [s], {%r4, %r31};", 32, PTX_HAZARD_WRITE_WRITE);
    EXPECT(SLOTS "cvt.u64.u32 %rd1, %r31; shl.b64 %rd1, %rd1, 32; st.shared.u64 [s], %rd1;", 32,
           PTX_HAZARD_WRITE_WRITE);
    /* with shared::cluster addresses, which include the block's rank */
    expect_clean(SLOTS "mapa.shared::cluster.u32 %r4, %r2, 0; st.shared::cluster.u32 [%r4], 7;", 32);
    EXPECT(SLOTS "mapa.shared::cluster.u32 %r4, %r2, 0; st.shared::cluster.u32 [%r4], %r31;", 32,
           PTX_HAZARD_WRITE_WRITE);
}

/* Neighbouring bytes of a word are independent. */
static void test_narrow_accesses(void) {
    static const char bytes[] =
        SLOTS "add.u32 %r4, %r2, %r31; st.shared.u8 [%r4], %r31;\n%s ld.shared.u8 %r5, [%r4];\n"
              "setp.eq.u32 %p1, %r31, 0; @%p1 ld.shared.u32 %r6, [s];";
    char text[600];
    snprintf(text, sizeof text, "%s", bytes);
    memcpy(strstr(text, "%s"), "  ", 2);
    EXPECT(text, 32, PTX_HAZARD_WRITE_READ); /* the whole word, without a barrier */
    expect_clean(SLOTS
                 "add.u32 %r4, %r2, %r31; st.shared.u8 [%r4], %r31; ld.shared.u8 %r5, [%r4]; bar.sync 0;\n"
                 "ld.shared.u32 %r6, [s];",
                 64);
}

static void test_generic_addresses(void) {
    EXPECT(SLOTS
           "st.shared.u32 [%r3], %r31; cvt.u64.u32 %rd1, %r3; cvta.shared.u64 %rd1, %rd1; xor.b64 %rd1, "
           "%rd1, 4; ld.u32 %r4, [%rd1];",
           32, PTX_HAZARD_WRITE_READ);
    /* global memory is not checked */
    expect_clean("st.global.u32 [%rd31], %r31; ld.global.u32 %r4, [%rd31];", 64);
}

static void test_barriers(void) {
    found f = EXPECT("and.b32 %r1, %r31, 31; setp.lt.u32 %p1, %r1, 7; @%p1 bra skip;\nbar.sync 0;\nskip:\n"
                     "mov.u32 %r2, 1; ret;",
                     64, PTX_HAZARD_BARRIER);
    CHECK_EQUAL(f.status, PTX_ERR_BARRIER);
    CHECK_EQUAL(f.races[0].first_thread, 7);
    CHECK_EQUAL(f.races[0].second_thread, 0);
    CHECK_EQUAL(f.second_line[0] - f.first_line[0], 2);
    /* whole warps at different barriers */
    f = EXPECT(
        "setp.lt.u32 %p1, %r31, 32; @%p1 bra one;\nbar.sync 0;\nbra.uni end; one:\nbar.sync 0;\nend: ret;",
        64, PTX_HAZARD_BARRIER);
    CHECK_EQUAL(f.status, PTX_OK);
    CHECK_EQUAL(f.first_line[0] - f.second_line[0], 2);
    /* a deadlock: one warp waits for a thread count that is never reached */
    f = EXPECT("setp.lt.u32 %p1, %r31, 32; @%p1 bar.sync 1, 64; @!%p1 bar.sync 2, 64;", 64,
               PTX_HAZARD_BARRIER);
    CHECK_EQUAL(f.status, PTX_ERR_BARRIER);
    CHECK(f.races[0].first_pc != f.races[0].second_pc);
    EXPECT("setp.lt.u32 %p1, %r31, 7; @%p1 bar.warp.sync -1;", 32, PTX_HAZARD_BARRIER);
}

/* The example and the counts do not depend on the number of host threads. */
static void test_threads(void) {
    static const char text[] =
        SLOTS "st.shared.u32 [%r3], %r31; mov.u32 %r6, %ctaid.x; setp.lt.u32 %p1, %r6, 40; @%p1 bra end;\n"
              "xor.b32 %r4, %r1, 4; add.u32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4]; end: ret;";
    for (unsigned threads = 1; threads <= 4; threads++) {
        found f = check(text, 300, 64, threads);
        CHECK_EQUAL(f.count, 1);
        CHECK_EQUAL(f.races[0].block, 40);
        CHECK_EQUAL(f.races[0].second_thread, 0);
        CHECK_EQUAL(f.races[0].count, 260 * 64);
    }
}

/* More pairs of instructions than the table has capacity for. */
static void test_full_table(void) {
    size_t size = 200000, used = 0;
    char *text = malloc(size);
    used += (size_t)snprintf(text, size, "%s", SLOTS);
    for (unsigned i = 0; i < 30; i++)
        used += (size_t)snprintf(text + used, size - used, "st.shared.u32 [s+%u], %%r31;\n", 4 * i);
    for (unsigned i = 0; i < 300; i++)
        used += (size_t)snprintf(text + used, size - used, "ld.shared.u32 %%r5, [s+%u];\n", 4 * (i % 30));
    found f = check(text, 1, 32, 1);
    CHECK_EQUAL(f.count, PTX_MAX_RACES);
    free(text);
}

/* A block that ends with a pending copy: an error, but not a divergent barrier. */
static void test_copy_left_behind(void) {
    found f =
        check(".shared .align 16 .b8 s[64]; .shared .align 8 .b8 bar[8];\n"
              "mbarrier.init.shared.b64 [bar], 1;\n"
              "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd30], 64, [bar];",
              1, 1, 1);
    CHECK_EQUAL(f.status, PTX_ERR_BARRIER);
    CHECK_EQUAL(f.count, 0);
}

/* cp.async: the thread waits for its own copies, and a barrier makes them visible to others. Each thread
   copies a word; `then` precedes the read of its neighbour's word, `after` follows it. */
#define ASYNC(then, after)                                                                                   \
    SLOTS "cp.async.ca.shared.global [%r3], [%rd30], 4; cp.async.commit_group;\n" then                       \
          "xor.b32 %r4, %r1, 4; add.u32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4];\n" after
#define WAIT_FOR(groups) "cp.async.wait_group " #groups ";\n"

static void test_copies(void) {
    expect_clean(ASYNC(WAIT_FOR(0) BAR, BAR "st.shared.u32 [%r3], %r5;"), 64);
    expect_clean(ASYNC("cp.async.wait_all;\n" WARP, ""), 64);
    /* after the wait, a thread may read its own copy at once */
    expect_clean(ASYNC(WAIT_FOR(0) "ld.shared.u32 %r6, [%r3];\n" BAR, ""), 64);
    /* no wait, a late wait, and a wait that leaves too many groups pending */
    found f = EXPECT(ASYNC(BAR, ""), 64, PTX_HAZARD_WRITE_READ);
    CHECK_EQUAL(f.races[0].first_thread, f.races[0].second_thread ^ 1);
    CHECK_EQUAL(f.races[0].count, 3 * 64);
    CHECK_EQUAL(f.second_line[0] - f.first_line[0], 2);
    EXPECT(ASYNC(BAR, WAIT_FOR(0)), 64, PTX_HAZARD_WRITE_READ);
    EXPECT(ASYNC(WAIT_FOR(1) BAR, ""), 64, PTX_HAZARD_WRITE_READ);
    EXPECT(ASYNC("ld.shared.u32 %r6, [%r3];\n" WAIT_FOR(0) BAR, ""), 64, PTX_HAZARD_WRITE_READ);
    /* no barrier; the barrier before the wait */
    EXPECT(ASYNC(WAIT_FOR(0), ""), 64, PTX_HAZARD_WRITE_READ);
    EXPECT(ASYNC(BAR WAIT_FOR(0), ""), 64, PTX_HAZARD_WRITE_READ);
    /* the destination is written in the meantime, or read by threads that may not have finished */
    EXPECT(ASYNC("st.shared.u32 [%r3], %r31;\n" WAIT_FOR(0) BAR, ""), 64, PTX_HAZARD_WRITE_WRITE);
    EXPECT(ASYNC(WAIT_FOR(0) BAR, "cp.async.ca.shared.global [%r3], [%rd30], 4;"), 64, PTX_HAZARD_READ_WRITE);
    f = EXPECT(SLOTS "cp.async.ca.shared.global [s], [%rd30], 4; cp.async.wait_all;", 2,
               PTX_HAZARD_WRITE_WRITE);
    CHECK_EQUAL(f.races[0].first_thread, 0);
    CHECK_EQUAL(f.races[0].second_thread, 1);
}

/* Two stages in rotation: the wait leaves the newest group pending. Without the barrier at the end a stage is
   overwritten while other threads read it; a wait that leaves two groups pending permits a read before the
   copy. */
#define STAGES(groups, barrier)                                                                              \
    SLOTS "xor.b32 %r4, %r1, 4; add.u32 %r4, %r4, %r2; mov.u32 %r8, 0;\n"                                    \
          "cp.async.ca.shared.global [%r3], [%rd30], 4; cp.async.commit_group;\n"                            \
          "next: xor.b32 %r9, %r8, 256; add.u32 %r10, %r3, %r9; add.u32 %r11, %r4, %r8;\n"                   \
          "cp.async.ca.shared.global [%r10], [%rd30], 4; cp.async.commit_group;\n" WAIT_FOR(groups) BAR      \
        "ld.shared.u32 %r5, [%r11];\n" barrier                                                               \
        "mov.u32 %r8, %r9; add.u32 %r12, %r12, 1; setp.lt.u32 %p1, %r12, 4; @%p1 bra next;"

static void test_stages(void) {
    expect_clean("mov.u32 %r12, 0;\n" STAGES(1, BAR), 64);
    EXPECT("mov.u32 %r12, 0;\n" STAGES(1, ""), 64, PTX_HAZARD_READ_WRITE);
    EXPECT("mov.u32 %r12, 0;\n" STAGES(2, BAR), 64, PTX_HAZARD_WRITE_READ, PTX_HAZARD_WRITE_READ,
           PTX_HAZARD_WRITE_WRITE, PTX_HAZARD_WRITE_WRITE);
}

/* One warp writes and arrives, the other one waits and reads; the second barrier signals that it has read. */
#define HANDOFF(signalled, full, empty)                                                                      \
    SLOTS                                                                                                    \
    "setp.lt.u32 %p1, %r31, 32; and.b32 %r4, %r31, 31; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r2;\n"        \
    "@!%p1 bra read;\n" signalled "st.shared.u32 [%r4], %r31;\n" full empty                                  \
    "st.shared.u32 [%r4], %r1; ret;\nread: bar.sync 1, 64; ld.shared.u32 %r5, [%r4]; bar.arrive 2, 64;"

static void test_arrivals(void) {
    expect_clean(HANDOFF("", "bar.arrive 1, 64;\n", "bar.sync 2, 64;\n"), 64);
    /* written again before the other warp has signalled its read, and signalled before the write */
    EXPECT(HANDOFF("", "bar.arrive 1, 64; bar.arrive 2, 64;\n", ""), 64, PTX_HAZARD_WRITE_READ);
    EXPECT(HANDOFF("bar.arrive 1, 64;\n", "", "bar.sync 2, 64;\n"), 64, PTX_HAZARD_WRITE_READ);
    /* a warp that only arrives acquires nothing from the warps that wait */
    EXPECT(SLOTS "setp.ge.u32 %p1, %r31, 32; @%p1 bra a; st.shared.u32 [%r3], %r31; bar.sync 1, 64; ret;\n"
                 "a: bar.arrive 1, 64; ld.shared.u32 %r5, [%r3+-128];",
           64, PTX_HAZARD_WRITE_READ);
}

/* A bulk store of shared memory by thread 0, for the words of 16 threads: nothing may write them until it has
   waited. */
#define BULK_STORE(before, then)                                                                             \
    SLOTS "setp.eq.u32 %p1, %r31, 0; st.shared.u32 [%r3], %r31;\n" before                                    \
          "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd31], [%r2], 64;\n"                           \
          "@%p1 cp.async.bulk.commit_group;\n" then
#define FENCE "fence.proxy.async.shared::cta;\n"
#define READ_WAIT "@%p1 cp.async.bulk.wait_group.read 0;\n"
#define AGAIN "st.shared.u32 [%r3], %r1;\n"

static void test_outgoing_copies(void) {
    expect_clean(BULK_STORE(FENCE BAR, READ_WAIT BAR AGAIN), 64);
    expect_clean(BULK_STORE(FENCE BAR, "ld.shared.u32 %r5, [%r3];\n" READ_WAIT), 64);
    expect_clean(BULK_STORE(FENCE BAR, "st.shared.u32 [%r3+256], %r1;\n" READ_WAIT), 64);
    /* it may read the old or the new value */
    found f =
        EXPECT(BULK_STORE(FENCE BAR, BAR AGAIN READ_WAIT), 64, PTX_HAZARD_WRITE_READ, PTX_HAZARD_READ_WRITE);
    CHECK_EQUAL(f.races[1].first_thread, 0);
    CHECK_EQUAL(f.races[1].count, 3 * 16);
    CHECK_EQUAL(f.second_line[1] - f.first_line[1], 3);
    EXPECT(BULK_STORE(FENCE BAR, READ_WAIT AGAIN), 64, PTX_HAZARD_READ_WRITE);
    EXPECT(BULK_STORE(FENCE, READ_WAIT), 64, PTX_HAZARD_WRITE_READ);
    /* the writer fences, or the copying thread; a fence for global memory only is not enough */
    expect_clean(BULK_STORE(BAR FENCE, READ_WAIT), 64);
    f = EXPECT(BULK_STORE(BAR, READ_WAIT), 64, PTX_HAZARD_UNFENCED);
    CHECK_EQUAL(f.races[0].second_thread, 0);
    CHECK_EQUAL(f.races[0].count, 3 * 16);
    EXPECT(BULK_STORE("fence.proxy.async.global;\n" BAR, READ_WAIT), 64, PTX_HAZARD_UNFENCED);
    EXPECT(BULK_STORE(FENCE "st.shared.u32 [%r3], %r1;\n" BAR, READ_WAIT), 64, PTX_HAZARD_UNFENCED);
}

int main(void) {
    test_between_warps();
    test_within_a_warp();
    test_parts_of_a_warp();
    test_parts_of_a_block();
    test_exited_warps();
    test_many_readers();
    test_uninitialised();
    test_atomics();
    test_writes_of_one_instruction();
    test_narrow_accesses();
    test_generic_addresses();
    test_barriers();
    test_threads();
    test_full_table();
    test_copy_left_behind();
    test_copies();
    test_stages();
    test_outgoing_copies();
    test_arrivals();
    return finish_checks("test_racecheck");
}
