/* The core's calls in streams, through the CUDA backend and the fake driver: they wait for nothing, keep the
   order of their stream and no other, and are captured into graphs. Usage: test_streams <fake library> */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device.h"
#include "reduce/reduce.h"
#define CHECK_MESSAGE error.message
#include "testing.h"

#define CHECK_OK(call) CHECK((call) == 0)

gr_status gr_backend_sim_open(gr_backend **out, gr_error *error) {
    *out = NULL;
    return gr_fail(error, GR_ERR_DEVICE, "no simulator here");
}

enum { ROWS = 24, COLUMNS = 40, N = ROWS * COLUMNS, KINDS = 4, MOST_RESULTS = COLUMNS, ORDERS = 6 };

static _Thread_local gr_error error;
static gr_cuda_driver cuda;
static char folder[] = "/tmp/fake_streams.XXXXXX";
static gr_registry registry;
static gr_device *device;

/* ---- what is summed ---- */

typedef struct numbers {
    int32_t elements[N];
    unsigned char mask[N];
} numbers;

static void draw(numbers *out, int seed) {
    for (int i = 0; i < N; i++) {
        out->elements[i] = (int32_t)((uint32_t)(i + 1) * 2654435761U * (uint32_t)(2 * seed + 1)) / 5;
        out->mask[i] = (i * 7 + seed) % 3 == 0;
    }
}

/* Kinds of sums: of all, along either axis, and along the second one under a mask. */
static int results_of(int kind) {
    return kind == 0 ? 1 : kind == 1 ? COLUMNS : ROWS;
}

static void add_up(const numbers *from, int kind, int64_t *out) {
    memset(out, 0, (size_t)results_of(kind) * sizeof *out);
    for (int i = 0; i < N; i++)
        if (kind < 3 || from->mask[i])
            out[kind == 0 ? 0 : kind == 1 ? i % COLUMNS : i / COLUMNS] += from->elements[i];
}

static void plan(int kind, gr_devptr origin, gr_reduction *out) {
    *out = (gr_reduction){.op = GR_OP_sum,
                          .dtype = GR_DTYPE_i32,
                          .layout = {.ndim = 2,
                                     .item_bytes = 4,
                                     .result_bytes = 8,
                                     .origin = origin % 256,
                                     .extent = {ROWS, COLUMNS},
                                     .stride = {COLUMNS * 4, 4},
                                     .second_stride = {COLUMNS, 1},
                                     .reduced = {kind < 2, kind != 1},
                                     .has_second = kind == 3,
                                     .packed = true,
                                     .single_pass = true}};
    CHECK_OK(gr_general_plan_make(&out->layout, &out->plan, &error));
}

/* ---- arrays of a stream ---- */

typedef struct arrays {
    gr_cu_stream stream;
    gr_cu_deviceptr in;
    numbers *pinned; /* a copy in the stream reads it when it runs */
    gr_cu_deviceptr out[KINDS];
    int64_t *seen; /* pinned, too */
} arrays;

static void *pinned(size_t bytes) {
    void *memory = NULL;
    CHECK_OK(cuda.host_alloc(&memory, bytes, GR_CU_HOST_PORTABLE | GR_CU_HOST_MAPPED));
    return memory;
}

static void enter(void) {
    fake->set_current(0);
}

static arrays make_arrays(unsigned flags) {
    arrays a = {.pinned = pinned(sizeof *a.pinned), .seen = pinned(sizeof(int64_t[KINDS][MOST_RESULTS]))};
    CHECK_OK(cuda.alloc(&a.in, sizeof *a.pinned));
    for (int kind = 0; kind < KINDS; kind++)
        CHECK_OK(cuda.alloc(&a.out[kind], sizeof(int64_t[MOST_RESULTS])));
    CHECK_OK(cuda.stream_create(&a.stream, flags));
    return a;
}

static gr_status sum(const arrays *a, int kind, gr_devptr device_out, void *host_out) {
    gr_reduction reduction;
    plan(kind, a->in, &reduction);
    const gr_binding binding = {
        .inputs = {{.origin = a->in, .bytes = sizeof a->pinned->elements},
                   {.origin = a->in + sizeof a->pinned->elements, .bytes = sizeof a->pinned->mask}},
        .host_out = host_out,
        .device_out = device_out,
        .out_bytes = (size_t)results_of(kind) * sizeof(int64_t),
        .stream = (uintptr_t)a->stream};
    return gr_reduction_run(device, &reduction, &binding, NULL, NULL, &error);
}

/* New contents come in the stream, go by all kinds of sums, and their results come back in the stream. */
static void enqueue_all(const arrays *a, int seed) {
    draw(a->pinned, seed);
    CHECK_OK(cuda.upload_async(a->in, a->pinned, sizeof *a->pinned, a->stream));
    for (int kind = 0; kind < KINDS; kind++) {
        CHECK(sum(a, kind, a->out[kind], NULL) == GR_OK);
        CHECK_OK(cuda.download_async(a->seen + kind * MOST_RESULTS, a->out[kind],
                                     (size_t)results_of(kind) * sizeof(int64_t), a->stream));
    }
}

static void check_all(const arrays *a) {
    int64_t expected[MOST_RESULTS];
    for (int kind = 0; kind < KINDS; kind++) {
        add_up(a->pinned, kind, expected);
        CHECK(memcmp(a->seen + kind * MOST_RESULTS, expected, (size_t)results_of(kind) * sizeof(int64_t)) ==
              0);
    }
}

static long waits(void) {
    static const char *const waiting[] = {"cuStreamSynchronize", "cuEventSynchronize", "cuEventQuery",
                                          "cuMemAlloc_v2",       "cuMemFree_v2",       "cuMemHostAlloc",
                                          "cuMemFreeHost",       "cuModuleLoadDataEx"};
    long sum_of = 0;
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++)
        sum_of += fake->calls(waiting[i]);
    return sum_of;
}

/* ---- cases ---- */

/* Nothing waits, in blocking streams or others, nor in the legacy one; every order that CUDA allows gives the
 * sums. */
static void test_nothing_waits(void) {
    arrays sets[3] = {make_arrays(GR_CU_STREAM_NON_BLOCKING), make_arrays(0), make_arrays(0)};
    sets[2].stream = NULL;
    for (int i = 0; i < 3; i++)
        enqueue_all(&sets[i], i); /* what is loaded once is loaded now */
    for (unsigned order = 0; order < ORDERS; order++) {
        for (int i = 0; i < 3; i++)
            CHECK_OK(cuda.stream_wait(sets[i].stream));
        fake->set_order(order);
        const long before = waits();
        for (int i = 0; i < 3; i++)
            enqueue_all(&sets[i], 10 * (int)order + i);
        CHECK(waits() == before);
        for (int i = 0; i < 3; i++) {
            CHECK_OK(cuda.stream_wait(sets[i].stream));
            check_all(&sets[i]);
        }
    }
}

/* Results in blocks that are given back at once: their memory is reused in order, and only then. */
static void test_blocks(void) {
    const arrays sets[2] = {make_arrays(GR_CU_STREAM_NON_BLOCKING), make_arrays(GR_CU_STREAM_NON_BLOCKING)};
    for (unsigned order = 0; order < ORDERS; order++) {
        fake->set_order(order);
        for (int turn = 0; turn < 2; turn++) {
            const arrays *a = &sets[turn];
            draw(a->pinned, (int)order + turn);
            CHECK_OK(cuda.upload_async(a->in, a->pinned, sizeof *a->pinned, a->stream));
        }
        for (int kind = 0; kind < KINDS; kind++) {
            for (int turn = 0; turn < 2; turn++) {
                const arrays *a = &sets[turn];
                const size_t bytes = (size_t)results_of(kind) * sizeof(int64_t);
                gr_allocation *block = NULL;
                CHECK(gr_allocation_new(device, (uintptr_t)a->stream, bytes, &block, &error) == GR_OK);
                CHECK(sum(a, kind, block->address, NULL) == GR_OK);
                CHECK_OK(
                    cuda.download_async(a->seen + kind * MOST_RESULTS, block->address, bytes, a->stream));
                gr_allocation_release(block, false);
            }
        }
        for (int turn = 0; turn < 2; turn++) {
            CHECK_OK(cuda.stream_wait(sets[turn].stream));
            check_all(&sets[turn]);
        }
    }
}

/* What one stream writes another one reads, in the order that is asked for. */
static void test_orders_between_streams(void) {
    const arrays writer = make_arrays(GR_CU_STREAM_NON_BLOCKING);
    arrays reader = writer;
    CHECK_OK(cuda.stream_create(&reader.stream, GR_CU_STREAM_NON_BLOCKING));
    int64_t expected[MOST_RESULTS], found[MOST_RESULTS];
    enqueue_all(&reader, 0); /* what is loaded once is loaded now */
    CHECK_OK(cuda.stream_wait(reader.stream));
    for (unsigned order = 0; order < ORDERS; order++) {
        fake->set_order(order);
        draw(writer.pinned, 5 + (int)order);
        add_up(writer.pinned, 1, expected);
        CHECK_OK(cuda.upload_async(writer.in, writer.pinned, sizeof *writer.pinned, writer.stream));
        const long before = waits();
        CHECK(gr_stream_wait_for(device, (uintptr_t)writer.stream, (uintptr_t)reader.stream, &error) ==
              GR_OK);
        CHECK(sum(&reader, 1, reader.out[1], NULL) == GR_OK);
        CHECK(gr_stream_wait_for(device, (uintptr_t)reader.stream, (uintptr_t)writer.stream, &error) ==
              GR_OK);
        CHECK(waits() == before);
        CHECK_OK(cuda.memset_async(writer.in, 0, sizeof *writer.pinned, writer.stream));
        CHECK_OK(cuda.stream_wait(writer.stream));
        CHECK_OK(cuda.download_async(found, reader.out[1], sizeof found, reader.stream));
        CHECK(memcmp(found, expected, sizeof found) == 0);
    }
}

/* All kinds of sums as a graph, whose memory is its own: nothing that comes between is in its way. */
static void replay(const arrays *a, int mode) {
    gr_cu_graph graph = NULL;
    gr_cu_graph_exec exec = NULL;
    gr_allocation *block = NULL;
    int64_t none = 0, expected[MOST_RESULTS], *kept = pinned(sizeof expected);
    CHECK_OK(cuda.stream_wait(a->stream));
    CHECK_OK(cuda.capture_begin(a->stream, mode));
    CHECK(sum(a, 0, 0, &none) == GR_ERR_VALUE);
    CHECK(strstr(error.message, "a result for the host cannot be captured"));
    for (int kind = 0; kind < KINDS; kind++)
        CHECK(sum(a, kind, a->out[kind], NULL) == GR_OK);
    CHECK(gr_allocation_new(device, (uintptr_t)a->stream, sizeof expected, &block, &error) == GR_OK);
    CHECK(sum(a, 1, block->address, NULL) == GR_OK);
    CHECK_OK(cuda.download_async(kept, block->address, sizeof expected, a->stream));
    gr_allocation_release(block, false); /* only the graph has it */
    CHECK_OK(cuda.capture_end(a->stream, &graph));
    CHECK_OK(cuda.graph_instantiate(&exec, graph, 0));
    CHECK_OK(cuda.graph_destroy(graph));
    gr_registry_release_cached(&registry);
    for (int seed = 1; seed < 4; seed++) {
        enqueue_all(a, 100 + seed); /* calls of the stream between the replays */
        CHECK_OK(cuda.stream_wait(a->stream));
        check_all(a);
        draw(a->pinned, seed);
        CHECK_OK(cuda.upload_async(a->in, a->pinned, sizeof *a->pinned, a->stream));
        CHECK_OK(cuda.graph_launch(exec, a->stream));
        for (int kind = 0; kind < KINDS; kind++)
            CHECK_OK(cuda.download_async(a->seen + kind * MOST_RESULTS, a->out[kind],
                                         (size_t)results_of(kind) * sizeof(int64_t), a->stream));
        CHECK_OK(cuda.stream_wait(a->stream));
        check_all(a);
        add_up(a->pinned, 1, expected);
        CHECK(memcmp(kept, expected, sizeof expected) == 0);
    }
    CHECK_OK(cuda.graph_exec_destroy(exec));
}

static void test_captures(void) {
    const arrays sets[2] = {make_arrays(GR_CU_STREAM_NON_BLOCKING), make_arrays(0)};
    long before = -1;
    for (int mode = GR_CU_CAPTURE_GLOBAL; mode <= GR_CU_CAPTURE_RELAXED; mode++) {
        for (int i = 0; i < 2; i++) {
            replay(&sets[i], mode); /* the first one is the first call of all */
            gr_registry_release_cached(&registry);
            CHECK(fake->live().owners == 0);
            CHECK(before < 0 || fake->live().allocations == before); /* a graph's memory goes with it */
            before = fake->live().allocations;
        }
    }
}

static void join(gr_cu_stream from, gr_cu_stream to, gr_cu_event event) {
    CHECK_OK(cuda.event_record(event, from));
    CHECK_OK(cuda.stream_follow(to, event, 0));
}

/* One graph of two streams, whose sums run concurrently. */
static void test_captures_of_two_streams(void) {
    const arrays a = make_arrays(GR_CU_STREAM_NON_BLOCKING), b = make_arrays(GR_CU_STREAM_NON_BLOCKING);
    const arrays *const sets[2] = {&a, &b};
    gr_cu_event event;
    gr_cu_graph graph;
    gr_cu_graph_exec exec;
    CHECK_OK(cuda.event_create(&event, GR_CU_EVENT_NO_TIMING));
    CHECK_OK(cuda.capture_begin(a.stream, GR_CU_CAPTURE_GLOBAL));
    join(a.stream, b.stream, event);
    for (int i = 0; i < 4; i++)
        for (int kind = 0; kind < KINDS; kind++)
            CHECK(sum(sets[i % 2], kind, sets[i % 2]->out[kind], NULL) == GR_OK);
    CHECK(gr_stream_wait_for(device, (uintptr_t)b.stream, (uintptr_t)a.stream, &error) == GR_OK);
    CHECK_OK(cuda.capture_end(a.stream, &graph));
    CHECK_OK(cuda.graph_instantiate(&exec, graph, 0));
    for (unsigned order = 0; order < ORDERS; order++) {
        fake->set_order(order);
        for (int i = 0; i < 2; i++) {
            draw(sets[i]->pinned, (int)order + 20 * i);
            CHECK_OK(cuda.upload_async(sets[i]->in, sets[i]->pinned, sizeof *sets[i]->pinned, a.stream));
        }
        CHECK_OK(cuda.graph_launch(exec, a.stream));
        for (int i = 0; i < 2; i++) {
            for (int kind = 0; kind < KINDS; kind++)
                CHECK_OK(cuda.download_async(sets[i]->seen + kind * MOST_RESULTS, sets[i]->out[kind],
                                             (size_t)results_of(kind) * sizeof(int64_t), a.stream));
            CHECK_OK(cuda.stream_wait(a.stream));
            check_all(sets[i]);
        }
    }
}

/* In a graph, a kernel may begin while the one before it ends if that is one of ours, which lets it. */
static void test_overlap_in_a_capture(void) {
    static const bool overlaps[] = {false, true, false, true, true};
    const arrays a = make_arrays(GR_CU_STREAM_NON_BLOCKING), b = make_arrays(GR_CU_STREAM_NON_BLOCKING);
    gr_cu_graph graphs[2];
    gr_cu_graph_exec exec;
    fake_cuda_launch log[64];
    CHECK(sum(&a, 0, a.out[0], NULL) == GR_OK); /* takes what the next calls keep */
    CHECK_OK(cuda.stream_wait(a.stream));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(cuda.capture_begin(a.stream, GR_CU_CAPTURE_RELAXED));
        if (i == 1)
            CHECK_OK(cuda.memset_async(a.out[1], 1, 4, a.stream)); /* as another library's kernel */
        CHECK(sum(&a, 0, a.out[0], NULL) == GR_OK);
        CHECK(sum(&a, 0, a.out[0], NULL) == GR_OK);
        CHECK_OK(cuda.memset_async(a.out[1], 1, 4, a.stream));
        CHECK(sum(&a, 0, a.out[0], NULL) == GR_OK);
        CHECK(sum(&b, 0, b.out[0], NULL) == GR_OK); /* of no graph, and whatever came before it */
        CHECK(sum(&a, 0, a.out[0], NULL) == GR_OK);
        CHECK(sum(&a, 2, a.out[2], NULL) == GR_OK); /* by a general kernel, which lets it in, too */
        CHECK(sum(&a, 0, a.out[0], NULL) == GR_OK);
        CHECK_OK(cuda.capture_end(a.stream, &graphs[i]));
        CHECK_OK(cuda.stream_wait(b.stream));
        const size_t before = fake->launches(log, 64);
        CHECK(log[before - 1].pdl && log[before - 1].flat.serialized == 0);
        CHECK_OK(cuda.graph_instantiate(&exec, graphs[i], 0));
        CHECK_OK(cuda.graph_launch(exec, a.stream));
        CHECK_OK(cuda.stream_wait(a.stream));
        const size_t after = fake->launches(log, 64);
        size_t flat = 0;
        for (size_t k = before; k < after && k < 64; k++)
            if (log[k].is_flat)
                CHECK(flat < 5 && log[k].pdl == overlaps[flat] &&
                      log[k].flat.serialized == !overlaps[flat++]);
        CHECK(flat == 5);
        CHECK_OK(cuda.graph_exec_destroy(exec));
        CHECK_OK(cuda.graph_destroy(graphs[i]));
    }
}

/* A block of a stream that is being captured by now was none of that graph's, and does not go by it. */
static void test_blocks_given_back_in_a_capture(void) {
    const arrays sets[2] = {make_arrays(GR_CU_STREAM_NON_BLOCKING), make_arrays(0)};
    const long before = fake->live().allocations;
    for (int i = 0; i < 2; i++) {
        gr_cu_graph graph = NULL;
        gr_allocation *own = NULL, *legacy = NULL;
        CHECK(gr_allocation_new(device, (uintptr_t)sets[i].stream, 64, &own, &error) == GR_OK);
        CHECK(gr_allocation_new(device, 0, 64, &legacy, &error) == GR_OK);
        CHECK_OK(cuda.capture_begin(sets[i].stream, GR_CU_CAPTURE_GLOBAL));
        gr_allocation_release(own, false);
        gr_allocation_release(legacy, false);
        CHECK_OK(cuda.capture_end(sets[i].stream, &graph));
        CHECK_OK(cuda.graph_destroy(graph));
        gr_registry_release_cached(&registry);
        CHECK(fake->live().allocations == before);
    }
}

static void *work(void *seed) {
    enter();
    const arrays a = make_arrays(GR_CU_STREAM_NON_BLOCKING);
    for (int turn = 0; turn < 40; turn++) {
        enqueue_all(&a, (int)(intptr_t)seed * 1000 + turn);
        CHECK_OK(cuda.stream_wait(a.stream));
        check_all(&a);
        if (turn % 20 == 5)
            replay(&a, GR_CU_CAPTURE_THREAD_LOCAL);
    }
    return NULL;
}

static void test_threads(void) {
    pthread_t threads[8];
    fake->set_order(3);
    for (intptr_t i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < 8; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* ---- every call of the driver by the core fails once ---- */

enum { MOST_CORE_CALLS = 32 };

/* By number of the core's calls: how often each function had been called before. The last entry is at the
 * end. */
typedef struct record {
    long before[MOST_CORE_CALLS + 1][SYMBOLS], after[MOST_CORE_CALLS + 1][SYMBOLS];
    int count;
} record;

static record *recorded; /* NULL: nothing is recorded */

static gr_status core(gr_status (*call)(const arrays *a, int number), const arrays *a, int number) {
    for (int i = 0; recorded && i < SYMBOLS; i++)
        recorded->before[recorded->count][i] = fake->calls(symbols[i]);
    const gr_status status = call(a, number);
    for (int i = 0; recorded && i < SYMBOLS; i++)
        recorded->after[recorded->count][i] = fake->calls(symbols[i]);
    if (recorded)
        recorded->count++;
    return status;
}

static gr_status sum_into_place(const arrays *a, int kind) {
    return sum(a, kind, a->out[kind], NULL);
}

static gr_status sum_into_block(const arrays *a, int kind) {
    gr_allocation *block = NULL;
    gr_status status =
        gr_allocation_new(device, (uintptr_t)a->stream, sizeof(int64_t[MOST_RESULTS]), &block, &error);
    if (status == GR_OK)
        status = sum(a, kind, block->address, NULL);
    if (block)
        gr_allocation_release(block, kind == 1);
    return status;
}

static gr_status follow(const arrays *a, int number) {
    (void)number;
    return gr_stream_wait_for(device, (uintptr_t)a->stream, 0, &error);
}

static gr_status give_back(const arrays *a, int number) {
    (void)a;
    (void)number;
    gr_registry_release_cached(&registry);
    return GR_OK;
}

/* Some of each, outside and inside a capture; how many failed. */
static int everything(const arrays *a) {
    int failed = 0;
    gr_cu_graph graph = NULL;
    for (int kind = 0; kind < KINDS; kind++) {
        failed += core(sum_into_place, a, kind) != GR_OK;
        failed += core(sum_into_block, a, kind) != GR_OK;
    }
    failed += core(follow, a, 0) != GR_OK;
    CHECK_OK(cuda.capture_begin(a->stream, GR_CU_CAPTURE_GLOBAL));
    for (int kind = 0; kind < KINDS; kind++) {
        failed += core(sum_into_place, a, kind) != GR_OK;
        failed += core(sum_into_block, a, kind) != GR_OK;
    }
    CHECK_OK(cuda.capture_end(a->stream, &graph)); /* nothing that fails in our calls spoils the capture */
    CHECK_OK(cuda.graph_destroy(graph));
    core(give_back, a, 0);
    return failed;
}

static void fail_one(const char *name, long nth) {
    const arrays a = make_arrays(GR_CU_STREAM_NON_BLOCKING);
    fake->fail(name, (int)(nth - fake->calls(name)), 719, false);
    const int failed = everything(&a);
    CHECK(failed <= 1);
    CHECK(failed == 0 || strstr(error.message, "CUDA_ERROR_LAUNCH_FAILED: fake: a kernel failed"));
    enqueue_all(&a, 3);
    CHECK_OK(cuda.stream_wait(a.stream));
    check_all(&a);
    CHECK(everything(&a) == 0);
}

static void record_calls(void) {
    const arrays a = make_arrays(GR_CU_STREAM_NON_BLOCKING);
    CHECK(everything(&a) == 0);
}

static const char *failing;
static long failing_nth;

static void fail_the_one(void) {
    fail_one(failing, failing_nth);
}

static bool every_call_fails(void) {
    record *all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(all != MAP_FAILED);
    recorded = all;
    bool ok = passes(record_calls, 120);
    recorded = NULL;
    long injected = 0;
    for (int core_call = 0; core_call < all->count; core_call++) {
        for (int i = 0; i < SYMBOLS; i++) {
            if (strcmp(symbols[i], "cuThreadExchangeStreamCaptureMode") == 0)
                continue; /* which cannot, with such arguments */
            failing = symbols[i];
            failing_nth = all->before[core_call][i] + 1;
            for (; ok && failing_nth <= all->after[core_call][i]; failing_nth++, injected++)
                if (!passes(fail_the_one, 120)) {
                    fprintf(stderr, "with call %ld of %s failing\n", failing_nth, failing);
                    ok = false;
                }
        }
    }
    munmap(all, sizeof *all);
    printf("     %ld failures injected\n", injected);
    return ok && injected > 100;
}

static const test_case cases[] = {
    {"nothing_waits", test_nothing_waits},
    {"blocks", test_blocks},
    {"orders_between_streams", test_orders_between_streams},
    {"captures", test_captures},
    {"captures_of_two_streams", test_captures_of_two_streams},
    {"overlap_in_a_capture", test_overlap_in_a_capture},
    {"blocks_given_back_in_a_capture", test_blocks_given_back_in_a_capture},
    {"threads", test_threads},
};

static void open_registry(void) {
    CHECK(gr_registry_open(&registry, folder, &error) == GR_OK);
    CHECK(gr_registry_device(&registry, GR_DEVICE_CUDA, 0, &device, &error) == GR_OK);
    enter();
}

static void close_registry(void) {
    gr_registry_close(&registry);
}

int main(int argc, char **argv) {
    find_driver_functions(open_fake_driver(argc, argv), &cuda);
    CHECK(mkdtemp(folder));
    write_fatbin(folder, "flat_sum.fatbin");
    write_fatbin(folder, "general_sum.fatbin");
    before_each = open_registry;
    after_each = close_registry;
    int failed = run_cases("streams_", cases, sizeof cases / sizeof *cases, NULL);
    const bool failing_well = every_call_fails();
    printf("%s streams_every_call_fails\n", failing_well ? "ok  " : "FAIL");
    failed += !failing_well;
    remove_fatbin(folder, "flat_sum.fatbin");
    remove_fatbin(folder, "general_sum.fatbin");
    remove(folder);
    return failed;
}
