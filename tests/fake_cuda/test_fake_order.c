/* The fake driver itself: works that nothing orders run in another order than they were put in, memory is
   there from its allocation to its freeing, and captures forbid what CUDA's do. Usage: test_fake_order <fake
   library> */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

#define CHECK_OK(call) CHECK((call) == GR_CU_SUCCESS)

enum {
    ILLEGAL_ADDRESS = 700,
    UNSUPPORTED = 900,
    INVALIDATED,
    MERGE,
    UNMATCHED,
    UNJOINED,
    ISOLATION,
    IMPLICIT
};
enum { CAPTURED_EVENT = 907, WRONG_THREAD };

static gr_cuda_driver cuda;
static gr_cu_stream blocking, aside, other; /* the last two ignore the legacy stream */
static gr_cu_event event;
static gr_cu_context context;

static void start(void) {
    CHECK_OK(cuda.init(0));
    CHECK_OK(cuda.context_retain(&context, 0));
    CHECK_OK(cuda.context_push(context));
    CHECK_OK(cuda.stream_create(&blocking, 0));
    CHECK_OK(cuda.stream_create(&aside, GR_CU_STREAM_NON_BLOCKING));
    CHECK_OK(cuda.stream_create(&other, GR_CU_STREAM_NON_BLOCKING));
    CHECK_OK(cuda.event_create(&event, GR_CU_EVENT_NO_TIMING));
}

static gr_cu_deviceptr word(void) {
    gr_cu_deviceptr address;
    CHECK_OK(cuda.alloc(&address, 4));
    return address;
}

static unsigned read_in(gr_cu_stream stream, gr_cu_deviceptr address) {
    unsigned value = 0;
    CHECK_OK(cuda.download_async(&value, address, sizeof value, stream));
    return value;
}

/* Who waits for one stream finds what the rules of CUDA promise, and not more. */
static void test_order(void) {
    const struct {
        gr_cu_stream first, second;
        bool ordered;
    } pairs[] = {{aside, other, false},  {aside, NULL, false},   {NULL, aside, false},
                 {blocking, NULL, true}, {NULL, blocking, true}, {blocking, aside, false},
                 {aside, aside, true}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const gr_cu_deviceptr memory = word();
        CHECK_OK(cuda.memset_async(memory, 1, 4, pairs[i].first));
        CHECK(read_in(pairs[i].second, memory) == (pairs[i].ordered ? 0x01010101 : 0xa5a5a5a5));
        CHECK_OK(cuda.event_record(event, pairs[i].first));
        CHECK_OK(cuda.stream_follow(pairs[i].second, event, 0));
        CHECK(read_in(pairs[i].second, memory) == 0x01010101);
    }
    /* An event is the place where it was recorded last. */
    const gr_cu_deviceptr memory = word();
    CHECK_OK(cuda.event_record(event, aside));
    CHECK_OK(cuda.memset_async(memory, 1, 4, aside));
    CHECK_OK(cuda.stream_follow(other, event, 0));
    CHECK(read_in(other, memory) == 0xa5a5a5a5);
    CHECK_OK(cuda.free(memory)); /* waits for the device */
    CHECK_OK(cuda.stream_wait(NULL));
}

/* Each seed is an order; among a few of them both orders of two fills are found. */
static void test_seeds(void) {
    unsigned found = 0;
    for (unsigned seed = 1; seed < 20; seed++) {
        const gr_cu_deviceptr memory = word();
        fake->set_order(seed);
        CHECK_OK(cuda.memset_async(memory, 1, 4, aside));
        CHECK_OK(cuda.memset_async(memory, 2, 4, other));
        CHECK_OK(cuda.stream_wait(aside));
        CHECK_OK(cuda.stream_wait(other));
        found |= read_in(NULL, memory) & 3;
    }
    CHECK(found == 3);
}

static gr_cu_pool new_pool(void) {
    gr_cu_pool pool;
    uint64_t keep = UINT64_MAX;
    const gr_cu_pool_properties wanted = {.type = GR_CU_POOL_PINNED, .location = {GR_CU_POOL_ON_DEVICE, 0}};
    CHECK_OK(cuda.pool_create(&pool, &wanted));
    CHECK_OK(cuda.pool_set(pool, GR_CU_POOL_RELEASE_THRESHOLD, &keep));
    return pool;
}

static void test_pool(void) {
    gr_cu_pool pool = new_pool();
    gr_cu_deviceptr first, second, third;
    CHECK_OK(cuda.pool_alloc(&first, 512, pool, aside));
    CHECK(read_in(aside, first) == 0xa5a5a5a5);
    CHECK_OK(cuda.pool_free(first, aside));
    CHECK(fake->live().allocations == 0);
    CHECK_OK(cuda.pool_alloc(&second, 512, pool, other)); /* not yet free for others */
    CHECK_OK(cuda.pool_alloc(&third, 512, pool, aside));
    CHECK(second != first && third == first);
    CHECK_OK(cuda.memset_async(third, 1, 4, aside));
    CHECK(read_in(aside, third) == 0x01010101);
    CHECK_OK(cuda.pool_free(third, aside));
    CHECK_OK(cuda.stream_wait(aside));
    CHECK_OK(cuda.pool_alloc(&third, 512, pool, other));
    CHECK(third == first);
    CHECK(cuda.pool_free(second + 4, other) != GR_CU_SUCCESS);
    CHECK_OK(cuda.pool_free(second, other));
    CHECK(cuda.pool_free(second, other) != GR_CU_SUCCESS);
    CHECK_OK(cuda.pool_free(third, other));
    CHECK_OK(cuda.stream_wait(other));
    CHECK_OK(cuda.pool_trim(pool, 0));
    size_t free_bytes, total_bytes;
    CHECK_OK(cuda.memory_info(&free_bytes, &total_bytes));
    CHECK(free_bytes == total_bytes);
    CHECK_OK(cuda.pool_destroy(pool));
    CHECK(fake->live().pools == 0);
}

/* Used too late, in the same stream, and too early, in one that nothing orders with the allocation. */
static void test_freed_memory(void) {
    gr_cu_pool pool = new_pool();
    gr_cu_deviceptr memory;
    CHECK_OK(cuda.pool_alloc(&memory, 512, pool, aside));
    CHECK_OK(cuda.pool_free(memory, aside));
    CHECK_OK(cuda.memset_async(memory, 1, 4, aside));
    CHECK(cuda.stream_wait(aside) == ILLEGAL_ADDRESS);
}

static void test_memory_of_another_stream(void) {
    gr_cu_pool pool = new_pool();
    gr_cu_deviceptr memory;
    CHECK_OK(cuda.pool_alloc(&memory, 512, pool, aside));
    CHECK_OK(cuda.memset_async(memory, 1, 4, other));
    CHECK(cuda.stream_wait(other) == ILLEGAL_ADDRESS);
}

static gr_cu_result end_capture(gr_cu_stream stream) {
    gr_cu_graph graph;
    const gr_cu_result result = cuda.capture_end(stream, &graph);
    CHECK((result == GR_CU_SUCCESS) == (graph != NULL));
    return graph ? cuda.graph_destroy(graph) : result;
}

static void set_mode(int mode) {
    CHECK_OK(cuda.capture_mode(&mode));
}

static void *alloc_and_end(void *of) {
    gr_cu_deviceptr memory;
    CHECK_OK(cuda.context_push(of));
    const gr_cu_result result = cuda.alloc(&memory, 4);
    CHECK(end_capture(aside) == WRONG_THREAD);
    return (void *)(intptr_t)result;
}

/* Another thread is kept from it by a global capture alone; to end one is its own thread's. */
static void test_other_threads(void) {
    for (int mode = GR_CU_CAPTURE_GLOBAL; mode < GR_CU_CAPTURE_RELAXED; mode++) {
        pthread_t elsewhere;
        void *result;
        CHECK_OK(cuda.capture_begin(aside, mode));
        CHECK(pthread_create(&elsewhere, NULL, alloc_and_end, context) == 0);
        CHECK(pthread_join(elsewhere, &result) == 0);
        CHECK((intptr_t)result == (mode == GR_CU_CAPTURE_GLOBAL ? UNSUPPORTED : GR_CU_SUCCESS));
        CHECK(end_capture(aside) == INVALIDATED);
    }
}

static bool status_is(gr_cu_stream stream, int expected) {
    int status = -1;
    CHECK_OK(cuda.capture_info(stream, &status, NULL, NULL, NULL, NULL));
    return status == expected;
}

/* What may be unsafe, in each mode of the capture and of the thread. */
static void test_modes(void) {
    const gr_cu_deviceptr memory = word();
    for (int mode = GR_CU_CAPTURE_GLOBAL; mode <= GR_CU_CAPTURE_RELAXED; mode++) {
        for (int own = GR_CU_CAPTURE_GLOBAL; own <= GR_CU_CAPTURE_RELAXED; own++) {
            const bool allowed = mode == GR_CU_CAPTURE_RELAXED || own == GR_CU_CAPTURE_RELAXED;
            gr_cu_deviceptr more;
            set_mode(own);
            CHECK_OK(cuda.capture_begin(aside, mode));
            CHECK_OK(cuda.memset_async(memory, 1, 4, aside));
            CHECK(status_is(aside, GR_CU_CAPTURE_ACTIVE) && status_is(other, GR_CU_CAPTURE_NONE));
            CHECK(cuda.alloc(&more, 4) == (allowed ? GR_CU_SUCCESS : UNSUPPORTED));
            CHECK(status_is(aside, allowed ? GR_CU_CAPTURE_ACTIVE : GR_CU_CAPTURE_INVALIDATED));
            CHECK(end_capture(aside) == (allowed ? GR_CU_SUCCESS : INVALIDATED));
        }
    }
    set_mode(GR_CU_CAPTURE_GLOBAL);
    CHECK_OK(cuda.capture_begin(aside, GR_CU_CAPTURE_RELAXED));
    CHECK(cuda.stream_wait(aside) == UNSUPPORTED && end_capture(aside) == INVALIDATED);
    CHECK_OK(cuda.capture_begin(aside, GR_CU_CAPTURE_RELAXED));
    CHECK_OK(cuda.event_record(event, aside));
    CHECK(cuda.event_query(event) == CAPTURED_EVENT && end_capture(aside) == INVALIDATED);
    /* Work in the legacy stream: nothing to one that ignores it, too much for one that does not. */
    CHECK_OK(cuda.capture_begin(aside, GR_CU_CAPTURE_GLOBAL));
    CHECK_OK(cuda.memset_async(memory, 1, 4, NULL));
    CHECK_OK(end_capture(aside));
    CHECK_OK(cuda.capture_begin(blocking, GR_CU_CAPTURE_RELAXED));
    CHECK(cuda.memset_async(memory, 1, 4, NULL) == IMPLICIT && end_capture(blocking) == INVALIDATED);
    CHECK(cuda.capture_begin(NULL, GR_CU_CAPTURE_RELAXED) == UNSUPPORTED);
}

/* Streams join a capture by its events, and no others. */
static void test_events_of_captures(void) {
    const gr_cu_deviceptr memory = word();
    gr_cu_event outside;
    CHECK_OK(cuda.event_create(&outside, GR_CU_EVENT_NO_TIMING));
    CHECK_OK(cuda.event_record(outside, other));
    CHECK_OK(cuda.capture_begin(aside, GR_CU_CAPTURE_GLOBAL));
    CHECK(cuda.stream_follow(aside, outside, 0) == ISOLATION && end_capture(aside) == INVALIDATED);

    CHECK_OK(cuda.capture_begin(aside, GR_CU_CAPTURE_GLOBAL));
    CHECK_OK(cuda.event_record(event, aside));
    CHECK_OK(cuda.stream_follow(other, event, 0));
    CHECK_OK(cuda.memset_async(memory, 1, 4, other));
    CHECK(end_capture(other) == UNMATCHED);
    CHECK(end_capture(aside) == INVALIDATED); /* for the same reason */
    CHECK(cuda.stream_follow(other, event, 0) == CAPTURED_EVENT);

    CHECK_OK(cuda.capture_begin(aside, GR_CU_CAPTURE_GLOBAL));
    CHECK_OK(cuda.event_record(event, aside));
    CHECK_OK(cuda.stream_follow(other, event, 0));
    CHECK_OK(cuda.memset_async(memory, 1, 4, other));
    CHECK(end_capture(aside) == UNJOINED);

    CHECK_OK(cuda.capture_begin(aside, GR_CU_CAPTURE_GLOBAL));
    CHECK_OK(cuda.capture_begin(other, GR_CU_CAPTURE_GLOBAL));
    CHECK_OK(cuda.event_record(event, aside));
    CHECK(cuda.stream_follow(other, event, 0) == MERGE);
    CHECK(end_capture(aside) == INVALIDATED && end_capture(other) == INVALIDATED);
    CHECK(read_in(NULL, memory) == 0xa5a5a5a5);
}

static int released;
static void release(void *counter) {
    int mode = 0;
    CHECK(cuda.capture_mode(&mode) != GR_CU_SUCCESS); /* not from here */
    ++*(int *)counter;
}

/* A graph owns what it was given as long as it, or what was made of it, lives; branches of it run in any
 * order. */
static void test_graphs(void) {
    const gr_cu_deviceptr memory = word(), apart = word();
    gr_cu_graph graph, captured;
    gr_cu_graph_exec exec;
    gr_cu_owner owner;
    int status;
    CHECK_OK(cuda.capture_begin(aside, GR_CU_CAPTURE_GLOBAL));
    CHECK_OK(cuda.capture_info(aside, &status, NULL, &captured, NULL, NULL));
    CHECK_OK(cuda.owner_create(&owner, &released, release, 1, GR_CU_OWNER_NO_SYNC));
    CHECK_OK(cuda.graph_keep(captured, owner, 1, GR_CU_GRAPH_TAKES_REFERENCES));
    CHECK_OK(cuda.event_record(event, aside));
    CHECK_OK(cuda.stream_follow(other, event, 0));
    CHECK_OK(cuda.memset_async(memory, 1, 4, other));
    CHECK_OK(cuda.event_record(event, other));
    CHECK_OK(cuda.memset_async(memory, 2, 4, aside)); /* next to the first one */
    CHECK_OK(cuda.stream_follow(aside, event, 0));
    CHECK_OK(cuda.memset_async(apart, 3, 4, aside));
    CHECK_OK(cuda.capture_end(aside, &graph));
    CHECK_OK(cuda.graph_instantiate(&exec, graph, 0));
    CHECK_OK(cuda.graph_destroy(graph));
    CHECK(released == 0 && fake->live().owners == 1);
    CHECK_OK(cuda.graph_launch(exec, aside));
    CHECK(read_in(NULL, memory) == 0xa5a5a5a5);
    CHECK(read_in(aside, memory) == 0x01010101 && read_in(aside, apart) == 0x03030303);
    CHECK_OK(cuda.graph_launch(exec, other));
    CHECK_OK(cuda.graph_exec_destroy(exec));
    CHECK(released == 1 && fake->live().owners == 0);
}

static const test_case cases[] = {
    {"order", test_order},
    {"seeds", test_seeds},
    {"pool", test_pool},
    {"freed_memory", test_freed_memory},
    {"memory_of_another_stream", test_memory_of_another_stream},
    {"modes", test_modes},
    {"other_threads", test_other_threads},
    {"events_of_captures", test_events_of_captures},
    {"graphs", test_graphs},
};

int main(int argc, char **argv) {
    find_driver_functions(open_fake_driver(argc, argv), &cuda);
    before_each = start;
    return run_cases("fake_", cases, sizeof cases / sizeof *cases, NULL);
}
