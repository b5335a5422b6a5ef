/* Language features: variables in every state space, device functions, carry chains, counted barriers,
   cp.async. */
#include <stdlib.h>

#include "check.h"
#include "sim.h"

enum { BLOCK = 64 };

/* Runs `statements` after `declarations` with one block; `out` receives what they store. */
static ptx_status run(const char *declarations, const char *statements, unsigned block, void *out,
                      size_t bytes, ptx_error *error) {
    sim s;
    char *kernel = sim_kernel(statements);
    char *text = malloc(strlen(kernel) + strlen(declarations) + 1);
    uint64_t in[64];
    for (unsigned i = 0; i < 64; i++)
        in[i] = 0x100000001u * i;
    if (!text)
        exit(2);
    sprintf(text, "%.*s%s%s", (int)strlen(SIM_HEADER), kernel, declarations, kernel + strlen(SIM_HEADER));
    sim_open(&s, text, in, sizeof in, bytes);
    s.config.step_budget = 1000000;
    const ptx_status status = sim_run(&s, "k", 1, block, block, out);
    *error = s.error;
    if (status == PTX_OK) { /* the second launch must find the same initial contents */
        char again[4096];
        CHECK(bytes <= sizeof again);
        CHECK_EQUAL(sim_run(&s, "k", 1, block, block, again), PTX_OK);
        CHECK_EQUAL(memcmp(out, again, bytes), 0);
    }
    sim_close(&s);
    free(text);
    free(kernel);
    return status;
}

static void gives(const char *declarations, const char *statements, unsigned block, const uint32_t *want) {
    uint32_t out[1024];
    ptx_error error = {.message = ""};
    memset(out, 0, sizeof out);
    const ptx_status status = run(declarations, statements, block, out, sizeof *out * block, &error);
    check_report(status == PTX_OK, statements, 0, error.message);
    for (unsigned t = 0; t < block && status == PTX_OK; t++)
        if (out[t] != want[t]) {
            char what[700];
            snprintf(what, sizeof what, "thread %u of %.600s", t, statements);
            CHECK_EQUAL_AS(out[t], want[t], what);
            return;
        }
}

/* The same value in every thread. */
static void gives_all(const char *declarations, const char *statements, uint32_t value) {
    uint32_t want[BLOCK];
    for (unsigned t = 0; t < BLOCK; t++)
        want[t] = value;
    gives(declarations, statements, BLOCK, want);
}

static void fails(const char *declarations, const char *statements, ptx_status want, const char *part) {
    uint32_t out[BLOCK];
    ptx_error error = {.message = ""};
    CHECK_EQUAL_AS(run(declarations, statements, BLOCK, out, sizeof out, &error), want, statements);
    CHECK_CONTAINS(error.message, part);
}

#define STORE "st.global.u32 [%rd28], %r1;"

/* ---- variables ---- */

static void test_constants(void) {
    static const char table[] =
        ".const .align 4 .b32 words[4] = {7, -2, 0x10};\n"
        ".const .align 8 .f64 wide = 0d3FF8000000000000;\n"
        ".const .f32 single[2] = {1.5, 0f40000000};\n.const .b8 letters[3] = {65, 66};\n"
        ".const .b64 place = words + 8;\n.const .u64 same = generic(letters);\n";
    gives_all(table, "ld.const.u32 %r1, [words];" STORE, 7);
    gives_all(table, "ld.const.u32 %r1, [words+4];" STORE, 0xfffffffe);
    gives_all(table, "ld.const.u32 %r1, [words+12];" STORE, 0);
    gives_all(table, "mov.u64 %rd1, words; ld.const.u32 %r1, [%rd1+8];" STORE, 16);
    gives_all(table, "mov.u64 %rd1, words; cvta.const.u64 %rd2, %rd1; ld.u32 %r1, [%rd2+8];" STORE, 16);
    gives_all(table, "ld.const.f64 %fd1, [wide]; cvt.rni.u32.f64 %r1, %fd1;" STORE, 2);
    gives_all(table, "ld.const.u32 %r1, [single];" STORE, 0x3fc00000);
    gives_all(table, "ld.const.u32 %r1, [single+4];" STORE, 0x40000000);
    gives_all(table, "ld.const.u8 %r1, [letters+1];" STORE, 66);
    gives_all(table, "ld.const.u64 %rd1, [place]; ld.const.u32 %r1, [%rd1];" STORE, 16);
    gives_all(table, "ld.const.u64 %rd1, [same]; ld.u8 %r1, [%rd1];" STORE, 65);
    gives_all(table, "mov.u64 %rd1, words; isspacep.const %p1, %rd1; selp.u32 %r1, 1, 0, %p1;" STORE, 1);
    gives_all(table, "isspacep.const %p1, %rd30; selp.u32 %r1, 1, 0, %p1;" STORE, 0);
    fails(table, "ld.const.u64 %rd1, [same+8];", PTX_ERR_ADDRESS, "past the end");
    fails(table, "ld.const.u32 %r1, [words+2];", PTX_ERR_ALIGNMENT, "the constant address");
}

static void test_variables(void) {
    static const char table[] = ".global .align 4 .b32 a[3] = {5, 6};\n.global .b32 zeros[100];\n"
                                ".global .u64 to = generic(a)+4;\n";
    uint32_t want[BLOCK];
    gives_all(table, "ld.global.u32 %r1, [a+4];" STORE, 6);
    gives_all(table, "ld.global.u32 %r1, [a+8];" STORE, 0);
    gives_all(table, "ld.global.u32 %r1, [zeros+396];" STORE, 0);
    gives_all(table, "ld.global.u64 %rd1, [to]; ld.u32 %r1, [%rd1];" STORE, 6);
    gives_all(table, "mov.u64 %rd1, a; isspacep.global %p1, %rd1; selp.u32 %r1, 1, 0, %p1;" STORE, 1);
    for (unsigned t = 0; t < BLOCK; t++)
        want[t] = 5 + 3 * t;
    gives(table, "atom.global.add.u32 %r1, [a], 3;" STORE, BLOCK, want);
    for (unsigned t = 0; t < BLOCK; t++)
        want[t] = BLOCK - t;
    gives(table,
          "mov.u64 %rd1, zeros; mad.wide.u32 %rd1, %r31, 4, %rd1; mov.u32 %r2, 64; sub.u32 %r2, %r2, %r31;\n"
          "st.global.u32 [%rd1], %r2; bar.sync 0; ld.global.u32 %r1, [%rd1];" STORE,
          BLOCK, want);
    fails(table, "ld.global.u64 %rd1, [to+8];", PTX_ERR_ADDRESS, "past the end");
}

static void test_locals(void) {
    uint32_t want[BLOCK];
    for (unsigned t = 0; t < BLOCK; t++)
        want[t] = 10 * t + t % 4;
    static const char fill[] = ".local .align 16 .b8 frame[20]; .reg .b64 %SP, %SPL;\n"
                               "mov.u64 %SPL, frame; cvta.local.u64 %SP, %SPL; mul.lo.u32 %r2, %r31, 10;\n"
                               "st.local.u32 [%SPL], %r2; add.u32 %r2, %r2, 1; st.local.u32 [frame+4], %r2;\n"
                               "add.u32 %r2, %r2, 1; st.u32 [%SP+8], %r2; add.u32 %r2, %r2, 1;\n"
                               "st.local.u32 [%SPL+12], %r2; and.b32 %r3, %r31, 3;\n"
                               "mad.wide.u32 %rd1, %r3, 4, %SPL; mad.wide.u32 %rd2, %r3, 4, %SP;\n";
    char text[2000];
    snprintf(text, sizeof text, "%s%s", fill, "ld.local.u32 %r1, [%rd1];" STORE);
    gives("", text, BLOCK, want);
    snprintf(text, sizeof text, "%s%s", fill, "ld.u32 %r1, [%rd2];" STORE);
    gives("", text, BLOCK, want);
    snprintf(text, sizeof text, "%s%s", fill,
             "cvta.to.local.u64 %rd3, %rd2; ld.local.u32 %r1, [%rd3];" STORE);
    gives("", text, BLOCK, want);
    snprintf(text, sizeof text, "%s%s", fill, "ld.local.v4.u32 {%r4, %r1, %r5, %r6}, [%SPL];" STORE);
    for (unsigned t = 0; t < BLOCK; t++)
        want[t] = 10 * t + 1;
    gives("", text, BLOCK, want);
    snprintf(text, sizeof text, "%s%s", fill,
             "isspacep.local %p1, %SP; isspacep.global %p2, %SP; selp.u32 %r1, 1, 0, %p1; @%p2 mov.u32 %r1, "
             "2;" STORE);
    gives_all("", text, 1);
    gives_all("", ".local .b32 unset; ld.local.u32 %r1, [unset];" STORE, UINT32_MAX);
    snprintf(text, sizeof text, "%s%s", fill, "ld.local.u32 %r1, [%SPL+20];");
    fails("", text, PTX_ERR_ADDRESS, "4 bytes at the local address 0x14 are outside the thread's 20 bytes");
    snprintf(text, sizeof text, "%s%s", fill, "st.u32 [%SP+-4], %r1;");
    fails("", text, PTX_ERR_ADDRESS, "not allocated");
    snprintf(text, sizeof text, "%s%s", fill, "st.u32 [%SP+4096], %r1;");
    fails("", text, PTX_ERR_ADDRESS, "the local address 0x1000");
    snprintf(text, sizeof text, "%s%s", fill, "ld.local.u32 %r1, [%SPL+2];");
    fails("", text, PTX_ERR_ALIGNMENT, "the local address 0x2 is not aligned");
}

static void test_parameters(void) {
    gives_all("", "mov.u64 %rd1, n; cvta.param.u64 %rd2, %rd1; ld.u32 %r1, [%rd2];" STORE, BLOCK);
    gives_all("",
              "mov.u64 %rd1, n; cvta.param.u64 %rd2, %rd1; isspacep.param %p1, %rd2; selp.u32 %r1, 1, 0, "
              "%p1;" STORE,
              1);
    fails("", "mov.u64 %rd1, n; cvta.param.u64 %rd2, %rd1; ld.u32 %r1, [%rd2+8];", PTX_ERR_ADDRESS,
          "past the end");
}

/* ---- functions ---- */

static const char functions[] =
    ".func (.param .b32 r) later (.param .b32 a);\n"
    ".func (.param .b32 r) twice (.param .b32 a)\n{\n.reg .b32 %r<3>;\n.param .b32 inner;\n.param .b32 got;\n"
    "ld.param.b32 %r1, [a]; st.param.b32 [inner], %r1; call.uni (got), later, (inner);\n"
    "ld.param.b32 %r2, [got]; add.u32 %r2, %r2, %r2; st.param.b32 [r], %r2; ret;\n}\n"
    ".func (.param .b32 r) later (.param .b32 a)\n{\n.reg .b32 %r<3>;\n.reg .pred %p<2>;\n"
    "ld.param.b32 %r1, [a]; setp.lt.u32 %p1, %r1, 20; st.param.b32 [r], 1000; @%p1 ret;\n"
    "add.u32 %r2, %r1, 1; st.param.b32 [r], %r2; ret.uni;\n}\n"
    ".func (.param .align 8 .b8 r[16]) pair (.param .b64 a, .param .align 4 .b8 s[8])\n{\n.reg .b64 %rd<3>;\n"
    ".reg .b32 %r<3>; ld.param.b64 %rd1, [a]; ld.param.b32 %r1, [s+4]; st.param.b64 [r], %rd1;\n"
    "st.param.v2.b32 [r+8], {%r1, 7}; }\n"
    ".func nothing\n{\nret;\n}\n";

#define CALL(function)                                                                                       \
    "{ .param .b32 p; .param .b32 q; st.param.b32 [p+0], %r31;\ncall (q), " function ", (p);\n"              \
    "ld.param.b32 %r1, [q+0]; }\n" STORE

static void test_functions(void) {
    uint32_t want[BLOCK];
    for (unsigned t = 0; t < BLOCK; t++)
        want[t] = t < 20 ? 1000 : t + 1;
    gives(functions, CALL("later"), BLOCK, want);
    for (unsigned t = 0; t < BLOCK; t++)
        want[t] *= 2;
    gives(functions, CALL("twice"), BLOCK, want);
    for (unsigned t = 0; t < BLOCK; t++)
        want[t] = t % 2 ? 2 * (t + 1 < 21 ? 1000 : t + 1) : 5;
    gives(
        functions,
        ".param .b32 p; .param .b32 q; and.b32 %r2, %r31, 1; setp.eq.u32 %p1, %r2, 1; st.param.b32 [q], 5;\n"
        "st.param.b32 [p], %r31; @%p1 call (q), twice, (p); ld.param.b32 %r1, [q];" STORE,
        BLOCK, want);
    gives_all(
        functions,
        ".param .align 8 .b8 q[16]; .param .b64 a; .param .align 4 .b8 s[8]; st.param.b64 [a], 0x300000005;\n"
        "st.param.v2.b32 [s], {11, 13}; call (q), pair, (a, s); call nothing; ld.param.b64 %rd1, [q];\n"
        "ld.param.v2.b32 {%r2, %r3}, [q+8]; cvt.u32.u64 %r1, %rd1; mad.lo.u32 %r1, %r1, 100, %r2;\n"
        "mad.lo.u32 %r1, %r1, 10, %r3;" STORE,
        (500 + 13) * 10 + 7);
    fails(functions, ".param .b32 p; .param .b32 q; ld.param.b32 %r1, [q+4];", PTX_ERR_ADDRESS,
          "the local address");
}

/* ---- chains of carries ---- */

static void test_carries(void) {
    gives_all("", "add.cc.u32 %r2, 0xffffffff, 1; addc.u32 %r1, 5, 0;" STORE, 6);
    gives_all("", "add.cc.u32 %r2, 0xfffffffe, 1; addc.u32 %r1, 5, 0;" STORE, 5);
    gives_all("", "add.cc.s32 %r2, -1, 1; addc.cc.s32 %r3, -1, 0; addc.s32 %r1, %r2, %r3;" STORE, 1);
    gives_all("", "sub.cc.u32 %r2, 3, 4; subc.cc.u32 %r3, 0, 0; subc.u32 %r1, 10, %r3;" STORE, 10);
    gives_all("", "sub.cc.u32 %r2, 4, 4; subc.u32 %r1, 10, 1;" STORE, 9);
    /* the flag of a subtraction is a carry: 1 where nothing is borrowed */
    gives_all("", "sub.cc.u32 %r2, 3, 4; addc.u32 %r1, 5, 0;" STORE, 5);
    gives_all("", "sub.cc.u32 %r2, 4, 4; addc.u32 %r1, 5, 0;" STORE, 6);
    gives_all("", "add.cc.u32 %r2, 0xffffffff, 1; subc.u32 %r1, 5, 1;" STORE, 4);
    gives_all("", "add.cc.u32 %r2, 1, 1; subc.u32 %r1, 5, 1;" STORE, 3);
    gives_all("",
              "mad.lo.cc.u32 %r2, 0x10000, 0x10001, 0xffff0000; madc.hi.u32 %r1, 0x10000, 0x10001, 7;" STORE,
              9);
    gives_all("", "mad.hi.cc.s32 %r2, -2, 0x40000000, 1; madc.lo.u32 %r1, 3, 3, 0;" STORE, 10);
    gives_all("",
              "mad.hi.cc.u32 %r2, 0x80000000, 4, 0xffffffff; madc.hi.cc.s32 %r3, -1, -1, 0xffffffff; "
              "addc.u32 %r1, %r3, 0;" STORE,
              1);
    gives_all(
        "",
        "mov.u64 %rd1, -1; add.cc.u64 %rd2, %rd1, %rd1; addc.cc.u64 %rd3, %rd1, 0; addc.u64 %rd4, 0, 0;\n"
        "cvt.u32.u64 %r1, %rd4;" STORE,
        1);
    gives_all(
        "",
        "mov.u64 %rd1, 0x8000000000000001; mad.lo.cc.u64 %rd2, %rd1, 2, -2; madc.hi.u64 %rd3, %rd1, 2, 3;\n"
        "cvt.u32.u64 %r1, %rd3;" STORE,
        5);
    /* the carry flag is per lane, also if other lanes have diverged */
    uint32_t want[BLOCK];
    for (unsigned t = 0; t < BLOCK; t++)
        want[t] = t > 40;
    gives("", "sub.cc.u32 %r2, 40, %r31; mov.u32 %r3, 0; subc.u32 %r1, %r3, 0; neg.s32 %r1, %r1;" STORE,
          BLOCK, want);
    for (unsigned t = 0; t < BLOCK; t++)
        want[t] = t % 2;
    gives("",
          "and.b32 %r4, %r31, 1; setp.eq.u32 %p1, %r4, 1; @!%p1 add.cc.u32 %r2, 0, 0; @%p1 add.cc.u32 %r2, "
          "-1, 1;\n"
          "addc.u32 %r1, 0, 0;" STORE,
          BLOCK, want);
}

/* ---- barriers with a thread count ---- */

static void test_votes(void) {
    enum { THREADS = 80 }; /* the third warp has 16 lanes */
    uint32_t want[THREADS];
    for (unsigned t = 0; t < THREADS; t++)
        want[t] = 27;
    gives("", "rem.u32 %r2, %r31, 3; setp.eq.u32 %p1, %r2, 0; bar.red.popc.u32 %r1, 0, %p1;" STORE, THREADS,
          want);
    for (unsigned t = 0; t < THREADS; t++)
        want[t] = THREADS - 27;
    gives(
        "",
        "rem.u32 %r2, %r31, 3; setp.eq.u32 %p1, %r2, 0; barrier.cta.red.popc.aligned.u32 %r1, 3, !%p1;" STORE,
        THREADS, want);
    static const struct {
        const char *operation;
        unsigned limit, want;
    } cases[] = {{"and", 80, 1}, {"and", 79, 0}, {"and", 0, 0}, {"or", 0, 0}, {"or", 1, 1}, {"or", 80, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[300];
        snprintf(
            text, sizeof text,
            "setp.lt.u32 %%p1, %%r31, %u; bar.red.%s.pred %%p2, 1, %%p1; bar.red.%s.pred %%p3, 1, !%%p2;\n"
            "selp.u32 %%r1, 1, 0, %%p2; @%%p3 add.u32 %%r1, %%r1, 10;%s",
            cases[i].limit, cases[i].operation, cases[i].operation, STORE);
        for (unsigned t = 0; t < THREADS; t++)
            want[t] = cases[i].want ? 1 : 10;
        gives("", text, THREADS, want);
    }
    /* two warps use the barrier, the third one does not */
    for (unsigned t = 0; t < THREADS; t++)
        want[t] = t < 64 ? 5 : 9;
    gives("",
          "mov.u32 %r1, 9; setp.ge.u32 %p2, %r31, 64; @%p2 bra done; setp.lt.u32 %p1, %r31, 5;\n"
          "bar.red.popc.u32 %r1, 2, 64, %p1; done:" STORE,
          THREADS, want);
}

/* ---- match ---- */

static void test_matches(void) {
    uint32_t want[BLOCK];
    for (unsigned t = 0; t < BLOCK; t++) {
        want[t] = 0;
        for (unsigned k = 0; k < 32; k++)
            want[t] |= (uint32_t)(k % 3 == t % 32 % 3) << k;
    }
    gives("", "mov.u32 %r3, %laneid; rem.u32 %r2, %r3, 3; match.any.sync.b32 %r1, %r2, -1;" STORE, BLOCK,
          want);
    gives("",
          "mov.u32 %r3, %laneid; rem.u32 %r2, %r3, 3; mov.b64 %rd1, {3, %r2}; match.any.sync.b64 %r1, %rd1, "
          "-1;" STORE,
          BLOCK, want);
    for (unsigned t = 0; t < BLOCK; t++)
        want[t] = t < 32 ? 0xfffffffe : 0;
    gives("",
          "setp.ge.u32 %p2, %r31, 32; mov.u32 %r2, 5; @%p2 mov.u32 %r2, %r31; mov.u32 %r3, %laneid; mov.u32 "
          "%r1, 0;\n"
          "setp.eq.u32 %p1, %r31, 0; @%p1 mov.u32 %r1, 0xfffffffe; setp.eq.u32 %p1, %r3, 0; @%p1 bra done;\n"
          "match.all.sync.b32 %r1|%p3, %r2, 0xfffffffe; @!%p3 mov.u32 %r1, 0; done:" STORE,
          BLOCK, want);
    gives_all("",
              "mov.u64 %rd1, 9; match.all.sync.b64 %r1|%p1, %rd1, -1; selp.u32 %r2, 1, 0, %p1; add.u32 %r1, "
              "%r1, %r2;" STORE,
              0);
    fails("", "and.b32 %r2, %r31, 1; setp.eq.u32 %p1, %r2, 1; @%p1 match.any.sync.b32 %r1, %r2, -1;",
          PTX_ERR_BARRIER, "has lanes that do not execute this");
}

/* ---- asynchronous copies ---- */

#define COPY                                                                                                 \
    ".shared .align 16 .b8 s[1024]; mov.u32 %r2, s; mad.lo.u32 %r2, %r31, 16, %r2; shl.b32 %r3, %r31, 3;\n"  \
    "and.b32 %r3, %r3, 255; cvt.u64.u32 %rd1, %r3; add.u64 %rd1, %rd1, %rd30;\n"

static void test_copies(void) {
    uint32_t want[BLOCK];
    for (unsigned t = 0; t < BLOCK; t++)
        want[t] = t % 32;
    gives("",
          COPY "cp.async.ca.shared.global [%r2], [%rd1], 8; cp.async.commit_group; cp.async.wait_group 0;\n"
               "ld.shared.u32 %r1, [%r2+4];" STORE,
          BLOCK, want);
    gives("",
          COPY "cp.async.ca.shared::cta.global.L2::128B [%r2+4], [%rd1+4], 4; cp.async.wait_all;\n"
               "ld.shared.u32 %r1, [%r2+4];" STORE,
          BLOCK, want);
    for (unsigned t = 0; t < BLOCK; t++)
        want[t] = t % 32 + (t % 32 & 1 ? 0 : 1);
    gives("",
          COPY
          "and.b64 %rd1, %rd1, -16; cp.async.cg.shared.global [%r2], [%rd1], 16, 16; cp.async.wait_all;\n"
          "ld.shared.u32 %r1, [%r2+8];" STORE,
          BLOCK, want);
    /* bytes beyond the source size are zero; before the wait the destination is poison */
    gives_all(
        "",
        COPY
        "cp.async.ca.shared.global [%r2], [%rd1], 8, 4; cp.async.wait_all; ld.shared.u32 %r1, [%r2+4];" STORE,
        0);
    gives_all(
        "",
        COPY
        "cp.async.ca.shared.global [%r2], [%rd1], 8, 0; cp.async.wait_all; ld.shared.u32 %r1, [%r2];" STORE,
        0);
    gives_all(
        "",
        COPY
        "cp.async.ca.shared.global [%r2], [%rd1], 8; cp.async.commit_group; ld.shared.u32 %r1, [%r2];" STORE,
        UINT32_MAX);
    gives_all(
        "",
        COPY
        "cp.async.ca.shared.global [%r2], [%rd1], 8; cp.async.wait_group 0; ld.shared.u32 %r1, [%r2];" STORE,
        UINT32_MAX);
    /* the older of two groups is complete */
    for (unsigned t = 0; t < BLOCK; t++)
        want[t] = t % 32;
    gives("",
          COPY
          "cp.async.ca.shared.global [%r2], [%rd1], 4; cp.async.commit_group;\n"
          "cp.async.ca.shared.global [%r2+8], [%rd1], 4; cp.async.commit_group; cp.async.wait_group 1;\n"
          "ld.shared.u32 %r1, [%r2]; ld.shared.u32 %r4, [%r2+8]; setp.ne.u32 %p1, %r4, -1; @%p1 trap;" STORE,
          BLOCK, want);
    /* source bytes that change in between are undefined */
    gives_all("",
              COPY "st.global.u32 [%rd28], 5; cp.async.ca.shared.global [%r2], [%rd28], 4;\n"
                   "st.global.u32 [%rd28], %r3; cp.async.wait_all; ld.shared.u32 %r1, [%r2];" STORE,
              0xff);
    fails("", COPY "cp.async.ca.shared.global [%r2], [%rd1], 6;", PTX_ERR_ALIGNMENT,
          "it may have 4, 8 or 16");
    fails("", COPY "cp.async.ca.shared.global [%r2], [%rd1], 8, 9;", PTX_ERR_ADDRESS, "from a source of 9");
    fails("", COPY "cp.async.ca.shared.global [%r2+4], [%rd1], 8;", PTX_ERR_ALIGNMENT,
          "is not aligned to the 8 bytes");
    fails("", COPY "cp.async.ca.shared.global [%r2+1024], [%rd1], 4;", PTX_ERR_ADDRESS,
          "outside the block's 1024");
    fails("", COPY "mov.u64 %rd1, 64; cp.async.ca.shared.global [%r2], [%rd1], 4;", PTX_ERR_ADDRESS,
          "not allocated");
    /* an mbarrier on which the copies complete */
    for (unsigned t = 0; t < BLOCK; t++)
        want[t] = (BLOCK - 1 - t) % 32;
    gives("",
          COPY
          ".shared .b64 bar; setp.eq.u32 %p1, %r31, 0; @%p1 mbarrier.init.shared.b64 [bar], 64; bar.sync 0;\n"
          "cp.async.ca.shared.global [%r2], [%rd1], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"
          "w: mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra w; mov.u32 %r4, s; sub.u32 %r5, "
          "63, %r31;\n"
          "mad.lo.u32 %r4, %r5, 16, %r4; ld.shared.u32 %r1, [%r4];" STORE,
          BLOCK, want);
    gives("",
          COPY
          ".shared .b64 bar; setp.eq.u32 %p1, %r31, 0; @%p1 mbarrier.init.shared.b64 [bar], 64; bar.sync 0;\n"
          "cp.async.ca.shared.global [%r2], [%rd1], 4; cp.async.mbarrier.arrive.shared.b64 [bar];\n"
          "mbarrier.arrive.shared.b64 %rd3, [bar];\n"
          "w: mbarrier.test_wait.shared.b64 %p2, [bar], %rd3; @!%p2 bra w; mov.u32 %r4, s; sub.u32 %r5, 63, "
          "%r31;\n"
          "mad.lo.u32 %r4, %r5, 16, %r4; ld.shared.u32 %r1, [%r4];" STORE,
          BLOCK, want);
}

/* ---- clocks ---- */

static void test_clocks(void) {
    gives_all("",
              "mov.u64 %rd1, %clock64; w: mov.u64 %rd2, %clock64; sub.u64 %rd3, %rd2, %rd1;\n"
              "setp.lt.u64 %p1, %rd3, 1000; @%p1 bra w; mov.u32 %r2, %clock; setp.gt.u32 %p2, %r2, 1000;\n"
              "mov.u32 %r3, %clock_hi; selp.u32 %r1, 1, 0, %p2; add.u32 %r1, %r1, %r3;" STORE,
              1);
    gives_all("", "mov.u32 %r1, %smid; mov.u32 %r2, %nsmid; mad.lo.u32 %r1, %r1, 10, %r2;" STORE, 1);
}

int main(void) {
    test_constants();
    test_variables();
    test_locals();
    test_parameters();
    test_functions();
    test_carries();
    test_votes();
    test_matches();
    test_copies();
    test_clocks();
    return finish_checks("test_language");
}
