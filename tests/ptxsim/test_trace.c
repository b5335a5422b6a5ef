/* The trace of one block: active lanes, accesses and written registers of each step. */
#include <stdlib.h>

#include "check.h"
#include "instrumentation/trace.h"
#include "sim.h"

typedef struct traced {
    sim s;
    ptx_trace *trace;
    const ptx_step *steps;
    const ptx_step_access *touches;
    const ptx_register_write *written;
    size_t step_count, touch_count, written_count;
    uint64_t lost;
} traced;

static void run(traced *t, const char *statements, unsigned grid, unsigned block, uint64_t wanted) {
    static uint32_t in[256], out[65536];
    char *text = sim_kernel(statements);
    sim_open(&t->s, text, in, sizeof in, sizeof out);
    free(text);
    CHECK_EQUAL(ptx_trace_create(wanted, &t->trace, &t->s.error), PTX_OK);
    ptx_observer *observers[] = {&t->trace->base};
    t->s.config.observers = observers;
    t->s.config.observer_count = 1;
    t->s.config.threads = 2;
    ptx_status status = sim_run(&t->s, "k", grid, block, 0, out);
    check_report(status == PTX_OK, statements, 0, status == PTX_OK ? "" : t->s.error.message);
    t->steps = t->trace->steps;
    t->step_count = t->trace->step_count;
    t->touches = t->trace->accesses;
    t->touch_count = t->trace->access_count;
    t->written = t->trace->register_writes;
    t->written_count = t->trace->register_write_count;
    t->lost = t->trace->lost;
}

static void release(traced *t) {
    ptx_trace_free(t->trace);
    sim_close(&t->s);
}

/* instructions of sim_kernel that come first */
enum { FRAME = 6 };

static void test_lanes_and_registers(void) {
    traced t;
    run(&t,
        "setp.lt.u32 %p1, %r31, 3; mov.u32 %r1, 7; @%p1 add.u32 %r1, %r31, 40; mul.wide.u32 %rd1, %r31, 8;",
        3, 40, 2);
    CHECK_EQUAL(t.lost, 0);
    CHECK_EQUAL(t.step_count, 2 * (FRAME + 4 + 1)); /* and the final exit */
    unsigned seen = 0;
    for (size_t i = 0; i < t.step_count; i++) {
        const ptx_step *step = &t.steps[i];
        CHECK_EQUAL(step->active, step->warp ? 0xffu : PTX_ALL_LANES);
        if (step->pc == FRAME + 2)
            CHECK_EQUAL(step->executed, step->warp ? 0u : 7u);
        CHECK_EQUAL(step->round, 0);
    }
    for (size_t i = 0; i < t.written_count; i++) {
        const ptx_step *step = &t.steps[t.written[i].step];
        if (step->pc == FRAME + 2 && ++seen) {
            CHECK_EQUAL(t.written[i].lanes[2], 42);
            CHECK_EQUAL(t.written[i].lanes[3], 7);
            CHECK_EQUAL(t.written[i].bytes, 4);
        }
        if (step->pc == FRAME + 3 && ++seen) {
            CHECK_EQUAL(t.written[i].lanes[5], 8 * (5 + 32 * step->warp));
            CHECK_EQUAL(t.written[i].bytes, 8);
        }
    }
    CHECK_EQUAL(seen, 3); /* the addition of warp 0 only, the multiplications of both warps */
    release(&t);
}

static void test_accesses(void) {
    traced t;
    run(&t,
        ".shared .align 16 .b8 s[4096];\nshl.b32 %r1, %r31, 4; mov.u32 %r2, s; add.u32 %r3, %r2, %r1;\n"
        "st.shared.u32 [%r3], %r31; bar.sync 0; st.global.u32 [%rd28], %r31;",
        2, 32, 1);
    CHECK_EQUAL(t.touch_count, 2);
    const ptx_step_access *shared = &t.touches[0], *global = &t.touches[1];
    CHECK_EQUAL(shared->space, PTX_SPACE_SHARED);
    CHECK_EQUAL(shared->effect, PTX_EFFECT_STORE);
    CHECK_EQUAL(shared->offset[31], 31 * 16);
    CHECK_EQUAL(shared->wavefronts, 4);
    CHECK_EQUAL(shared->ideal, 1);
    CHECK_EQUAL(t.steps[shared->step].round, 0);
    CHECK_EQUAL(global->space, PTX_SPACE_GLOBAL);
    CHECK_EQUAL(global->memory, t.s.out);
    CHECK_EQUAL(global->offset[3], 4 * (32 + 3)); /* in block 1 */
    CHECK_EQUAL(global->bytes, 4);
    CHECK_EQUAL(t.steps[global->step].round, 1);
    release(&t);
}

/* Lanes of one instruction in two allocations are two accesses. */
static void test_two_allocations(void) {
    traced t;
    run(&t, "setp.lt.u32 %p1, %r31, 8; selp.b64 %rd1, %rd30, %rd31, %p1; ld.global.u32 %r1, [%rd1];", 1, 32,
        0);
    CHECK_EQUAL(t.touch_count, 2);
    CHECK_EQUAL(t.touches[0].mask | t.touches[1].mask, PTX_ALL_LANES);
    CHECK_EQUAL(t.touches[0].mask, 0xffu);
    CHECK_EQUAL(t.touches[0].memory, t.s.in);
    CHECK_EQUAL(t.touches[1].memory, t.s.out);
    CHECK_EQUAL(t.touches[1].step, t.touches[0].step);
    release(&t);
}

static void test_the_most(void) {
    traced t;
    run(&t, "mov.u32 %r1, 9000; loop: sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra loop;", 1, 32,
        0);
    CHECK_EQUAL(t.step_count, PTX_MAX_STEPS);
    CHECK_EQUAL(t.lost, FRAME + 1 + 3 * 9000 + 1 - PTX_MAX_STEPS);
    release(&t);
    run(&t, "mov.u32 %r1, 1;", 1, 32, 1); /* a block that does not exist */
    CHECK_EQUAL(t.step_count, 0);
    release(&t);
}

int main(void) {
    test_lanes_and_registers();
    test_accesses();
    test_two_allocations();
    test_the_most();
    return finish_checks("test_trace");
}
