#include "text/cfg.h"

#include <stdlib.h>

/* Blocks are numbered in code order; block `count` is the exit that every path ends in. */
enum { NO_BLOCK = -1 };

typedef struct block {
    uint32_t begin, end;  /* instructions [begin, end) */
    int32_t successor[2]; /* NO_BLOCK when there is none */
    int32_t ipdom;
    int32_t order;      /* position in a post-order walk from the exit, NO_BLOCK while not reached */
    int32_t first_edge; /* edges that come in, chained */
    bool syncs;         /* may reach a collective instruction */
} block;

typedef struct edge {
    int32_t from, next;
} edge;

typedef struct graph {
    ptx_kernel *kernel;
    block *blocks;
    edge *edges;
    int32_t *block_of; /* of each instruction */
    int32_t *post_order;
    int32_t *stack;
    int32_t count, edge_count, ordered;
} graph;

/* An unguarded branch, return or exit leaves no way to the next instruction. A trap ends the whole launch,
   so it is given none of its own: the lanes beside it meet as if it fell through. */
static bool ends_block(const ptx_instr *in) {
    return in->kind == PTX_BRANCH || in->kind == PTX_EXIT;
}

static bool unconditional(const ptx_instr *in) {
    return in->guard == PTX_PRED_TRUE && in->guard_flip == 0;
}

static void find_blocks(graph *g) {
    const ptx_kernel *kernel = g->kernel;
    size_t n = kernel->count;
    for (size_t pc = 0; pc < n; pc++)
        g->block_of[pc] = 0;
    g->block_of[0] = 1;
    for (size_t pc = 0; pc < n; pc++) {
        if (kernel->code[pc].kind == PTX_BRANCH)
            g->block_of[kernel->code[pc].op[0]] = 1;
        if (ends_block(&kernel->code[pc]) && pc + 1 < n)
            g->block_of[pc + 1] = 1;
    }
    for (size_t pc = 0; pc < n; pc++) {
        if (g->block_of[pc]) {
            g->blocks[g->count] = (block){.begin = (uint32_t)pc,
                                          .successor = {NO_BLOCK, NO_BLOCK},
                                          .ipdom = NO_BLOCK,
                                          .order = NO_BLOCK,
                                          .first_edge = NO_BLOCK};
            g->count++;
        }
        g->block_of[pc] = g->count - 1;
        g->blocks[g->count - 1].end = (uint32_t)pc + 1;
        g->blocks[g->count - 1].syncs |= kernel->code[pc].collective;
    }
    g->blocks[g->count] = (block){
        .successor = {NO_BLOCK, NO_BLOCK}, .ipdom = NO_BLOCK, .order = NO_BLOCK, .first_edge = NO_BLOCK};
}

static void add_edge(graph *g, int32_t from, int32_t to) {
    g->edges[g->edge_count] = (edge){.from = from, .next = g->blocks[to].first_edge};
    g->blocks[to].first_edge = g->edge_count++;
}

static void find_edges(graph *g) {
    for (int32_t b = 0; b < g->count; b++) {
        block *at = &g->blocks[b];
        const ptx_instr *last = &g->kernel->code[at->end - 1];
        if (last->kind == PTX_BRANCH)
            at->successor[0] = g->block_of[last->op[0]];
        else if (last->kind == PTX_EXIT)
            at->successor[0] = g->count;
        if (!ends_block(last) || !unconditional(last))
            at->successor[1] = b + 1;
        for (unsigned i = 0; i < 2; i++)
            if (at->successor[i] != NO_BLOCK)
                add_edge(g, b, at->successor[i]);
    }
}

/* Post-order over the edges turned round, from `root`; the exit gets the highest number. */
static void walk(graph *g, int32_t root) {
    int32_t depth = 0;
    g->stack[depth++] = root;
    g->blocks[root].order = g->count + 1; /* on the stack */
    while (depth) {
        int32_t b = g->stack[depth - 1];
        int32_t found = NO_BLOCK;
        for (int32_t e = g->blocks[b].first_edge; e != NO_BLOCK && found == NO_BLOCK; e = g->edges[e].next)
            if (g->blocks[g->edges[e].from].order == NO_BLOCK)
                found = g->edges[e].from;
        if (found == NO_BLOCK) {
            depth--;
            g->post_order[g->ordered] = b;
            g->blocks[b].order = g->ordered++;
        } else {
            g->blocks[found].order = g->count + 1;
            g->stack[depth++] = found;
        }
    }
}

/* A loop with no way out has no path to the exit: it gets an edge there, from its last block, so that
   lanes inside it still meet again. */
static void order_blocks(graph *g) {
    walk(g, g->count);
    for (int32_t b = g->count; b-- > 0;) {
        if (g->blocks[b].order != NO_BLOCK)
            continue;
        add_edge(g, b, g->count);
        for (int32_t i = 0; i <= g->count; i++)
            g->blocks[i].order = NO_BLOCK;
        g->ordered = 0;
        walk(g, g->count);
    }
}

static int32_t meet(const graph *g, int32_t a, int32_t b) {
    while (a != b) {
        while (g->blocks[a].order < g->blocks[b].order)
            a = g->blocks[a].ipdom;
        while (g->blocks[b].order < g->blocks[a].order)
            b = g->blocks[b].ipdom;
    }
    return a;
}

/* The blocks one step closer to the exit, the edge that order_blocks added included. */
static int32_t merge_successors(const graph *g, int32_t b) {
    int32_t merged = NO_BLOCK;
    for (int32_t e = g->blocks[g->count].first_edge; e != NO_BLOCK; e = g->edges[e].next)
        if (g->edges[e].from == b)
            merged = g->count;
    for (unsigned i = 0; i < 2; i++) {
        int32_t s = g->blocks[b].successor[i];
        if (s == NO_BLOCK || g->blocks[s].ipdom == NO_BLOCK)
            continue;
        merged = merged == NO_BLOCK ? s : meet(g, merged, s);
    }
    return merged;
}

/* Cooper, Harvey and Kennedy's iteration, on the graph turned round. */
static void find_ipdoms(graph *g) {
    g->blocks[g->count].ipdom = g->count;
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t i = g->ordered - 1; i-- > 0;) {
            int32_t b = g->post_order[i];
            int32_t ipdom = merge_successors(g, b);
            changed = changed || ipdom != g->blocks[b].ipdom;
            g->blocks[b].ipdom = ipdom;
        }
    }
}

static void spread_syncs(graph *g) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t b = g->count; b-- > 0;)
            for (unsigned i = 0; i < 2; i++) {
                int32_t s = g->blocks[b].successor[i];
                if (s != NO_BLOCK && g->blocks[s].syncs && !g->blocks[b].syncs)
                    g->blocks[b].syncs = changed = true;
            }
    }
}

static void mark_branches(graph *g) {
    for (int32_t b = 0; b < g->count; b++) {
        ptx_instr *last = &g->kernel->code[g->blocks[b].end - 1];
        if (last->kind != PTX_BRANCH)
            continue;
        int32_t meeting = g->blocks[b].ipdom;
        last->op[1] = meeting == NO_BLOCK || meeting == g->count ? PTX_NO_PC : g->blocks[meeting].begin;
        last->target_syncs = g->blocks[g->blocks[b].successor[0]].syncs;
        last->next_syncs =
            g->blocks[b].successor[1] != NO_BLOCK && g->blocks[g->blocks[b].successor[1]].syncs;
    }
}

bool ptx_cfg_build(ptx_kernel *kernel) {
    size_t n = kernel->count;
    graph g = {.kernel = kernel};
    g.blocks = calloc(n + 1, sizeof *g.blocks);
    g.edges = calloc(3 * n + 1, sizeof *g.edges);
    g.block_of = calloc(n, sizeof *g.block_of);
    g.post_order = calloc(n + 1, sizeof *g.post_order);
    g.stack = calloc(n + 1, sizeof *g.stack);
    bool good = g.blocks && g.edges && g.block_of && g.post_order && g.stack;
    if (good) {
        find_blocks(&g);
        find_edges(&g);
        order_blocks(&g);
        find_ipdoms(&g);
        spread_syncs(&g);
        mark_branches(&g);
    }
    free(g.blocks);
    free(g.edges);
    free(g.block_of);
    free(g.post_order);
    free(g.stack);
    return good;
}
