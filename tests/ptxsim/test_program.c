/* What whole programs need: modules whose variables outlive a launch, kernels that are parsed when they are
   first launched, memory of the caller, the heap of malloc, the workspace of cooperative launches, records.
 */
#include <stdlib.h>

#include "check.h"
#include "sim.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define REGISTERS ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;\n"

typedef struct program {
    ptx_module *module;
    ptx_memory *memory;
    ptx_heap *heap;
    ptx_error error;
} program;

static void open_program(program *p, const char *text, const ptx_module_options *options) {
    *p = (program){.heap = NULL};
    CHECK_EQUAL(ptx_memory_create(0, &p->memory, &p->error), PTX_OK);
    CHECK_EQUAL(ptx_module_open(text, strlen(text), options, &p->module, &p->error), PTX_OK);
    if (!p->module) {
        fprintf(stderr, "%s\n", p->error.message);
        exit(2);
    }
}

static void close_program(program *p) {
    ptx_heap_destroy(p->heap, p->memory);
    ptx_module_free(p->module);
    ptx_memory_destroy(p->memory);
}

static ptx_status launch(program *p, const char *name, uint64_t param, uint64_t workspace) {
    const ptx_kernel *kernel = ptx_module_find(p->module, name);
    ptx_launch_config config = {.grid = {1, 1, 1},
                                .block = {32, 1, 1},
                                .params = &param,
                                .param_bytes = sizeof param,
                                .threads = 1,
                                .step_budget = 100000,
                                .grid_workspace = workspace,
                                .heap = p->heap};
    if (!kernel)
        exit(2);
    ptx_status status = ptx_kernel_parse(kernel, &p->error);
    return status == PTX_OK ? ptx_launch(kernel, p->memory, &config, NULL, &p->error) : status;
}

static uint32_t word_at(program *p, uint64_t address) {
    uint32_t word = 0;
    CHECK_EQUAL(ptx_memory_read(p->memory, &word, address, sizeof word, &p->error), PTX_OK);
    return word;
}

static const char variables[] =
    HEAD ".global .align 4 .u32 total = 5;\n.const .align 4 .u32 step = 2;\n"
         ".global .attribute(.managed) .align 4 .u32 both = 7;\n"
         ".visible .entry add(.param .u64 where) {\n" REGISTERS
         "ld.const.u32 %r1, [step]; ld.global.u32 %r2, [total]; add.u32 %r2, %r2, %r1;\n"
         "st.global.u32 [total], %r2; ld.global.u32 %r3, [both]; add.u32 %r3, %r3, 1;\n"
         "st.global.u32 [both], %r3; ld.param.u64 %rd1, [where]; st.global.u32 [%rd1], %r2; ret; }\n";

/* Two modules of one text, side by side in one memory. */
static void test_variables(void) {
    program p;
    ptx_module *other;
    uint64_t out, address, second;
    size_t bytes;
    const ptx_module_options options = {.constants = PTX_MODULE_CONSTANTS(1),
                                        .variables = PTX_MODULE_VARIABLES(1)};
    open_program(&p, variables, NULL);
    CHECK_EQUAL(ptx_module_open(variables, sizeof variables - 1, &options, &other, &p.error), PTX_OK);
    CHECK_EQUAL(ptx_memory_alloc(p.memory, 4, &out, &p.error), PTX_OK);
    CHECK_EQUAL(launch(&p, "add", out, 0), PTX_OK); /* not loaded: each launch has new variables */
    CHECK_EQUAL(launch(&p, "add", out, 0), PTX_OK);
    CHECK_EQUAL(word_at(&p, out), 7);
    CHECK_EQUAL(ptx_module_load(p.module, p.memory, NULL, &p.error), PTX_OK);
    CHECK_EQUAL(ptx_module_load(other, p.memory, NULL, &p.error), PTX_OK);
    CHECK(ptx_module_find_variable(p.module, "total", &address, &bytes) && bytes == 4);
    CHECK(ptx_module_find_variable(other, "total", &second, &bytes));
    CHECK_EQUAL(second, PTX_MODULE_VARIABLES(1));
    CHECK(!ptx_module_find_variable(p.module, "tota", &second, &bytes));
    for (uint32_t i = 1; i <= 3; i++) {
        CHECK_EQUAL(launch(&p, "add", out, 0), PTX_OK);
        CHECK_EQUAL(word_at(&p, address), 5 + 2 * i);
    }
    CHECK_EQUAL(word_at(&p, PTX_MODULE_VARIABLES(1)), 5);
    const uint32_t step = 100;
    CHECK(ptx_module_find_variable(p.module, "step", &second, &bytes));
    CHECK_EQUAL(ptx_memory_write(p.memory, second, &step, sizeof step, &p.error), PTX_OK);
    CHECK_EQUAL(launch(&p, "add", out, 0), PTX_OK);
    CHECK_EQUAL(word_at(&p, out), 111);
    ptx_module_free(other);
    close_program(&p);
}

/* Variables and allocations in memory of the caller, at its own address. */
static void test_mapped(void) {
    program p;
    static _Alignas(256) uint32_t area[64], further[64];
    uint64_t address, start;
    size_t bytes;
    const ptx_module_options options = {.variables = (uint64_t)(uintptr_t)area};
    open_program(&p, variables, &options);
    CHECK(ptx_module_variable_bytes(p.module) <= sizeof area);
    CHECK_EQUAL(ptx_module_load(p.module, p.memory, area, &p.error), PTX_OK);
    CHECK_EQUAL(ptx_memory_map(p.memory, (uintptr_t)further, further, sizeof further, &p.error), PTX_OK);
    CHECK_EQUAL(ptx_memory_map(p.memory, (uintptr_t)further + 8, further, 8, &p.error), PTX_ERR_ARGUMENT);
    CHECK_EQUAL(launch(&p, "add", (uintptr_t)&further[3], 0), PTX_OK);
    CHECK_EQUAL(further[3], 7);
    CHECK(ptx_module_find_variable(p.module, "both", &address, &bytes));
    CHECK_EQUAL(*(uint32_t *)(uintptr_t)address, 8);
    CHECK(ptx_memory_find(p.memory, (uintptr_t)&further[9], &start, &bytes));
    CHECK_EQUAL(start, (uintptr_t)further);
    CHECK_EQUAL(bytes, sizeof further);
    CHECK_EQUAL(ptx_memory_free(p.memory, start, &p.error), PTX_OK);
    CHECK(!ptx_memory_find(p.memory, (uintptr_t)&further[9], &start, &bytes));
    CHECK_EQUAL(launch(&p, "add", (uintptr_t)&further[3], 0), PTX_ERR_ADDRESS);
    close_program(&p);
}

/* An instruction outside the subset refuses its own kernel, and says where it stands in the source. */
static void test_lazy(void) {
    static const char text[] =
        HEAD ".visible .entry bad(.param .u64 a, .param .align 8 .b8 b[12]) {\n" REGISTERS
             ".loc 1 7 3\nld.param.u64 %rd1, [a]; tld4.r.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5, "
             "%r6}]; ret; "
             "}\n"
             ".visible .entry good(.param .u64 where) {\n" REGISTERS
             "ld.param.u64 %rd1, [where]; mov.u32 %r1, 3; st.global.u32 [%rd1], %r1; ret; }\n"
             ".file 1 \"mine.cu\"\n";
    const ptx_module_options options = {.lazy = true};
    program p;
    uint64_t out;
    size_t offset, bytes;
    ptx_module *strict;
    open_program(&p, text, &options);
    CHECK_EQUAL(ptx_module_parse(text, strlen(text), &strict, &p.error), PTX_ERR_UNSUPPORTED);
    const ptx_kernel *bad = ptx_module_find(p.module, "bad");
    CHECK_EQUAL(ptx_kernel_param_count(bad), 2);
    CHECK_EQUAL(ptx_kernel_param_bytes(bad), 20);
    ptx_kernel_param_at(bad, 1, &offset, &bytes);
    CHECK(offset == 8 && bytes == 12);
    CHECK_EQUAL(ptx_memory_alloc(p.memory, 4, &out, &p.error), PTX_OK);
    for (unsigned i = 0; i < 2; i++) {
        CHECK_EQUAL(launch(&p, "bad", 0, 0), PTX_ERR_UNSUPPORTED);
        CHECK_CONTAINS(p.error.message, "tld4.r.2d");
        CHECK_CONTAINS(p.error.file, "mine.cu");
        CHECK_EQUAL(p.error.file_line, 7);
        CHECK_EQUAL(launch(&p, "good", out, 0), PTX_OK);
        CHECK_EQUAL(word_at(&p, out), 3);
    }
    const uint64_t params[3] = {0};
    const ptx_launch_config config = {
        .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params, .param_bytes = 20};
    CHECK_EQUAL(ptx_launch(bad, p.memory, &config, NULL, &p.error), PTX_ERR_ARGUMENT);
    CHECK_CONTAINS(p.error.message, "not parsed");
    close_program(&p);
}

/* Each thread takes 8 bytes, keeps its number there, and lane 0 adds all up. */
static void test_heap(void) {
    static const char text[] =
        HEAD ".extern .func (.param .b64 r) malloc (.param .b64 a);\n.extern .func free (.param .b64 a);\n"
             ".visible .entry take(.param .u64 where) {\n" REGISTERS
             ".param .b64 size; .param .b64 got; mov.u64 %rd1, 8; st.param.b64 [size], %rd1;\n"
             "call.uni (got), malloc, (size); ld.param.b64 %rd2, [got]; mov.u32 %r1, %tid.x;\n"
             "st.u32 [%rd2], %r1; ld.u32 %r3, [%rd2]; ld.param.u64 %rd3, [where];\n"
             "atom.global.add.u32 %r4, [%rd3], %r3;\n"
             "mul.wide.u32 %rd4, %r1, 8; add.u64 %rd4, %rd4, %rd3; st.global.u64 [%rd4+8], %rd2;\n"
             "bar.warp.sync -1; setp.eq.u32 %p1, %r1, 5; .param .b64 old; st.param.b64 [old], %rd2;\n"
             "@%p1 bra again; call.uni free, (old);\nagain: ret; }\n"
             ".visible .entry twice(.param .u64 where) {\n" REGISTERS
             ".param .b64 old; mov.u64 %rd1, 4096; st.param.b64 [old], %rd1; call.uni free, (old); ret; }\n"
             ".visible .entry all(.param .u64 where) {\n" REGISTERS
             ".param .b64 size; .param .b64 got; mov.u64 %rd1, 40; st.param.b64 [size], %rd1;\n"
             "call.uni (got), malloc, (size); ld.param.b64 %rd2, [got]; setp.eq.u64 %p1, %rd2, 0;\n"
             "ld.param.u64 %rd3, [where]; @%p1 red.global.add.u32 [%rd3], 1; ret; }\n";
    program p;
    uint64_t out, got[33] = {0};
    open_program(&p, text, NULL);
    CHECK_EQUAL(ptx_memory_alloc(p.memory, sizeof got, &out, &p.error), PTX_OK);
    CHECK_EQUAL(launch(&p, "take", out, 0), PTX_ERR_UNSUPPORTED);
    CHECK_CONTAINS(p.error.message, "no heap");
    CHECK_EQUAL(ptx_heap_create(p.memory, 1024, &p.heap, &p.error), PTX_OK);
    CHECK(ptx_kernel_uses_heap(ptx_module_find(p.module, "take")));
    CHECK_EQUAL(ptx_memory_write(p.memory, out, got, sizeof got, &p.error), PTX_OK);
    CHECK_EQUAL(launch(&p, "take", out, 0), PTX_OK);
    CHECK_EQUAL(ptx_memory_read(p.memory, got, out, sizeof got, &p.error), PTX_OK);
    CHECK_EQUAL(got[0], 31 * 32 / 2);
    for (unsigned t = 1; t < 32; t++)
        CHECK_EQUAL(got[t + 1] - got[t], 16);
    CHECK_EQUAL(launch(&p, "twice", 0, 0), PTX_ERR_ADDRESS);
    CHECK_CONTAINS(p.error.message, "free: malloc has not returned 0x1000");
    got[0] = 0; /* 48 bytes each: 5 x 16 before the block that was kept, (1024 - 96) / 48 = 19 behind it */
    CHECK_EQUAL(ptx_memory_write(p.memory, out, got, sizeof *got, &p.error), PTX_OK);
    CHECK_EQUAL(launch(&p, "all", out, 0), PTX_OK);
    CHECK_EQUAL(word_at(&p, out), 32 - 1 - 19);
    close_program(&p);
}

static void test_workspace(void) {
    static const char text[] = HEAD ".visible .entry where(.param .u64 p) {\n" REGISTERS
                                    "mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; ld.param.u64 %rd1, [p];\n"
                                    "st.global.u32 [%rd1], %r1; st.global.u32 [%rd1+4], %r2; ret; }\n";
    program p;
    uint64_t out;
    open_program(&p, text, NULL);
    CHECK_EQUAL(ptx_memory_alloc(p.memory, 8, &out, &p.error), PTX_OK);
    CHECK_EQUAL(launch(&p, "where", out, 0x123456789abcull), PTX_OK);
    CHECK_EQUAL(word_at(&p, out), 0x1234);
    CHECK_EQUAL(word_at(&p, out + 4), 0x56789abc);
    close_program(&p);
}

/* The orders of modifiers, and the alignment, that ptxas accepts besides those of nvcc. */
static void test_spellings(void) {
    static const char text[] =
        HEAD ".visible .entry k(.param .u64 p) {\n" REGISTERS
             ".shared .align 16384 .b8 s[512]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 4; mov.u32 %r3, s;\n"
             "add.u32 %r2, %r2, %r3; st.shared.u32 [%r2], %r1; bar.warp.sync -1; setp.lt.u32 %p1, %r1, 5;\n"
             "ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%r4, %r5, %r6, %r7}, [%r2];\n"
             "vote.ballot.sync.b32 %r8, %p1, -1; vote.any.sync.pred %p2, %p1, -1;\n"
             "ld.param.u64 %rd1, [p]; setp.eq.u32 %p3, %r1, 8; @!%p3 ret;\n"
             "st.global.u32 [%rd1], %r8; st.global.u32 [%rd1+4], %r7; ret; }\n";
    program p;
    uint64_t out;
    open_program(&p, text, NULL);
    CHECK_EQUAL(ptx_memory_alloc(p.memory, 8, &out, &p.error), PTX_OK);
    CHECK_EQUAL(launch(&p, "k", out, 0), PTX_OK);
    CHECK_EQUAL(word_at(&p, out), 31);
    CHECK_EQUAL(word_at(&p, out + 4), 26); /* lane 8 gets row 2, column 0 of the fourth matrix: row 24 + 2 */
    close_program(&p);
}

static bool append(void *arg, const char *text, size_t length) {
    char *to = arg;
    const size_t used = strlen(to);
    if (used + length >= 100000)
        return false;
    memcpy(to + used, text, length);
    to[used + length] = '\0';
    return true;
}

/* Two launches add up in one record. */
static void test_record(void) {
    static const char text[] = HEAD
        ".visible .entry k(.param .u64 p) {\n" REGISTERS ".shared .b32 s[32];\n.loc 1 4 2\n"
        "mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 2; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;\n"
        "st.shared.u32 [%r1], %r2; mov.u32 %r3, s; xor.b32 %r1, %r1, 4; ld.shared.u32 %r4, [%r1]; ret; }\n"
        ".file 1 \"ab.cu\"\n";
    static char json[100000];
    program p;
    ptx_record *record;
    ptx_launch_config config = {.grid = {2, 1, 1}, .block = {32, 1, 1}, .threads = 2};
    uint64_t param = 0;
    open_program(&p, text, NULL);
    const ptx_kernel *kernel = ptx_module_find(p.module, "k");
    config.params = &param;
    config.param_bytes = sizeof param;
    CHECK_EQUAL(ptx_record_create(kernel, true, true, &record, &p.error), PTX_OK);
    config.observer_count = ptx_record_observers(record, &config.observers);
    CHECK_EQUAL(config.observer_count, 2);
    for (unsigned i = 0; i < 2; i++)
        CHECK_EQUAL(ptx_launch(kernel, p.memory, &config, NULL, &p.error), PTX_OK);
    CHECK_EQUAL(ptx_record_race_count(record), 1);
    CHECK(ptx_record_write(record, append, json));
    CHECK_CONTAINS(json, "\"st.shared.u32 [%r1], %r2; mov");
    CHECK_CONTAINS(json, ",4]]");
    CHECK_CONTAINS(json, "\"races\":[[\"write-read\",4,7,1,0,0,0,0,4,128,0,0]]");
    CHECK_CONTAINS(json, ",0,0,4,0,"); /* 4 warps with 32 lanes */
    ptx_record_free(record);
    close_program(&p);
}

int main(void) {
    test_variables();
    test_mapped();
    test_lazy();
    test_heap();
    test_workspace();
    test_spellings();
    test_record();
    return finish_checks("test_program");
}
