/* Drives the CUDA backend through the fake driver: sessions, errors, forks, threads, and every driver call
   failing once. Each case runs in a process of its own, because the driver is initialised once a process.
   Usage: test_backend_cuda <fake library> [case] */
#include <math.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend_testing.h"

static const char *fake_path;

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
    return is_any_of(symbol, "cuGetErrorName cuGetErrorString ");
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

static const test_case cases[] = {
    {"happy_path", test_happy_path},
    {"pinned", test_pinned},
    {"info", test_info},
    {"environment", test_environment},
    {"bad_index", test_bad_index},
    {"no_library", test_no_library},
    {"no_device", test_no_device},
    {"out_of_memory", test_out_of_memory},
    {"unnamed_error", test_unnamed_error},
    {"sticky_error", test_sticky_error},
    {"fork", test_fork},
    {"fork_before_use", test_fork_before_use},
    {"threads", test_threads},
    {"every_call_fails", test_every_call_fails},
};

int main(int argc, char **argv) {
    open_fake_driver(argc, argv);
    fake_path = argv[1];
    return run_cases("", cases, sizeof cases / sizeof *cases, argc > 2 ? argv[2] : NULL);
}
