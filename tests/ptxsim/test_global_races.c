/* The race detector of global memory: what orders two blocks, what does not, and the exact reports. */
#include <stdlib.h>

#include "check.h"
#include "instrumentation/global_races.h"
#include "sim.h"

/* Thread 0 of block 0 writes a word, thread 0 of the others read it; `after` and `before` are what the writer
   does then, and the readers first. Block 0 ends before the others begin, and is the last one with a seed. */
#define MESSAGE(after, before)                                                                               \
    "mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r31, 0; @%p1 bra end; setp.ne.u32 %p2, %r1, 0;\n"              \
    "@%p2 bra read; st.global.u32 [%rd31], 7;\n" after "bra end;\nread:\n" before                            \
    "ld.global.u32 %r2, [%rd31]; end: ret;"

enum { MOST = 4 };

typedef struct found {
    ptx_status status;
    size_t count;
    ptx_race races[MOST];
} found;

static found check_cluster(const char *statements, unsigned grid, unsigned cluster, unsigned threads) {
    static uint32_t in[256];
    found f = {.count = 0};
    char *text = sim_kernel(statements);
    sim s;
    sim_open(&s, text, in, sizeof in, 65536);
    ptx_race_table table = {.count = 0};
    ptx_global_races *races;
    CHECK_EQUAL(ptx_global_races_create(&table, &races, &s.error), PTX_OK);
    ptx_observer *observers[] = {&races->base};
    s.config.observers = observers;
    s.config.observer_count = 1;
    s.config.threads = threads;
    s.config.cluster[0] = cluster;
    f.status = sim_run(&s, "k", grid, 64, 0, NULL);
    f.count = table.count;
    for (size_t i = 0; i < f.count && i < MOST; i++)
        f.races[i] = table.races[i];
    /* the next launch begins with nothing recorded */
    CHECK_EQUAL(sim_run(&s, "k", cluster, 64, 0, NULL), f.status);
    CHECK_EQUAL(table.count, f.count);
    ptx_global_races_free(races);
    sim_close(&s);
    free(text);
    return f;
}

static found check(const char *statements) {
    found f = check_cluster(statements, 4, 1, 1);
    const found again = check_cluster(statements, 4, 1, 3); /* one host thread, whatever is asked for */
    CHECK_EQUAL_AS(f.status, PTX_OK, statements);
    CHECK_EQUAL_AS(f.count, again.count, statements);
    for (size_t i = 0; i < f.count && i < MOST; i++)
        CHECK_EQUAL_AS(f.races[i].count, again.races[i].count, statements);
    return f;
}

static void expect_clean(const char *statements) {
    CHECK_EQUAL_AS(check(statements).count, 0, statements);
}

static found expect(const char *statements, ptx_hazard hazard) {
    const found f = check(statements);
    CHECK_EQUAL_AS(f.count, 1, statements);
    CHECK_EQUAL_AS(f.races[0].hazard, hazard, statements);
    CHECK_EQUAL_AS(f.races[0].global, true, statements);
    return f;
}

/* The readers wait for the writer, so that the order of the simulation is that of the program. */
#define SENT(after)                                                                                          \
    MESSAGE(after, "wait: ld.volatile.global.u32 %r9, [%rd31+64]; setp.eq.u32 %p3, %r9, -1;\n"               \
                   "@%p3 bra wait;\n")
#define GL "membar.gl;\n"
#define ADD "atom.global.add.u32 %r9, [%rd31+64], 1;\n"

static void test_a_message(void) {
    found f = expect(MESSAGE("", ""), PTX_HAZARD_READ_WRITE); /* the last blocks start first */
    CHECK_EQUAL(f.races[0].count, 1);
    CHECK_EQUAL(f.races[0].second_block, 0);
    CHECK_EQUAL(f.races[0].address, 0);
    const struct {
        const char *statements;
        size_t races;
    } messages[] = {{SENT(GL "st.volatile.global.u32 [%rd31+64], 1;\n"), 0},
                    {SENT(GL "atom.global.exch.b32 %r9, [%rd31+64], 1;\n"), 0},
                    {SENT("st.release.gpu.global.u32 [%rd31+64], 1;\n"), 0},
                    {SENT("fence.sc.gpu; st.relaxed.gpu.global.u32 [%rd31+64], 1;\n"), 0},
                    {SENT("st.volatile.global.u32 [%rd31+64], 1;\n"), 1},
                    {SENT("membar.cta; st.volatile.global.u32 [%rd31+64], 1;\n"), 1},
                    {SENT("st.volatile.global.u32 [%rd31+64], 1;\n" GL), 1},
                    {SENT(GL "st.global.u32 [%rd31], 8; st.volatile.global.u32 [%rd31+64], 1;\n"), 1}};
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        f = check(messages[i].statements);
        CHECK_EQUAL_AS(f.count, messages[i].races, messages[i].statements);
        if (f.count)
            CHECK_EQUAL_AS(f.races[0].hazard, PTX_HAZARD_WRITE_READ, messages[i].statements);
    }
}

static void test_order_passes_on(void) {
    /* block b waits for block b - 1, and adds to the sum of all blocks before it */
    static const char chain[] =
        "setp.ne.u32 %p1, %r31, 0; @%p1 bra end; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r1, 4;\n"
        "add.u64 %rd2, %rd31, %rd1; setp.eq.u32 %p2, %r1, 0; @%p2 bra first;\n"
        "wait: ld.volatile.global.u32 %r9, [%rd2+252]; setp.eq.u32 %p3, %r9, -1; @%p3 bra wait;\n"
        "ld.global.u32 %r2, [%rd31]; ld.global.u32 %r3, [%rd31+1024];\n"
        "first: add.u32 %r2, %r2, 5; st.global.u32 [%rd31], %r2; setp.ne.u32 %p4, %r1, 0; @%p4 bra pass;\n"
        "st.global.u32 [%rd31+1024], 3;\npass: membar.gl; st.volatile.global.u32 [%rd2+256], 1; end: ret;";
    expect_clean(chain);
}

static void test_atomics(void) {
    expect_clean(ADD);
    expect_clean("red.global.add.u32 [%rd31], 1; ld.volatile.global.u32 %r1, [%rd31];");
    expect(ADD "ld.global.u32 %r1, [%rd31+64];", PTX_HAZARD_READ_WRITE);
    expect_clean("mov.u32 %r1, 3; st.global.u32 [%rd31], %r1;"); /* the same value */
    const found f = expect("mov.u32 %r1, %ctaid.x; st.global.u32 [%rd31+8], %r1;", PTX_HAZARD_WRITE_WRITE);
    CHECK_EQUAL(f.races[0].address, 8);
}

static void test_places(void) {
    expect_clean("st.global.u32 [%rd28], %r31; ld.global.u32 %r1, [%rd28];");
    expect_clean("mov.u32 %r1, %ctaid.x; cvt.u64.u32 %rd1, %r1; add.u64 %rd2, %rd31, %rd1;\n"
                 "st.global.u8 [%rd2], %r1;");
    /* 16 bytes, of which the next block writes the last 8 */
    const found f = expect("mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r1, 8; add.u64 %rd2, %rd31, %rd1;\n"
                           "st.global.v2.u32 [%rd2], {%r1, %r31}; st.global.u32 [%rd2+8], %r1;",
                           PTX_HAZARD_WRITE_WRITE);
    CHECK_EQUAL(f.races[0].address % 8, 0);
}

static void test_clusters(void) {
    static const char statements[] =
        "mov.u32 %r1, %ctaid.x; shr.u32 %r2, %r1, 1; mul.wide.u32 %rd1, %r2, 4;\n"
        "add.u64 %rd2, %rd31, %rd1; st.global.u32 [%rd2], %r1;";
    CHECK_EQUAL(check_cluster(statements, 8, 2, 1).count, 0); /* blocks of one cluster are not compared */
    CHECK_EQUAL(check_cluster(statements, 8, 1, 1).count, 1);
    CHECK_EQUAL(check_cluster("mov.u32 %r1, %ctaid.x; st.global.u32 [%rd31], %r1;", 8, 2, 1).count, 1);
}

int main(void) {
    test_a_message();
    test_order_passes_on();
    test_atomics();
    test_places();
    test_clusters();
    return finish_checks("test_global_races");
}
