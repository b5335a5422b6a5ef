/* Loads kernels through the CUDA backend and the fake driver: machine code, or the text of each kernel.
   Usage: test_backend_kernels <fake library> [case] */
#include "backend_testing.h"
#include "device/kernels.h"
#include "device/ptx_text.h"

static void test_bad_image(void) {
    gr_backend *b = open_device(0);
    gr_module *module = NULL;
    const gr_image bad = {.name = "v9", .data = "*not a fatbin", .size = 13};
    CHECK_FAILS(GR_ERR_DEVICE,
                "loading the kernels of v9 on cuda:0: CUDA_ERROR_INVALID_IMAGE: fake: invalid kernel image\n"
                "fake log: the image begins with byte 42",
                b->load(b, &bad, &module, error));
    CHECK(!module);
    b->close(b);
    check_nothing_left();
}

static void test_machine_code_of_another_device(void) {
    gr_backend *b = open_device(0);
    gr_module *module = NULL;
    gr_image other = image;
    enum { NO_BINARY_FOR_GPU = 209 };
    fake->fail("cuModuleLoadDataEx", 1, NO_BINARY_FOR_GPU, false);
    CHECK_FAILS(GR_ERR_DEVICE, "loading the kernels of v0 on cuda:0: CUDA error 209",
                b->load(b, &other, &module, error));
    other.optional = true;
    fake->fail("cuModuleLoadDataEx", 1, NO_BINARY_FOR_GPU, false);
    CHECK_OK(b->load(b, &other, &module, error));
    CHECK(!module);
    fake->fail("cuModuleLoadDataEx", 1, 999, false);
    CHECK_FAILS(GR_ERR_DEVICE, "CUDA_ERROR_UNKNOWN", b->load(b, &other, &module, error));
    b->close(b);
    check_nothing_left();
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* The PTX is loaded if there is no machine code, or none for the device. */
static void test_text_and_machine_code(void) {
    char folder[] = "/tmp/gr_kernels_XXXXXX", code[64], text[64];
    CHECK(mkdtemp(folder));
    snprintf(code, sizeof code, "%s/v0.fatbin", folder);
    snprintf(text, sizeof text, "%s/v0" GR_TEXT_SUFFIX, folder);
    write_file(text, "//\n.target sm_75\n");
    const gr_kernel_id id = {.owner = "v0", .file = "v0", .entry = "v0_sum_i32"};
    enum { NO_BINARY_FOR_GPU = 209 };
    for (int loads = 1; loads <= 3; ++loads) {
        gr_kernels kernels;
        gr_kernel *kernel = NULL;
        gr_kernels_init(&kernels, folder);
        kernels.backend = open_device(0);
        const long before = fake->calls("cuModuleLoadDataEx");
        if (loads == 2)
            write_file(code, "\x50\xed\x55\xba");
        if (loads == 2)
            fake->fail("cuModuleLoadDataEx", 1, NO_BINARY_FOR_GPU, false);
        CHECK_OK(gr_kernels_find(&kernels, &id, &kernel, error));
        CHECK(kernel && fake->calls("cuModuleLoadDataEx") - before == (loads == 2 ? 2 : 1));
        gr_kernels_unload(&kernels);
        kernels.backend->close(kernels.backend);
        if (loads == 2)
            remove(text); /* machine code is enough */
    }
    remove(code);
    remove(folder);
    check_nothing_left();
}

/* Each kernel of PTX is compiled by itself, once. */
static void test_kernels_of_text(void) {
    char folder[] = "/tmp/gr_kernels_XXXXXX", text[64];
    CHECK(mkdtemp(folder));
    snprintf(text, sizeof text, "%s/v0" GR_TEXT_SUFFIX, folder);
    write_file(text, "//\n.target sm_75\n");
    const gr_kernel_id ids[] = {{.owner = "v0", .file = "v0", .entry = "v0_sum_i32"},
                                {.owner = "v0", .file = "v0", .entry = "v0_sum_i32_b128"}};
    gr_kernels kernels;
    gr_kernels_init(&kernels, folder);
    kernels.backend = open_device(0);
    const long before = fake->calls("cuModuleLoadDataEx");
    gr_kernel *found[2] = {NULL, NULL}, *kernel = NULL;
    fake->fail("cuModuleLoadDataEx", 1, 999, false);
    CHECK_FAILS(GR_ERR_DEVICE, "CUDA_ERROR_UNKNOWN", gr_kernels_find(&kernels, &ids[0], &kernel, error));
    for (int i = 0; i < 2; i++)
        CHECK_OK(gr_kernels_find(&kernels, &ids[i], &found[i], error));
    CHECK(found[0] != found[1] && fake->calls("cuModuleLoadDataEx") - before == 3);
    for (int i = 0; i < 4; i++) {
        CHECK_OK(gr_kernels_find(&kernels, &ids[i % 2], &kernel, error));
        CHECK(kernel == found[i % 2]);
    }
    CHECK(fake->calls("cuModuleLoadDataEx") - before == 3);
    gr_kernels_unload(&kernels);
    kernels.backend->close(kernels.backend);
    remove(text);
    remove(folder);
    check_nothing_left();
}

static void test_extraction(void) {
#define HEAD "//\n.target sm_75\n.extern .shared .b8 bytes[];\n\t// .globl a\n"
#define KERNEL(name)                                                                                         \
    ".visible .entry " name "(\n\t.param .u32 p\n)\n{ // {\n\t{ mov; }\n{ // call\n}\n\t// } / "             \
    "{\n\tret;\n}\n"
#define SHARED ".shared .b8 own[4];\n"
#define TAIL "\t.file 1 \"a\"\n"
    static const char text[] = HEAD KERNEL("a") "\n" SHARED KERNEL("ab") "\n\n" KERNEL("b") TAIL;
    static const struct {
        const char *entry, *text;
    } cases[] = {{"a", HEAD KERNEL("a") "\n" SHARED "\n\n" TAIL},
                 {"ab", HEAD "\n" SHARED KERNEL("ab") "\n\n" TAIL},
                 {"b", HEAD "\n" SHARED "\n\n" KERNEL("b") TAIL},
                 {"c", HEAD "\n" SHARED "\n\n" TAIL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *found = gr_extract_kernel(text, sizeof text - 1, cases[i].entry);
        CHECK(found && strcmp(found, cases[i].text) == 0);
        free(found);
    }
    static const char cut[] = HEAD KERNEL("a") ".visible .entry b(\n";
    char *found = gr_extract_kernel(cut, sizeof cut - 1, "a");
    CHECK(found && strlen(found) == strlen(HEAD KERNEL("a")) - 1 && strncmp(cut, found, strlen(found)) == 0);
    free(found);
#undef TAIL
#undef SHARED
#undef KERNEL
#undef HEAD
}

static void test_remarks(void) {
    char text[] = "//\n.version 9.0\n.target sm_75\n\t// griddepcontrol.wait;\n\t// end inline asm\n"
                  "\t// griddepcontrol.launch_dependents;\n.target sm_75\n";
    gr_enable_remarks(text);
    CHECK(strcmp(text, "//\n.version 9.0\n.target sm_90\n\t   griddepcontrol.wait;\n\t// end inline asm\n"
                       "\t   griddepcontrol.launch_dependents;\n.target sm_75\n") == 0);
    char convert[] = "//\n.target sm_75\n\t// griddepcontrol.wait;\n\t// cvt.rn.f16x2.f32 %r2, %f1, %f2;\n";
    gr_enable_remarks(convert);
    CHECK(strcmp(convert,
                 "//\n.target sm_90\n\t   griddepcontrol.wait;\n\t   cvt.rn.f16x2.f32 %r2, %f1, %f2;\n") ==
          0);
    char plain[] = "//\n.target sm_75\n\t// end inline asm\n";
    gr_enable_remarks(plain);
    CHECK(strcmp(plain, "//\n.target sm_75\n\t// end inline asm\n") == 0);
}

static const test_case cases[] = {
    {"bad_image", test_bad_image},
    {"machine_code_of_another_device", test_machine_code_of_another_device},
    {"text_and_machine_code", test_text_and_machine_code},
    {"kernels_of_text", test_kernels_of_text},
    {"extraction", test_extraction},
    {"remarks", test_remarks},
};

int main(int argc, char **argv) {
    open_fake_driver(argc, argv);
    return run_cases("", cases, sizeof cases / sizeof *cases, argc > 2 ? argv[2] : NULL);
}
