/* Implements backend_testing.h. */
#include "backend_testing.h"

static const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba, 1, 2, 3, 4};
const gr_image image = {.name = "v0", .data = fatbin, .size = sizeof fatbin};

static int32_t element(int i) {
    return (int32_t)((uint32_t)i * 2654435761U) / 3;
}

int64_t fill(int32_t *data, int n) {
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += data[i] = element(i);
    return sum;
}

void check_nothing_left(void) {
    fake_cuda_live now = fake->live();
    CHECK(now.contexts == 0 && now.allocations == 0 && now.modules == 0 && now.streams == 0);
    CHECK(now.graphs == 0 && now.graph_execs == 0 && now.events == 0 && now.pinned == 0);
    CHECK(now.pools == 0 && now.owners == 0);
    CHECK(fake->leaked() == 0);
}

bool current_is(int device, int depth) {
    int found_depth;
    return fake->current(&found_depth) == device && found_depth == depth;
}

gr_backend *open_device(int index) {
    gr_backend *backend = NULL;
    CHECK_OK(gr_backend_cuda_open(index, &backend, error));
    return backend;
}
