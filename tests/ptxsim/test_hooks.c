/* The events that observers receive, for small kernels. */
#include <stdarg.h>
#include <stdlib.h>

#include "check.h"
#include "interpreter/hooks.h"
#include "sim.h"

/* Records events as text, one line each, of one host thread. */
typedef struct recorder {
    ptx_observer base;
    bool issues; /* also record instructions without memory access */
    bool refuses;
    unsigned attached;
    size_t used;
    char text[8192];
} recorder;

static void note(recorder *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(recorder *r, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(r->text + r->used, sizeof r->text - r->used, format, arguments);
    va_end(arguments);
    r->used += (size_t)length < sizeof r->text - r->used ? (size_t)length : 0;
}

static void *attach(ptx_observer *self, const ptx_worker *worker) {
    recorder *r = (recorder *)self;
    (void)worker;
    if (r->refuses)
        return NULL;
    r->attached++;
    return r;
}

static void detach(ptx_observer *self, void *state) {
    ((recorder *)self)->attached--;
    CHECK(state == self);
}

static void block_begin(void *state, const ptx_block *block) {
    note(state, "begin %u\n", block->index[0]);
}

static void block_end(void *state, const ptx_block *block) {
    note(state, "end %u\n", block->index[0]);
}

static void issue(void *state, const ptx_warp *warp, const ptx_instr *in, uint32_t mask) {
    recorder *r = state;
    if (r->issues || in->kind == PTX_BRANCH)
        note(state, "%s %08x of %08x\n", in->kind == PTX_BRANCH ? "branch" : "issue", mask, warp->active);
}

static void on_access(void *state, const ptx_warp *warp, const ptx_instr *in, const ptx_access *access) {
    static const char *const effects[] = {"", "load", "store", "atomic"};
    (void)in;
    unsigned first = (unsigned)__builtin_ctz(access->mask);
    note(state, "warp %u %s %s %u bytes lanes %08x at %llx%s\n", warp->index, effects[access->effect],
         access->space == PTX_SPACE_SHARED ? "shared" : "global", access->bytes, access->mask,
         (unsigned long long)access->address[first] & 0xffffff, access->packed ? " packed" : "");
}

static void on_warp_sync(void *state, const ptx_warp *warp, uint32_t members) {
    note(state, "warp %u sync %08x\n", warp->index, members);
}

static void on_barrier(void *state, const ptx_block *block, uint32_t mask) {
    (void)block;
    note(state, "barrier %08x\n", mask);
}

static void on_fault(void *state, const ptx_warp *warp, const ptx_instr *in, ptx_status status) {
    (void)in;
    note(state, "fault of warp %u: %d\n", warp->index, (int)status);
}

static const ptx_hooks hooks = {.attach = attach,
                                .detach = detach,
                                .block_begin = block_begin,
                                .block_end = block_end,
                                .issue = issue,
                                .access = on_access,
                                .warp_sync = on_warp_sync,
                                .barrier = on_barrier,
                                .fault = on_fault};

static ptx_status observe(recorder *r, const char *statements, unsigned grid, unsigned block) {
    uint32_t in[256] = {0}, out[1024];
    char *text = sim_kernel(statements);
    sim s;
    sim_open(&s, text, in, sizeof in, sizeof out);
    r->base.hooks = &hooks;
    ptx_observer *observers[] = {&r->base};
    s.config.observers = observers;
    s.config.observer_count = 1;
    ptx_status status = sim_run(&s, "k", grid, block, 0, out);
    CHECK_EQUAL(r->attached, 0);
    sim_close(&s);
    free(text);
    return status;
}

static void expect(const char *statements, unsigned block, const char *events) {
    recorder r = {.used = 0};
    CHECK_EQUAL_AS(observe(&r, statements, 1, block), PTX_OK, statements);
    check_report(strcmp(r.text, events) == 0, statements, 0, r.text);
}

#define SHARED                                                                                               \
    ".shared .align 16 .b8 s[1024];\nshl.b32 %r1, %r31, 2; mov.u32 %r2, s; add.u32 %r3, %r2, %r1;\n"

static void test_accesses(void) {
    expect(SHARED "st.shared.u32 [%r3+16], %r1;", 32,
           "begin 0\nwarp 0 store shared 4 bytes lanes ffffffff at 10 packed\nend 0\n");
    expect(SHARED "st.shared.u32 [s+8], %r1; ld.shared.v4.f32 {%f1,%f2,%f3,%f4}, [s];", 32,
           "begin 0\nwarp 0 store shared 4 bytes lanes ffffffff at 8\n"
           "warp 0 load shared 16 bytes lanes ffffffff at 0\nend 0\n");
    expect(SHARED "setp.lt.u32 %p1, %r31, 4; @%p1 ld.shared.f64 %fd1, [s]; @!%p1 atom.shared.add.u32 %r4, "
                  "[%r3], 1;",
           32,
           "begin 0\nwarp 0 load shared 8 bytes lanes 0000000f at 0\n"
           "warp 0 atomic shared 4 bytes lanes fffffff0 at 10 packed\nend 0\n");
    expect(SHARED "setp.lt.u32 %p1, %r31, 40; @!%p1 red.shared.add.u32 [%r3], 1;", 64,
           "begin 0\nwarp 1 atomic shared 4 bytes lanes ffffff00 at a0 packed\nend 0\n");
}

/* Generic addresses of one instruction in both state spaces. */
static void test_generic(void) {
    expect(SHARED "cvt.u64.u32 %rd1, %r3; cvta.shared.u64 %rd1, %rd1; setp.lt.u32 %p1, %r31, 8;\n"
                  "selp.b64 %rd2, %rd1, %rd28, %p1; ld.u32 %r4, [%rd2];",
           32,
           "begin 0\nwarp 0 load global 4 bytes lanes ffffff00 at 100420\n"
           "warp 0 load shared 4 bytes lanes 000000ff at 0\nend 0\n");
}

static void test_control(void) {
    expect("setp.lt.u32 %p1, %r31, 4; @%p1 bra skip; mov.u32 %r1, 1; skip: bar.sync 0;", 64,
           "begin 0\nbranch 0000000f of ffffffff\nbranch 00000000 of ffffffff\nbarrier 00000003\nend 0\n");
    expect("bar.warp.sync 0xffffffff; setp.lt.u32 %p1, %r31, 8; selp.b32 %r1, 0xff, 0xffffff00, %p1;\n"
           "bar.warp.sync %r1; @%p1 bar.warp.sync 0xff;",
           32,
           "begin 0\nwarp 0 sync ffffffff\nwarp 0 sync 000000ff\nwarp 0 sync ffffff00\nwarp 0 sync "
           "000000ff\nend 0\n");
    /* The last warp to exit completes the barrier of the waiting warps. */
    expect("setp.ge.u32 %p1, %r31, 64; @%p1 exit; bar.sync 0; bar.sync 1, 64;", 96,
           "begin 0\nbarrier 00000003\nbarrier 00000003\nend 0\n");
}

static void test_every_instruction_is_issued(void) {
    recorder r = {.issues = true};
    CHECK_EQUAL(observe(&r, "setp.lt.u32 %p1, %r31, 4; @%p1 mov.u32 %r1, 1; @!%p1 bra end; end: ret;", 1, 8),
                PTX_OK);
    /* six instructions of the frame (three parameters, tid, mad, mad) and these four; the exit after them is
       not reached */
    unsigned lines = 0;
    for (const char *c = r.text; *c; c++)
        lines += *c == '\n';
    CHECK_EQUAL(lines, 2 + 6 + 4);
    CHECK_CONTAINS(r.text, "issue 0000000f of 000000ff\nbranch 000000f0 of 000000ff\nissue 000000ff of "
                           "000000ff\nend 0\n");
}

static void test_blocks_in_any_order(void) {
    recorder r = {.used = 0};
    CHECK_EQUAL(observe(&r, "ret;", 3, 32), PTX_OK);
    CHECK_CONTAINS(r.text, "begin 0\nend 0\n");
    CHECK_CONTAINS(r.text, "begin 1\nend 1\n");
    CHECK_CONTAINS(r.text, "begin 2\nend 2\n");
}

static void test_faults(void) {
    recorder r = {.used = 0};
    CHECK_EQUAL(observe(&r, SHARED "ld.shared.u32 %r4, [%r3+1000];", 1, 64), PTX_ERR_ADDRESS);
    CHECK_CONTAINS(r.text, "fault of warp 0: ");
    recorder refusing = {.refuses = true};
    CHECK_EQUAL(observe(&refusing, "ret;", 4, 32), PTX_ERR_MEMORY);
}

static void test_several_observers(void) {
    uint32_t word = 0;
    char *text = sim_kernel("st.global.u32 [%rd28], %r31;");
    sim s;
    sim_open(&s, text, &word, sizeof word, 32 * sizeof word);
    static recorder r[6];
    ptx_observer *observers[6];
    for (unsigned i = 0; i < 6; i++) {
        r[i].base.hooks = &hooks;
        observers[i] = &r[i].base;
    }
    s.config.observers = observers;
    s.config.observer_count = 5;
    CHECK_EQUAL(sim_run(&s, "k", 1, 32, 0, NULL), PTX_OK);
    for (unsigned i = 0; i < 5; i++)
        CHECK_CONTAINS(r[i].text, "store global 4 bytes lanes ffffffff");
    s.config.observer_count = 6;
    CHECK_EQUAL(sim_run(&s, "k", 1, 32, 0, NULL), PTX_ERR_ARGUMENT);
    CHECK_CONTAINS(s.error.message, "6 observers");
    sim_close(&s);
    free(text);
}

int main(void) {
    test_accesses();
    test_generic();
    test_control();
    test_every_instruction_is_issued();
    test_blocks_in_any_order();
    test_faults();
    test_several_observers();
    return finish_checks("test_hooks");
}
