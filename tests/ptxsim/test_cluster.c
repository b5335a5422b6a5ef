/* Clusters: distributed shared memory, the cluster barrier, and blocks that wait for other blocks. */
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "sim.h"

enum { WORDS = 4096 };

static uint32_t in_words[WORDS], out_words[WORDS];

typedef struct launch {
    unsigned grid, block;
    uint32_t cluster; /* along x */
    unsigned threads; /* host threads */
} launch;

static ptx_status run(const char *statements, launch l, ptx_error *error) {
    for (unsigned i = 0; i < WORDS; i++)
        in_words[i] = 0;
    char *text = sim_kernel(statements);
    sim s;
    sim_open(&s, text, in_words, sizeof in_words, sizeof out_words);
    s.config.cluster[0] = l.cluster;
    s.config.threads = l.threads ? l.threads : 1;
    s.config.step_budget = 100000000;
    ptx_status status = sim_run(&s, "k", l.grid, l.block, 0, out_words);
    if (error)
        *error = s.error;
    else
        check_report(status == PTX_OK, statements, 0, status == PTX_OK ? "" : s.error.message);
    sim_close(&s);
    free(text);
    return status;
}

static void refuse(const char *statements, launch l, ptx_status want, const char *part) {
    ptx_error error;
    error.message[0] = '\0';
    CHECK_EQUAL_AS(run(statements, l, &error), want, statements);
    CHECK_CONTAINS(error.message, part);
}

/* ---- the shape of a launch ---- */

/* Every special register in a grid of clusters with three dimensions, hashed so that a single wrong one
   shows. */
static void test_registers(void) {
    static const uint32_t grid[3] = {4, 6, 2}, cluster[3] = {2, 3, 2};
    static const char *const names[] = {"%cluster_ctaid.x",  "%cluster_ctaid.y",  "%cluster_ctaid.z",
                                        "%cluster_ctarank",  "%clusterid.x",      "%clusterid.y",
                                        "%clusterid.z",      "%cluster_nctaid.x", "%cluster_nctaid.y",
                                        "%cluster_nctaid.z", "%cluster_nctarank", "%nclusterid.x",
                                        "%nclusterid.y",     "%nclusterid.z"};
    enum { COUNT = sizeof names / sizeof names[0] };
    char statements[3000] =
        "mad.lo.u32 %r1, %ctaid.z, %nctaid.y, %ctaid.y; mad.lo.u32 %r1, %r1, %nctaid.x, %ctaid.x;\n"
        "mul.lo.u32 %r1, %r1, 64; cvt.u64.u32 %rd1, %r1; add.u64 %rd1, %rd1, %rd31;\n"
        "mov.pred %p1, %is_explicit_cluster; @!%p1 trap;\n";
    for (unsigned i = 0; i < COUNT; i++) {
        size_t used = strlen(statements);
        snprintf(statements + used, sizeof statements - used,
                 "mov.u32 %%r2, %s; st.global.u32 [%%rd1+%u], %%r2;\n", names[i], 4 * i);
    }
    char *text = sim_kernel(statements);
    sim s;
    sim_open(&s, text, in_words, sizeof in_words, sizeof out_words);
    uint64_t params[3] = {s.in, s.out, 0};
    ptx_launch_config config = {
        .block = {32, 1, 1}, .params = params, .param_bytes = sizeof params, .threads = 2};
    memcpy(config.grid, grid, sizeof grid);
    memcpy(config.cluster, cluster, sizeof cluster);
    ptx_status status = ptx_launch(ptx_module_kernel_at(s.module, 0), s.memory, &config, NULL, &s.error);
    check_report(status == PTX_OK, __FILE__, __LINE__, status == PTX_OK ? "" : s.error.message);
    ptx_memory_read(s.memory, out_words, s.out, sizeof out_words, &s.error);
    for (uint32_t z = 0; z < grid[2]; z++)
        for (uint32_t y = 0; y < grid[1]; y++)
            for (uint32_t x = 0; x < grid[0]; x++) {
                const uint32_t *got = out_words + 16 * ((z * grid[1] + y) * grid[0] + x);
                const uint32_t want[COUNT] = {
                    x % 2, y % 3, z % 2, z % 2 * 6 + y % 3 * 2 + x % 2, x / 2, y / 3, z / 2, 2, 3, 2, 12,
                    2,     2,     1};
                for (unsigned i = 0; i < COUNT; i++)
                    CHECK_EQUAL_AS(got[i], want[i], names[i]);
            }
    sim_close(&s);
    free(text);
    /* a launch without clusters has clusters of one block */
    run("mov.pred %p1, %is_explicit_cluster; @%p1 trap; mov.u32 %r1, %clusterid.x; "
        "mad.lo.u32 %r1, %r1, 100, %cluster_nctarank; add.u32 %r1, %r1, %cluster_ctarank; st.global.u32 "
        "[%rd28], %r1;",
        (launch){.grid = 3, .block = 1}, NULL);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQUAL(out_words[i], 100 * i + 1);
}

static void test_sizes(void) {
    refuse("ret;", (launch){.grid = 6, .block = 1, .cluster = 4}, PTX_ERR_ARGUMENT,
           "do not divide the grid's 6");
    refuse("ret;", (launch){.grid = 34, .block = 1, .cluster = 17}, PTX_ERR_ARGUMENT, "more than 16");
    static const char text[] = SIM_HEADER ".entry a() .explicitcluster .reqnctapercluster 4, 1, 1 { ret; "
                                          "}\n.entry b() .maxclusterrank 2 { ret; }\n";
    ptx_module *module;
    ptx_memory *memory;
    ptx_error error;
    CHECK_EQUAL(ptx_module_parse(text, strlen(text), &module, &error), PTX_OK);
    CHECK_EQUAL(ptx_memory_create(0, &memory, &error), PTX_OK);
    const ptx_kernel *a = ptx_module_find(module, "a"), *b = ptx_module_find(module, "b");
    ptx_launch_config config = {.grid = {8, 1, 1}, .block = {1, 1, 1}, .threads = 1};
    CHECK_EQUAL(ptx_launch(a, memory, &config, NULL, &error), PTX_OK);
    config.cluster[0] = 4;
    CHECK_EQUAL(ptx_launch(a, memory, &config, NULL, &error), PTX_OK);
    CHECK_EQUAL(ptx_launch(b, memory, &config, NULL, &error), PTX_ERR_ARGUMENT);
    CHECK_CONTAINS(error.message, "a cluster of 4 blocks; the most is 2");
    config.cluster[0] = 2;
    CHECK_EQUAL(ptx_launch(b, memory, &config, NULL, &error), PTX_OK);
    CHECK_EQUAL(ptx_launch(a, memory, &config, NULL, &error), PTX_ERR_ARGUMENT);
    CHECK_CONTAINS(error.message, "the kernel was compiled for 4 x 1 x 1");
    config.grid[0] = 6;
    config.cluster[0] = 0;
    CHECK_EQUAL(ptx_launch(a, memory, &config, NULL, &error), PTX_ERR_ARGUMENT);
    ptx_memory_destroy(memory);
    ptx_module_free(module);
}

/* ---- distributed shared memory ---- */

#define BARRIER "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
/* s[tid] = 1000 * ctaid + tid * tid, then a barrier of the cluster */
#define FILL                                                                                                 \
    ".shared .b32 s[64]; mov.u32 %r1, s; mad.lo.u32 %r1, %r31, 4, %r1; mul.lo.u32 %r2, %ctaid.x, 1000;\n"    \
    "mad.lo.u32 %r2, %r31, %r31, %r2; st.shared.u32 [%r1], %r2;\n" BARRIER
#define NEXT_RANK "mov.u32 %r3, %cluster_ctarank; add.u32 %r3, %r3, 1; rem.u32 %r3, %r3, %cluster_nctarank;\n"

static unsigned next_block(unsigned block, unsigned cluster) {
    return block / cluster * cluster + (block % cluster + 1) % cluster;
}

/* With 32-bit, 64-bit and generic addresses, and several host threads. */
static void test_remote_loads(void) {
    static const char *const reads[] = {
        "mapa.shared::cluster.u32 %r4, %r1, %r3; ld.shared::cluster.u32 %r5, [%r4];",
        "cvt.u64.u32 %rd1, %r1; mapa.shared::cluster.u64 %rd1, %rd1, %r3; ld.shared::cluster.u32 %r5, "
        "[%rd1];",
        "cvt.u64.u32 %rd1, %r1; cvta.shared.u64 %rd1, %rd1; mapa.u64 %rd1, %rd1, %r3; ld.u32 %r5, [%rd1];",
        "mapa.shared::cluster.u32 %r4, s, %r3; mad.lo.u32 %r4, %r31, 4, %r4; ld.shared::cluster.u32 %r5, "
        "[%r4];",
        "mapa.shared::cluster.u32 %r4, %r1, %r3; mov.u32 %r6, 0; atom.shared::cluster.add.u32 %r5, [%r4], "
        "%r6;",
    };
    for (size_t k = 0; k < sizeof reads / sizeof reads[0]; k++)
        for (unsigned cluster = 1; cluster <= 16; cluster *= 2) {
            char text[1500];
            snprintf(text, sizeof text, "%s%s\n%s", FILL NEXT_RANK, reads[k],
                     "st.global.u32 [%rd28], %r5;\n" BARRIER);
            run(text, (launch){.grid = 32, .block = 64, .cluster = cluster, .threads = 1 + cluster % 3},
                NULL);
            for (unsigned i = 0; i < 32 * 64; i++)
                CHECK_EQUAL_AS(out_words[i], 1000 * next_block(i / 64, cluster) + i % 64 * (i % 64),
                               reads[k]);
        }
}

/* Each block adds to a counter in the first block, which every other block then reads. */
static void test_remote_stores(void) {
    run(".shared .b32 sum; setp.eq.u32 %p1, %r31, 0; @%p1 st.shared.u32 [sum], 7;\n" BARRIER
        "mov.u32 %r1, sum; mapa.shared::cluster.u32 %r2, %r1, 0; add.u32 %r3, %r30, 1;\n"
        "red.relaxed.cluster.shared::cluster.add.u32 [%r2], %r3;\n" BARRIER
        "ld.shared::cluster.u32 %r4, [%r2]; st.global.u32 [%rd28], %r4;\n" BARRIER,
        (launch){.grid = 8, .block = 40, .cluster = 4, .threads = 2}, NULL);
    for (unsigned i = 0; i < 320; i++) {
        unsigned first = i / 160 * 160 + 1;
        CHECK_EQUAL(out_words[i], 7 + 160 * first + 160 * 159 / 2);
    }
    run(".shared .b32 s[64]; mov.u32 %r1, s; mad.lo.u32 %r1, %r31, 4, %r1;\n" BARRIER NEXT_RANK
        "mapa.shared::cluster.u32 %r2, %r1, %r3; st.shared::cluster.u32 [%r2], %r30;\n" BARRIER
        "ld.shared.u32 %r4, [%r1]; st.global.u32 [%rd28], %r4;",
        (launch){.grid = 9, .block = 64, .cluster = 3}, NULL);
    for (unsigned i = 0; i < 9 * 64; i++)
        CHECK_EQUAL(out_words[64 * next_block(i / 64, 3) + i % 64], i);
}

static void test_address_questions(void) {
    run(".shared .b32 s[64];\n" NEXT_RANK
        "mov.u64 %rd1, s; cvta.shared.u64 %rd1, %rd1; mapa.u64 %rd2, %rd1, %r3; mov.u32 %r1, 0;\n"
        "isspacep.shared::cta %p1, %rd1; @!%p1 add.u32 %r1, %r1, 1; isspacep.shared::cta %p1, %rd2; @%p1 "
        "add.u32 "
        "%r1, %r1, 2;\n"
        "isspacep.shared::cluster %p1, %rd2; @!%p1 add.u32 %r1, %r1, 4; isspacep.global %p1, %rd2; @%p1 "
        "add.u32 "
        "%r1, %r1, 8;\n"
        "isspacep.global %p1, %rd31; @!%p1 add.u32 %r1, %r1, 16; isspacep.shared %p1, %rd31; @%p1 add.u32 "
        "%r1, %r1, "
        "32;\n"
        "getctarank.u64 %r2, %rd2; setp.ne.u32 %p1, %r2, %r3; @%p1 add.u32 %r1, %r1, 64;\n"
        "getctarank.u64 %r2, %rd1; setp.ne.u32 %p1, %r2, %cluster_ctarank; @%p1 add.u32 %r1, %r1, 128;\n"
        "mov.u32 %r4, s; mapa.shared::cluster.u32 %r4, %r4, 1; getctarank.shared::cluster.u32 %r2, %r4;\n"
        "setp.ne.u32 %p1, %r2, 1; @%p1 add.u32 %r1, %r1, 256; isspacep.local %p1, %rd1; @%p1 add.u32 %r1, "
        "%r1, 512;\n"
        "mapa.u64 %rd3, %rd2, %cluster_ctarank; isspacep.shared::cta %p1, %rd3; @!%p1 add.u32 %r1, %r1, "
        "1024;\n"
        "st.global.u32 [%rd28], %r1;",
        (launch){.grid = 4, .block = 1, .cluster = 2}, NULL);
    for (unsigned i = 0; i < 4; i++)
        CHECK_EQUAL(out_words[i], 0);
}

static void test_remote_errors(void) {
    const launch two = {.grid = 2, .block = 32, .cluster = 2};
    refuse(FILL "mapa.shared::cluster.u32 %r4, %r1, 2;", two, PTX_ERR_ADDRESS,
           "no block 2 in a cluster of 2");
    refuse(FILL "add.u32 %r1, %r1, 0x3000000; ld.shared::cluster.u32 %r2, [%r1];", two, PTX_ERR_ADDRESS,
           "of a block 2, which the cluster does not have");
    refuse(FILL "mapa.shared::cluster.u32 %r4, %r1, 1; ld.shared::cluster.u32 %r2, [%r4+1024];", two,
           PTX_ERR_ADDRESS, "4 bytes at the shared address 0x400 are outside the block's 256 bytes");
    refuse(FILL "mapa.shared::cluster.u32 %r4, %r1, 1; ld.shared.u32 %r2, [%r4];", two, PTX_ERR_ADDRESS,
           "outside the block's 256 bytes");
    refuse(FILL "mapa.shared::cluster.u32 %r4, %r1, 1; ld.shared::cluster.u32 %r2, [%r4+2];", two,
           PTX_ERR_ALIGNMENT, "is not aligned to the 4 bytes");
    refuse("mapa.u64 %rd1, %rd30, 1;", two, PTX_ERR_ADDRESS, "no address of shared memory");
    /* the shared memory of a block is gone after it exits */
    refuse(FILL "mov.u32 %r6, %cluster_ctarank; setp.eq.u32 %p1, %r6, 1; @%p1 exit;\n"
                "mapa.shared::cluster.u32 %r4, %r1, 1; ld.shared::cluster.u32 %r2, [%r4];",
           two, PTX_ERR_ADDRESS, "block 1 of the cluster, which has ended");
}

/* ---- the barrier ---- */

static void test_barrier(void) {
    /* without the barrier the reader, which runs first, reads poison */
    run(".shared .b32 s; st.shared.u32 [s], 5; mov.u32 %r1, s; mapa.shared::cluster.u32 %r1, %r1, 1;\n"
        "ld.shared::cluster.u32 %r2, [%r1]; st.global.u32 [%rd28], %r2; " BARRIER,
        (launch){.grid = 2, .block = 1, .cluster = 2}, NULL);
    CHECK_EQUAL(out_words[0], 0xFFFFFFFFu);
    CHECK_EQUAL(out_words[1], 5);
    /* many phases, split in two halves with work between them, while other warps wait at a bar.sync of their
       block */
    run(".shared .b32 s[2]; mov.u32 %r1, s; mapa.shared::cluster.u32 %r2, %r1, 0; setp.eq.u32 %p2, %r31, 0;\n"
        "mov.u32 %r5, 0; mov.u32 %r6, 0; @%p2 st.shared.v2.u32 [s], {%r5, %r5};\n" BARRIER
        "h: and.b32 %r7, %r5, 1; mad.lo.u32 %r8, %r7, 4, %r2; red.relaxed.cluster.shared::cluster.add.u32 "
        "[%r8], 1;\n"
        "bar.sync 0; barrier.cluster.arrive; add.u32 %r5, %r5, 1; barrier.cluster.wait;\n"
        "ld.shared::cluster.u32 %r9, [%r8]; mad.lo.u32 %r6, %r6, 3, %r9; setp.lt.u32 %p1, %r5, 9; @%p1 bra "
        "h;\n"
        "st.global.u32 [%rd28], %r6;\n" BARRIER,
        (launch){.grid = 6, .block = 96, .cluster = 3, .threads = 2}, NULL);
    uint32_t want = 0, counters[2] = {0};
    for (unsigned phase = 0; phase < 9; phase++) {
        counters[phase & 1] += 3 * 96;
        want = want * 3 + counters[phase & 1];
    }
    for (unsigned i = 0; i < 6 * 96; i++)
        CHECK_EQUAL(out_words[i], want);
}

/* Exited threads, single lanes or whole blocks, need not arrive. */
static void test_barrier_exits(void) {
    run("setp.ge.u32 %p1, %r31, 40; @%p1 exit; mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p1, %r1, 1; @%p1 "
        "exit;\n"
        "barrier.cluster.arrive; barrier.cluster.wait; st.global.u32 [%rd28], %r30;",
        (launch){.grid = 3, .block = 96, .cluster = 3}, NULL);
    for (unsigned i = 0; i < 3 * 96; i++)
        CHECK_EQUAL(out_words[i], i / 96 != 1 && i % 96 < 40 ? i : 0xFFFFFFFFu);
    /* arrive, then exit: the others' wait must not hang */
    run("barrier.cluster.arrive; mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p1, %r1, 1; @%p1 exit;\n"
        "barrier.cluster.wait; barrier.cluster.arrive; barrier.cluster.wait; st.global.u32 [%rd28], %r30;",
        (launch){.grid = 3, .block = 32, .cluster = 3}, NULL);
    CHECK_EQUAL(out_words[64], 64);
    /* lanes that arrive separately */
    run("setp.lt.u32 %p1, %r31, 7; @%p1 barrier.cluster.arrive; @!%p1 barrier.cluster.arrive; "
        "barrier.cluster.wait; st.global.u32 [%rd28], %r30;",
        (launch){.grid = 2, .block = 32, .cluster = 2}, NULL);
    CHECK_EQUAL(out_words[63], 63);
}

static void test_barrier_errors(void) {
    const launch two = {.grid = 2, .block = 64, .cluster = 2};
    refuse("barrier.cluster.wait;", two, PTX_ERR_BARRIER, "without having arrived");
    refuse("barrier.cluster.arrive; barrier.cluster.arrive;", two, PTX_ERR_BARRIER, "has not waited since");
    refuse("setp.lt.u32 %p1, %r31, 7; @%p1 barrier.cluster.arrive.aligned;", two, PTX_ERR_BARRIER,
           "a divergent barrier: lanes 0x0000007f are here");
    refuse("mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p1, %r1, 1; @%p1 bar.sync 1, 96;\n" BARRIER, two,
           PTX_ERR_BARRIER,
           "deadlock: every warp left waits at a barrier that cannot complete: block 0, warp 0 at PTX line "
           "19 (the "
           "cluster's barrier), block 0, warp 1");
}

/* ---- communication between blocks ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Block 0 adds up the values that the other blocks store before they set their flags; in both orders of
   blocks, since global atomics reverse the order. in: values, and flags from word 1024 on. */
static void test_flags(void) {
    static const char *const kinds[] = {"ld.acquire.gpu.global.u32", "ld.volatile.global.u32",
                                        "ld.relaxed.gpu.u32", "atom.acquire.gpu.global.or.b32"};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (unsigned atomics = 0; atomics < 2; atomics++) {
            char text[1500];
            snprintf(
                text, sizeof text,
                "mov.u32 %%r1, %%ctaid.x; mad.wide.u32 %%rd1, %%r1, 4, %%rd30; setp.ne.u32 %%p1, %%r1, 0;\n"
                "%s\n@%%p1 bra other; mov.u32 %%r3, 0; mov.u32 %%r2, 1;\n"
                "next: mad.wide.u32 %%rd1, %%r2, 4, %%rd30; spin: %s %%r4, [%%rd1+4096]%s; setp.eq.u32 %%p2, "
                "%%r4, 0; @%%p2 bra spin;\n"
                "ld.global.u32 %%r4, [%%rd1]; add.u32 %%r3, %%r3, %%r4; add.u32 %%r2, %%r2, 1; setp.lt.u32 "
                "%%p2, "
                "%%r2, %%nctaid.x; @%%p2 bra next; st.global.u32 [%%rd31], %%r3; ret;\n"
                "other: mad.lo.u32 %%r2, %%r1, %%r1, 3; st.global.u32 [%%rd1], %%r2; "
                "st.release.gpu.global.u32 [%%rd1+4096], 1;",
                atomics ? "atom.global.add.u32 %r9, [%rd30+8192], 1;" : "", kinds[k], k == 3 ? ", 0" : "");
            run(text, (launch){.grid = 50, .block = 32, .threads = 4}, NULL);
            uint32_t want = 0;
            for (uint32_t i = 1; i < 50; i++)
                want += i * i + 3;
            CHECK_EQUAL_AS(out_words[0], want, kinds[k]);
        }
}

/* A barrier of the whole grid, twice: no block continues before all have arrived. */
static void test_grid_barrier(void) {
#define GRID_BARRIER(spin, count)                                                                            \
    "atom.add.release.gpu.u32 %r1, [%rd30], 1; mul.lo.u32 %r5, %nctaid.x, " #count ";\n" #spin               \
    ": ld.acquire.gpu.global.u32 %r2, [%rd30]; setp.lt.u32 %p2, %r2, %r5; @%p2 bra " #spin ";\n"
    run(GRID_BARRIER(first, 1) "red.global.add.u32 [%rd30+64], 1;\n" GRID_BARRIER(
            second, 2) "ld.global.u32 %r7, [%rd30+64]; st.global.u32 [%rd28], %r7;",
        (launch){.grid = 300, .block = 1}, NULL);
    for (unsigned i = 0; i < 300; i++)
        CHECK_EQUAL(out_words[i], 300);
}

/* The last block to draw a ticket adds up the values of all blocks. */
static void test_tickets(void) {
    run("mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd1, %r1, 4, %rd30; mad.lo.u32 %r2, %r1, %r1, 3; st.global.u32 "
        "[%rd1], "
        "%r2;\n"
        "membar.gl; atom.global.inc.u32 %r3, [%rd30+8192], 49; setp.ne.u32 %p1, %r3, 49; @%p1 ret;\n"
        "membar.gl; mov.u32 %r3, 0; mov.u32 %r2, 0; h: mad.wide.u32 %rd1, %r2, 4, %rd30; "
        "ld.volatile.global.u32 %r4, "
        "[%rd1]; add.u32 %r3, %r3, %r4; add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 50; @%p2 bra h;\n"
        "st.global.u32 [%rd31], %r3; ld.global.u32 %r5, [%rd30+8192]; st.global.u32 [%rd31+4], %r5;",
        (launch){.grid = 50, .block = 1}, NULL);
    uint32_t want = 0;
    for (uint32_t i = 0; i < 50; i++)
        want += i * i + 3;
    CHECK_EQUAL(out_words[0], want);
    CHECK_EQUAL(out_words[1], 0);
}

/* A warp polls more places by turns than fit into the first table, each by an instruction of its own, or all
   by one in a loop: a deadlock once no block changes one, and none before. */
static void test_many_places(void) {
    enum { PLACES = 40 };
    static char polls[4096], loop[1024];
    size_t used = 0;
    for (unsigned i = 0; i < PLACES; i++)
        used += (size_t)snprintf(polls + used, sizeof polls - used,
                                 "ld.relaxed.gpu.global.u32 %%r2, [%%rd30+%u]; add.u32 %%r3, %%r3, %%r2;\n",
                                 4 * i);
    snprintf(
        loop, sizeof loop,
        "mov.u32 %%r4, 0; next: mad.wide.u32 %%rd1, %%r4, 4, %%rd30; ld.volatile.global.u32 %%r2, [%%rd1];\n"
        "add.u32 %%r3, %%r3, %%r2; add.u32 %%r4, %%r4, 1; setp.lt.u32 %%p2, %%r4, %d; @%%p2 bra next;\n",
        PLACES);
    const char *rounds[] = {polls, loop};
    for (unsigned k = 0; k < 2; k++) {
        /* each block publishes its number and waits for all others, of which `PLACES - 1` suffice */
        for (unsigned missing = 0; missing < 2; missing++) {
            static char text[8192];
            snprintf(text, sizeof text,
                     "mov.u32 %%r1, %%ctaid.x; mad.wide.u32 %%rd2, %%r1, 4, %%rd30; "
                     "st.relaxed.gpu.global.u32 [%%rd2], 1;\n"
                     "h: mov.u32 %%r3, 0;\n%s setp.lt.u32 %%p1, %%r3, %u; @%%p1 bra h; st.global.u32 "
                     "[%%rd28], %%r3;",
                     rounds[k], PLACES + missing);
            const launch all = {.grid = PLACES, .block = 32};
            if (missing)
                refuse(text, all, PTX_ERR_BARRIER, "deadlock: the warp polls memory");
            else
                run(text, all, NULL);
        }
        for (unsigned i = 0; i < PLACES * 32; i++)
            CHECK_EQUAL(out_words[i], PLACES);
    }
}

/* Lanes that wait at a reconvergence point become a split, in vain: they need the lanes that poll. */
static void test_vain_splits(void) {
    refuse("mov.u32 %r3, 0; setp.lt.u32 %p1, %r31, 7;\n"
           "h: @!%p1 bra vote; ld.volatile.global.u32 %r3, [%rd30]; ld.volatile.global.u32 %r4, [%rd30+4];\n"
           "or.b32 %r3, %r3, %r4;\n"
           "vote: setp.ne.u32 %p2, %r3, 0; vote.sync.any.pred %p3, %p2, -1; @!%p3 bra h;",
           (launch){.grid = 1, .block = 32}, PTX_ERR_BARRIER, "deadlock: the warp polls memory");
}

/* Polling one location is no deadlock as long as the loop counts. */
static void test_polling(void) {
    run("mov.u32 %r1, 0; h: ld.volatile.global.u32 %r2, [%rd30]; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, "
        "3000;\n"
        "@%p1 bra h; st.global.u32 [%rd28], %r1;",
        (launch){.grid = 3, .block = 64}, NULL);
    for (unsigned i = 0; i < 3 * 64; i++)
        CHECK_EQUAL(out_words[i], 3000);
}

static void test_vain_waits(void) {
    double start = now();
    const launch many = {.grid = 3000, .block = 64};
    refuse("h: ld.acquire.gpu.global.u32 %r2, [%rd30]; setp.eq.u32 %p1, %r2, 0; @%p1 bra h;", many,
           PTX_ERR_BARRIER, "PTX line 18: deadlock: the warp polls memory that no block left will write to");
    refuse("h: atom.global.cas.b32 %r2, [%rd30], 5, 1; setp.ne.u32 %p1, %r2, 5; @%p1 bra h;",
           (launch){.grid = 3, .block = 1}, PTX_ERR_BARRIER, "deadlock: the warp polls memory");
    /* two locations in rotation, one of which changes while another block runs */
    refuse("mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @!%p1 st.release.gpu.global.u32 [%rd30+4], 1; "
           "@!%p1 ret;\n"
           "h: ld.acquire.gpu.global.u32 %r2, [%rd30]; ld.acquire.gpu.global.u32 %r3, [%rd30+4]; add.u32 "
           "%r4, %r2, "
           "%r3; setp.lt.u32 %p2, %r4, 2; @%p2 bra h;",
           (launch){.grid = 40, .block = 32}, PTX_ERR_BARRIER, "deadlock: the warp polls memory");
    /* the flag is set by a block of the same cluster, which itself waits */
    refuse("mov.u32 %r1, %cluster_ctarank; mad.wide.u32 %rd1, %r1, 4, %rd30; xor.b32 %r2, %r1, 1; "
           "mad.wide.u32 %rd2, "
           "%r2, 4, %rd30;\nh: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p1, %r3, 0; @%p1 bra h; "
           "st.global.u32 [%rd2], 1;",
           (launch){.grid = 8, .block = 32, .cluster = 2}, PTX_ERR_BARRIER, "deadlock");
    CHECK(now() - start < 10);
}

int main(void) {
    test_registers();
    test_sizes();
    test_remote_loads();
    test_remote_stores();
    test_address_questions();
    test_remote_errors();
    test_barrier();
    test_barrier_exits();
    test_barrier_errors();
    test_flags();
    test_grid_barrier();
    test_tickets();
    test_polling();
    test_many_places();
    test_vain_splits();
    test_vain_waits();
    return finish_checks("test_cluster");
}
