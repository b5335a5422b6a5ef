/* Divergence and reconvergence: each kernel against a scalar C version of one thread. */
#include <stdlib.h>

#include "check.h"
#include "sim.h"

enum { THREADS = 70 };

static void compare(const char *statements, uint32_t (*one_thread)(uint32_t t)) {
    uint32_t out[THREADS], in = 0;
    char *text = sim_kernel(statements);
    sim s;
    sim_open(&s, text, &in, sizeof in, sizeof out);
    s.config.step_budget = 1000000;
    ptx_status status = sim_run(&s, "k", 1, THREADS, 0, out);
    check_report(status == PTX_OK, statements, 0, status == PTX_OK ? "" : s.error.message);
    for (uint32_t t = 0; t < THREADS && status == PTX_OK; t++)
        CHECK_EQUAL_AS(out[t], one_thread(t), statements);
    sim_close(&s);
    free(text);
}

static uint32_t nested_ifs(uint32_t t) {
    uint32_t x = t;
    if (t & 1) {
        x += 100;
        if (t & 2)
            x *= 3;
        else
            x ^= 0xff;
        x += 1;
    } else if (t % 3 == 0) {
        x = 5;
    }
    return x;
}

static const char nested_ifs_ptx[] =
    "mov.u32 %r1, %r31; and.b32 %r2, %r31, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra other;\n"
    "add.u32 %r1, %r1, 100; and.b32 %r2, %r31, 2; setp.eq.u32 %p2, %r2, 0; @%p2 bra flip; mul.lo.u32 %r1, "
    "%r1, 3;\n"
    "bra.uni join; flip: xor.b32 %r1, %r1, 0xff; join: add.u32 %r1, %r1, 1; bra end;\n"
    "other: rem.u32 %r2, %r31, 3; setp.ne.u32 %p3, %r2, 0; @%p3 bra end; mov.u32 %r1, 5;\n"
    "end: st.global.u32 [%rd28], %r1;";

/* A different trip count per lane. */
static uint32_t loop(uint32_t t) {
    uint32_t x = 0;
    for (uint32_t i = t % 17; i > 0; i--)
        x = x * 3 + i;
    return x;
}

static const char loop_ptx[] =
    "mov.u32 %r1, 0; rem.u32 %r2, %r31, 17;\n"
    "head: setp.eq.u32 %p1, %r2, 0; @%p1 bra end; mad.lo.u32 %r1, %r1, 3, %r2; sub.u32 %r2, "
    "%r2, 1; bra head;\nend: st.global.u32 [%rd28], %r1;";

/* break, continue, and a nested loop. */
static uint32_t nested_loops(uint32_t t) {
    uint32_t x = t + 1;
    for (uint32_t i = 0; i < t % 11 + 2; i++) {
        if ((x & 7) == 3) {
            x += 11;
            continue;
        }
        for (uint32_t j = x & 3; j < 3; j++)
            x += j * i + 1;
        if (x % 13 == 0)
            break;
        x = x * 5 + i;
    }
    return x;
}

static const char nested_loops_ptx[] =
    "add.u32 %r1, %r31, 1; rem.u32 %r2, %r31, 11; add.u32 %r2, %r2, 2; mov.u32 %r3, 0;\n"
    "outer: setp.ge.u32 %p1, %r3, %r2; @%p1 bra done; and.b32 %r4, %r1, 7; setp.ne.u32 %p2, %r4, 3; @%p2 bra "
    "work;\n"
    "add.u32 %r1, %r1, 11; bra next;\n"
    "work: and.b32 %r5, %r1, 3;\n"
    "inner: setp.ge.u32 %p3, %r5, 3; @%p3 bra after; mad.lo.u32 %r1, %r5, %r3, %r1; add.u32 %r1, %r1, 1;\n"
    "add.u32 %r5, %r5, 1; bra inner;\n"
    "after: rem.u32 %r6, %r1, 13; setp.eq.u32 %p4, %r6, 0; @%p4 bra done; mad.lo.u32 %r1, %r1, 5, %r3;\n"
    "next: add.u32 %r3, %r3, 1; bra outer;\ndone: st.global.u32 [%rd28], %r1;";

/* Lanes return inside a loop; each exit is followed by stores. */
static uint32_t early_return(uint32_t t) {
    uint32_t x = t * 7;
    while (x > 3) {
        if (x % 10 == 7)
            return 1000 + x;
        x -= 3;
    }
    return x;
}

static const char early_return_ptx[] =
    "mul.lo.u32 %r1, %r31, 7;\nhead: setp.le.u32 %p1, %r1, 3; @%p1 bra end; rem.u32 %r2, %r1, 10; "
    "setp.ne.u32 %p2, %r2, "
    "7;\n@%p2 bra go; add.u32 %r3, %r1, 1000; st.global.u32 [%rd28], %r3; ret;\n"
    "go: sub.u32 %r1, %r1, 3; bra head;\nend: st.global.u32 [%rd28], %r1;";

/* Predicated instructions, including a predicated exit, and lanes that reach the end of the code. */
static uint32_t predicated(uint32_t t) {
    return t < 10 ? t : t < 40 ? t + 50 : 0xFFFFFFFFu;
}

static const char predicated_ptx[] = "setp.lt.u32 %p1, %r31, 10; setp.ge.u32 %p2, %r31, 40; @%p2 exit; "
                                     "mov.u32 %r1, %r31; @!%p1 add.u32 %r1, %r1, 50;\n"
                                     "st.global.u32 [%rd28], %r1;";

/* A chain of branches with 32 exits, so that all lanes diverge and then reconverge. */
static uint32_t ladder(uint32_t t) {
    return (t % 32) * (t % 32) + 0xffffffffu % 32 + 1;
}

static void test_ladder(void) {
    char text[4000] = "rem.u32 %r1, %r31, 32; mov.u32 %r2, 0;\n";
    for (unsigned i = 0; i < 32; i++) {
        char line[160];
        snprintf(line, sizeof line, "setp.eq.u32 %%p1, %%r1, %u; @%%p1 bra L%u;\n", i, i);
        strcat(text, line);
    }
    for (unsigned i = 0; i < 32; i++) {
        char line[160];
        snprintf(line, sizeof line, "L%u: add.u32 %%r2, %%r2, %u; bra end;\n", i, i * i);
        strcat(text, line);
    }
    strcat(text,
           "end: activemask.b32 %r3; popc.b32 %r4, %r3; sub.u32 %r5, %ntid.x, %r31; rem.u32 %r1, -1, 32;\n"
           "add.u32 %r2, %r2, %r1; add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r30, 64; setp.ne.and.u32 %p3, %r4, "
           "32, "
           "%p2;\n@%p3 mov.u32 %r2, 0; st.global.u32 [%rd28], %r2;");
    compare(text, ladder);
}

/* After every kind of divergence the whole warp is convergent again. */
static void test_reconvergence(void) {
    static const char *const parts[] = {
        "setp.lt.u32 %p1, %r31, 9; @%p1 bra a; add.u32 %r1, %r1, 1; a:",
        "rem.u32 %r2, %r31, 7; h: setp.eq.u32 %p1, %r2, 0; @%p1 bra e; sub.u32 %r2, %r2, 1; bra h; e:",
        "and.b32 %r2, %r31, 5; setp.eq.u32 %p1, %r2, 0; @%p1 bra a; setp.eq.u32 %p1, %r2, 1; @%p1 bra b; "
        "mov.u32 %r3, 1; "
        "bra c; a: mov.u32 %r3, 2; b: mov.u32 %r3, 3; c:",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char text[600];
        snprintf(text, sizeof text, "mov.u32 %%r1, 0; %s\nactivemask.b32 %%r9; st.global.u32 [%%rd28], %%r9;",
                 parts[i]);
        uint32_t out[64], in = 0;
        char *ptx = sim_kernel(text);
        sim s;
        sim_open(&s, ptx, &in, sizeof in, sizeof out);
        CHECK_EQUAL_AS(sim_run(&s, "k", 1, 64, 0, out), PTX_OK, parts[i]);
        for (unsigned t = 0; t < 64; t++)
            CHECK_EQUAL_AS(out[t], 0xffffffffu, parts[i]);
        sim_close(&s);
        free(ptx);
    }
}

/* Divergent loops must not grow the stack: a million iterations, in which lanes leave one by one. */
static uint32_t long_loop(uint32_t t) {
    return (t % 32 + 1) * 300;
}

static const char long_loop_ptx[] =
    "rem.u32 %r2, %r31, 32; add.u32 %r2, %r2, 1; mul.lo.u32 %r2, %r2, 300; mov.u32 %r1, 0;\n"
    "head: add.u32 %r1, %r1, 1; and.b32 %r3, %r1, %r31; and.b32 %r3, %r3, 1; setp.eq.u32 %p2, %r3, 0; @%p2 "
    "bra skip;\n"
    "mov.u32 %r4, %r1; skip: setp.lt.u32 %p1, %r1, %r2; @%p1 bra head; st.global.u32 [%rd28], %r1;";

/* A compiler may duplicate a path into shared code: lane 0's path leads past "on" to "end" if n is not 0,
   which it is. The branches therefore reconverge only at "end", but the barrier and the shuffle before it
   need all lanes. */
static uint32_t two_ways_in(uint32_t t) {
    uint32_t last = t < 64 ? t / 32 * 32 + 31 : THREADS - 1;
    return 3 * 7 * last + (t % 32 == 0 && t < 64 ? 1000 : 0);
}

static const char two_ways_in_ptx[] =
    ".shared .b32 s[128]; and.b32 %r9, %r31, 31; setp.ne.u32 %p1, %r9, 0; setp.lt.u32 %p4, %r31, 64;\n"
    "mul.lo.u32 %r1, %r31, 7; mov.u32 %r2, s; mad.lo.u32 %r2, %r31, 4, %r2; mov.u32 %r5, 0; @%p1 bra on;\n"
    "add.u32 %r1, %r1, 1; setp.ne.u64 %p2, %rd29, 0; @%p4 mov.u32 %r5, 1000; @%p2 bra end;\n"
    "on: st.shared.u32 [%r2], %r1; bar.sync 0; or.b32 %r3, %r31, 31; min.u32 %r3, %r3, 69; mov.u32 %r4, s;\n"
    "mad.lo.u32 %r4, %r3, 4, %r4; ld.shared.u32 %r1, [%r4]; shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n"
    "bar.sync 0; vote.sync.all.pred %p3, %p4, -1; shl.b32 %r3, %r3, 1; add.u32 %r1, %r1, %r3;\n"
    "add.u32 %r1, %r1, %r5;\nend: st.global.u32 [%rd28], %r1;";

/* The same nested: three groups of lanes reach the barrier separately. */
static uint32_t three_ways_in(uint32_t t) {
    return t % 32 + (t % 32 < 20 ? t % 32 < 10 ? 300 : 200 : 100);
}

static const char three_ways_in_ptx[] =
    "and.b32 %r9, %r31, 31; setp.ge.u32 %p1, %r9, 20; setp.ge.u32 %p2, %r9, 10; setp.ne.u64 %p3, %rd29, 0;\n"
    "mov.u32 %r1, 100; @%p1 bra on; mov.u32 %r1, 200; @%p3 bra end; @%p2 bra on; mov.u32 %r1, 300; @%p3 bra "
    "end;\n"
    "on: shfl.sync.idx.b32 %r2, %r9, %r9, 31, -1; bar.sync 0; add.u32 %r1, %r1, %r2; bar.warp.sync -1;\n"
    "end: st.global.u32 [%rd28], %r1;";

/* Lanes that wait for lanes of their own warp, by an atomic on the input word. */
static uint32_t own_lanes(uint32_t t) {
    return t % 32 ? t + 1 : t;
}

static const char own_lanes_ptx[] =
    "and.b32 %r9, %r31, 31; shr.u32 %r8, %r31, 5; add.u32 %r8, %r8, 1; mov.u32 %r1, %r31; setp.eq.u32 %p1, "
    "%r9, 0;\n"
    "@%p1 bra raise; wait: ld.acquire.gpu.global.u32 %r2, [%rd30]; setp.lt.u32 %p2, %r2, %r8; @%p2 bra "
    "wait;\n"
    "add.u32 %r1, %r1, 1; bra end; raise: red.release.gpu.global.max.u32 [%rd30], %r8;\n"
    "end: st.global.u32 [%rd28], %r1;";

static void test_lanes_apart(void) {
    static const char *const texts[] = {
        "setp.lt.u32 %p1, %r31, 8; @%p1 bra one; bar.sync 0; bra end; one: bar.sync 0; end:",
        "setp.lt.u32 %p1, %r31, 8; @%p1 bra one; bar.sync 0; bra end; one: shfl.sync.down.b32 %r1, %r31, 1, "
        "31, -1; end:",
        "setp.lt.u32 %p1, %r31, 8; @%p1 bra end; bar.sync 0; end:",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint32_t in = 0, out[THREADS];
        char *text = sim_kernel(texts[i]);
        sim s;
        sim_open(&s, text, &in, sizeof in, sizeof out);
        CHECK_EQUAL_AS(sim_run(&s, "k", 1, 32, 0, out), PTX_ERR_BARRIER, texts[i]);
        CHECK_CONTAINS(s.error.message, "elsewhere");
        sim_close(&s);
        free(text);
    }
}

int main(void) {
    compare(nested_ifs_ptx, nested_ifs);
    compare(loop_ptx, loop);
    compare(nested_loops_ptx, nested_loops);
    compare(early_return_ptx, early_return);
    compare(predicated_ptx, predicated);
    compare(long_loop_ptx, long_loop);
    compare(two_ways_in_ptx, two_ways_in);
    compare(three_ways_in_ptx, three_ways_in);
    compare(own_lanes_ptx, own_lanes);
    test_lanes_apart();
    test_ladder();
    test_reconvergence();
    return finish_checks("test_divergence");
}
