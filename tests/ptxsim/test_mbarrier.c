/* mbarriers, and the bulk copies and stores that complete on them. */
#include <stdlib.h>

#include "check.h"
#include "sim.h"

enum { WORDS = 4096 };

static uint32_t in_words[WORDS], out_words[WORDS];

static ptx_status run(const char *statements, unsigned grid, unsigned block, unsigned cluster,
                      ptx_error *error) {
    for (unsigned i = 0; i < WORDS; i++)
        in_words[i] = i * i + 3;
    char *text = sim_kernel(statements);
    sim s;
    sim_open(&s, text, in_words, sizeof in_words, sizeof out_words);
    s.config.cluster[0] = cluster;
    s.config.step_budget = 100000000;
    ptx_status status = sim_run(&s, "k", grid, block, 0, out_words);
    if (error)
        *error = s.error;
    else
        check_report(status == PTX_OK, statements, 0, status == PTX_OK ? "" : s.error.message);
    sim_close(&s);
    free(text);
    return status;
}

static void refuse(const char *statements, unsigned block, unsigned cluster, ptx_status want,
                   const char *part) {
    ptx_error error;
    error.message[0] = '\0';
    CHECK_EQUAL_AS(run(statements, cluster, block, cluster, &error), want, statements);
    CHECK_CONTAINS(error.message, part);
}

#define BAR ".shared .align 8 .b64 bar; mov.u32 %r20, bar; setp.eq.u32 %p9, %r31, 0;\n"
#define INIT(count)                                                                                          \
    BAR "@%p9 mbarrier.init.shared::cta.b64 [bar], " #count                                                  \
        "; fence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
#define WAIT(label, parity)                                                                                  \
    label ": mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p10, [bar], " parity                      \
          "; @!%p10 bra " label ";\n"

/* ---- phases ---- */

/* One thread steps through phases and records the results: bit k is the k-th test. */
static void test_phases(void) {
    run(INIT(3) "mov.u32 %r1, 0;\n"
                "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; @%p1 or.b32 %r1, %r1, 1;\n"
                "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 1; @%p1 or.b32 %r1, %r1, 2;\n"
                "mbarrier.arrive.shared.b64 %rd1, [bar]; mbarrier.arrive.release.cta.shared::cta.b64 _, "
                "[bar], 1;\n"
                "mbarrier.test_wait.shared.b64 %p1, [bar], %rd1; @%p1 or.b32 %r1, %r1, 4;\n"
                "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [bar];\n"
                "mbarrier.test_wait.shared.b64 %p1, [bar], %rd1; @%p1 or.b32 %r1, %r1, 8;\n"
                "mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0, 100; @%p1 or.b32 %r1, %r1, 16;\n"
                "mbarrier.arrive.shared.b64 %rd2, [%r20+0]; mbarrier.pending_count.b64 %r2, %rd2;\n"
                "mad.lo.u32 %r1, %r2, 256, %r1; mbarrier.arrive.shared.b64 %rd2, [bar], 2;\n"
                "mbarrier.pending_count.b64 %r2, %rd2; mad.lo.u32 %r1, %r2, 4096, %r1;\n"
                "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 1; @%p1 or.b32 %r1, %r1, 32;\n"
                "mbarrier.inval.shared.b64 [bar]; mbarrier.init.shared.b64 [bar], 1;\n"
                "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 or.b32 %r1, %r1, 64;\n"
                "st.global.u32 [%rd28], %r1;",
        1, 1, 1, NULL);
    CHECK_EQUAL(out_words[0], (2 | 8 | 16 | 32 | 64) + 3 * 256 + 2 * 4096);
}

/* The phase also waits for bytes, whether expect_tx precedes or follows their completion. */
static void test_bytes(void) {
    run(INIT(2) "mov.u32 %r1, 0;\n"
                "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 48;\n"
                "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd1, [bar], 64;\n"
                "mbarrier.arrive.shared.b64 _, [bar];\n"
                "mbarrier.test_wait.shared.b64 %p1, [bar], %rd1; @%p1 or.b32 %r1, %r1, 1;\n"
                "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16;\n"
                "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;\n"
                "mbarrier.test_wait.shared.b64 %p1, [bar], %rd1; @%p1 or.b32 %r1, %r1, 2;\n"
                "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;\n"
                "mbarrier.test_wait.shared.b64 %p1, [bar], %rd1; @%p1 or.b32 %r1, %r1, 4;\n"
                "mbarrier.arrive_drop.shared.b64 %rd2, [bar]; mbarrier.arrive.shared.b64 _, [bar];\n"
                "mbarrier.arrive_drop.expect_tx.shared.b64 %rd2, [bar], 0;\n"
                "mbarrier.pending_count.b64 %r2, %rd2; mad.lo.u32 %r1, %r2, 16, %r1; st.global.u32 [%rd28], "
                "%r1;",
        1, 1, 1, NULL);
    CHECK_EQUAL(out_words[0], 4 + 16);
}

/* Warps pass a slot back and forth: one writes, the others read, and each side waits for the other's
   arrivals. */
static void test_handover(void) {
    run(".shared .align 8 .b64 full; .shared .align 8 .b64 empty; .shared .b32 slot; setp.eq.u32 %p9, %r31, "
        "0;\n"
        "@%p9 mbarrier.init.shared.b64 [full], 1; @%p9 mbarrier.init.shared.b64 [empty], 64; bar.sync 0;\n"
        "mov.u32 %r1, 0; mov.u32 %r2, 0; setp.lt.u32 %p1, %r31, 32; @!%p1 bra read;\n"
        "write: and.b32 %r3, %r1, 1; xor.b32 %r3, %r3, 1;\n"
        "w: mbarrier.try_wait.parity.shared.b64 %p2, [empty], %r3; @!%p2 bra w;\n"
        "mad.lo.u32 %r4, %r1, %r1, 7; @%p9 st.shared.u32 [slot], %r4; @%p9 mbarrier.arrive.shared.b64 _, "
        "[full];\n"
        "add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 20; @%p2 bra write; ret;\n"
        "read: and.b32 %r3, %r1, 1;\n"
        "r: mbarrier.try_wait.parity.shared.b64 %p2, [full], %r3; @!%p2 bra r;\n"
        "ld.shared.u32 %r4, [slot]; mad.lo.u32 %r2, %r2, 3, %r4; mbarrier.arrive.shared.b64 %rd1, [empty];\n"
        "add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 20; @%p2 bra read; st.global.u32 [%rd28], %r2;",
        1, 96, 1, NULL);
    uint32_t want = 0;
    for (uint32_t i = 0; i < 20; i++)
        want = want * 3 + i * i + 7;
    for (unsigned i = 32; i < 96; i++)
        CHECK_EQUAL(out_words[i], want);
}

static void test_remote_arrivals(void) {
    /* the first block's mbarrier counts the threads of all four blocks */
    run(INIT(128) "barrier.cluster.arrive; barrier.cluster.wait; mapa.shared::cluster.u32 %r1, %r20, 0;\n"
                  "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];\n"
                  "mov.u32 %r2, %cluster_ctarank; setp.ne.u32 %p1, %r2, 0; @%p1 bra end;\n" WAIT(
                      "w",
                      "0") "st.global.u32 [%rd28], %r30;\nend: barrier.cluster.arrive; barrier.cluster.wait;",
        8, 32, 4, NULL);
    CHECK_EQUAL(out_words[31], 31);
    CHECK_EQUAL(out_words[4 * 32 + 5], 4 * 32 + 5);
    /* st.async into the next block, which completes on that block's mbarrier */
    run(".shared .align 16 .b32 s[4];\n" INIT(
            1) "@%p9 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16; barrier.cluster.arrive; "
               "barrier.cluster.wait;\n"
               "mov.u32 %r2, %cluster_ctarank; add.u32 %r2, %r2, 1; rem.u32 %r2, %r2, 3; mov.u32 %r3, s;\n"
               "mapa.shared::cluster.u32 %r4, %r3, %r2; mapa.shared::cluster.u32 %r5, %r20, %r2; add.u32 "
               "%r6, %r30, 7;\n"
               "@%p9 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r4], {%r30, %r6}, "
               "[%r5];\n"
               "@%p9 st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r4+8], 99, [%r5];\n" WAIT(
                   "w", "0") "ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [s]; mad.lo.u32 %r7, %r8, 1000, %r7; "
                             "mad.lo.u32 %r7, %r9, "
                             "1000000, %r7; st.global.u32 [%rd28], %r7;\nbarrier.cluster.arrive; "
                             "barrier.cluster.wait;",
        3, 4, 3, NULL);
    for (unsigned i = 0; i < 12; i++) {
        unsigned from = (i / 4 + 2) % 3 * 4;
        CHECK_EQUAL(out_words[i], 99000000 + 1000 * (from + 7) + from);
    }
}

/* ---- bulk copies ---- */

#define BUFFER ".shared .align 128 .b8 buf[1024]; mov.u32 %r21, buf;\n"
#define COPY "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "

static void test_bulk_load(void) {
    run(BUFFER INIT(
            1) "@%p9 mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd1, [bar], 1024;\n@%p9 " COPY
               "[%r21], [%rd30+64], 512, [%r20];\n"
               "@%p9 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [buf+512], [%rd30+1024], "
               "512, [bar];\nmad.lo.u32 %r1, %r31, 4, %r21; ld.shared.u32 %r5, [%r1];\n" WAIT(
                   "w", "0") "ld.shared.u32 %r2, [%r1]; st.global.u32 [%rd28], %r2; st.global.u32 "
                             "[%rd28+2048], %r5;",
        1, 256, 1, NULL);
    for (unsigned i = 0; i < 256; i++) {
        CHECK_EQUAL(out_words[i], in_words[i < 128 ? 16 + i : 256 + i - 128]);
        CHECK_EQUAL(out_words[512 + i], 0xFFFFFFFFu); /* read before the copy completed */
    }
}

/* A four-stage pipeline: a stage is refilled after all threads have read it. */
static void test_ring(void) {
    run(".shared .align 128 .b8 buf[1024]; .shared .align 8 .b64 full[4]; .shared .align 8 .b64 empty[4];\n"
        "setp.eq.u32 %p9, %r31, 0; mov.u32 %r20, full; mov.u32 %r21, empty; mov.u32 %r22, buf; @!%p9 bra "
        "ready;\n"
        "mov.u32 %r1, 0; i: mad.lo.u32 %r2, %r1, 8, %r20; mbarrier.init.shared.b64 [%r2], 1;\n"
        "mad.lo.u32 %r2, %r1, 8, %r21; mbarrier.init.shared.b64 [%r2], 64; add.u32 %r1, %r1, 1; setp.lt.u32 "
        "%p1, "
        "%r1, 4; @%p1 bra i;\nready: bar.sync 0;\n"
        "mov.u32 %r1, 0; mov.u32 %r10, 0; mov.u32 %r11, 0;\n"
        /* %r11: copies issued; %r1: stages read */
        "next: @!%p9 bra use; \n"
        "fill: setp.ge.u32 %p1, %r11, 40; @%p1 bra use; add.u32 %r3, %r1, 4; setp.ge.u32 %p1, %r11, %r3; "
        "@%p1 bra "
        "use;\n"
        "and.b32 %r3, %r11, 3; shr.u32 %r4, %r11, 2; and.b32 %r4, %r4, 1; xor.b32 %r4, %r4, 1;\n"
        "mad.lo.u32 %r5, %r3, 8, %r21; we: mbarrier.try_wait.parity.shared.b64 %p2, [%r5], %r4; @!%p2 bra "
        "we;\n"
        "mad.lo.u32 %r5, %r3, 8, %r20; mbarrier.arrive.expect_tx.shared.b64 _, [%r5], 256;\n"
        "mad.lo.u32 %r6, %r3, 256, %r22; mad.wide.u32 %rd1, %r11, 256, %rd30;\n" COPY
        "[%r6], [%rd1], 256, [%r5]; add.u32 %r11, %r11, 1; bra fill;\n"
        "use: bar.warp.sync -1; and.b32 %r3, %r1, 3; shr.u32 %r4, %r1, 2; and.b32 %r4, %r4, 1; mad.lo.u32 "
        "%r5, %r3, 8, "
        "%r20;\n"
        "wf: mbarrier.try_wait.parity.shared.b64 %p2, [%r5], %r4; @!%p2 bra wf;\n"
        "mad.lo.u32 %r6, %r3, 256, %r22; mad.lo.u32 %r6, %r31, 4, %r6; ld.shared.u32 %r7, [%r6]; mad.lo.u32 "
        "%r10, "
        "%r10, 5, %r7;\nmad.lo.u32 %r5, %r3, 8, %r21; mbarrier.arrive.shared.b64 %rd2, [%r5];\n"
        "add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 40; @%p1 bra next; st.global.u32 [%rd28], %r10;",
        1, 64, 1, NULL);
    for (unsigned t = 0; t < 64; t++) {
        uint32_t want = 0;
        for (unsigned stage = 0; stage < 40; stage++)
            want = want * 5 + in_words[64 * stage + t];
        CHECK_EQUAL(out_words[t], want);
    }
}

static void test_other_copies(void) {
    /* into the next block's shared memory, and from shared to global memory */
    run(BUFFER INIT(
            1) "mad.lo.u32 %r1, %r31, 4, %r21; st.shared.u32 [%r1], %r30; @%p9 "
               "mbarrier.arrive.expect_tx.shared.b64 _, "
               "[bar], 128;\nbarrier.cluster.arrive; barrier.cluster.wait;\n"
               "mov.u32 %r2, %cluster_ctarank; xor.b32 %r2, %r2, 1; add.u32 %r3, %r21, 512; "
               "mapa.shared::cluster.u32 %r3, "
               "%r3, %r2; mapa.shared::cluster.u32 %r4, %r20, %r2; fence.proxy.async.shared::cta;\n"
               "@%p9 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r3], [%r21], "
               "128, "
               "[%r4];\n" WAIT(
                   "w", "0") "mad.wide.u32 %rd1, %ctaid.x, 128, %rd31; @%p9 "
                             "cp.async.bulk.global.shared::cta.bulk_group [%rd1], "
                             "[%r21+512], 128; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\n"
                             "barrier.cluster.arrive; barrier.cluster.wait;",
        4, 32, 2, NULL);
    for (unsigned i = 0; i < 128; i++)
        CHECK_EQUAL(out_words[i], i ^ 32);
    /* prefetches have no effect */
    run("mov.u32 %r1, 5; prefetch.global.L2 [%rd30+16380]; prefetch.L1 [%rd30]; "
        "prefetch.global.L2::evict_last "
        "[%rd30];\ncp.async.bulk.prefetch.L2.global [%rd30+256], 16128; griddepcontrol.wait; "
        "griddepcontrol.launch_dependents; nanosleep.u32 50; st.global.u32 [%rd28], %r1;",
        1, 1, 1, NULL);
    CHECK_EQUAL(out_words[0], 5);
}

/* ---- errors ---- */

static void test_barrier_errors(void) {
    refuse(BAR "mbarrier.arrive.shared.b64 _, [bar];", 1, 1, PTX_ERR_BARRIER, "no initialised mbarrier");
    refuse(BAR "mov.u64 %rd1, 0; st.shared.u64 [bar], %rd1; mbarrier.arrive.shared.b64 _, [bar];", 1, 1,
           PTX_ERR_BARRIER, "no initialised mbarrier");
    refuse(INIT(1) "mbarrier.inval.shared.b64 [bar]; mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;", 1,
           1, PTX_ERR_BARRIER, "no initialised mbarrier");
    refuse(INIT(0), 1, 1, PTX_ERR_BARRIER, "an mbarrier for 0 arrivals");
    refuse(INIT(1048576), 1, 1, PTX_ERR_BARRIER, "an mbarrier for 1048576 arrivals");
    refuse(INIT(2) "mbarrier.arrive.shared.b64 _, [bar], 3;", 1, 1, PTX_ERR_BARRIER,
           "3 arrivals at an mbarrier that waits for 2 more of 2");
    refuse(INIT(1) "mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 1048576;", 1, 1, PTX_ERR_BARRIER,
           "cannot count 1048576 bytes");
    refuse(INIT(1) "mbarrier.arrive.shared.b64 _, [%r20+4];", 1, 1, PTX_ERR_ALIGNMENT,
           "not aligned to the 8 bytes");
    refuse(INIT(3) "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 32;\n" WAIT("w", "0"), 1, 1,
           PTX_ERR_BARRIER, "deadlock: the mbarrier waits for 2 of 3 arrivals and for 32 bytes");
    /* one warp waits at a barrier of the block for the warp that waits for the mbarrier */
    refuse(INIT(96) "mbarrier.arrive.shared.b64 _, [bar]; setp.lt.u32 %p1, %r31, 32; @%p1 bra w; bar.sync 1; "
                    "ret;\n" WAIT("w", "0"),
           64, 1, PTX_ERR_BARRIER, "deadlock: the mbarrier waits for 32 of 96 arrivals");
}

static void test_copy_errors(void) {
#define ONE_COPY(operands)                                                                                   \
    BUFFER INIT(1) "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;\n" COPY operands ";\n" WAIT("w", "0")
    refuse(ONE_COPY("[%r21], [%rd30], 60, [bar]"), 1, 1, PTX_ERR_ALIGNMENT, "no multiple of 16");
    refuse(ONE_COPY("[%r21], [%rd30+4], 64, [bar]"), 1, 1, PTX_ERR_ALIGNMENT, "not aligned to the 16 bytes");
    refuse(ONE_COPY("[%r21+8], [%rd30], 64, [bar]"), 1, 1, PTX_ERR_ALIGNMENT, "not aligned to the 16 bytes");
    refuse(ONE_COPY("[%r21+992], [%rd30], 64, [bar]"), 1, 1, PTX_ERR_ADDRESS,
           "64 bytes at the shared address 0x3e0 are outside the block's 1032 bytes");
    refuse(ONE_COPY("[%r21], [%rd30+16336], 64, [bar]"), 1, 1, PTX_ERR_ADDRESS,
           "64 bytes at the global address");
    refuse(ONE_COPY("[%r21], [%rd30], 64, [bar+8]"), 1, 1, PTX_ERR_ADDRESS, "8 bytes at the shared address");
    refuse(ONE_COPY("[%r21], [%rd30], 48, [bar]"), 1, 1, PTX_ERR_BARRIER,
           "deadlock: the mbarrier waits for 0 of 1 arrivals and for 16 bytes");
    refuse(BUFFER BAR COPY "[%r21], [%rd30], 64, [bar];", 1, 1, PTX_ERR_BARRIER,
           "the block exits while this copy");
    refuse(BUFFER BAR COPY "[%r21], [%rd30], 64, [bar];\nbar.sync 0;\n" WAIT("w", "0"), 1, 1, PTX_ERR_BARRIER,
           "no initialised mbarrier");
    refuse(
        BUFFER INIT(
            1) "mapa.shared::cluster.u32 %r1, %r20, 1; mov.u32 %r2, %cluster_ctarank; setp.eq.u32 %p1, %r2, "
               "0;\n@%p1 " COPY "[%r21], [%rd30], 64, [%r1];\n",
        1, 2, PTX_ERR_ADDRESS, "in another block than the copy's destination");
    refuse("cp.async.bulk.prefetch.L2.global [%rd30+256], 16144;", 1, 1, PTX_ERR_ADDRESS,
           "16144 bytes at the global");
    refuse("prefetch.global.L2 [%rd30+16384];", 1, 1, PTX_ERR_ADDRESS, "1 bytes at the global");
    ptx_error error;
    char *text =
        sim_kernel("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                   "[%r21], [%rd30], 64, [%r21], %h1;");
    CHECK_EQUAL(sim_parse(text, &error), PTX_ERR_UNSUPPORTED);
    CHECK_CONTAINS(error.message, "multicast::cluster' is not supported");
    free(text);
}

int main(void) {
    test_phases();
    test_bytes();
    test_handover();
    test_remote_arrivals();
    test_bulk_load();
    test_ring();
    test_other_copies();
    test_barrier_errors();
    test_copy_errors();
    return finish_checks("test_mbarrier");
}
