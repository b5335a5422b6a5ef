#include "device/block.h"

#include <stdlib.h>

#include "device/low_memory.h"

/* So much may wait to be freed, until the next block is taken. */
enum { MOST_DEAD_BYTES = 256 << 20, MOST_DEAD = 1024 };

/* A graph's destructor runs in a thread of the driver, perhaps while the process forks: the list of the dead
   has no lock. */
struct gr_block_list {
    gr_backend *backend;
    _Atomic(gr_block *) dead;
    atomic_size_t dead_bytes, dead_count;
    atomic_size_t users; /* the device, and each block */
};

gr_status gr_block_list_open(gr_backend *backend, gr_block_list **out, gr_error *error) {
    gr_block_list *blocks = calloc(1, sizeof *blocks);
    if (blocks == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for the blocks of a device");
    blocks->backend = backend;
    atomic_init(&blocks->users, 1);
    *out = blocks;
    return GR_OK;
}

static void leave(gr_block_list *blocks) {
    if (atomic_fetch_sub(&blocks->users, 1) > 1)
        return;
    for (gr_block *block = atomic_load(&blocks->dead), *next; block != NULL; block = next) {
        next = block->next;
        free(block); /* the device, and its memory, went before */
    }
    free(blocks);
}

void gr_block_list_close(gr_block_list *blocks) {
    if (blocks == NULL)
        return;
    gr_block_list_free(blocks);
    leave(blocks);
}

static void bury(gr_block_list *blocks, gr_block *block) {
    block->next = atomic_load(&blocks->dead);
    while (!atomic_compare_exchange_weak(&blocks->dead, &block->next, block))
        ;
}

/* One user of the block is gone; the last one leaves it to the dead. */
static void release(void *arg) {
    gr_block *block = arg;
    gr_block_list *home = block->home;
    if (atomic_fetch_sub(&block->users, 1) > 1)
        return;
    atomic_fetch_add(&home->dead_bytes, block->bytes);
    atomic_fetch_add(&home->dead_count, 1);
    bury(home, block);
    leave(home);
}

void gr_block_list_free(gr_block_list *blocks) {
    gr_backend *backend = blocks->backend;
    gr_error ignored;
    gr_block *block = atomic_exchange(&blocks->dead, NULL); /* first: what dies later is not waited for */
    const bool idle = block != NULL && backend->sync(backend, &ignored) == GR_OK;
    while (block != NULL) {
        gr_block *next = block->next;
        if (idle) {
            atomic_fetch_sub(&blocks->dead_bytes, block->bytes);
            atomic_fetch_sub(&blocks->dead_count, 1);
            backend->free(backend, block->address);
            free(block);
        } else {
            bury(blocks, block); /* a graph is being captured, say: at another time */
        }
        block = next;
    }
}

/* Memory that is there before the graph runs, and not only once: none of the graph's own. */
static gr_status take_for_graph(gr_block_list *blocks, const gr_order *order, gr_block *block,
                                gr_error *error) {
    gr_backend *backend = blocks->backend;
    gr_status status = backend->streams->take(backend, backend->own, block->bytes, &block->address, error);
    if (status != GR_OK)
        return status;
    atomic_store(&block->users, 2);
    status = backend->wait(backend, backend->own, error);
    if (status == GR_OK)
        status = backend->streams->retain(backend, order, release, block, error);
    if (status != GR_OK)
        backend->streams->drop(backend, backend->own, block->address);
    return status;
}

static gr_status take(gr_block_list *blocks, const gr_order *order, gr_block *block, gr_error *error) {
    gr_backend *backend = blocks->backend;
    return order->capture != 0
               ? take_for_graph(blocks, order, block, error)
               : backend->streams->take(backend, order->stream, block->bytes, &block->address, error);
}

gr_status gr_block_take(gr_block_list *blocks, const gr_order *order, size_t bytes, gr_block **out,
                        gr_error *error) {
    if (order->capture == 0 &&
        (atomic_load(&blocks->dead_bytes) > MOST_DEAD_BYTES || atomic_load(&blocks->dead_count) > MOST_DEAD))
        gr_block_list_free(blocks);
    gr_block *block = calloc(1, sizeof *block);
    if (block == NULL)
        return gr_fail(error, GR_ERR_MEMORY, "no host memory for a block of device memory");
    *block = (gr_block){.home = blocks, .bytes = bytes, .order = *order};
    atomic_init(&block->users, 1);
    gr_status status = take(blocks, order, block, error);
    if (status == GR_ERR_MEMORY && order->capture == 0) {
        gr_block_list_free(blocks);
        status = take(blocks, order, block, error);
        if (status == GR_ERR_MEMORY && gr_release_caches(blocks->backend))
            status = take(blocks, order, block, error);
    }
    if (status != GR_OK) {
        free(block);
        return status;
    }
    atomic_fetch_add(&blocks->users, 1);
    *out = block;
    return GR_OK;
}

void gr_block_give(gr_block *block, bool shared) {
    gr_block_list *home = block->home;
    gr_backend *backend = home->backend;
    gr_order now;
    gr_error ignored;
    if (shared || block->order.capture != 0 ||
        backend->streams->look(backend, block->order.stream, &now, &ignored) != GR_OK || now.barred ||
        now.id != block->order.id || now.capture != 0) {
        release(block); /* its stream is no more, or part of a graph */
        return;
    }
    backend->streams->drop(backend, block->order.stream, block->address);
    free(block);
    leave(home);
}
