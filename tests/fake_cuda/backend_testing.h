/* What the tests of the CUDA backend share: launches of the fake driver's kernels, and checks of calls that
 * may fail. */
#ifndef FAKE_CUDA_BACKEND_TESTING_H
#define FAKE_CUDA_BACKEND_TESTING_H

#include "device/backend.h"
#include "testing.h"

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

extern const gr_image image;

/* Fills data with numbers of both signs, and returns their sum. */
int64_t fill(int32_t *data, int n);
void check_nothing_left(void);
/* Whether the context of the device is current, with `depth` contexts on the stack. */
bool current_is(int device, int depth);
gr_backend *open_device(int index);

#endif
