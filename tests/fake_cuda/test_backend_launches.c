/* Launches of the CUDA backend, as the fake driver sees them: shared memory, extents, clusters, parts of a
   grid, tensor maps, and calls of libraries. Usage: test_backend_launches <fake library> [case] */
#include "backend_testing.h"

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

static const test_case cases[] = {
    {"shared_memory", test_shared_memory}, {"parts", test_parts},
    {"clusters", test_clusters},           {"no_clusters", test_no_clusters},
    {"three_extents", test_three_extents}, {"tensor_map", test_tensor_map},
    {"library_call", test_library_call},
};

int main(int argc, char **argv) {
    open_fake_driver(argc, argv);
    return run_cases("", cases, sizeof cases / sizeof *cases, argc > 2 ? argv[2] : NULL);
}
