/* Drives backend_cuda.c through the fake driver. Each case runs in a process of its own, because the driver
   is initialised once a process. Usage: test_backend_cuda <fake library> [case] */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/backend.h"
#include "device/cuda/driver.h"
#include "device/kernels.h"
#include "device/ptx_text.h"
#include "fake_cuda.h"

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)
#define CHECK_OK(call)                                                                                       \
    do {                                                                                                     \
        gr_error failed_ = {0};                                                                              \
        gr_error *error = &failed_;                                                                          \
        if ((call) != GR_OK) {                                                                               \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, error->message);                   \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)
/* The call fails with this status, and its message contains the text. */
#define CHECK_FAILS(expected, text, call)                                                                    \
    do {                                                                                                     \
        gr_error failed_ = {0};                                                                              \
        gr_error *error = &failed_;                                                                          \
        gr_status got_ = (call);                                                                             \
        if (got_ != (expected) || error->status != got_ || !strstr(error->message, (text))) {                \
            fprintf(stderr, "%s:%d: %s: status %d, message: %s\n", __FILE__, __LINE__, #call, (int)got_,     \
                    error->message);                                                                         \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static const char *fake_path;
static const fake_cuda_controls *fake;

static const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba, 1, 2, 3, 4};
static const gr_image image = {.name = "v0", .data = fatbin, .size = sizeof fatbin};
enum { N = 5003, GRID = 7 };

/* The parameters of a ladder kernel, and a launch with them. */
typedef struct ladder_params {
    gr_devptr in, out;
    uint64_t n;
} ladder_params;

#define LAUNCH(kernel_, grid_, block_, shared_, in_, out_, n_)                                               \
    {                                                                                                        \
        .kernel = (kernel_), .grid = {(grid_)}, .block = {(block_)}, .shared_bytes = (shared_),              \
        .params = &(const ladder_params){(in_), (out_), (n_)}, .param_bytes = sizeof(ladder_params)          \
    }

static int32_t element(int i) {
    return (int32_t)((uint32_t)i * 2654435761U) / 3;
}

static int64_t fill(int32_t *data, int n) {
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += data[i] = element(i);
    return sum;
}

static void check_nothing_left(void) {
    fake_cuda_live now = fake->live();
    CHECK(now.contexts == 0 && now.allocations == 0 && now.modules == 0 && now.streams == 0);
    CHECK(now.graphs == 0 && now.graph_execs == 0 && now.events == 0 && now.pinned == 0);
    CHECK(now.pools == 0 && now.owners == 0);
    CHECK(fake->leaked() == 0);
}

static bool current_is(int device, int depth) {
    int found_depth;
    return fake->current(&found_depth) == device && found_depth == depth;
}

static gr_backend *open_device(int index) {
    gr_backend *backend = NULL;
    CHECK_OK(gr_backend_cuda_open(index, &backend, error));
    return backend;
}

/* A session with every operation in it: sums N int32 in two passes, then times both. It stops at the first
   failure and leaves the rest to release_session. */
typedef struct session {
    gr_backend *backend;
    gr_devptr in, partials, out;
    gr_module *module;
    gr_kernel *first, *second;
    gr_stream copies, kernels;
    gr_event event;
    void *pinned;
    int64_t result;
    double microseconds[3];
} session;

/* Uploads the data through pinned memory in one stream and sums it in another, which follows. */
static gr_status run_streams(session *s, const int32_t *data, gr_error *error) {
    gr_backend *b = s->backend;
    const gr_stream_ops *streams = b->streams;
    const size_t bytes = N * sizeof *data;
    gr_devptr mapped = 0;
    bool done = false;
    CHECK(streams->maps);
    gr_status status = streams->host_alloc(b, bytes, &s->pinned, &mapped, error);
    if (status == GR_OK)
        status = streams->stream_open(b, &s->copies, error);
    if (status == GR_OK)
        status = streams->stream_open(b, &s->kernels, error);
    if (status == GR_OK)
        status = streams->event_open(b, &s->event, error);
    if (status != GR_OK)
        return status;
    memcpy(s->pinned, data, bytes);
    status = b->upload(b, s->copies, s->in, s->pinned, bytes, error);
    if (status == GR_OK)
        status = streams->record(b, s->copies, s->event, error);
    if (status == GR_OK)
        status = streams->event_done(b, s->event, false, &done, error);
    CHECK(!done);
    if (status == GR_OK)
        status = streams->event_done(b, s->event, true, &done, error);
    if (status == GR_OK)
        status = streams->event_done(b, s->event, false, &done, error);
    CHECK(done || status != GR_OK);
    if (status == GR_OK)
        status = streams->wait_event(b, s->kernels, s->event, error);
    gr_launch launch = LAUNCH(s->first, GRID, 256, 1024, mapped, s->partials, N);
    launch.stream = s->kernels;
    if (status == GR_OK)
        status = b->launch(b, &launch, NULL, error);
    return status == GR_OK ? b->wait(b, s->kernels, error) : status;
}

static gr_status run_session(session *s, const int32_t *data, gr_error *error) {
    gr_device_info info;
    gr_status status = gr_backend_cuda_info(0, &info, error);
    if (status == GR_OK)
        status = gr_backend_cuda_open(0, &s->backend, error);
    if (status != GR_OK)
        return status;
    gr_backend *b = s->backend;
    status = b->alloc(b, N * sizeof *data, &s->in, error);
    if (status == GR_OK)
        status = b->alloc(b, GRID * sizeof(int64_t), &s->partials, error);
    if (status == GR_OK)
        status = b->alloc(b, sizeof(int64_t), &s->out, error);
    int device = -1;
    if (status == GR_OK)
        status = gr_backend_cuda_pointer(s->in + 4, &device, error);
    CHECK(status != GR_OK || device == b->info.index);
    if (status == GR_OK)
        status = b->upload(b, 0, s->in, data, N * sizeof *data, error);
    if (status == GR_OK)
        status = b->load(b, &image, &s->module, error);
    if (status == GR_OK)
        status = b->find(b, s->module, "v0_sum_i32", &s->first, error);
    if (status == GR_OK)
        status = b->find(b, s->module, "v0_sum_i64", &s->second, error);
    if (status == GR_OK)
        status = run_streams(s, data, error);
    const gr_tensor tensor = {
        .type = GR_TENSOR_F32, .rank = 1, .address = s->in & ~15ull, .sizes = {N}, .box = {32}};
    gr_tensor_map map;
    if (status == GR_OK)
        status = b->map_tensor(b, &tensor, &map, error);
    gr_launch launches[] = {LAUNCH(s->first, GRID, 256, 1024, s->in, s->partials, N),
                            LAUNCH(s->second, 1, 256, 64 * 1024, s->partials, s->out, GRID)};
    for (int i = 0; i < 2 && status == GR_OK; i++)
        status = b->launch(b, &launches[i], NULL, error);
    if (status == GR_OK)
        status = b->sync(b, error);
    if (status == GR_OK)
        status = b->download(b, 0, &s->result, s->out, sizeof s->result, error);
    if (status == GR_OK)
        status = b->time(b, launches, 2, 3, s->microseconds, error);
    return status;
}

static void release_session(session *s) {
    gr_backend *b = s->backend;
    if (!b)
        return;
    b->streams->host_free(b, s->pinned);
    b->streams->event_close(b, s->event);
    b->streams->stream_close(b, s->kernels);
    b->streams->stream_close(b, s->copies);
    b->unload(b, s->module);
    b->free(b, s->out);
    b->free(b, s->partials);
    b->free(b, s->in);
    b->close(b);
}

static void test_happy_path(void) {
    fake->set_devices(2);
    fake->set_current(1); /* as another library may have it */
    int32_t data[N];
    int64_t expected = fill(data, N);
    session s = {0};
    CHECK_OK(run_session(&s, data, error));
    CHECK(current_is(1, 1));
    CHECK(s.result == expected);

    gr_backend *b = s.backend;
    gr_kernel *again = NULL;
    CHECK_OK(b->find(b, s.module, "v0_sum_i32", &again, error));
    CHECK(again == s.first && again != s.second);
    CHECK_FAILS(GR_ERR_DEVICE,
                "finding the kernel v0_mul_i32 of v0: CUDA_ERROR_NOT_FOUND: fake: no such symbol",
                b->find(b, s.module, "v0_mul_i32", &again, error));
    CHECK_OK(b->upload(b, 0, s.in, NULL, 0, error));
    CHECK_OK(b->download(b, 0, NULL, s.in, 0, error));
    b->free(b, 0);
    b->unload(b, NULL);
    CHECK(current_is(1, 1));
    CHECK_OK(b->enter(b, error));
    CHECK(current_is(0, 2));
    b->leave(b);
    CHECK(current_is(1, 1));

    /* Two launches, a warm-up, three repeats: everything ran in the streams that it should. */
    fake_cuda_launch log[16];
    CHECK(fake->launches(log, 16) == 1 + 2 + 2 * 4);
    CHECK(!log[0].default_stream && log[0].in != s.in);
    for (int i = 0; i < 10; i++)
        log[i] = log[i + 1];
    for (int i = 0; i < 10; i++) {
        bool first = i % 2 == 0;
        CHECK(strcmp(log[i].name, first ? "v0_sum_i32" : "v0_sum_i64") == 0);
        CHECK(log[i].grid[0] == (first ? GRID : 1) && log[i].block[0] == 256);
        CHECK(log[i].shared_bytes == (first ? 1024 : 64 * 1024));
        CHECK(log[i].n == (first ? N : GRID) && log[i].in == (first ? s.in : s.partials));
        CHECK(log[i].out == (first ? s.partials : s.out));
        CHECK(log[i].default_stream == (i < 2));
    }
    for (unsigned i = 0; i < 3; i++) {
        double graph = fake_cuda_graph_microseconds(i + 1); /* 0 was the warm-up */
        double mean = (graph + fake_cuda_kernel_microseconds(GRID) + fake_cuda_kernel_microseconds(1)) / 2;
        CHECK(fabs(s.microseconds[i] - mean) < 1e-3);
    }
    /* What is timed comes after what the default stream still has to do. */
    const int64_t none[GRID] = {0};
    gr_launch unfinished = LAUNCH(s.first, GRID, 64, 0, s.in, s.partials, N);
    gr_launch timed = LAUNCH(s.second, 1, 64, 0, s.partials, s.out, GRID);
    CHECK_OK(b->upload(b, 0, s.partials, none, sizeof none, error));
    CHECK_OK(b->launch(b, &unfinished, NULL, error));
    CHECK_OK(b->time(b, &timed, 1, 1, s.microseconds, error));
    CHECK_OK(b->download(b, 0, &s.result, s.out, sizeof s.result, error));
    CHECK(s.result == expected);
    CHECK_FAILS(GR_ERR_VALUE, "at least one launch", b->time(b, NULL, 0, 1, s.microseconds, error));
    release_session(&s);
    CHECK(current_is(1, 1));
    check_nothing_left();
}

static void test_pinned(void) {
    gr_backend *b = open_device(0);
    const gr_stream_ops *streams = b->streams;
    int32_t pageable[16];
    void *memory = NULL;
    gr_devptr mapped = 0, device = 0;
    CHECK_OK(streams->host_alloc(b, 4096, &memory, &mapped, error));
    CHECK_OK(b->alloc(b, 4096, &device, error));
    CHECK(streams->pinned(b, (char *)memory + 96, 4000));
    CHECK(!streams->pinned(b, (char *)memory + 96, 4001)); /* its end lies elsewhere */
    CHECK(!streams->pinned(b, pageable, sizeof pageable));
    CHECK(!streams->pinned(b, (const void *)(uintptr_t)device, 16));
    fake->fail("cuCtxPushCurrent_v2", 1, 719, false);
    CHECK(!streams->pinned(b, memory, 16));
    fake->fail("cuPointerGetAttributes", 1, 719, false);
    CHECK(!streams->pinned(b, memory, 16));
    streams->host_free(b, NULL);
    streams->host_free(b, memory);
    streams->event_close(b, 0);
    streams->stream_close(b, 0);
    b->free(b, device);
    b->close(b);
    check_nothing_left();
}

static void test_info(void) {
    fake->set_devices(3);
    fake->set_memory(123456789);
    int count = 0;
    CHECK_OK(gr_backend_cuda_count(&count, error));
    CHECK(count == 3);
    gr_device_info info;
    CHECK_OK(gr_backend_cuda_info(2, &info, error));
    CHECK(fake->calls("cuDevicePrimaryCtxRetain") == 0);
    gr_backend *b = open_device(2);
    for (int i = 0; i < 2; i++, info = b->info) {
        CHECK(info.kind == GR_DEVICE_CUDA && info.index == 2 && strcmp(info.name, "Fake GPU 2") == 0);
        CHECK(info.capability_major == 9 && info.capability_minor == 0 && info.driver_version == 13000);
        CHECK(info.multiprocessors == 134 && info.threads_per_multiprocessor == 2048);
        CHECK(info.memory_bytes == 123456789 && info.memory_bytes_per_second == 4608000000000);
        CHECK(info.caps.capability == 90 && info.caps.shared_per_block == FAKE_CUDA_SHARED_OPTIN);
        CHECK(info.caps.clusters);
    }
    CHECK(strcmp(b->machine_code_suffix, ".fatbin") == 0);
    gr_backend *second = open_device(2);
    CHECK(fake->live().contexts == 2);
    second->close(second);
    b->close(b);
    check_nothing_left();
}

static void test_environment(void) {
    setenv("FAKE_CUDA_DEVICES", "4", 1);
    setenv("FAKE_CUDA_CAPABILITY", "7.5", 1);
    setenv("FAKE_CUDA_MEMORY", "4096", 1);
    setenv("FAKE_CUDA_SHARED", "65536", 1);
    setenv("FAKE_CUDA_FAIL", "cuDeviceTotalMem_v2:2:999", 1);
    gr_device_info info;
    CHECK_OK(gr_backend_cuda_info(3, &info, error));
    CHECK(info.capability_major == 7 && info.capability_minor == 5 && info.memory_bytes == 4096);
    CHECK(info.caps.capability == 75 && info.caps.shared_per_block == 65536 && !info.caps.clusters);
    CHECK_FAILS(GR_ERR_DEVICE, "reading the device's memory size: CUDA_ERROR_UNKNOWN: fake: unknown error",
                gr_backend_cuda_info(3, &info, error));
    CHECK_OK(gr_backend_cuda_info(3, &info, error));
}

static void test_bad_index(void) {
    gr_backend *b = NULL;
    gr_device_info info;
    CHECK_FAILS(GR_ERR_DEVICE, "cuda:3: no such device; 1 CUDA device(s) present",
                gr_backend_cuda_open(3, &b, error));
    CHECK_FAILS(GR_ERR_DEVICE, "cuda:1: no such device; 1 CUDA", gr_backend_cuda_info(1, &info, error));
    fake->set_devices(2);
    CHECK_FAILS(GR_ERR_DEVICE, "cuda:-1: no such device; 2 CUDA", gr_backend_cuda_open(-1, &b, error));
    CHECK(!b);
    check_nothing_left();
}

static void test_no_library(void) {
    int count = 0;
    gr_backend *b = NULL;
    setenv("GPUREDUCE_LIBCUDA", "/nowhere/libcuda.so.7", 1);
    CHECK_FAILS(GR_ERR_DEVICE,
                "no CUDA driver: /nowhere/libcuda.so.7: ", gr_backend_cuda_count(&count, error));
    CHECK_FAILS(GR_ERR_DEVICE, "no CUDA driver: /nowhere/libcuda.so.7: ", gr_backend_cuda_open(0, &b, error));
    setenv("GPUREDUCE_LIBCUDA", "libm.so.6", 1);
    CHECK_FAILS(GR_ERR_DEVICE, "libm.so.6 has no cuInit: the CUDA driver is too old",
                gr_backend_cuda_count(&count, error));
    CHECK(!b && count == 0 && fake->calls(NULL) == 0);
    setenv("GPUREDUCE_LIBCUDA", fake_path, 1); /* a failure is not for good */
    CHECK_OK(gr_backend_cuda_count(&count, error));
    CHECK(count == 1);
}

static void test_no_device(void) {
    int count = 77;
    fake->fail("cuInit", 1, 100, false);
    CHECK_FAILS(GR_ERR_DEVICE, "initialising the CUDA driver: CUDA_ERROR_NO_DEVICE: fake: no device found",
                gr_backend_cuda_count(&count, error));
    fake->fail("cuInit", 1, 3, false);
    CHECK_FAILS(GR_ERR_DEVICE, "CUDA_ERROR_NOT_INITIALIZED", gr_backend_cuda_count(&count, error));
    fake->fail("cuInit", 1, 3, false);
    CHECK_FAILS(GR_ERR_DEVICE, "start it with the spawn method", gr_backend_cuda_count(&count, error));
    fake->fail("cuInit", 1, 2, false);
    CHECK_FAILS(GR_ERR_DEVICE, "CUDA_ERROR_OUT_OF_MEMORY", gr_backend_cuda_count(&count, error));
    fake->set_devices(0);
    CHECK_FAILS(GR_ERR_DEVICE, "reports no device", gr_backend_cuda_count(&count, error));
    CHECK(count == 77);
    fake->set_devices(1);
    CHECK_OK(gr_backend_cuda_count(&count, error));
    CHECK(count == 1 && fake->calls("cuInit") == 5);
}

static void test_out_of_memory(void) {
    fake->set_memory(1 << 20);
    gr_backend *b = open_device(0);
    gr_devptr kept = 0, none = 0, empty = 0;
    CHECK_OK(b->alloc(b, 1 << 18, &kept, error));
    CHECK_FAILS(GR_ERR_MEMORY, "allocating 2097152 bytes on cuda:0, which has 786431 of 1048576 bytes free",
                b->alloc(b, 1 << 21, &none, error));
    CHECK_FAILS(GR_ERR_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY: fake: out of memory",
                b->alloc(b, SIZE_MAX, &none, error));
    fake->fail("cuMemGetInfo_v2", 1, 999, false);
    CHECK_FAILS(GR_ERR_MEMORY, "allocating 2097152 bytes on cuda:0: CUDA_ERROR_OUT_OF_MEMORY",
                b->alloc(b, 1 << 21, &none, error));
    CHECK(none == 0);
    CHECK_OK(b->alloc(b, 0, &empty, error));
    CHECK(empty != 0 && empty != kept);
    b->free(b, empty);
    CHECK(fake->live().allocations == 2);
    b->free(b, kept);
    b->close(b);
    check_nothing_left();
}

static void test_unnamed_error(void) {
    gr_backend *b = open_device(0);
    gr_devptr address = 0;
    fake->fail("cuMemAlloc_v2", 1, 12345, false);
    CHECK_FAILS(GR_ERR_DEVICE, "allocating 64 bytes on cuda:0: CUDA error 12345",
                b->alloc(b, 64, &address, error));
    fake->fail("cuMemAlloc_v2", 1, 999, false);
    fake->fail("cuGetErrorString", 1, 999, false);
    CHECK_FAILS(GR_ERR_DEVICE, "CUDA_ERROR_UNKNOWN: no description", b->alloc(b, 64, &address, error));
    b->close(b);
}

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

static void test_shared_memory(void) {
    int32_t data[N];
    int64_t expected = fill(data, N), result = 0;
    gr_backend *b = open_device(0);
    gr_devptr in = 0, out = 0;
    gr_module *module = NULL;
    gr_kernel *kernel = NULL;
    CHECK_OK(b->alloc(b, sizeof data, &in, error));
    CHECK_OK(b->alloc(b, 2 * sizeof result, &out, error));
    CHECK_OK(b->upload(b, 0, in, data, sizeof data, error));
    CHECK_OK(b->load(b, &image, &module, error));
    CHECK_OK(b->find(b, module, "v0_sum_i32", &kernel, error));
    gr_launch launch = LAUNCH(kernel, 2, 256, 48 * 1024 - FAKE_CUDA_STATIC_SHARED, in, out, N);
    CHECK_OK(b->launch(b, &launch, NULL, error));
    CHECK(fake->calls("cuFuncSetAttribute") == 0);
    const uint32_t most = FAKE_CUDA_SHARED_OPTIN - FAKE_CUDA_STATIC_SHARED;
    fake_cuda_launch log[4];
    const uint32_t sizes[] = {48 * 1024 - FAKE_CUDA_STATIC_SHARED + 1, most, 100 * 1024};
    for (int i = 0; i < 3; i++) {
        launch.shared_bytes = sizes[i];
        CHECK_OK(b->launch(b, &launch, NULL, error));
    }
    CHECK_OK(b->sync(b, error));
    /* Never less than everything, or one thread's launch could fail by another's smaller wish. */
    CHECK(fake->launches(log, 4) == 4);
    for (int i = 1; i < 4; i++)
        CHECK(log[i].shared_bytes == sizes[i - 1] && log[i].shared_limit == most);
    launch.shared_bytes = most + 1;
    CHECK_FAILS(GR_ERR_DEVICE,
                "launching v0_sum_i32: 231425 bytes of dynamic shared memory asked, cuda:0 allows 231424",
                b->launch(b, &launch, NULL, error));
    double unused;
    CHECK_FAILS(GR_ERR_DEVICE, "231425 bytes of dynamic shared memory asked",
                b->time(b, &launch, 1, 1, &unused, error));
    CHECK_OK(b->download(b, 0, &result, out, sizeof result, error));
    CHECK(result == expected);
    b->unload(b, module);
    b->free(b, in);
    b->free(b, out);
    b->close(b);
    check_nothing_left();
}

static void test_clusters(void) {
    int32_t data[N];
    int64_t expected = fill(data, N), result[32], sum = 0;
    gr_backend *b = open_device(0);
    gr_devptr in = 0, out = 0;
    gr_module *module = NULL;
    gr_kernel *kernel = NULL;
    CHECK_OK(b->alloc(b, sizeof data, &in, error));
    CHECK_OK(b->alloc(b, sizeof result, &out, error));
    CHECK_OK(b->upload(b, 0, in, data, sizeof data, error));
    CHECK_OK(b->load(b, &image, &module, error));
    CHECK_OK(b->find(b, module, "v0_sum_i32", &kernel, error));
    gr_launch launch = LAUNCH(kernel, 32, 256, 0, in, out, N);
    const uint32_t sizes[] = {0, 1, 2, 8, 16};
    double microseconds;
    for (int i = 0; i < 5; i++) {
        launch.cluster[0] = sizes[i];
        launch.pdl = i % 2;
        CHECK_OK(b->launch(b, &launch, NULL, error));
        CHECK(fake->calls("cuFuncSetAttribute") == (sizes[i] > 8));
    }
    CHECK_OK(b->time(b, &launch, 1, 1, &microseconds, error));
    fake_cuda_launch log[7];
    CHECK(fake->launches(log, 7) == 7);
    for (int i = 0; i < 7; i++) {
        const uint32_t wanted = sizes[i < 5 ? i : 4];
        CHECK(log[i].cluster[0] == (wanted > 1 ? wanted : 0) && log[i].default_stream == (i < 5));
        CHECK(log[i].pdl == (i == 1 || i == 3));
    }
    CHECK_OK(b->download(b, 0, result, out, sizeof result, error));
    for (int i = 0; i < 32; i++)
        sum += result[i];
    CHECK(sum == expected);
    launch.cluster[0] = 5;
    CHECK_FAILS(GR_ERR_DEVICE, "launching v0_sum_i32: CUDA_ERROR_INVALID_CLUSTER_SIZE",
                b->launch(b, &launch, NULL, error));
    b->unload(b, module);
    b->free(b, in);
    b->free(b, out);
    b->close(b);
    check_nothing_left();
}

/* The device is asked, whatever its number. */
static void test_no_clusters(void) {
    setenv("FAKE_CUDA_CAPABILITY", "9.1", 1);
    setenv("FAKE_CUDA_CLUSTERS", "0", 1);
    gr_backend *b = open_device(0);
    gr_devptr data = 0;
    gr_module *module = NULL;
    gr_kernel *kernel = NULL;
    double microseconds;
    CHECK_OK(b->alloc(b, 4096, &data, error));
    CHECK_OK(b->load(b, &image, &module, error));
    CHECK_OK(b->find(b, module, "v0_sum_i32", &kernel, error));
    gr_launch launch = LAUNCH(kernel, 8, 64, 0, data, data + 2048, 512);
    launch.cluster[0] = 8;
    const char *const text =
        "launching v0_sum_i32: cuda:0, of compute capability 9.1, has no clusters of blocks";
    CHECK_FAILS(GR_ERR_DEVICE, text, b->launch(b, &launch, NULL, error));
    CHECK_FAILS(GR_ERR_DEVICE, text, b->time(b, &launch, 1, 1, &microseconds, error));
    CHECK(fake->launches(NULL, 0) == 0);
    b->unload(b, module);
    b->free(b, data);
    b->close(b);
    check_nothing_left();
}

static bool extents_are(const unsigned got[3], unsigned x, unsigned y, unsigned z) {
    return got[0] == x && got[1] == y && got[2] == z;
}

/* A grid whose blocks wait for each other, of more blocks than the device holds at once. */
static void test_parts(void) {
    enum { BLOCKS = 600, RESIDENT = 132 * FAKE_CUDA_OCCUPANCY };
    static int32_t data[BLOCKS];
    gr_backend *b = open_device(0);
    gr_devptr in = 0, out = 0;
    gr_module *module = NULL;
    gr_kernel *kernel = NULL;
    fill(data, BLOCKS);
    CHECK_OK(b->alloc(b, sizeof data, &in, error));
    CHECK_OK(b->alloc(b, BLOCKS * sizeof(int64_t), &out, error));
    CHECK_OK(b->upload(b, 0, in, data, sizeof data, error));
    CHECK_OK(b->load(b, &image, &module, error));
    CHECK_OK(b->find(b, module, "v0_sum_i32", &kernel, error));
    gr_launch launch = LAUNCH(kernel, BLOCKS, 32, 0, in, out, 0);
    launch.first_block_offset = offsetof(ladder_params, n);
    fake->fail("cuOccupancyMaxActiveBlocksPerMultiprocessor", 1, 719, false);
    CHECK_FAILS(GR_ERR_DEVICE,
                "asking for the occupancy of v0_sum_i32: CUDA_ERROR_LAUNCH_FAILED: fake: a kernel failed",
                b->launch(b, &launch, NULL, error));
    CHECK_OK(b->launch(b, &launch, NULL, error));
    CHECK_OK(b->sync(b, error));
    fake_cuda_launch log[6];
    CHECK(fake->launches(log, 6) == 3);
    for (unsigned i = 0; i < 3; i++) {
        CHECK(extents_are(log[i].grid, i < 2 ? RESIDENT : BLOCKS - 2 * RESIDENT, 1, 1));
        CHECK(log[i].n == i * RESIDENT);
    }
    launch.grid[0] = RESIDENT;
    CHECK_OK(b->launch(b, &launch, NULL, error));
    CHECK(fake->calls("cuOccupancyMaxActiveBlocksPerMultiprocessor") == 2); /* one of which failed */
    CHECK_OK(b->sync(b, error));
    CHECK(fake->launches(log, 6) == 4 && extents_are(log[3].grid, RESIDENT, 1, 1));
    b->free(b, in);
    b->free(b, out);
    b->unload(b, module);
    b->close(b);
    check_nothing_left();
}

static void test_three_extents(void) {
    enum { BLOCKS = 2 * 3 * 4 };
    int32_t data[N];
    int64_t expected = fill(data, N), result[BLOCKS];
    gr_backend *b = open_device(0);
    gr_devptr in = 0, out = 0;
    gr_module *module = NULL;
    gr_kernel *kernel = NULL;
    double microseconds;
    CHECK_OK(b->alloc(b, sizeof data, &in, error));
    CHECK_OK(b->alloc(b, sizeof result, &out, error));
    CHECK_OK(b->upload(b, 0, in, data, sizeof data, error));
    CHECK_OK(b->load(b, &image, &module, error));
    CHECK_OK(b->find(b, module, "v0_sum_i32", &kernel, error));
    gr_launch launch = LAUNCH(kernel, 2, 32, 0, in, out, N);
    CHECK_OK(b->launch(b, &launch, NULL, error));
    memcpy(launch.grid, (const uint32_t[]){2, 3, 4}, sizeof launch.grid);
    memcpy(launch.block, (const uint32_t[]){32, 4, 2}, sizeof launch.block);
    memcpy(launch.cluster, (const uint32_t[]){0, 3, 4}, sizeof launch.cluster);
    CHECK_OK(b->launch(b, &launch, NULL, error));
    CHECK(fake->calls("cuFuncSetAttribute") == 1); /* for more than 8 blocks in all */
    CHECK_OK(b->download(b, 0, result, out, sizeof result, error));
    CHECK(result[0] == expected && result[BLOCKS - 1] == 0);
    CHECK_OK(b->time(b, &launch, 1, 1, &microseconds, error));
    fake_cuda_launch log[4];
    CHECK(fake->launches(log, 4) == 4);
    CHECK(extents_are(log[0].grid, 2, 1, 1) && extents_are(log[0].block, 32, 1, 1));
    CHECK(extents_are(log[0].cluster, 0, 0, 0));
    for (int i = 1; i < 4; i++) {
        CHECK(extents_are(log[i].grid, 2, 3, 4) && extents_are(log[i].block, 32, 4, 2));
        CHECK(extents_are(log[i].cluster, 1, 3, 4));
    }
    launch.grid[0] = 0;
    CHECK_FAILS(GR_ERR_DEVICE, "CUDA_ERROR_INVALID_VALUE", b->launch(b, &launch, NULL, error));
    b->unload(b, module);
    b->free(b, in);
    b->free(b, out);
    b->close(b);
    check_nothing_left();
}

/* A kernel that leaves its memory: what comes after it fails, closing works, and so does a fresh start. */
static void test_sticky_error(void) {
    int32_t data[N];
    int64_t expected = fill(data, N);
    for (int timed = 0; timed < 2; timed++) {
        gr_backend *b = open_device(0);
        gr_devptr small = 0, other = 0;
        gr_module *module = NULL;
        gr_kernel *kernel = NULL;
        double unused[2];
        int64_t word;
        fake->set_current(0);
        CHECK_OK(b->alloc(b, 64, &small, error));
        CHECK_OK(b->load(b, &image, &module, error));
        CHECK_OK(b->find(b, module, "v0_sum_i32", &kernel, error));
        const gr_launch launch = LAUNCH(kernel, 1, 64, 0, small, small, 17); /* one element too many */
        if (timed) {
            CHECK_FAILS(
                GR_ERR_DEVICE,
                "timing v0_sum_i32: waiting for the end: CUDA_ERROR_ILLEGAL_ADDRESS: fake: a kernel left",
                b->time(b, &launch, 1, 2, unused, error));
        } else {
            CHECK_OK(b->launch(b, &launch, NULL, error));
            CHECK_FAILS(GR_ERR_DEVICE,
                        "waiting for the work on cuda:0: CUDA_ERROR_ILLEGAL_ADDRESS: fake: a kernel left",
                        b->sync(b, error));
        }
        CHECK_FAILS(GR_ERR_DEVICE,
                    "launching v0_sum_i32: CUDA_ERROR_ILLEGAL_ADDRESS: ", b->launch(b, &launch, NULL, error));
        CHECK_FAILS(GR_ERR_DEVICE, "copying 8 bytes from cuda:0: CUDA_ERROR_ILLEGAL_ADDRESS: ",
                    b->download(b, 0, &word, small, sizeof word, error));
        CHECK_FAILS(GR_ERR_DEVICE, "allocating 8 bytes on cuda:0: CUDA_ERROR_ILLEGAL_ADDRESS: ",
                    b->alloc(b, 8, &other, error));
        b->unload(b, module);
        b->free(b, small);
        CHECK(current_is(0, 1));
        b->close(b);
        CHECK(fake->live().contexts == 0 && fake->live().allocations == 0);
    }
    session s = {0};
    CHECK_OK(run_session(&s, data, error));
    CHECK(s.result == expected);
    release_session(&s);
    CHECK(fake->live().contexts == 0 && fake->live().modules == 0);
}

static void wait_for_success(pid_t child) {
    int how = 0;
    CHECK(waitpid(child, &how, 0) == child);
    CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

static void check_forked_child(session *s, pid_t parent) {
    char text[128];
    snprintf(text, sizeof text,
             "CUDA was initialised in the parent process (pid %d); a forked child cannot use it, start it "
             "with the "
             "spawn method",
             (int)parent);
    long before = fake->calls(NULL);
    gr_backend *b = s->backend, *second = NULL;
    gr_launch launch = LAUNCH(s->first, 1, 64, 0, s->in, s->partials, N);
    gr_devptr address = 0;
    gr_module *module = NULL;
    gr_kernel *kernel = NULL;
    gr_device_info info;
    double time;
    int64_t word = 7;
    int count;
    CHECK_FAILS(GR_ERR_DEVICE, text, b->alloc(b, 64, &address, error));
    CHECK_FAILS(GR_ERR_DEVICE, text, b->upload(b, 0, s->out, &word, sizeof word, error));
    CHECK_FAILS(GR_ERR_DEVICE, text, b->download(b, 0, &word, s->out, sizeof word, error));
    CHECK_FAILS(GR_ERR_DEVICE, text, b->load(b, &image, &module, error));
    CHECK_FAILS(GR_ERR_DEVICE, text, b->find(b, s->module, "v0_sum_i32", &kernel, error));
    CHECK_FAILS(GR_ERR_DEVICE, text, b->launch(b, &launch, NULL, error));
    CHECK_FAILS(GR_ERR_DEVICE, text, b->sync(b, error));
    CHECK_FAILS(GR_ERR_DEVICE, text, b->time(b, &launch, 1, 1, &time, error));
    CHECK_FAILS(GR_ERR_DEVICE, text, gr_backend_cuda_count(&count, error));
    CHECK_FAILS(GR_ERR_DEVICE, text, gr_backend_cuda_info(0, &info, error));
    CHECK_FAILS(GR_ERR_DEVICE, text, gr_backend_cuda_open(0, &second, error));
    release_session(s);
    CHECK(fake->calls(NULL) == before);
    CHECK(word == 7 && !address && !module && !kernel && !second);
}

static void test_fork(void) {
    int32_t data[N];
    int64_t expected = fill(data, N), result = 0;
    session s = {0};
    CHECK_OK(run_session(&s, data, error));
    pid_t parent = getpid(), child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        check_forked_child(&s, parent);
        exit(0);
    }
    wait_for_success(child);
    CHECK_OK(s.backend->download(s.backend, 0, &result, s.out, sizeof result, error));
    CHECK(result == expected);
    release_session(&s);
    check_nothing_left();
}

/* Stands in for a library: launches nothing, but looks at what it is called with. */
static struct library_record {
    void *streams[8];
    int calls, fail_at;
} asked;

typedef struct library_call {
    gr_library_call call;
    int number;
} library_call;

static gr_status run_library(const gr_library_call *self, void *stream, gr_error *said) {
    CHECK(current_is(0, 2)); /* the context of the backend, above the one of the caller */
    CHECK(asked.calls < 8 && ((const library_call *)self)->number == 7);
    asked.streams[asked.calls++] = stream;
    return asked.calls == asked.fail_at ? gr_fail(said, GR_ERR_DEVICE, "%s: no good", self->name) : GR_OK;
}

static void test_tensor_map(void) {
    gr_backend *backend;
    CHECK_OK(gr_backend_cuda_open(0, &backend, error));
    gr_tensor tensor = {.type = GR_TENSOR_BF16,
                        .swizzle = GR_SWIZZLE_128,
                        .rank = 2,
                        .address = 0x7000,
                        .sizes = {1000, 500},
                        .strides = {2048},
                        .box = {64, 128}};
    gr_tensor_map map;
    fake_tensor_map got;
    CHECK_OK(backend->map_tensor(backend, &tensor, &map, error));
    memcpy(&got, map.bytes, sizeof got);
    CHECK(got.type == 9 && got.rank == 2 && got.swizzle == 3 && got.address == 0x7000);
    CHECK(got.sizes[0] == 1000 && got.sizes[1] == 500 && got.strides[0] == 2048);
    CHECK(got.box[0] == 64 && got.box[1] == 128);
    tensor.strides[0] = 2040;
    CHECK_FAILS(GR_ERR_DEVICE, "making a tensor map of 2 dimensions: CUDA_ERROR_INVALID_VALUE",
                backend->map_tensor(backend, &tensor, &map, error));
    backend->close(backend);
    check_nothing_left();
}

static void test_library_call(void) {
    fake->set_current(0);
    gr_backend *b = open_device(0);
    double microseconds[2] = {0, 0};
    const library_call call = {{.name = "its_product", .run = run_library}, 7};
    const gr_launch launch = {.library = &call.call};
    CHECK_OK(b->launch(b, &launch, NULL, error));
    CHECK_OK(b->launch(b, &launch, NULL, error));
    CHECK(asked.calls == 2 && asked.streams[0] == GR_CU_STREAM_LEGACY &&
          asked.streams[1] == asked.streams[0]);

    /* Captured once, into a stream of its own, then replayed. */
    const gr_launch twice[] = {launch, launch};
    CHECK_OK(b->time(b, twice, 2, 2, microseconds, error));
    CHECK(asked.calls == 4 && asked.streams[2] == asked.streams[3]);
    CHECK(asked.streams[2] != asked.streams[0] && asked.streams[2] != NULL);
    CHECK(microseconds[0] > 0 && microseconds[1] > microseconds[0]);

    asked.fail_at = 5;
    CHECK_FAILS(GR_ERR_DEVICE, "its_product: no good", b->launch(b, &launch, NULL, error));
    asked.fail_at = 6;
    CHECK_FAILS(GR_ERR_DEVICE, "its_product: no good", b->time(b, &launch, 1, 1, microseconds, error));
    CHECK(current_is(0, 1));
    b->close(b);
    check_nothing_left();
}

/* Only the process that initialised the driver owns it: a fork before that, or after a failure, is harmless.
 */
static void test_fork_before_use(void) {
    int count = 0;
    fake->fail("cuInit", 1, 999, false);
    CHECK_FAILS(GR_ERR_DEVICE, "CUDA_ERROR_UNKNOWN", gr_backend_cuda_count(&count, error));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_OK(gr_backend_cuda_count(&count, error));
        CHECK(count == 1);
        exit(0);
    }
    wait_for_success(child);
    CHECK_OK(gr_backend_cuda_count(&count, error));
}

typedef struct worker {
    gr_backend *backend;
    gr_module *module;
    int seed;
} worker;

static void *work(void *argument) {
    const worker *w = argument;
    gr_backend *b = w->backend;
    static const char *const names[] = {"v0_sum_i32", "v1_sum_i32_b256", "atomic_sum_i32"};
    for (int round = 0; round < 6; round++) {
        int n = 100 + 37 * w->seed + round;
        int32_t data[1000];
        int64_t expected = fill(data + 1, n) + (data[0] = w->seed), out[2] = {0, 0};
        gr_devptr in = 0, sums = 0;
        gr_kernel *kernel = NULL;
        ladder_params params = {.n = (uint64_t)n + 1};
        gr_launch launch = {.grid = {2},
                            .block = {64},
                            .shared_bytes = (uint32_t)(40 * 1024 + 12 * 1024 * w->seed),
                            .params = &params,
                            .param_bytes = sizeof params};
        double unused[2];
        CHECK_OK(b->alloc(b, sizeof data, &in, error));
        CHECK_OK(b->alloc(b, sizeof out, &sums, error));
        CHECK_OK(b->find(b, w->module, names[(round + w->seed) % 3], &kernel, error));
        launch.kernel = kernel;
        params.in = in;
        params.out = sums;
        CHECK_OK(b->upload(b, 0, in, data, sizeof data, error));
        if (round % 3 == 2)
            CHECK_OK(b->time(b, &launch, 1, 2, unused, error));
        CHECK_OK(b->upload(b, 0, sums, out, sizeof out, error));
        CHECK_OK(b->launch(b, &launch, NULL, error));
        CHECK_OK(b->wait(b, 0, error)); /* others time, in captures that a wait for the device would spoil */
        CHECK_OK(b->download(b, 0, out, sums, sizeof out, error));
        CHECK(out[0] == expected && out[1] == 0);
        b->free(b, in);
        b->free(b, sums);
    }
    CHECK(current_is(-1, 0));
    return NULL;
}

static void *open_and_close(void *argument) {
    (void)argument;
    for (int i = 0; i < 20; i++) {
        gr_backend *b = open_device(0);
        b->close(b);
    }
    return NULL;
}

static void test_threads(void) {
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, open_and_close, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(fake->calls("cuInit") == 1);
    check_nothing_left();

    gr_backend *b = open_device(0);
    gr_module *module = NULL;
    CHECK_OK(b->load(b, &image, &module, error));
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){b, module, i};
        CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(fake->calls("cuModuleGetFunction") == 3); /* each kernel is asked for once */
    b->unload(b, module);
    b->close(b);
    check_nothing_left();
}

/* ---- every driver call fails once ---- */

static const char *const symbols[] = {
#define GR_CUDA_SYMBOL(field, symbol, parameters) #symbol,
#include "device/cuda/driver.def"
#undef GR_CUDA_SYMBOL
};
enum { SYMBOLS = sizeof symbols / sizeof symbols[0] };

static bool is_any_of(const char *symbol, const char *list) {
    const char *found = strstr(list, symbol);
    return found && found[strlen(symbol)] == ' ';
}

/* Calls whose failure nobody can be told of, or that only follow a failure. */
static bool is_release(const char *symbol) {
    return is_any_of(symbol, "cuMemFree_v2 cuModuleUnload cuDevicePrimaryCtxRelease_v2 cuGraphDestroy "
                             "cuGraphExecDestroy cuStreamDestroy_v2 cuEventDestroy_v2 cuMemFreeHost ");
}
static bool only_after_failure(const char *symbol) {
    return is_any_of(symbol, "cuGetErrorName cuGetErrorString cuMemGetInfo_v2 ");
}

/* Calls that a session does not make. */
static bool is_left_out(const char *symbol) {
    return is_any_of(symbol,
                     "cuCtxGetDevice cuMemsetD8Async cuMemPoolTrimTo cuMemAllocFromPoolAsync cuMemFreeAsync "
                     "cuStreamGetId cuStreamGetCtx cuStreamGetCaptureInfo_v2 cuPointerGetAttributes "
                     "cuUserObjectCreate cuGraphRetainUserObject "
                     "cuOccupancyMaxActiveBlocksPerMultiprocessor ");
}

static void fail_one(const char *symbol, long nth, int code) {
    int32_t data[N];
    int64_t expected = fill(data, N);
    fake->set_current(0);
    fake->fail(symbol, (int)nth, code, false);
    session s = {0};
    gr_error error = {0};
    gr_status status = run_session(&s, data, &error);
    bool fired_in_release = fake->calls(symbol) < nth;
    release_session(&s);
    CHECK(fake->calls(symbol) >= nth);

    bool wait_at_the_end = strcmp(symbol, "cuStreamSynchronize") == 0 && nth == 4;
    bool mode =
        strcmp(symbol, "cuThreadExchangeStreamCaptureMode") == 0;  /* matters to captures of others only */
    bool sync = strcmp(symbol, "cuMemFree_v2") == 0 && nth == 1;   /* which waits, by freeing memory */
    bool again = strcmp(symbol, "cuMemAlloc_v2") == 0 && nth == 5; /* what the next wait is to free */
    bool silent = (is_release(symbol) && !sync) || again || fired_in_release || wait_at_the_end || mode;
    if (silent) {
        CHECK(status == GR_OK && s.result == expected);
    } else {
        bool is_memory = code == 2 && strcmp(symbol, "cuInit") != 0;
        CHECK(status == (is_memory ? GR_ERR_MEMORY : GR_ERR_DEVICE) && error.status == status);
        CHECK(strstr(error.message, code == 2 ? ": CUDA_ERROR_OUT_OF_MEMORY: fake: out of memory"
                                              : ": CUDA_ERROR_LAUNCH_FAILED: fake: a kernel failed"));
        CHECK(error.message[0] != ':');
    }
    /* A release that fails, or the context switch before it, costs that one object until the context goes. */
    CHECK(fake->leaked() <= (silent || sync ? 1 : 0));
    if (strcmp(symbol, "cuDevicePrimaryCtxRelease_v2") != 0) {
        fake_cuda_live now = fake->live();
        CHECK(now.contexts == 0 && now.allocations == 0 && now.modules == 0 && now.streams == 0);
        CHECK(now.graphs == 0 && now.graph_execs == 0 && now.events == 0 && now.pinned == 0);
    }
    if (strcmp(symbol, "cuCtxPopCurrent_v2") != 0)
        CHECK(current_is(0, 1));
}

/* Counts the calls of a session, then lets each of them fail, in a process of its own each. */
static void test_every_call_fails(void) {
    long *totals =
        mmap(NULL, sizeof(long[SYMBOLS]), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(totals != MAP_FAILED);
    pid_t child = fork();
    if (child == 0) {
        int32_t data[N];
        session s = {0};
        fill(data, N);
        CHECK_OK(run_session(&s, data, error));
        release_session(&s);
        for (int i = 0; i < SYMBOLS; i++)
            totals[i] = fake->calls(symbols[i]);
        exit(0);
    }
    wait_for_success(child);
    int injected = 0;
    for (int i = 0; i < SYMBOLS; i++) {
        CHECK((totals[i] > 0) == !(only_after_failure(symbols[i]) || is_left_out(symbols[i])));
        for (long nth = 1; nth <= totals[i]; nth++) {
            for (int code = 2; code <= 719; code += 717, injected++) {
                child = fork();
                if (child == 0) {
                    fail_one(symbols[i], nth, code);
                    exit(0);
                }
                int how = 0;
                CHECK(waitpid(child, &how, 0) == child);
                if (!WIFEXITED(how) || WEXITSTATUS(how) != 0) {
                    fprintf(stderr, "with error %d of call %ld of %s\n", code, nth, symbols[i]);
                    exit(1);
                }
            }
        }
    }
    printf("     %d failures injected\n", injected);
    munmap(totals, sizeof(long[SYMBOLS]));
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"happy_path", test_happy_path},
    {"pinned", test_pinned},
    {"info", test_info},
    {"environment", test_environment},
    {"bad_index", test_bad_index},
    {"no_library", test_no_library},
    {"no_device", test_no_device},
    {"out_of_memory", test_out_of_memory},
    {"unnamed_error", test_unnamed_error},
    {"bad_image", test_bad_image},
    {"machine_code_of_another_device", test_machine_code_of_another_device},
    {"text_and_machine_code", test_text_and_machine_code},
    {"kernels_of_text", test_kernels_of_text},
    {"extraction", test_extraction},
    {"remarks", test_remarks},
    {"shared_memory", test_shared_memory},
    {"parts", test_parts},
    {"clusters", test_clusters},
    {"no_clusters", test_no_clusters},
    {"three_extents", test_three_extents},
    {"sticky_error", test_sticky_error},
    {"tensor_map", test_tensor_map},
    {"library_call", test_library_call},
    {"fork", test_fork},
    {"fork_before_use", test_fork_before_use},
    {"threads", test_threads},
    {"every_call_fails", test_every_call_fails},
};

static bool passes(void (*run)(void)) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(300);
        run();
        exit(0);
    }
    int how = 0;
    return child > 0 && waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

int main(int argc, char **argv) {
    fake_path = argc > 1 ? argv[1] : "";
    void *library = dlopen(fake_path, RTLD_NOW | RTLD_LOCAL);
    void *address = library ? dlsym(library, "fake_cuda") : NULL;
    if (!address) {
        fprintf(stderr, "usage: test_backend_cuda <fake library> [case]: %s\n", dlerror());
        return 2;
    }
    const fake_cuda_controls *(*get_controls)(void);
    memcpy(&get_controls, &address, sizeof address);
    fake = get_controls();
    setenv("GPUREDUCE_LIBCUDA", fake_path, 1);

    int run = 0, failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (argc > 2 && strcmp(argv[2], cases[i].name) != 0)
            continue;
        bool ok = passes(cases[i].run);
        printf("%s %s\n", ok ? "ok  " : "FAIL", cases[i].name);
        run++;
        failed += !ok;
    }
    dlclose(library);
    return failed || !run;
}
