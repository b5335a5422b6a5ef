/* Wavefronts and sectors of access patterns against hand-computed values, and the counters of small
   kernels. */
#include <stdlib.h>

#include "check.h"
#include "instrumentation/counters.h"
#include "instrumentation/predication.h"
#include "instrumentation/transactions.h"
#include "sim.h"

static ptx_access pattern(ptx_effect effect, unsigned bytes, uint32_t mask,
                          uint64_t (*address)(unsigned lane)) {
    ptx_access access = {.effect = effect, .bytes = bytes, .mask = mask, .packed = true};
    for (unsigned i = 0; i < PTX_LANES; i++) {
        access.address[i] = address(i);
        access.packed = access.packed && access.address[i] == access.address[0] + (uint64_t)i * bytes;
    }
    return access;
}

static uint64_t stride_1(unsigned i) {
    return 4 * i;
}
static uint64_t stride_2(unsigned i) {
    return 8 * i;
}
static uint64_t stride_3(unsigned i) {
    return 12 * i;
}
static uint64_t stride_4(unsigned i) {
    return 16 * i;
}
static uint64_t stride_8(unsigned i) {
    return 32 * i;
}
static uint64_t stride_32(unsigned i) {
    return 128 * i;
}
static uint64_t stride_33(unsigned i) {
    return 132 * i;
}
static uint64_t reversed(unsigned i) {
    return 4 * (31 - i) + 64;
}
static uint64_t one_word(unsigned i) {
    (void)i;
    return 36;
}
static uint64_t zero(unsigned i) {
    return 0 * i;
}
static uint64_t two_words_of_a_bank(unsigned i) {
    return 128 * (i & 1);
}
static uint64_t bytes_in_turn(unsigned i) {
    return i;
}
static uint64_t pairs(unsigned i) {
    return 4 * (i / 2);
}
static uint64_t shifted(unsigned i) {
    return 4 * i + 4;
}

static void expect_shared(ptx_effect effect, unsigned bytes, uint32_t mask, uint64_t (*address)(unsigned),
                          unsigned wavefronts, unsigned ideal, uint32_t conflicting, const char *name) {
    ptx_access access = pattern(effect, bytes, mask, address);
    unsigned got_ideal;
    uint32_t got_conflicting = 0;
    uint8_t ways[PTX_LANES];
    CHECK_EQUAL_AS(ptx_shared_wavefronts(&access, &got_ideal, ways), wavefronts, name);
    for (unsigned i = 0; i < PTX_LANES; i++)
        got_conflicting |= (uint32_t)(ways[i] > 0) << i;
    CHECK_EQUAL_AS(got_ideal, ideal, name);
    CHECK_EQUAL_AS(got_conflicting, conflicting, name);
    CHECK_EQUAL_AS(ptx_shared_wavefronts(&access, &got_ideal, NULL), wavefronts, name);
}

#define LOAD(bytes, mask, address, wavefronts, ideal, conflicting)                                           \
    expect_shared(PTX_EFFECT_LOAD, bytes, mask, address, wavefronts, ideal, conflicting,                     \
                  "load " #bytes " " #mask " " #address)
#define STORE(bytes, mask, address, wavefronts, ideal, conflicting)                                          \
    expect_shared(PTX_EFFECT_STORE, bytes, mask, address, wavefronts, ideal, conflicting,                    \
                  "store " #bytes " " #mask " " #address)

static void test_wavefronts(void) {
    LOAD(4, PTX_ALL_LANES, stride_1, 1, 1, 0);
    LOAD(4, PTX_ALL_LANES, stride_2, 2, 1, PTX_ALL_LANES);
    LOAD(4, PTX_ALL_LANES, stride_3, 1, 1, 0);
    LOAD(4, PTX_ALL_LANES, stride_4, 4, 1, PTX_ALL_LANES);
    LOAD(4, PTX_ALL_LANES, stride_8, 8, 1, PTX_ALL_LANES);
    LOAD(4, PTX_ALL_LANES, stride_32, 32, 1, PTX_ALL_LANES);
    STORE(4, PTX_ALL_LANES, stride_32, 32, 1, PTX_ALL_LANES);
    LOAD(4, PTX_ALL_LANES, stride_33, 1, 1, 0);
    LOAD(4, PTX_ALL_LANES, reversed, 1, 1, 0);
    LOAD(4, PTX_ALL_LANES, one_word, 1, 1, 0);
    LOAD(4, PTX_ALL_LANES, pairs, 1, 1, 0);
    LOAD(4, PTX_ALL_LANES, two_words_of_a_bank, 2, 1, PTX_ALL_LANES);
    LOAD(4, 0x0000ffffu, stride_2, 1, 1, 0);
    LOAD(4, 0x0001ffffu, stride_2, 2, 1, 0x00010001u);
    LOAD(4, 0x80000000u, stride_32, 1, 1, 0);
    LOAD(1, PTX_ALL_LANES, bytes_in_turn, 1, 1, 0);
    LOAD(2, PTX_ALL_LANES, stride_32, 32, 1, PTX_ALL_LANES);
}

/* Two lanes share a bank with one other word, four with three others, the rest with none. */
static uint64_t two_and_four(unsigned i) {
    return i < 2 ? 128 * i : i < 6 ? 4 + 128 * i : 4 * i;
}

static void test_ways(void) {
    ptx_access access = pattern(PTX_EFFECT_LOAD, 4, PTX_ALL_LANES, two_and_four);
    unsigned ideal;
    uint8_t ways[PTX_LANES];
    CHECK_EQUAL(ptx_shared_wavefronts(&access, &ideal, ways), 4);
    for (unsigned i = 0; i < PTX_LANES; i++)
        CHECK_EQUAL(ways[i], i < 2 ? 2 : i < 6 ? 4 : 0);
    access = pattern(PTX_EFFECT_LOAD, 4, PTX_ALL_LANES, stride_32);
    ptx_shared_wavefronts(&access, &ideal, ways);
    CHECK_EQUAL(ways[31], 32);
}

/* 8 bytes per lane are split into half warps, 16 bytes into quarter warps. */
static void test_wide_wavefronts(void) {
    LOAD(8, PTX_ALL_LANES, stride_2, 2, 2, 0);
    LOAD(8, 0x0000ffffu, stride_2, 1, 1, 0);
    LOAD(8, PTX_ALL_LANES, stride_4, 4, 2, PTX_ALL_LANES);
    LOAD(8, 0x0f0f0f0fu, stride_4, 4, 1, 0x0f0f0f0fu);
    LOAD(8, 0x00ff00ffu, stride_4, 2, 1, 0);
    LOAD(16, PTX_ALL_LANES, stride_4, 4, 4, 0);
    LOAD(16, PTX_ALL_LANES, stride_8, 8, 4, PTX_ALL_LANES);
    LOAD(16, 0x000000ffu, stride_4, 1, 1, 0);
    /* if neighbouring lanes have the same address, a load serves twice as many lanes at once, a store does
       not */
    LOAD(8, PTX_ALL_LANES, zero, 1, 1, 0);
    STORE(8, PTX_ALL_LANES, zero, 2, 2, 0);
    LOAD(16, PTX_ALL_LANES, zero, 2, 2, 0);
    STORE(16, PTX_ALL_LANES, zero, 4, 4, 0);
    LOAD(8, 0x80000001u, stride_2, 1, 1, 0);
    STORE(8, 0x80000001u, stride_2, 2, 1, 0);
    LOAD(8, 0x00010001u, stride_2, 2, 1, 0x00010001u);
}

static void expect_global(unsigned bytes, uint32_t mask, uint64_t (*address)(unsigned), unsigned sectors,
                          unsigned ideal, const char *name) {
    ptx_access access = pattern(PTX_EFFECT_LOAD, bytes, mask, address);
    unsigned got_ideal;
    CHECK_EQUAL_AS(ptx_global_sectors(&access, &got_ideal), sectors, name);
    CHECK_EQUAL_AS(got_ideal, ideal, name);
}

#define GLOBAL(bytes, mask, address, sectors, ideal)                                                         \
    expect_global(bytes, mask, address, sectors, ideal, #bytes " " #mask " " #address)

static void test_sectors(void) {
    GLOBAL(4, PTX_ALL_LANES, stride_1, 4, 4);
    GLOBAL(4, PTX_ALL_LANES, shifted, 5, 4);
    GLOBAL(4, PTX_ALL_LANES, reversed, 4, 4);
    GLOBAL(4, PTX_ALL_LANES, stride_2, 8, 4);
    GLOBAL(4, PTX_ALL_LANES, stride_8, 32, 4);
    GLOBAL(4, PTX_ALL_LANES, stride_33, 32, 4);
    GLOBAL(4, PTX_ALL_LANES, one_word, 1, 1);
    GLOBAL(4, PTX_ALL_LANES, two_words_of_a_bank, 2, 2);
    GLOBAL(4, 0x00000001u, stride_1, 1, 1);
    GLOBAL(4, 0x80000001u, stride_1, 2, 1);
    GLOBAL(1, PTX_ALL_LANES, bytes_in_turn, 1, 1);
    GLOBAL(8, PTX_ALL_LANES, stride_2, 8, 8);
    GLOBAL(16, PTX_ALL_LANES, stride_4, 16, 16);
    GLOBAL(16, 0xffff0000u, stride_4, 8, 8);
}

/* ---- kernels ---- */

typedef struct counted {
    sim s;
    ptx_counters *counters;
    const ptx_kernel *kernel;
} counted;

static void count(counted *c, const char *statements, unsigned grid, unsigned block, unsigned threads,
                  uint64_t timeline_block) {
    static uint32_t in[256], out[65536];
    char *text = sim_kernel(statements);
    sim_open(&c->s, text, in, sizeof in, sizeof out);
    free(text);
    c->kernel = ptx_module_find(c->s.module, "k");
    CHECK_EQUAL(ptx_counters_create(c->kernel, timeline_block, &c->counters, &c->s.error), PTX_OK);
    ptx_observer *observers[] = {&c->counters->base};
    c->s.config.observers = observers;
    c->s.config.observer_count = 1;
    c->s.config.threads = threads;
    ptx_status status = sim_run(&c->s, "k", grid, block, 0, out);
    check_report(status == PTX_OK, statements, 0, status == PTX_OK ? "" : c->s.error.message);
}

static void release(counted *c) {
    ptx_counters_free(c->counters);
    sim_close(&c->s);
}

/* The counter of the n-th instruction whose line contains `opcode`. */
static const ptx_counter *counter_of(const counted *c, const char *opcode, unsigned n) {
    const char *text = c->s.module->text;
    for (size_t pc = 0; pc < c->kernel->count; pc++) {
        const char *line = text + c->kernel->source[pc].text_offset;
        const char *column = line + c->kernel->source[pc].column - 1;
        if (strncmp(column, opcode, strlen(opcode)) == 0 && n-- == 0)
            return &c->counters->instructions[pc];
    }
    fprintf(stderr, "no %s\n", opcode);
    exit(2);
}

/* Threads 0 to 3 of each warp (3 full warps and one of 8 lanes) skip the addition. */
static void test_lanes_and_divergence(void) {
    counted c;
    count(&c,
          "and.b32 %r1, %r31, 31; setp.lt.u32 %p1, %r1, 4; @%p1 bra skip; add.u32 %r2, %r1, 1;\n"
          "skip: @%p1 mov.u32 %r3, 7; setp.lt.u32 %p2, %r31, 999; @%p2 bra end; mov.u32 %r4, 1; end: ret;",
          2, 104, 1, UINT64_MAX);
    const ptx_counter *and32 = counter_of(&c, "and.b32", 0), *bra = counter_of(&c, "bra", 0);
    CHECK_EQUAL(and32->lanes[32], 2 * 3);
    CHECK_EQUAL(and32->lanes[8], 2);
    CHECK_EQUAL(bra->lanes[32], 2 * 3);
    CHECK_EQUAL(bra->divergent, 2 * 4);
    CHECK_EQUAL(counter_of(&c, "add.u32", 0)->lanes[28], 2 * 3);
    CHECK_EQUAL(counter_of(&c, "add.u32", 0)->lanes[4], 2);
    CHECK_EQUAL(counter_of(&c, "mov.u32 %r3,", 0)->lanes[4], 2 * 4);
    CHECK_EQUAL(counter_of(&c, "bra", 1)->divergent, 0);
    CHECK_EQUAL(counter_of(&c, "bra", 1)->lanes[32], 2 * 3);
    uint64_t skipped = 0;
    for (unsigned i = 0; i <= PTX_LANES; i++)
        skipped += counter_of(&c, "mov.u32 %r4", 0)->lanes[i];
    CHECK_EQUAL(skipped, 0);
    release(&c);
}

#define SHARED_SLOTS                                                                                         \
    ".shared .align 16 .b8 s[4096];\nshl.b32 %r1, %r31, 2; mov.u32 %r2, s; add.u32 %r3, %r2, %r1;\n"

static const char tree[] =
    SHARED_SLOTS "st.shared.u32 [%r3], %r31; bar.sync 0;\n"
                 "setp.ge.u32 %p1, %r31, 32; @%p1 bra a; shl.b32 %r4, %r31, 3; add.u32 %r4, %r4, %r2;\n"
                 "ld.shared.u32 %r5, [%r4]; a: bar.sync 0;\n"
                 "setp.ge.u32 %p2, %r31, 5; @%p2 bra b; st.global.u32 [%rd28], %r31; b: ret;";

static void test_rounds(void) {
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        counted c;
        count(&c, tree, 7, 64, threads, 6);
        const ptx_round *round = c.counters->rounds;
        CHECK_EQUAL(c.counters->round_count, 3);
        const uint64_t want[3][7] = {
            {7, 14, 14, 448, 448, 14, 14}, {7, 14, 7, 448, 224, 14, 7}, {7, 14, 7, 448, 35, 0, 0}};
        for (unsigned r = 0; r < 3; r++) {
            CHECK_EQUAL(round[r].blocks, want[r][0]);
            CHECK_EQUAL(round[r].warps, want[r][1]);
            CHECK_EQUAL(round[r].working_warps, want[r][2]);
            CHECK_EQUAL(round[r].lanes, want[r][3]);
            CHECK_EQUAL(round[r].working_lanes, want[r][4]);
            CHECK_EQUAL(round[r].shared_wavefronts, want[r][5]);
            CHECK_EQUAL(round[r].shared_ideal, want[r][6]);
        }
        CHECK_EQUAL(counter_of(&c, "ld.shared", 0)->shared_wavefronts, 14);
        CHECK_EQUAL(counter_of(&c, "st.global", 0)->global_requests, 7);
        CHECK_EQUAL(counter_of(&c, "st.global", 0)->global_sectors, 7);
        CHECK_EQUAL(counter_of(&c, "st.global", 0)->global_ideal, 7);
        CHECK_EQUAL(counter_of(&c, "bar.sync", 1)->lanes[32], 14);
        release(&c);
    }
}

static void test_timeline(void) {
    counted c;
    count(&c, tree, 7, 40, 1, 3);
    const uint8_t *states = c.counters->timeline;
    CHECK_EQUAL(c.counters->timeline_rounds, 3);
    CHECK_EQUAL(c.counters->timeline_threads, 40);
    for (unsigned thread = 0; thread < 40; thread++) {
        CHECK_EQUAL(states[thread], PTX_WORKED);
        CHECK_EQUAL(states[PTX_TIMELINE_STRIDE + thread],
                    thread < 32 ? PTX_WORKED | PTX_CONFLICTED | 2 << PTX_WAYS : 0);
        CHECK_EQUAL(states[2 * PTX_TIMELINE_STRIDE + thread], thread < 5 ? PTX_WORKED : 0);
    }
    release(&c);
    count(&c, tree, 7, 40, 1, 7); /* a block that does not exist */
    CHECK_EQUAL(c.counters->timeline_rounds, 0);
    release(&c);
}

/* Rounds beyond the limit are added to the last one. */
static void test_many_rounds(void) {
    counted c;
    count(&c,
          "mov.u32 %r1, 2000; loop: bar.sync 0; sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra loop;",
          1, 32, 1, 0);
    const ptx_round *round = c.counters->rounds;
    CHECK_EQUAL(c.counters->round_count, PTX_MAX_ROUNDS);
    CHECK_EQUAL(round[PTX_MAX_ROUNDS - 2].blocks, 1);
    CHECK_EQUAL(round[PTX_MAX_ROUNDS - 1].blocks, 2001 - (PTX_MAX_ROUNDS - 1));
    release(&c);
}

/* Shuffles count as work, a warp barrier does not; generic accesses are counted in their state space. */
static void test_kinds_of_work(void) {
    counted c;
    count(&c,
          "bar.warp.sync -1; bar.sync 0; shfl.sync.down.b32 %r1, %r31, 1, 31, -1; bar.sync 0;\n"
          "st.u32 [%rd28], %r31; atom.global.add.u32 %r2, [%rd31], 1;",
          1, 32, 1, UINT64_MAX);
    const ptx_round *round = c.counters->rounds;
    CHECK_EQUAL(c.counters->round_count, 3);
    CHECK_EQUAL(round[0].working_warps, 0);
    CHECK_EQUAL(round[1].working_lanes, 32);
    CHECK_EQUAL(counter_of(&c, "st.u32", 0)->global_sectors, 4);
    CHECK_EQUAL(counter_of(&c, "st.u32", 0)->shared_wavefronts, 0);
    CHECK_EQUAL(counter_of(&c, "atom", 0)->global_sectors, 1);
    release(&c);
}

/* Which statements are predicated, one letter each. */
static void expect_predicated(const char *statements, const char *predicated) {
    char *text = sim_kernel(statements);
    ptx_module *module;
    ptx_error error;
    CHECK_EQUAL_AS(ptx_module_parse(text, strlen(text), &module, &error), PTX_OK, statements);
    const ptx_kernel *kernel = ptx_module_find(module, "k");
    uint32_t *branch_of = malloc(kernel->count * sizeof *branch_of);
    enum { FRAME = 6 };
    ptx_find_predicated(kernel, branch_of);
    for (size_t i = 0; predicated[i]; i++)
        CHECK_EQUAL_AS(branch_of[FRAME + i] != PTX_NO_PC, predicated[i] == 'p', statements);
    free(branch_of);
    ptx_module_free(module);
    free(text);
}

#define FIVE                                                                                                 \
    "add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 2; add.u32 %r1, %r1, 3; add.u32 %r1, %r1, 4; add.u32 %r1, %r1, " \
    "5;\n"

static void test_predication(void) {
    expect_predicated("@%p1 bra a; mov.u32 %r1, 1; mov.u32 %r2, 2; a: mov.u32 %r3, 3;", "-pp-");
    expect_predicated("@!%p1 bra a; mov.u32 %r1, 1; a: mov.u32 %r3, 3;", "-p-");
    expect_predicated("bra a; mov.u32 %r1, 1; a: mov.u32 %r3, 3;", "---");      /* always taken */
    expect_predicated("@%p1 bra a; mov.u32 %r1, 1; a: ret;", "--");             /* its lanes exit */
    expect_predicated("a: mov.u32 %r1, 1; @%p1 bra a; mov.u32 %r2, 2;", "---"); /* backwards */
    expect_predicated("@%p1 bra a; bar.sync 0; a: mov.u32 %r3, 3;", "---");     /* contains a barrier */
    expect_predicated("@%p1 bra a; bar.warp.sync -1; a: mov.u32 %r3, 3;",
                      "---"); /* contains a warp-level instruction */
    expect_predicated("@%p1 bra a; mov.u32 %r1, 1; b: mov.u32 %r2, 2; a: mov.u32 %r3, 3; @%p2 bra b;",
                      "-----"); /* the target of another branch */
    expect_predicated("@%p1 bra a;" FIVE FIVE FIVE "mov.u32 %r1, 1; a: mov.u32 %r3, 3;",
                      "-pppppppppppppppp-");
    expect_predicated("@%p1 bra a;" FIVE FIVE FIVE "mov.u32 %r1, 1; mov.u32 %r1, 1; a: mov.u32 %r3, 3;",
                      "-------------------"); /* too long */
}

int main(void) {
    test_wavefronts();
    test_ways();
    test_wide_wavefronts();
    test_predication();
    test_sectors();
    test_lanes_and_divergence();
    test_rounds();
    test_timeline();
    test_many_rounds();
    test_kinds_of_work();
    return finish_checks("test_counters");
}
