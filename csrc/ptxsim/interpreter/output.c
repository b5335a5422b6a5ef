/* Collects the printed text of blocks and prints it in block order. */
#include "interpreter/output.h"

#include <stdlib.h>
#include <string.h>

#include "diagnostic.h"
#include "interpreter/fault.h"
#include "interpreter/run.h"
#include "reserve.h"

/* The text of one block; `cluster` is the cluster's position in the order of start. */
typedef struct ptx_printed {
    uint64_t block, cluster;
    ptx_text text;
} ptx_printed;

static bool grow(ptx_text *text, size_t length) {
    if (length <= text->capacity - text->length)
        return true;
    const size_t capacity = 2 * (text->length + length);
    char *grown = realloc(text->bytes, capacity);
    if (!grown)
        return false;
    text->bytes = grown;
    text->capacity = capacity;
    return true;
}

ptx_status ptx_output_append(ptx_warp *warp, const ptx_instr *in, unsigned lane, const char *text,
                             size_t length) {
    ptx_text *to = &warp->block->text;
    if (atomic_fetch_add(&warp->worker->run->printed_bytes, length) + length > PTX_MAX_PRINTED)
        return ptx_fault(warp, in, (int)lane, PTX_ERR_BUDGET, "the kernel prints more than %d MiB",
                         PTX_MAX_PRINTED >> 20);
    if (!grow(to, length))
        return ptx_fault(warp, in, (int)lane, PTX_ERR_MEMORY, "out of memory for the text that is printed");
    memcpy(to->bytes + to->length, text, length);
    to->length += length;
    return PTX_OK;
}

void ptx_output_end(ptx_block *block) {
    ptx_run *run = block->worker->run;
    if (!block->text.length)
        return;
    const ptx_printed printed = {
        .block = block->number, .cluster = block->cluster->index, .text = block->text};
    pthread_mutex_lock(&run->lock);
    const bool good =
        ptx_reserve(&run->printed, &run->printed_capacity, run->printed_count, sizeof *run->printed);
    if (good)
        run->printed[run->printed_count++] = printed;
    pthread_mutex_unlock(&run->lock);
    if (!good) {
        ptx_error error;
        ptx_fail(&error, PTX_ERR_MEMORY, "out of memory for the text that is printed");
        ptx_run_fail(run, UINT64_MAX, &error);
        free(block->text.bytes);
    }
    block->text = (ptx_text){0};
}

static int by_block(const void *a, const void *b) {
    const uint64_t first = ((const ptx_printed *)a)->block, second = ((const ptx_printed *)b)->block;
    return first < second ? -1 : first > second;
}

bool ptx_output_finish(ptx_run *run) {
    const ptx_launch_config *config = run->config;
    const uint64_t failed = atomic_load(&run->failed_cluster);
    bool good = true;
    if (run->printed_count)
        qsort(run->printed, run->printed_count, sizeof *run->printed, by_block);
    for (size_t i = 0; i < run->printed_count; i++) {
        ptx_printed *printed = &run->printed[i];
        if (printed->cluster <= failed && config->print)
            good = config->print(config->print_arg, printed->text.bytes, printed->text.length) && good;
        free(printed->text.bytes);
    }
    free(run->printed);
    return good;
}
