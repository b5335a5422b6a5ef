/* Register allocation: the number of slots, and unchanged results. */
#include <stdlib.h>

#include "check.h"
#include "ir.h"
#include "sim.h"

enum { SLOT = PTX_LANES * 4 };

static uint32_t out_words[3 * 64];

/* Runs three blocks, so that later ones find the registers that the first one left. */
static void run(const char *statements, uint32_t *bytes, uint32_t *poisoned) {
    static uint32_t in_words[64];
    char *text = sim_kernel(statements);
    sim s;
    sim_open(&s, text, in_words, sizeof in_words, sizeof out_words);
    const ptx_kernel *kernel = ptx_module_find(s.module, "k");
    *bytes = kernel->register_bytes;
    *poisoned = kernel->poisoned_bytes;
    memset(out_words, 0, sizeof out_words);
    CHECK_EQUAL_AS(sim_run(&s, "k", 3, 64, 0, out_words), PTX_OK, statements);
    sim_close(&s);
    free(text);
}

/* A chain of values needs few slots, however many registers it names. */
static void test_a_chain(void) {
    char text[20000] = ".reg .b32 %c<300>; mov.u32 %c0, %r30;\n";
    for (unsigned i = 1; i < 300; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "mad.lo.u32 %%c%u, %%c%u, 3, 1;\n", i,
                 i - 1);
    snprintf(text + strlen(text), sizeof text - strlen(text), "st.global.u32 [%%rd28], %%c299;");
    uint32_t bytes, poisoned;
    run(text, &bytes, &poisoned);
    CHECK_EQUAL(poisoned, 0);
    CHECK(bytes <= 10 * SLOT);
    for (uint32_t i = 0; i < 192; i++) {
        uint32_t want = i;
        for (unsigned k = 1; k < 300; k++)
            want = want * 3 + 1;
        CHECK_EQUAL(out_words[i], want);
    }
}

/* A register that is read before it is written is poison in each block: never written, written in some lanes
   only, after a branch, or in the first iteration of a loop. */
static void test_read_before_written(void) {
    static const struct {
        const char *statements;
        bool lanes; /* only odd lanes read poison */
        unsigned slots;
    } cases[] = {
        {"st.global.u32 [%rd28], %r7;", false, 1},
        {"and.b32 %r2, %r31, 1; setp.eq.u32 %p1, %r2, 0; @%p1 mov.u32 %r7, 5; st.global.u32 [%rd28], %r7;",
         true, 1},
        {"and.b32 %r2, %r31, 1; setp.eq.u32 %p1, %r2, 1; @%p1 bra j; mov.u32 %r7, 5; j: st.global.u32 "
         "[%rd28], %r7;",
         true, 1},
        {"and.b32 %r2, %r31, 1; setp.eq.u32 %p1, %r2, 1; mov.u32 %r3, 0; h: mov.u32 %r8, %r7; mov.u32 %r7, "
         "5;\n"
         "add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 2; @%p1 bra e; @%p2 bra h; e: st.global.u32 [%rd28], "
         "%r8;",
         true, 1},
        {"cvt.u32.u64 %r7, %rd7; st.global.u32 [%rd28], %r7;", false, 2},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        uint32_t bytes, poisoned;
        run(cases[k].statements, &bytes, &poisoned);
        CHECK_EQUAL_AS(poisoned, cases[k].slots * SLOT, cases[k].statements);
        for (unsigned i = 0; i < 192; i++)
            CHECK_EQUAL_AS(out_words[i], cases[k].lanes && i % 2 == 0 ? 5 : UINT32_MAX, cases[k].statements);
    }
}

/* Diverged lanes, loop iterations, and values that are live across both. */
static void test_lanes_apart(void) {
    uint32_t bytes, poisoned;
    run("mov.u32 %r1, 0; mov.u32 %r2, %r30; add.u32 %r20, %r30, 1000;\n"
        "h: and.b32 %r3, %r2, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra even;\n"
        "mul.lo.u32 %r4, %r2, 3; add.u32 %r5, %r4, 1; add.u32 %r2, %r5, %r1; bra next;\n"
        "even: shr.u32 %r6, %r2, 1; xor.b32 %r7, %r6, 5; mad.wide.u32 %rd1, %r7, 3, 7; cvt.u32.u64 %r2, "
        "%rd1;\n"
        "next: add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 9; @%p2 bra h;\n"
        "add.u32 %r2, %r2, %r20; st.global.u32 [%rd28], %r2;",
        &bytes, &poisoned);
    CHECK_EQUAL(poisoned, 0);
    for (uint32_t i = 0; i < 192; i++) {
        uint32_t x = i;
        for (uint32_t round = 0; round < 9; round++)
            x = x & 1 ? x * 3 + 1 + round : (x >> 1 ^ 5) * 3 + 7;
        CHECK_EQUAL(out_words[i], x + i + 1000);
    }
}

int main(void) {
    test_a_chain();
    test_read_before_written();
    test_lanes_apart();
    return finish_checks("test_registers");
}
