/* Vector clocks of clusters, and of the addresses through which they synchronise. */
#include "instrumentation/block_order.h"

#include <stdlib.h>
#include <string.h>

/* Limit of all vectors together. */
#define MAX_VECTOR_BYTES (1ull << 29)

typedef struct cluster_clock {
    uint32_t now;
    uint32_t fenced;  /* accesses up to this clock precede what the cluster releases */
    uint32_t changes; /* number of joins that raised `known` */
    uint32_t ended;   /* blocks */
    uint32_t *known;  /* the acquired clocks, one per cluster; NULL: nothing acquired */
    uint64_t address; /* that it acquired from last, at `version` */
    uint32_t version;
} cluster_clock;

/* The clocks that were released at an address. */
typedef struct sync_address {
    uint64_t address; /* 0: an empty slot */
    uint32_t *released;
    uint32_t version; /* number of releases that raised it */
    uint64_t cluster; /* that released last, with `changes` joins of its own */
    uint32_t changes;
} sync_address;

struct ptx_block_order {
    uint64_t clusters;
    cluster_clock *clocks;
    sync_address *addresses; /* a hash table with open addressing */
    size_t address_count, address_capacity;
    uint64_t vector_bytes;
    bool failed;
};

ptx_block_order *ptx_block_order_create(uint64_t clusters) {
    ptx_block_order *order = calloc(1, sizeof *order);
    if (!order)
        return NULL;
    order->clusters = clusters;
    order->clocks = clusters < UINT32_MAX ? calloc(clusters, sizeof *order->clocks) : NULL;
    if (order->clocks)
        return order;
    free(order);
    return NULL;
}

void ptx_block_order_free(ptx_block_order *order) {
    if (!order)
        return;
    for (uint64_t i = 0; i < order->clusters; i++)
        free(order->clocks[i].known);
    for (size_t i = 0; i < order->address_capacity; i++)
        free(order->addresses[i].released);
    free(order->addresses);
    free(order->clocks);
    free(order);
}

uint32_t ptx_block_order_clock(const ptx_block_order *order, uint64_t cluster) {
    return order->clocks[cluster].now + 1;
}

bool ptx_block_order_precedes(const ptx_block_order *order, uint64_t from, uint32_t clock, uint64_t to) {
    if (from == to || order->failed)
        return true;
    const uint32_t *known = order->clocks[to].known;
    return known && known[from] >= clock;
}

void ptx_block_order_fence(ptx_block_order *order, uint64_t cluster) {
    cluster_clock *c = &order->clocks[cluster];
    c->fenced = ++c->now;
}

/* ---- vectors ---- */

static uint32_t *new_vector(ptx_block_order *order) {
    const uint64_t bytes = order->clusters * sizeof(uint32_t);
    uint32_t *vector = order->vector_bytes + bytes <= MAX_VECTOR_BYTES ? calloc(1, bytes) : NULL;
    if (vector)
        order->vector_bytes += bytes;
    else
        order->failed = true;
    return vector;
}

/* Returns whether an entry has changed. */
static bool join(uint32_t *to, const uint32_t *from, uint64_t count) {
    uint32_t changed = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t higher = from[i] > to[i] ? from[i] : to[i];
        changed |= higher ^ to[i];
        to[i] = higher;
    }
    return changed != 0;
}

/* ---- addresses ---- */

static size_t slot_of(const ptx_block_order *order, uint64_t address) {
    size_t at = (size_t)(address * 0x9e3779b97f4a7c15u >> 20) & (order->address_capacity - 1);
    while (order->addresses[at].address && order->addresses[at].address != address)
        at = (at + 1) & (order->address_capacity - 1);
    return at;
}

static bool grow(ptx_block_order *order) {
    const size_t before = order->address_capacity;
    sync_address *old = order->addresses;
    sync_address *grown = calloc(before ? 2 * before : 64, sizeof *grown);
    if (!grown)
        return false;
    order->addresses = grown;
    order->address_capacity = before ? 2 * before : 64;
    for (size_t i = 0; i < before; i++)
        if (old[i].address)
            grown[slot_of(order, old[i].address)] = old[i];
    free(old);
    return true;
}

static sync_address *find(const ptx_block_order *order, uint64_t address) {
    if (!order->address_count)
        return NULL;
    sync_address *found = &order->addresses[slot_of(order, address)];
    return found->address ? found : NULL;
}

static sync_address *find_or_add(ptx_block_order *order, uint64_t address) {
    sync_address *found = find(order, address);
    if (found)
        return found;
    if (2 * order->address_count >= order->address_capacity && !grow(order)) {
        order->failed = true;
        return NULL;
    }
    uint32_t *released = new_vector(order);
    if (!released)
        return NULL;
    found = &order->addresses[slot_of(order, address)];
    *found = (sync_address){.address = address, .released = released, .cluster = UINT64_MAX};
    order->address_count++;
    return found;
}

void ptx_block_order_release(ptx_block_order *order, uint64_t cluster, uint64_t address) {
    const cluster_clock *c = &order->clocks[cluster];
    if (!c->fenced || order->failed)
        return;
    sync_address *at = find_or_add(order, address);
    if (!at)
        return;
    bool changed = at->released[cluster] < c->fenced;
    if (changed)
        at->released[cluster] = c->fenced;
    else if (at->cluster == cluster && at->changes == c->changes)
        return;
    if (c->known && (c->address != address || c->version != at->version))
        changed |= join(at->released, c->known, order->clusters);
    at->cluster = cluster;
    at->changes = c->changes;
    at->version += changed;
}

void ptx_block_order_acquire(ptx_block_order *order, uint64_t cluster, uint64_t address) {
    cluster_clock *c = &order->clocks[cluster];
    const sync_address *at = order->failed ? NULL : find(order, address);
    if (!at || (c->address == address && c->version == at->version))
        return;
    if (!c->known)
        c->known = new_vector(order);
    if (!c->known)
        return;
    c->changes += join(c->known, at->released, order->clusters);
    c->address = address;
    c->version = at->version;
}

void ptx_block_order_end(ptx_block_order *order, uint64_t cluster, unsigned blocks) {
    cluster_clock *c = &order->clocks[cluster];
    if (++c->ended < blocks)
        return;
    if (c->known)
        order->vector_bytes -= order->clusters * sizeof(uint32_t);
    free(c->known);
    c->known = NULL;
}
