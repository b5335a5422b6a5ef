/* Launches that repeat. Programs that measure launch a kernel hundreds of times, each time with the same
   effect. The simulator is deterministic: if a launch has left all memory as it was, and comes again while
   the memory is the same, then it does the same again, so that it is only counted. */
#include <stdlib.h>
#include <string.h>

#include "cudart/cudart.h"

enum { MAX_KNOWN = 256, BYTES_PER_INSTRUCTION = 32 }; /* digested in the time of a warp instruction */

struct cudart_repeat {
    struct cudart_repeat *next;
    const cudart_function *function;
    uint32_t grid[3], block[3], cluster[3];
    size_t dynamic_shared, param_bytes;
    bool proven; /* it changes nothing in a memory with this digest */
    ptx_digest digest;
    uint64_t warp_instructions; /* of the last time */
    char params[];
};

static cudart_repeat *known;
static unsigned known_count;

static bool same_digest(const ptx_digest *a, const ptx_digest *b) {
    return a->words[0] == b->words[0] && a->words[1] == b->words[1];
}

static bool is_same(const cudart_repeat *r, const cudart_function *f, const ptx_launch_config *c) {
    return r->function == f && r->dynamic_shared == c->dynamic_shared_bytes &&
           r->param_bytes == c->param_bytes && !memcmp(r->grid, c->grid, sizeof r->grid) &&
           !memcmp(r->block, c->block, sizeof r->block) &&
           !memcmp(r->cluster, c->cluster, sizeof r->cluster) &&
           !memcmp(r->params, c->params, r->param_bytes);
}

/* Keeps a launch that is new; without memory, or if there are many, it is not known later. */
static void remember(const cudart_function *f, const ptx_launch_config *c) {
    cudart_repeat *r = known_count < MAX_KNOWN ? calloc(1, sizeof *r + c->param_bytes) : NULL;
    if (!r)
        return;
    r->next = known;
    r->function = f;
    memcpy(r->grid, c->grid, sizeof r->grid);
    memcpy(r->block, c->block, sizeof r->block);
    memcpy(r->cluster, c->cluster, sizeof r->cluster);
    r->dynamic_shared = c->dynamic_shared_bytes;
    r->param_bytes = c->param_bytes;
    memcpy(r->params, c->params, c->param_bytes);
    known = r;
    known_count++;
}

/* What a launch leaves elsewhere than in memory excludes it: records, the heap's blocks, a workspace. */
static bool may_repeat(const cudart_function *f, const ptx_launch_config *c) {
    return !cudart.every_launch && !c->observer_count && !c->grid_workspace &&
           !ptx_kernel_uses_heap(f->kernel);
}

cudart_repeat *cudart_find_repeat(const cudart_function *f, const ptx_launch_config *config) {
    if (!may_repeat(f, config))
        return NULL;
    cudart_repeat *r = known;
    while (r && !is_same(r, f, config))
        r = r->next;
    if (!r)
        remember(f, config);
    const size_t bytes = ptx_memory_used(cudart.memory);
    const bool worthwhile =
        r && (!r->warp_instructions || r->warp_instructions >= bytes / BYTES_PER_INSTRUCTION);
    return worthwhile ? r : NULL;
}

bool cudart_skip_repeat(cudart_repeat *r, uint64_t *warp_instructions) {
    const ptx_digest before = ptx_memory_digest(cudart.memory);
    const bool skip = r->proven && same_digest(&before, &r->digest);
    r->digest = before;
    *warp_instructions = r->warp_instructions;
    return skip;
}

void cudart_keep_repeat(cudart_repeat *r, bool silent, uint64_t warp_instructions) {
    const ptx_digest after = ptx_memory_digest(cudart.memory);
    r->warp_instructions = warp_instructions;
    r->proven = silent && same_digest(&after, &r->digest);
}
