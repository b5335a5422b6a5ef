/* The lexer and the grammar, and the messages of their errors. */
#include <stdlib.h>

#include "check.h"
#include "ir.h"
#include "parser/lexer.h"
#include "sim.h"

static void test_lexer(void) {
    static const char text[] =
        "%r1 add.rn.f32 .reg 0x1F 017 0b101 12U 0f3F800000 0d3FF0000000000000 1.5 // c\n"
        "/* a\n b */ \"a b\" $L__BB0_2: ld.global.L1::no_allocate.f32 ;";
    static const struct {
        ptx_token_kind kind;
        const char *text;
        uint64_t value;
    } want[] = {
        {PTX_TOKEN_NAME, "%r1", 0},
        {PTX_TOKEN_NAME, "add.rn.f32", 0},
        {PTX_TOKEN_DIRECTIVE, ".reg", 0},
        {PTX_TOKEN_INTEGER, "0x1F", 31},
        {PTX_TOKEN_INTEGER, "017", 15},
        {PTX_TOKEN_INTEGER, "0b101", 5},
        {PTX_TOKEN_INTEGER, "12U", 12},
        {PTX_TOKEN_F32, "0f3F800000", 0x3f800000},
        {PTX_TOKEN_F64, "0d3FF0000000000000", 0x3ff0000000000000},
        {PTX_TOKEN_DECIMAL, "1.5", 0x3ff8000000000000},
        {PTX_TOKEN_STRING, "a b", 0},
        {PTX_TOKEN_NAME, "$L__BB0_2", 0},
        {PTX_TOKEN_PUNCTUATION, ":", 0},
        {PTX_TOKEN_NAME, "ld.global.L1::no_allocate.f32", 0},
        {PTX_TOKEN_PUNCTUATION, ";", 0},
        {PTX_TOKEN_END, "", 0},
    };
    ptx_lexer lexer;
    ptx_lexer_init(&lexer, text, strlen(text));
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        ptx_token token = ptx_lexer_next(&lexer);
        CHECK_EQUAL_AS(token.kind, want[i].kind, want[i].text);
        CHECK(token.length == strlen(want[i].text) && memcmp(token.start, want[i].text, token.length) == 0);
        if (want[i].value)
            CHECK_EQUAL_AS(token.value, want[i].value, want[i].text);
        if (token.kind == PTX_TOKEN_STRING) {
            CHECK_EQUAL(token.line, 3);
            CHECK_EQUAL(token.column, 7);
        }
    }
}

static void test_bad_tokens(void) {
    static const char *const bad[] = {"0f12",   "0xfg", "09",  "99999999999999999999",
                                      "\"open", "#",    "0b3", "0d12"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ptx_lexer lexer;
        ptx_lexer_init(&lexer, bad[i], strlen(bad[i]));
        CHECK_EQUAL_AS(ptx_lexer_next(&lexer).kind, PTX_TOKEN_BAD, bad[i]);
    }
}

/* A kernel with these statements must be rejected with this status, at this column of the line. */
static void refuse(const char *statements, ptx_status status, unsigned column, const char *part) {
    ptx_error error;
    char *text = sim_kernel(statements);
    CHECK_EQUAL_AS(sim_parse(text, &error), status, statements);
    CHECK_EQUAL_AS(error.status, status, statements);
    CHECK_CONTAINS(error.message, part);
    if (column) {
        CHECK_EQUAL_AS(error.line, 18, statements); /* the first free line of sim_kernel */
        CHECK_EQUAL_AS(error.column, column, statements);
        CHECK_CONTAINS(error.message, "PTX line 18");
    }
    free(text);
}

static void test_refusals(void) {
    refuse("add.s32 %r1 %r2, %r3;", PTX_ERR_SYNTAX, 13, "expected ',' or ';' after the operand, found '%r2'");
    refuse("add.s32 %r1, %r2;", PTX_ERR_SYNTAX, 1, "an operand is missing");
    refuse("add.s32 %r1, %r2, %r3, %r4;", PTX_ERR_SYNTAX, 24, "one operand too many");
    refuse("add.s32 %r1, %rd2, %r3;", PTX_ERR_SYNTAX, 14, "expected a 32-bit register or constant");
    refuse("add.s32 %r1, %r99, %r3;", PTX_ERR_UNSUPPORTED, 14, "'%r99' is not a declared register");
    refuse("add.s32 5, %r2, %r3;", PTX_ERR_SYNTAX, 9, "expected a 32-bit register");
    refuse("add.f32 %f1, %f2, 3;", PTX_ERR_SYNTAX, 19, "this kind of constant");
    refuse("frobnicate.sync.b32 %r1, %r2;", PTX_ERR_UNSUPPORTED, 1,
           "the instruction 'frobnicate.sync.b32' is not supported");
    refuse("add.rna.f32 %f1, %f2, %f3;", PTX_ERR_UNSUPPORTED, 1,
           "the instruction 'add.rna.f32' is not supported");
    refuse(
        "wgmma.mma_async.sp.sync.aligned;", PTX_ERR_UNSUPPORTED, 1,
        "'wgmma.mma_async.sp.sync.aligned' is not simulated yet (matrix multiplications by a warpgroup, of "
        "other types)");
    refuse("atom.global.exch.b128 _, [%rd1], %rd2;", PTX_ERR_UNSUPPORTED, 1,
           "'atom.global.exch.b128' is not simulated yet (atomics of 128 bits)");
    refuse("mmad.sync %r1;", PTX_ERR_UNSUPPORTED, 1, "the instruction 'mmad.sync' is not supported");
    refuse("mov.u32 %r1, %envreg0;", PTX_ERR_UNSUPPORTED, 14, "'%envreg0'");
    refuse("add.u32 %r1, %clock, 1;", PTX_ERR_SYNTAX, 14, "a clock can only be moved");
    refuse("bra nowhere;", PTX_ERR_SYNTAX, 5, "the label 'nowhere' is not declared");
    refuse("@%r1 bra x; x:", PTX_ERR_SYNTAX, 2, "'%r1' is not a declared predicate");
    refuse("x: x: ret;", PTX_ERR_SYNTAX, 4, "the label 'x' is declared twice");
    refuse(".reg .b32 a; .reg .b32 a;", PTX_ERR_SYNTAX, 24, "declared twice");
    refuse(".local .b32 a[200000];", PTX_ERR_UNSUPPORTED, 13, "local memory is over 524288 bytes");
    refuse(".local .b32 a = 5;", PTX_ERR_SYNTAX, 15, "only .global and .const variables");
    refuse(".const .b32 a;", PTX_ERR_UNSUPPORTED, 1, "'.const'");
    refuse(".reg .f16x2 a;", PTX_ERR_UNSUPPORTED, 6, "'.f16x2'");
    refuse("ld.global.v2.f32 %f1, [%rd1];", PTX_ERR_SYNTAX, 18, "expected a vector");
    refuse("ld.global.v4.f32 {%f1, %f2}, [%rd1];", PTX_ERR_SYNTAX, 18, "expected a vector");
    refuse("ld.global.f32 %f1, %rd1;", PTX_ERR_SYNTAX, 20, "expected an address in brackets");
    refuse("ld.global.f32 %f1, [%r1];", PTX_ERR_SYNTAX, 21, "expected a 64-bit register as the address");
    refuse("ld.global.f32 %f1, [%rd1*4];", PTX_ERR_SYNTAX, 25, "expected '+', '-' or ']'");
    refuse("ld.param.u64 %rd1, [absent];", PTX_ERR_SYNTAX, 21, "'absent' is not declared");
    refuse("selp.b32 %r1, %r2, %r3, !%p1;", PTX_ERR_SYNTAX, 26, "'!' is not allowed here");
    refuse("setp.lt.and.s32 %p1, %r2, %r3;", PTX_ERR_SYNTAX, 1, "an operand is missing");
    refuse("setp.lt.s32 %p1, %r2, %r3, %p2;", PTX_ERR_SYNTAX, 28, "one operand too many");
    refuse("mov.u32 %r1,, %r2;", PTX_ERR_SYNTAX, 13, "expected an operand");
    refuse("\x01;", PTX_ERR_SYNTAX, 1, "expected an instruction");
    refuse("{ ret;", PTX_ERR_SYNTAX, 0, "never closed");
    refuse(".shared .align 3 .b8 a[4];", PTX_ERR_SYNTAX, 16, "power of two");
    refuse(".shared .b8 a[];", PTX_ERR_SYNTAX, 13, "must be .extern .shared");
    refuse(".shared .b8 a[49153];", PTX_ERR_SYNTAX, 13, "too much static shared memory: 49153 bytes, 49152");
    refuse("call foo;", PTX_ERR_UNSUPPORTED, 6, "the function 'foo' has no body here");
    refuse("call %r1, foo;", PTX_ERR_UNSUPPORTED, 6, "calls by address");
    refuse("call foo, (%r1);", PTX_ERR_UNSUPPORTED, 6, "'foo'");
}

/* `_` discards a result where ptxas accepts it, and nowhere else. */
static void test_sinks(void) {
    static const char *const taken[] = {
        "setp.lt.s32 _, %r2, %r3;",
        "setp.lt.s32 %p1|_, %r2, %r3;",
        "atom.global.add.u32 _, [%rd30], 1;",
        "atom.global.cas.b64 _, [%rd30], %rd1, %rd2;",
        "ld.global.v2.f32 {_, %f1}, [%rd30];",
        "mov.b64 {%r1, _}, %rd1;",
        "shfl.sync.up.b32 %r1|_, %r2, 1, 0, -1;",
        "elect.sync _|%p1, -1;",
        "lop3.b32 _, %r1, %r2, %r3, 1;",
        ".shared .b64 b; mbarrier.arrive.shared.b64 _, [b];",
    };
    static const struct {
        const char *statement;
        unsigned column;
    } refused[] = {
        {"cvt.rn.f64.s32 _, %r1;", 16},
        {"cvt.u64.u32 _, %r1;", 13},
        {"add.u32 _, %r1, 1;", 9},
        {"mov.b64 _, %rd1;", 9},
        {"mov.pred _, %p1;", 10},
        {"ld.global.f32 _, [%rd30];", 15},
        {"fma.rn.f64 _, %fd1, %fd1, %fd1;", 12},
        {"selp.b32 _, %r1, %r2, %p1;", 10},
        {"shfl.sync.up.b32 _|%p1, %r2, 1, 0, -1;", 18},
        {"vote.sync.any.pred _, %p1, -1;", 20},
        {"vote.sync.ballot.b32 _, %p1, -1;", 22},
        {"popc.b32 _, %r1;", 10},
    };
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        ptx_error error = {.message = ""};
        char *text = sim_kernel(taken[i]);
        check_report(sim_parse(text, &error) == PTX_OK, taken[i], 0, error.message);
        free(text);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        refuse(refused[i].statement, PTX_ERR_SYNTAX, refused[i].column,
               "'_' cannot take this instruction's result");
}

/* The caret is below the column, also after tabs. */
static void test_caret(void) {
    ptx_error error;
    char *text = sim_kernel("\tadd.s32 \t%r1, %r2, %rd3;");
    CHECK_EQUAL(sim_parse(text, &error), PTX_ERR_SYNTAX);
    CHECK_EQUAL(error.column, 21);
    CHECK(strcmp(error.text, "add.s32  %r1, %r2, %rd3;") == 0);
    const char *line = strstr(error.message, "add.s32  %r1");
    CHECK(line != NULL);
    const char *caret = line ? strchr(line, '^') : NULL;
    CHECK(caret != NULL);
    if (line && caret) {
        const char *break_at = strchr(line, '\n');
        CHECK_EQUAL((caret - break_at - 1) - 4, strstr(line, "%rd3") - line);
    }
    CHECK_EQUAL(error.warp, -1);
    CHECK_EQUAL(error.lane, -1);
    free(text);
}

static void test_module_refusals(void) {
    static const struct {
        const char *text;
        ptx_status status;
        const char *part;
    } texts[] = {
        {"hello", PTX_ERR_SYNTAX, "expected a directive, found 'hello'"},
        {".version x", PTX_ERR_SYNTAX, "expected a version"},
        {".address_size 32", PTX_ERR_UNSUPPORTED, "only 64-bit addresses"},
        {SIM_HEADER ".func f() { ret;", PTX_ERR_SYNTAX, "never closed"},
        {SIM_HEADER ".func f() { call f; ret; }\n.entry k() { call f; ret; }", PTX_ERR_UNSUPPORTED,
         "calls more than 32 deep"},
        {SIM_HEADER ".func f(.param .b32 x) { ret; }\n.entry k() { call f; ret; }", PTX_ERR_SYNTAX,
         "the call gives too little"},
        {SIM_HEADER ".func f(.param .b64 x) { ret; }\n.entry k() { .param .b32 a; call f, (a); ret; }",
         PTX_ERR_SYNTAX, "the call gives too little"},
        {SIM_HEADER ".func f(.param .b32 x) { ret; }\n.entry k() { .reg .b32 a; call f, (a); ret; }",
         PTX_ERR_UNSUPPORTED, "calls are supported with .param variables only"},
        {SIM_HEADER ".func f() { ret 5; }\n.entry k() { call f; ret; }", PTX_ERR_SYNTAX,
         "one operand too many"},
        {SIM_HEADER ".const .b8 a[70000];", PTX_ERR_UNSUPPORTED, "constants are over 65536 bytes"},
        {SIM_HEADER ".global .b8 a[300000000];", PTX_ERR_UNSUPPORTED, "variables are over 268435456 bytes"},
        {SIM_HEADER ".global .b32 a[2] = {1, 2, 3};", PTX_ERR_SYNTAX, "more initial values"},
        {SIM_HEADER ".global .b32 a[2] = {1, {2}};", PTX_ERR_UNSUPPORTED, "within further braces"},
        {SIM_HEADER ".global .b32 a = x;", PTX_ERR_SYNTAX, "expected a number or a variable"},
        {SIM_HEADER ".global .b64 a = x;", PTX_ERR_UNSUPPORTED, "'x' is no .global or .const variable"},
        {SIM_HEADER ".global .b64 a = generic(a;", PTX_ERR_SYNTAX, "expected ')'"},
        {SIM_HEADER ".global .b32 a[2] = {1, 2;", PTX_ERR_SYNTAX, "expected '}'"},
        {SIM_HEADER ".entry", PTX_ERR_SYNTAX, "expected the name of a kernel"},
        {SIM_HEADER ".entry k(.param .u64)", PTX_ERR_SYNTAX, "expected the type and the name of a parameter"},
        {SIM_HEADER ".entry k() .blocksareclusters { ret; }", PTX_ERR_UNSUPPORTED, "'.blocksareclusters'"},
        {SIM_HEADER ".entry k()", PTX_ERR_SYNTAX, "expected '{' to open the body"},
        {SIM_HEADER ".entry k() { ret;", PTX_ERR_SYNTAX, "never closed"},
        {SIM_HEADER ".alias a, b;", PTX_ERR_UNSUPPORTED, "'.alias'"},
        {SIM_HEADER ".section .debug {", PTX_ERR_SYNTAX, "never closed"},
        {SIM_HEADER ".extern .global .b32 g;\n.entry k() { .reg .b32 a; ld.global.b32 a, [g]; ret; }",
         PTX_ERR_UNSUPPORTED, "the variable 'g' is one of another module"},
        {SIM_HEADER ".const .b32 g = 5;\n.entry k() { .reg .b32 a; ld.global.b32 a, [g]; ret; }",
         PTX_ERR_SYNTAX, "in another state space"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ptx_error error;
        CHECK_EQUAL_AS(sim_parse(texts[i].text, &error), texts[i].status, texts[i].text);
        CHECK_CONTAINS(error.message, texts[i].part);
    }
    CHECK_EQUAL(sim_parse("hello", NULL), PTX_ERR_SYNTAX);
}

/* Declarations that CUDA's headers leave in a module without using them. */
static void test_unused_declarations(void) {
    ptx_error error;
    static const char text[] = SIM_HEADER
        ".file 1 \"/a b/x.cu\", 1700000000, 123\n"
        ".global .align 1 .b8 _ZN6thrust3seqE[1];\n.global .align 4 .b32 table[2] = {1, 2};\n"
        ".const .align 4 .f32 c = 0f3F800000;\n.extern .func (.param .b32 r) vprintf (.param .b64 a, .param "
        ".b64 b);\n"
        ".visible .entry k(.param .align 8 .b8 big[20], .param .u32 n) .maxntid 256, 1, 1 .minnctapersm 2 "
        ".maxnreg 32 { .loc 1 7 3, function_name $L__a, inlined_at 1 8 77\n .pragma \"nounroll\"; ret; }\n"
        ".section .debug_str\n{\n$L__a:\n.b8 95,90\n}\n";
    ptx_module *module;
    CHECK_EQUAL(ptx_module_parse(text, strlen(text), &module, &error), PTX_OK);
    CHECK_EQUAL(ptx_module_kernel_count(module), 1);
    const ptx_kernel *kernel = ptx_module_find(module, "k");
    CHECK(kernel != NULL && kernel == ptx_module_kernel_at(module, 0));
    CHECK(ptx_module_kernel_at(module, 1) == NULL);
    CHECK(ptx_module_find(module, "K") == NULL);
    CHECK_EQUAL(ptx_kernel_param_bytes(kernel), 24);
    CHECK_EQUAL(kernel->source[0].location, 2);
    CHECK_EQUAL(module->locations[1].line, 7);
    CHECK_EQUAL(module->locations[1].file, 1);
    CHECK_EQUAL(module->locations[1].caller, 1);
    CHECK_EQUAL(module->locations[0].line, 8);
    CHECK_EQUAL(module->locations[0].caller, 0);
    CHECK(strcmp(module->files[0].name, "/a b/x.cu") == 0);
    ptx_module_free(module);
}

/* The frames of an instruction's .loc as `file:line`, innermost first. */
static void expect_frames(const ptx_module *module, const ptx_kernel *kernel, size_t pc, const char *frames) {
    char got[200] = "";
    for (uint32_t at = kernel->source[pc].location; at; at = module->locations[at - 1].caller)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%u:%u ", module->locations[at - 1].file,
                 module->locations[at - 1].line);
    check_report(strcmp(got, frames) == 0, frames, (int)pc, got);
}

static void test_inlined_locations(void) {
    static const char text[] =
        SIM_HEADER ".file 1 \"k.cu\"\n.file 2 \"helper.cuh\"\n.entry k() {\nbar.sync 0;\n"
                   ".loc 1 10 5\nbar.sync 0;\n"
                   ".loc 1 20 9, function_name $L__a, inlined_at 1 10 5\n"
                   ".loc 2 3 1, function_name $L__b + 7, inlined_at 1 20 9\nbar.sync 0;\n"
                   ".loc 1 0 0\nbar.sync 0;\n"
                   ".loc 2 4 1, function_name $L__b, inlined_at 1 30 2\nbar.sync 0;\n"
                   ".loc 1 11 5\nret;\n}\n";
    ptx_module *module;
    ptx_error error;
    CHECK_EQUAL(ptx_module_parse(text, strlen(text), &module, &error), PTX_OK);
    const ptx_kernel *kernel = ptx_module_find(module, "k");
    expect_frames(module, kernel, 0, "");
    expect_frames(module, kernel, 1, "1:10 ");
    expect_frames(module, kernel, 2, "2:3 1:20 1:10 ");
    expect_frames(module, kernel, 3, "2:3 1:20 1:10 ");
    expect_frames(module, kernel, 4, "2:4 1:30 ");
    expect_frames(module, kernel, 5, "1:11 ");
    ptx_module_free(module);
}

static void test_kernel_facts(void) {
    ptx_error error;
    static const char text[] = SIM_HEADER
        ".extern .shared .align 16 .b8 dynamic[];\n"
        ".entry a(.param .u8 x, .param .u64 .ptr .global .align 1 y, .param .f32 z) {\n"
        ".shared .align 4 .b8 s1[6];\n.shared .f64 s2[3];\n.reg .b32 r;\n.reg .b64 l;\n mov.u32 r, s2; ret; "
        "}\n"
        ".entry b() { .reg .b32 r; .shared .b32 s; atom.shared.add.u32 r, [s], 1; ret; }\n"
        ".entry c(.param .u64 p) { .reg .b64 a; ld.param.u64 a, [p]; red.global.add.u32 [a], 1; ret; }\n"
        ".entry d(.param .u64 p) { .reg .b64 a; ld.param.u64 a, [p]; red.add.u32 [a], 1; ret; }\n";
    ptx_module *module;
    CHECK_EQUAL(ptx_module_parse(text, strlen(text), &module, &error), PTX_OK);
    const ptx_kernel *a = ptx_module_find(module, "a");
    CHECK_EQUAL(ptx_kernel_param_bytes(a), 20);
    CHECK_EQUAL(ptx_kernel_shared_bytes(a), 32);
    CHECK(!ptx_kernel_has_global_atomics(a));
    CHECK(!ptx_kernel_has_global_atomics(ptx_module_find(module, "b")));
    CHECK(ptx_kernel_has_global_atomics(ptx_module_find(module, "c")));
    CHECK(ptx_kernel_has_global_atomics(ptx_module_find(module, "d")));
    CHECK(strcmp(ptx_kernel_name(a), "a") == 0);
    ptx_module_free(module);
}

/* Nested scopes hide registers and labels of the same name. */
static void test_scopes(void) {
    uint32_t out[32];
    char *text = sim_kernel(
        "mov.u32 %r1, 1;\n"
        "{ .reg .b32 r0; .reg .pred p; .reg .b32 %r1;\n mov.u32 %r1, 50; setp.lt.u32 p, %r31, 16;\n"
        "  mov.u32 r0, 7; @p mov.u32 r0, %r1; mov.u32 %r2, r0; bra end; mov.u32 %r2, 0; end: }\n"
        "{ .reg .b64 r0; mov.u64 r0, 3; cvt.u32.u64 %r3, r0; bra end; mov.u32 %r3, 0; end: }\n"
        "add.u32 %r4, %r1, %r2;\nadd.u32 %r4, %r4, %r3;\nst.global.u32 [%rd28], %r4;");
    sim s;
    sim_open(&s, text, out, sizeof out, sizeof out);
    CHECK_EQUAL(sim_run(&s, "k", 1, 32, 0, out), PTX_OK);
    for (unsigned i = 0; i < 32; i++)
        CHECK_EQUAL(out[i], i < 16 ? 54 : 11);
    sim_close(&s);
    free(text);
}

/* Every prefix of a valid text is rejected without a crash. */
static void test_truncation(void) {
    char *text =
        sim_kernel("ld.global.v2.f32 {%f1, %f2}, [%rd30+8];\n@!%p1 bra x;\nfma.rn.f32 %f1, %f2, 0f3F800000, "
                   "1.5;\nx: setp.lt.and.s32 %p1|%p2, %r1, -3, !%p3;");
    size_t length = strlen(text);
    CHECK_EQUAL(sim_parse(text, NULL), PTX_OK);
    for (size_t cut = strlen(SIM_HEADER) + 1; cut + 3 < length; cut++) {
        ptx_module *module;
        ptx_error error;
        ptx_status status = ptx_module_parse(text, cut, &module, &error);
        CHECK(status == PTX_ERR_SYNTAX || status == PTX_ERR_UNSUPPORTED);
        CHECK(module == NULL);
    }
    free(text);
}

static ptx_status parse_one(const char *text, size_t length, const char *kernel, ptx_module **module,
                            ptx_error *error) {
    const ptx_module_options options = {.kernel = kernel};
    return ptx_module_open(text, length, &options, module, error);
}

/* The other kernels' bodies are skipped, whatever is in them, and lines are those of the whole text. */
static void test_one_kernel(void) {
    static const char text[] = SIM_HEADER
        ".global .align 4 .b32 before;\n"
        ".entry a(.param .u64 p)\n.maxntid 128\n.pragma \"{\";\n"
        "{ // }\n /* } */ { nonsense \"}\" {} } /\n\" open }\n}\n"
        ".extern .entry f(.param .u64 p)\n;\n.entry b(.param .u64 p, .param .u32 q);\n"
        ".entry b(.param .u64 p, .param .u32 q) { .reg .b32 r; .shared .b32 s[3]; mov.b32 r, 1; ret; }\n"
        ".global .align 4 .b32 between;\n"
        ".entry c(){}\n"
        ".entry d() {\n.reg .b32 r;\nstrange r;\n}\n"
        ".file 1 \"a\"\n"
        ".entry e() { {";
    const size_t length = strlen(text), closed = length - strlen(".entry e() { {");
    char *cut = strndup(text, closed);
    ptx_module *module;
    ptx_error error;
    CHECK_EQUAL(parse_one(cut, closed, "b", &module, &error), PTX_OK);
    CHECK_EQUAL(ptx_module_kernel_count(module), 1);
    const ptx_kernel *b = ptx_module_find(module, "b");
    CHECK_EQUAL(ptx_kernel_param_bytes(b), 12);
    CHECK_EQUAL(ptx_kernel_shared_bytes(b), 12);
    CHECK(module->text == cut && module->variables.bytes == 8 && module->file_count == 1);
    ptx_module_free(module);
    CHECK_EQUAL(parse_one(cut, closed, "f", &module, &error), PTX_OK);
    CHECK_EQUAL(ptx_module_kernel_count(module), 0);
    ptx_module_free(module);
    CHECK_EQUAL(parse_one(cut, closed, "d", &module, &error), PTX_ERR_UNSUPPORTED);
    CHECK(module == NULL);
    unsigned line = 1;
    for (const char *at = text; at < strstr(text, "strange"); at++)
        line += *at == '\n';
    CHECK_EQUAL(error.line, line);
    CHECK(strcmp(error.text, "strange r;") == 0);
    CHECK_EQUAL(parse_one(text, length, "b", &module, &error), PTX_ERR_SYNTAX);
    CHECK(strstr(error.message, "a '{' is never closed"));
    free(cut);
}

int main(void) {
    test_lexer();
    test_one_kernel();
    test_bad_tokens();
    test_refusals();
    test_sinks();
    test_caret();
    test_module_refusals();
    test_unused_declarations();
    test_inlined_locations();
    test_kernel_facts();
    test_scopes();
    test_truncation();
    return finish_checks("test_parser");
}
