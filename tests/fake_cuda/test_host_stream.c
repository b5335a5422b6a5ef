/* Drives staging_ring.c and executor.c through the CUDA backend and the fake driver: chunks of pageable and
   of pinned arrays, small arrays and device arrays, fewer threads than wanted, and every driver call failing
   once. Usage: test_host_stream <fake library>. Each case runs in a process of its own. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device.h"
#include "executor/copy_pool.h"
#include "reduce/reduce.h"
#include "testing.h"

enum { CHUNK = 32768, N = 10 * CHUNK / 4 + 77, SMALL = 1234 };

static char folder[] = "/tmp/fake_kernels.XXXXXX";

gr_status gr_backend_sim_open(gr_backend **out, gr_error *error) {
    *out = NULL;
    return gr_fail(error, GR_ERR_DEVICE, "no simulator here");
}

/* Sums of n int32: none of them is 0. */
static int64_t fill(int32_t *data, int n) {
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += data[i] = i % 5 ? 7 * i + 1 : -i - 1;
    return sum;
}

typedef struct watched {
    uint64_t done;
    int calls;
    bool stop;
} watched;

static bool report(void *arg, uint64_t done, uint64_t total) {
    watched *w = arg;
    CHECK(done >= w->done && done <= total && total == N * sizeof(int32_t));
    w->done = done;
    w->calls++;
    return w->stop;
}

static gr_status sum(gr_device *device, const void *host, gr_devptr there, uint64_t n, watched *watch,
                     int64_t *out, gr_error *error) {
    const gr_progress progress = {report, watch};
    const gr_reduction reduction = {.op = GR_OP_sum,
                                    .dtype = GR_DTYPE_i32,
                                    .layout = {.item_bytes = 4},
                                    .plan = {.single_pass = true, .results = 1, .reduced_count = n}};
    const gr_binding binding = {.inputs = {{.host = host, .bytes = n * 4, .origin = there}},
                                .host_out = out,
                                .out_bytes = sizeof *out};
    return gr_reduction_run(device, &reduction, &binding, watch ? &progress : NULL, NULL, error);
}

/* A session with every kind of call in it. Results that came are right; the rest is left to release. */
typedef struct session {
    gr_registry registry;
    gr_device *device;
    void *pinned;
    gr_devptr there;
    int passed;
} session;

static gr_status run_session(session *s, const int32_t *data, int64_t all, int64_t few, gr_error *error) {
    gr_status status = gr_registry_open(&s->registry, folder, error);
    if (status == GR_OK)
        status = gr_registry_device(&s->registry, GR_DEVICE_CUDA, 0, &s->device, error);
    if (status != GR_OK)
        return status;
    gr_backend *b = s->device->backend;
    gr_devptr mapped;
    status = b->streams->host_alloc(b, N * sizeof *data, &s->pinned, &mapped, error);
    if (status == GR_OK)
        status = b->alloc(b, SMALL * sizeof *data, &s->there, error);
    if (status == GR_OK)
        status = b->upload(b, 0, s->there, data, SMALL * sizeof *data, error);
    if (status != GR_OK)
        return status;
    memcpy(s->pinned, data, N * sizeof *data);
    for (int i = 0; i < 8; i++, s->passed++) {
        int64_t got = 0;
        watched watch = {0};
        const void *const sources[] = {data, s->pinned, data, s->pinned, NULL};
        const int kind = i < 5 ? i : i - 5;
        if (i == 5)
            gr_registry_release_cached(&s->registry);
        const bool large = kind < 2;
        status = sum(s->device, sources[kind], sources[kind] ? 0 : s->there, large ? N : SMALL,
                     large ? &watch : NULL, &got, error);
        if (status != GR_OK)
            return status;
        CHECK(got == (large ? all : few));
        CHECK(!large || (watch.calls >= 1 && watch.done == N * sizeof *data));
    }
    return GR_OK;
}

static void release(session *s) {
    if (s->device) {
        gr_backend *b = s->device->backend;
        b->free(b, s->there);
        b->streams->host_free(b, s->pinned);
    }
    gr_registry_close(&s->registry);
}

static void check_nothing_left(long may_leak) {
    const fake_cuda_live now = fake->live();
    CHECK(now.contexts == 0 && fake->leaked() <= may_leak);
    CHECK(may_leak || now.allocations + now.pinned + now.modules + now.streams + now.events == 0);
}

static int32_t data[N];

static void run_well(void) {
    session s = {0};
    gr_error error = {.status = GR_OK};
    const int64_t few = fill(data, SMALL), all = fill(data, N);
    if (run_session(&s, data, all, few, &error) != GR_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    /* Calls one after the other share a ring: it is made twice, as it was freed in between. */
    CHECK(fake->calls("cuStreamCreate") == 5);
    /* Stopped by its callback, a call leaves the ring fit for the next one. */
    watched watch = {.stop = true};
    int64_t got = 0;
    CHECK(sum(s.device, data, 0, N, &watch, &got, &error) == GR_ERR_INTERRUPTED);
    watch = (watched){0};
    CHECK(sum(s.device, data, 0, N, &watch, &got, &error) == GR_OK && got == all);
    /* O(ring): the array does not fit. */
    fake->set_memory(0);
    CHECK(sum(s.device, data, 0, N, &watch, &got, &error) == GR_OK && got == all);
    release(&s);
    check_nothing_left(0);
}

/* ---- threads that cannot be started ---- */

static atomic_int threads_left = INT_MAX;

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                          void *argument) {
    return atomic_fetch_sub(&threads_left, 1) > 0 ? __real_pthread_create(thread, attributes, start, argument)
                                                  : EAGAIN;
}

/* A pool that was to have 8 threads copies two sources, of which the last chunk is short. */
static void copy_with(int threads) {
    enum { BYTES = 1000, CHUNKS = 21, PLACES = 4, LENGTH = (CHUNKS - 1) * BYTES + 333 };
    static char from[2][LENGTH], ring[PLACES * 2 * BYTES];
    for (int i = 0; i < LENGTH; i++) {
        from[0][i] = (char)(i % 251);
        from[1][i] = (char)(i % 241);
    }
    gr_error error = {.status = GR_OK};
    gr_copy_pool *pool = NULL;
    atomic_store(&threads_left, threads);
    CHECK(gr_copy_pool_open(8, &pool, &error) == GR_OK);
    const gr_copy_job job = {{from[0], from[1]}, 2, LENGTH, BYTES, ring, PLACES, 2 * BYTES};
    for (int times = 0; times < 2; times++) {
        memset(ring, 0, sizeof ring);
        gr_copy_pool_start(pool, &job, PLACES);
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
            const char *place = ring + chunk % PLACES * 2 * BYTES;
            const size_t length = chunk == CHUNKS - 1 ? 333 : BYTES;
            while (!gr_copy_pool_wait(pool, (uint64_t)chunk, 10))
                continue;
            for (int i = 0; i < 2; i++)
                CHECK(memcmp(place + i * BYTES, from[i] + chunk * BYTES, length) == 0);
            gr_copy_pool_allow(pool, (uint64_t)(chunk + 1 + PLACES));
        }
        /* The next one is stopped in the middle. */
        gr_copy_pool_start(pool, &job, PLACES);
        while (!gr_copy_pool_wait(pool, 0, 10))
            continue;
        gr_copy_pool_stop(pool);
    }
    gr_copy_pool_close(pool);
}

static void run_with_few_threads(void) {
    for (int threads = 0; threads < 4; threads++)
        copy_with(threads);
    copy_with(8);
    atomic_store(&threads_left, 0);
    run_well();
}

/* ---- every driver call fails once ---- */

static bool is_release(const char *symbol) {
    return strstr(symbol, "Free") || strstr(symbol, "Destroy") || strstr(symbol, "Unload") ||
           strstr(symbol, "Release");
}

static const char *symbol; /* that fails, at its nth call */
static long nth;

static void fail_one(void) {
    session s = {0};
    gr_error error = {.status = GR_OK};
    const int64_t few = fill(data, SMALL), all = fill(data, N);
    fake->fail(symbol, (int)nth, 719, false);
    const gr_status status = run_session(&s, data, all, few, &error);
    const bool fired = fake->calls(symbol) >= nth;
    if (status != GR_OK) {
        CHECK(fired && status == GR_ERR_DEVICE && error.status == status);
        CHECK(strstr(error.message, ": CUDA_ERROR_LAUNCH_FAILED: fake: a kernel failed"));
        int64_t got = 0;
        if (s.device && s.pinned) { /* the next call is right again */
            gr_error after = {.status = GR_OK};
            watched watch = {0};
            CHECK(sum(s.device, data, 0, N, &watch, &got, &after) == GR_OK && got == all);
        }
    } else {
        CHECK(s.passed == 8);
    }
    release(&s);
    /* What cannot be released, or whose context cannot be entered for that, goes with the context. */
    /* Memory whose end cannot be waited for is not freed: the wait is a call of cuMemFree itself. */
    const bool waits = strcmp(symbol, "cuMemFree_v2") == 0;
    check_nothing_left(waits ? 2 : is_release(symbol) || strncmp(symbol, "cuCtx", 5) == 0 ? 1 : 0);
}

static long *totals;

static void count_calls(void) {
    session s = {0};
    gr_error error = {.status = GR_OK};
    const int64_t few = fill(data, SMALL), all = fill(data, N);
    CHECK(run_session(&s, data, all, few, &error) == GR_OK);
    for (int i = 0; i < SYMBOLS; i++)
        totals[i] = fake->calls(symbols[i]);
    release(&s);
}

/* Which call fails after the nth: each of the first dozen, then every so-manieth, and the last. Those of one
   symbol are alike then, a chunk's like the one's before; with EVERY_FAULT=1 all of them fail. */
static long after(long call, long total) {
    const bool all = getenv("EVERY_FAULT") && strcmp(getenv("EVERY_FAULT"), "1") == 0;
    const long next = call + 1 + (all || call < 12 ? 0 : call / 8);
    return call < total && next > total ? total : next;
}

static bool every_call_fails(void) {
    long injected = 0;
    totals = mmap(NULL, sizeof(long[SYMBOLS]), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(totals != MAP_FAILED);
    bool ok = passes(count_calls, 60);
    for (int i = 0; i < SYMBOLS; i++)
        for (symbol = symbols[i], nth = 1; ok && nth <= totals[i]; nth = after(nth, totals[i]), injected++)
            if (!passes(fail_one, 60)) {
                fprintf(stderr, "with call %ld of %s failing\n", nth, symbol);
                ok = false;
            }
    printf("     %ld failures injected\n", injected);
    return ok && injected > 100;
}

int main(int argc, char **argv) {
    static const test_case cases[] = {{"host_stream", run_well},
                                      {"host_stream_with_few_threads", run_with_few_threads}};
    open_fake_driver(argc, argv);
    setenv("GPUREDUCE_CHUNK_BYTES", "32768", 1);
    CHECK(mkdtemp(folder));
    write_fatbin(folder, "flat_sum.fatbin");
    const int failed = run_cases("", cases, sizeof cases / sizeof *cases, NULL);
    const bool failing = every_call_fails();
    printf("%s host_stream_every_call_fails\n", failing ? "ok  " : "FAIL");
    remove_fatbin(folder, "flat_sum.fatbin");
    remove(folder);
    return failed || !failing;
}
