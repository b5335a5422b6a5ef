/* Reconvergence points (immediate post-dominators) of branches, kernel by kernel. */
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "ir.h"
#include "sim.h"

/* `mark N` in the texts is written as `mov.u32 %r0, N;`: branches reconverge at the expected mark. */
static uint32_t mark_pc(const ptx_kernel *kernel, uint64_t mark) {
    for (size_t pc = 0; pc < kernel->count; pc++) {
        const ptx_instr *in = &kernel->code[pc];
        if (in->kind != PTX_RUN || in->op[0] != kernel->code[0].op[0] || in->op[1] < kernel->register_bytes)
            continue;
        for (size_t c = 0; c < kernel->constant_count; c++)
            if (kernel->constants[c].offset == in->op[1] - kernel->register_bytes &&
                kernel->constants[c].value == mark)
                return (uint32_t)pc;
    }
    return PTX_NO_PC - 1;
}

/* `meets` has the mark of each branch in code order, 0 for lanes that reconverge only at the exit. */
static void check_reconvergence(const char *name, const char *body, const unsigned *meets, size_t count) {
    char text[2000];
    snprintf(text, sizeof text,
             SIM_HEADER ".entry k() {\n.reg .b32 %%r<3>;\n.reg .pred %%p<4>;\nmov.u32 %%r0, 99;\n%s}\n",
             body);
    ptx_module *module;
    ptx_error error;
    if (ptx_module_parse(text, strlen(text), &module, &error) != PTX_OK) {
        check_report(0, name, 0, error.message);
        return;
    }
    const ptx_kernel *kernel = ptx_module_kernel_at(module, 0);
    size_t seen = 0;
    for (size_t pc = 0; pc < kernel->count; pc++) {
        if (kernel->code[pc].kind != PTX_BRANCH)
            continue;
        if (seen < count)
            CHECK_EQUAL_AS(kernel->code[pc].op[1], meets[seen] ? mark_pc(kernel, meets[seen]) : PTX_NO_PC,
                           name);
        seen++;
    }
    CHECK_EQUAL_AS(seen, count, name);
    ptx_module_free(module);
}

#define MEETINGS(name, body, ...)                                                                            \
    do {                                                                                                     \
        static const unsigned meets[] = {__VA_ARGS__};                                                       \
        check_reconvergence(name, body, meets, sizeof meets / sizeof meets[0]);                              \
    } while (0)

#define MARK(n) "mov.u32 %r0, " #n ";\n"

static void test_meetings(void) {
    MEETINGS("if", "@%p1 bra a;\n" MARK(1) "a:" MARK(2) "ret;\n", 2);
    MEETINGS("if else", "@%p1 bra a;\n" MARK(1) "bra b;\na:" MARK(2) "b:" MARK(3) "ret;\n", 3, 3);
    MEETINGS("nested", "@%p1 bra a;\n@%p2 bra b;\n" MARK(1) "b:" MARK(2) "a:" MARK(3) "ret;\n", 3, 2);
    MEETINGS("loop", "a:" MARK(1) "@%p1 bra a;\n" MARK(2) "ret;\n", 2);
    MEETINGS("loop with break",
             "a:" MARK(1) "@%p1 bra b;\n" MARK(2) "@%p2 bra a;\n" MARK(3) "b:" MARK(4) "ret;\n", 4, 4);
    MEETINGS("loop with if",
             "a:" MARK(1) "@%p1 bra b;\n" MARK(2) "b:" MARK(3) "@%p2 bra a;\n" MARK(4) "ret;\n", 3, 4);
    MEETINGS("nested loops",
             "a:" MARK(1) "b:" MARK(2) "@%p1 bra b;\n" MARK(3) "@%p2 bra a;\n" MARK(4) "ret;\n", 3, 4);
    MEETINGS("early return", "@%p1 bra a;\n" MARK(1) "ret;\na:" MARK(2) "ret;\n", 0);
    MEETINGS("return within if",
             "@%p1 bra a;\n@%p2 bra b;\n" MARK(1) "b:" MARK(2) "ret;\na:" MARK(3) "ret;\n", 0, 2);
    MEETINGS("guarded exit", "@%p1 bra a;\n" MARK(1) "@%p2 exit;\n" MARK(2) "a:" MARK(3) "ret;\n", 0);
    MEETINGS("trap beside", "@%p1 bra a;\n" MARK(1) "trap;\na:" MARK(2) "ret;\n", 2);
    MEETINGS("endless loop", "a:" MARK(1) "@%p1 bra b;\n" MARK(2) "b:" MARK(3) "bra a;\n", 3, 0);
    MEETINGS("switch",
             "@%p1 bra a;\n@%p2 bra b;\n" MARK(1) "bra z;\na:" MARK(2) "b:" MARK(3) "z:" MARK(4) "ret;\n", 4,
             4, 4);
    MEETINGS("to the next", "@%p1 bra a;\na:" MARK(1) "ret;\n", 1);
    MEETINGS("goto into a loop", "@%p1 bra b;\na:" MARK(1) "b:" MARK(2) "@%p2 bra a;\n" MARK(3) "ret;\n", 2,
             3);
}

/* Which side of a branch may reach a collective instruction. */
static void test_sync_sides(void) {
    static const char text[] =
        SIM_HEADER ".entry k() {\n.reg .pred %p<2>;\n@%p1 bra a;\nret;\na: bar.sync 0;\n"
                   "@%p1 bra b;\nbar.warp.sync -1;\nb: ret;\n}\n";
    ptx_module *module;
    CHECK_EQUAL(ptx_module_parse(text, strlen(text), &module, NULL), PTX_OK);
    const ptx_instr *code = ptx_module_kernel_at(module, 0)->code;
    CHECK(code[0].target_syncs && !code[0].next_syncs);
    CHECK(!code[3].target_syncs && code[3].next_syncs);
    ptx_module_free(module);
}

/* Repeats `line` `count` times; %1$u in it is the number of the repetition, %2$u the next one. */
static void repeat(char **to, const char *line, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        *to += sprintf(*to, line, i, i + 1);
}

/* Code with one lookup per line: the time must grow linearly with the length of the text. */
static void test_long_kernels(void) {
    enum { LINES = 30000, LINE = 64 };
    static const struct {
        const char *declaration, *line, *after;
    } shapes[] = {
        {"", "l%1$u: bra l%1$u;\n", ""},
        {"", "@%%p1 exit;\n", ""},
        {"l0:", "l%2$u: @%%p1 bra l%1$u;\n", ""},
        {"bar.sync 0; l0:", "l%2$u: @%%p1 bra l%1$u;\n", ""},
        {"", "@%%p1 bra l%1$u;\n", "l%1$u: @%%p2 exit;\n"},
        {"", "add.u32 %%r1, %%r1, 1%1$u;\n", ""},
        {"", ".reg .b32 a%1$u; mov.u32 a%1$u, 1;\n", ""},
        {"", ".reg .b32 a%1$u;\n", "mov.u32 a%1$u, 1;\n"},
        {"", ".shared .b8 a%1$u;\n", "mov.u32 %%r1, a%1$u;\n"},
    };
    char *text = malloc(2 * LINES * LINE);
    CHECK(text != NULL);
    for (size_t i = 0; text && i < sizeof shapes / sizeof shapes[0]; i++) {
        char *end = text;
        ptx_module *module = NULL;
        ptx_error error = {.message = ""};
        end += sprintf(end, SIM_HEADER ".entry k() {\n.reg .b32 %%r<3>;\n.reg .pred %%p<4>;\n%s\n",
                       shapes[i].declaration);
        repeat(&end, shapes[i].line, LINES);
        if (*shapes[i].after)
            repeat(&end, shapes[i].after, LINES);
        sprintf(end, "ret;\n}\n");
        const clock_t start = clock();
        const ptx_status status = ptx_module_parse(text, strlen(text), &module, &error);
        check_report(status == PTX_OK, shapes[i].line, 0, error.message);
        const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
#ifndef UNDER_VALGRIND
        check_report(seconds < 2, shapes[i].line, 0, "takes over two seconds");
#else
        (void)seconds;
#endif
        ptx_module_free(module);
    }
    free(text);
}

int main(void) {
    test_meetings();
    test_sync_sides();
    test_long_kernels();
    return finish_checks("test_cfg");
}
