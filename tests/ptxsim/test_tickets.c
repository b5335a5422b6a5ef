/* Blocks that communicate through global memory, on one and on several host threads: results and errors are
   the same. */
#include <stdlib.h>

#include "check.h"
#include "sim.h"

enum { WORDS = 4096 };

typedef struct outcome {
    ptx_status status;
    uint64_t steps;
    uint32_t out[WORDS], in[256];
    uint64_t issued;
    size_t races;
    char message[1024];
} outcome;

/* Runs blocks of 64 threads. `in` is zeroed. */
static void run(const char *ptx, unsigned grid, unsigned threads, bool observed, uint64_t budget,
                outcome *o) {
    static uint32_t zeros[256];
    char *text = sim_kernel(ptx);
    sim s;
    sim_open(&s, text, zeros, sizeof zeros, sizeof o->out);
    const ptx_kernel *kernel = ptx_module_find(s.module, "k");
    sim_observers observers;
    sim_observe(&s, &observers, kernel, UINT64_MAX);
    if (!observed)
        s.config.observer_count = 0;
    s.config.threads = threads;
    s.config.step_budget = budget;
    memset(o, 0, sizeof *o);
    o->status = sim_run(&s, "k", grid, 64, grid, o->out);
    o->steps = s.stats.warp_instructions;
    if (o->status != PTX_OK)
        snprintf(o->message, sizeof o->message, "%s", s.error.message);
    CHECK_EQUAL(ptx_memory_read(s.memory, o->in, s.in, sizeof o->in, &s.error), PTX_OK);
    const ptx_counter *counter = observers.counters->instructions;
    for (size_t pc = 0; pc < kernel->count; pc++)
        for (unsigned lanes = 0; lanes <= PTX_LANES; lanes++)
            o->issued += (lanes + 1) * counter[pc].lanes[lanes];
    o->races = observers.racecheck->table.count;
    sim_unobserve(&s, &observers);
    sim_close(&s);
    free(text);
}

/* Checks that 1 to 8 threads, with and without observers, have the same outcome; returns it. */
static const outcome *agree(const char *ptx, unsigned grid) {
    static outcome one, many;
    static const unsigned threads[] = {2, 3, 4, 8};
    for (unsigned observed = 0; observed < 2; observed++) {
        run(ptx, grid, 1, observed, 0, &one);
        for (unsigned i = 0; i < 12; i++) {
            run(ptx, grid, threads[i % 4], observed, 0, &many);
            CHECK_EQUAL_AS(many.status, one.status, ptx);
            CHECK(strcmp(many.message, one.message) == 0);
            if (one.status != PTX_OK)
                continue;
            CHECK(memcmp(many.out, one.out, sizeof one.out) == 0);
            CHECK(memcmp(many.in, one.in, sizeof one.in) == 0);
            CHECK_EQUAL_AS(many.steps, one.steps, ptx);
            CHECK_EQUAL_AS(many.issued, one.issued, ptx);
            CHECK_EQUAL_AS(many.races, one.races, ptx);
        }
    }
    return &one;
}

/* Blocks of irregularly different duration; thread 0 continues. */
#define WORK_TIMES(factor)                                                                                   \
    "mul.lo.u32 %r1, %ctaid.x, 37; and.b32 %r1, %r1, 63; mad.lo.u32 %r1, %r1, " factor ", 1;\n"              \
    "work: sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra work;\n"                                   \
    "setp.eq.u32 %p2, %r31, 0;\n"
#define WORK WORK_TIMES("20")

/* Sums of floats reveal the order. */
static void test_order_of_atomics(void) {
    agree(WORK
          "cvt.rn.f32.u32 %f1, %r30; rcp.rn.f32 %f1, %f1; fma.rn.f32 %f1, %f1, 0f4B000000, 0f3F800000;\n"
          "setp.gt.u32 %p3, %r30, 0;\n@%p3 atom.global.add.f32 %f2, [%rd30], %f1; st.global.f32 [%rd28], "
          "%f2;",
          60);
    agree(WORK "@%p2 atom.global.add.u32 %r2, [%rd30], 1; @%p2 st.global.u32 [%rd28], %r2;", 60);
}

/* The last block adds up the values of the others. */
static void test_last_block(void) {
    const outcome *o =
        agree(WORK "st.global.u32 [%rd28], %r30; @!%p2 exit; atom.global.add.u32 %r2, [%rd30], 1;\n"
                   "setp.ne.u32 %p3, %r2, 59; @%p3 exit; mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
                   "h: mul.wide.u32 %rd1, %r3, 256; add.u64 %rd1, %rd1, %rd31; ld.global.u32 %r5, [%rd1];\n"
                   "add.u32 %r4, %r4, %r5; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 60; @%p1 bra h;\n"
                   "st.global.u32 [%rd30+8], %r4;",
              60);
    CHECK_EQUAL(o->in[2], 64 * 59 * 60 / 2);
}

/* Block 0 waits for the strong stores of all others, as the kernels of `auto` do. */
static void test_slots(void) {
    static const char *const stores[] = {"st.relaxed.gpu.global.u32", "st.volatile.u32",
                                         "st.release.gpu.u32"};
    char text[2000];
    for (unsigned i = 0; i < 3; i++) {
        snprintf(
            text, sizeof text,
            "%s@!%%p2 exit; mul.wide.u32 %%rd1, %%ctaid.x, 4; add.u64 %%rd1, %%rd1, %%rd30;\n"
            "setp.eq.u32 %%p3, %%ctaid.x, 0; @%%p3 bra first; add.u32 %%r2, %%ctaid.x, 7;\n"
            "%s [%%rd1], %%r2; exit;\nfirst: mov.u32 %%r3, 0; mov.u32 %%r5, 1;\n"
            "next: add.u64 %%rd1, %%rd1, 4;\n"
            "wait: ld.relaxed.gpu.global.u32 %%r2, [%%rd1]; setp.eq.u32 %%p1, %%r2, 0; @%%p1 bra wait;\n"
            "add.u32 %%r3, %%r3, %%r2; add.u32 %%r5, %%r5, 1; setp.lt.u32 %%p1, %%r5, 60; @%%p1 bra next;\n"
            "st.global.u32 [%%rd31], %%r3;",
            WORK, stores[i]);
        CHECK_EQUAL(agree(text, 60)->out[0], 59 * 7 + 59 * 60 / 2);
    }
}

/* A barrier of the grid with sums of floats on both sides. The work before it takes a different number of
   sweeps in each block. */
static void test_barrier_of_the_grid(void) {
    agree(WORK_TIMES(
              "200") "cvt.rn.f32.u32 %f1, %r30; fma.rn.f32 %f1, %f1, 0f3DCCCCCD, 0f4B000000;\n"
                     "red.global.add.f32 [%rd30+16], %f1; bar.sync 0; @%p2 red.global.add.u32 [%rd30], 1;\n"
                     "wait: ld.volatile.global.u32 %r2, [%rd30]; setp.lt.u32 %p1, %r2, 40; @%p1 bra wait;\n"
                     "ld.volatile.global.f32 %f2, [%rd30+16]; atom.global.add.f32 %f3, [%rd30+20], %f2;\n"
                     "add.f32 %f3, %f3, %f2; st.global.f32 [%rd28], %f3;",
          40);
}

/* Each block waits for the previous or for the next one: either must run first. */
static void test_chains(void) {
    static const char chain[] =
        "%s@!%%p2 exit; mul.wide.u32 %%rd1, %%ctaid.x, 4; add.u64 %%rd1, %%rd1, %%rd30; mov.u32 %%r2, 5;\n"
        "setp.eq.u32 %%p3, %%ctaid.x, %u; @%%p3 bra go;\n"
        "wait: ld.%s.u32 %%r2, [%%rd1+%s]; setp.eq.u32 %%p1, %%r2, 0; @%%p1 bra wait;\n"
        "go: mad.lo.u32 %%r2, %%r2, 3, %%ctaid.x; or.b32 %%r2, %%r2, 1; st.relaxed.gpu.u32 [%%rd1], "
        "%%r2;\n%s";
    static const char *const loads[] = {"relaxed.gpu.global", "acquire.gpu", "volatile.global"};
    char text[2000];
    for (unsigned i = 0; i < 12; i++) {
        bool back = i & 1;
        snprintf(text, sizeof text, chain, i & 2 ? WORK : "setp.eq.u32 %p2, %r31, 0;\n", back ? 0 : 39,
                 loads[i / 4], back ? "-4" : "4", i % 4 == 3 ? "red.global.add.u32 [%rd30+512], %r2;" : "");
        const outcome *o = agree(text, 40);
        CHECK_EQUAL(o->status, PTX_OK);
        CHECK(o->in[back ? 0 : 39] && o->in[back ? 39 : 0]);
    }
}

/* If several blocks fail, the first one in order is reported, whether it failed with or without its
   ticket. */
static void test_errors(void) {
    const outcome *o =
        agree(WORK "setp.eq.u32 %p3, %ctaid.x, 41; @%p3 trap; @%p2 red.global.add.u32 [%rd30], 1;\n"
                   "setp.eq.u32 %p3, %ctaid.x, 17; @%p3 ld.global.u32 %r2, [%rd31+1];",
              60);
    CHECK_EQUAL(o->status, PTX_ERR_ALIGNMENT);
    CHECK_CONTAINS(o->message, "block (17, 0, 0)");
    o = agree(WORK "setp.eq.u32 %p3, %ctaid.x, 3; @%p3 trap; @%p2 red.global.add.u32 [%rd30], 1;\n"
                   "setp.eq.u32 %p3, %ctaid.x, 17; @%p3 ld.global.u32 %r2, [%rd31+1];",
              60);
    CHECK_EQUAL(o->status, PTX_ERR_TRAP);
    CHECK_CONTAINS(o->message, "block (3, 0, 0)");
    /* a block that others wait for */
    o = agree(WORK "setp.eq.u32 %p3, %ctaid.x, 30; @%p3 trap; @%p2 red.global.add.u32 [%rd30], 1;\n"
                   "wait: ld.volatile.global.u32 %r2, [%rd30]; setp.lt.u32 %p1, %r2, 40; @%p1 bra wait;",
              40);
    CHECK_EQUAL(o->status, PTX_ERR_TRAP);
}

static void test_deadlocks(void) {
    const outcome *o =
        agree(WORK "@%p2 red.global.add.u32 [%rd30], 1;\n"
                   "wait: ld.volatile.global.u32 %r2, [%rd30]; setp.lt.u32 %p1, %r2, 41; @%p1 bra wait;",
              40);
    CHECK_EQUAL(o->status, PTX_ERR_BARRIER);
    CHECK_CONTAINS(o->message, "deadlock");
    /* within a block, without its ticket */
    o = agree(".shared .b32 s; st.shared.u32 [s], 1; setp.eq.u32 %p2, %ctaid.x, 20;\n"
              "@%p2 bra go; wait: ld.volatile.u32 %r2, [%rd30]; setp.eq.u32 %p1, %r2, 5; @%p1 bra wait;\n"
              "go: @!%p2 red.global.add.u32 [%rd30+4], 1; @!%p2 exit;\n"
              "stay: ld.volatile.global.u32 %r2, [%rd30+8]; setp.eq.u32 %p1, %r2, 0; @%p1 bra stay;",
              40);
    CHECK_EQUAL(o->status, PTX_ERR_BARRIER);
    CHECK_CONTAINS(o->message, "block (20, 0, 0)");
}

static void test_budget(void) {
    static outcome o;
    for (unsigned threads = 1; threads <= 8; threads *= 2) {
        run(WORK "@%p2 red.global.add.u32 [%rd30], 1; h: bra h;", 40, threads, false, 100000, &o);
        CHECK_EQUAL(o.status, PTX_ERR_BUDGET);
    }
}

int main(void) {
    test_order_of_atomics();
    test_last_block();
    test_slots();
    test_barrier_of_the_grid();
    test_chains();
    test_errors();
    test_deadlocks();
    test_budget();
    return finish_checks("test_tickets");
}
