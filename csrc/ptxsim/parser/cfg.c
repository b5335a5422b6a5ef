/* Builds the control-flow graph and computes post-dominators with the algorithm of Lengauer and Tarjan
   (TOPLAS 1979) on the reversed graph. */
#include "parser/passes.h"

#include <stdlib.h>
#include <string.h>

/* Blocks are numbered in code order; block `count` is the exit, at which every path ends. */
enum { NONE = -1 };

typedef struct block {
    uint32_t begin, end;         /* instructions [begin, end) */
    int32_t first_out, first_in; /* indices of the first edges; edges form linked lists */
    int32_t order;               /* number in the depth-first search from the exit, NONE if not reached */
    int32_t ipdom;
    bool syncs; /* a collective instruction is in the block or reachable from it */
} block;

typedef struct edge {
    int32_t from, to, next_out, next_in;
} edge;

/* The k-th node in depth-first order: variables of the algorithm, named as in the paper where possible. */
typedef struct dfs_node {
    int32_t block;
    int32_t parent, semi, ancestor, best, same, idom; /* all are indices of nodes */
    int32_t bucket, next; /* bucket: list of the nodes whose semidominator this is */
} dfs_node;

typedef struct graph {
    ptx_kernel *kernel;
    block *blocks;
    edge *edges;
    dfs_node *nodes;
    int32_t *block_of; /* per instruction */
    int32_t *stack, *cursor;
    int32_t count, edge_count, reached;
} graph;

static block new_block(uint32_t begin) {
    return (block){.begin = begin, .first_out = NONE, .first_in = NONE, .order = NONE, .ipdom = NONE};
}

static void find_blocks(graph *g) {
    const ptx_kernel *kernel = g->kernel;
    size_t n = kernel->count;
    g->block_of[0] = 1;
    for (size_t pc = 0; pc < n; pc++) {
        if (kernel->code[pc].kind == PTX_BRANCH)
            g->block_of[kernel->code[pc].op[0]] = 1;
        if (ptx_ends_block(&kernel->code[pc]) && pc + 1 < n)
            g->block_of[pc + 1] = 1;
    }
    for (size_t pc = 0; pc < n; pc++) {
        if (g->block_of[pc])
            g->blocks[g->count++] = new_block((uint32_t)pc);
        g->block_of[pc] = g->count - 1;
        g->blocks[g->count - 1].end = (uint32_t)pc + 1;
        g->blocks[g->count - 1].syncs |= kernel->code[pc].collective;
    }
    g->blocks[g->count] = new_block((uint32_t)n);
}

static void add_edge(graph *g, int32_t from, int32_t to) {
    g->edges[g->edge_count] = (edge){
        .from = from, .to = to, .next_out = g->blocks[from].first_out, .next_in = g->blocks[to].first_in};
    g->blocks[from].first_out = g->blocks[to].first_in = g->edge_count++;
}

static void find_edges(graph *g) {
    for (int32_t b = 0; b < g->count; b++) {
        const ptx_instr *last = &g->kernel->code[g->blocks[b].end - 1];
        if (last->kind == PTX_BRANCH)
            add_edge(g, b, g->block_of[last->op[0]]);
        else if (last->kind == PTX_EXIT)
            add_edge(g, b, g->count);
        if (!ptx_ends_block(last) || !ptx_is_unguarded(last))
            add_edge(g, b, b + 1);
    }
}

/* Numbers all blocks that can reach `root` in depth-first preorder. */
static void number_blocks(graph *g, int32_t root, int32_t parent) {
    int32_t depth = 0;
    int32_t next = root;
    for (;;) {
        if (next != NONE) {
            g->nodes[g->reached] = (dfs_node){.block = next,
                                              .parent = depth ? g->blocks[g->stack[depth - 1]].order : parent,
                                              .ancestor = NONE,
                                              .same = NONE,
                                              .bucket = NONE};
            g->blocks[next].order = g->reached++;
            g->cursor[next] = g->blocks[next].first_in;
            g->stack[depth++] = next;
        } else if (--depth == 0) {
            return;
        }
        next = NONE;
        int32_t *e = &g->cursor[g->stack[depth - 1]];
        for (; *e != NONE && next == NONE; *e = g->edges[*e].next_in)
            if (g->blocks[g->edges[*e].from].order == NONE)
                next = g->edges[*e].from;
    }
}

/* An infinite loop has no path to the exit: it gets an edge from its last block to the exit, so that its
   lanes still reconverge. */
static void order_blocks(graph *g) {
    number_blocks(g, g->count, NONE);
    for (int32_t b = g->count; b-- > 0;)
        if (g->blocks[b].order == NONE) {
            add_edge(g, b, g->count);
            number_blocks(g, b, 0);
        }
}

/* EVAL: the ancestor with the lowest semidominator in the forest, with path compression. */
static int32_t evaluate(graph *g, int32_t v) {
    dfs_node *nodes = g->nodes;
    int32_t depth = 0;
    while (nodes[v].ancestor != NONE && nodes[nodes[v].ancestor].ancestor != NONE) {
        g->stack[depth++] = v;
        v = nodes[v].ancestor;
    }
    while (depth) {
        const int32_t up = v;
        v = g->stack[--depth];
        if (nodes[nodes[up].best].semi < nodes[nodes[v].best].semi)
            nodes[v].best = nodes[up].best;
        nodes[v].ancestor = nodes[up].ancestor;
    }
    return nodes[v].best;
}

/* Computes or defers the dominators of the nodes in a bucket. */
static void process_bucket(graph *g, int32_t p) {
    dfs_node *nodes = g->nodes;
    for (int32_t v = nodes[p].bucket; v != NONE; v = nodes[v].next) {
        const int32_t y = evaluate(g, v);
        if (nodes[y].semi == nodes[v].semi)
            nodes[v].idom = p;
        else
            nodes[v].same = y;
    }
    nodes[p].bucket = NONE;
}

/* Lengauer-Tarjan with simple LINK (path compression only). */
static void find_ipdoms(graph *g) {
    dfs_node *nodes = g->nodes;
    for (int32_t n = g->reached; n-- > 1;) {
        const int32_t p = nodes[n].parent;
        int32_t semi = p;
        for (int32_t e = g->blocks[nodes[n].block].first_out; e != NONE; e = g->edges[e].next_out) {
            const int32_t v = g->blocks[g->edges[e].to].order;
            const int32_t other = v <= n ? v : nodes[evaluate(g, v)].semi;
            semi = other < semi ? other : semi;
        }
        nodes[n].semi = semi;
        nodes[n].next = nodes[semi].bucket;
        nodes[semi].bucket = n;
        nodes[n].ancestor = p;
        nodes[n].best = n;
        process_bucket(g, p);
    }
    for (int32_t n = 1; n < g->reached; n++) {
        if (nodes[n].same != NONE)
            nodes[n].idom = nodes[nodes[n].same].idom;
        g->blocks[nodes[n].block].ipdom = nodes[nodes[n].idom].block;
    }
}

static void propagate_syncs(graph *g) {
    int32_t depth = 0;
    for (int32_t b = 0; b < g->count; b++)
        if (g->blocks[b].syncs)
            g->stack[depth++] = b;
    while (depth) {
        const int32_t b = g->stack[--depth];
        for (int32_t e = g->blocks[b].first_in; e != NONE; e = g->edges[e].next_in) {
            block *before = &g->blocks[g->edges[e].from];
            if (!before->syncs)
                g->stack[depth++] = g->edges[e].from;
            before->syncs = true;
        }
    }
}

static void mark_branches(graph *g) {
    for (int32_t b = 0; b < g->count; b++) {
        ptx_instr *last = &g->kernel->code[g->blocks[b].end - 1];
        if (last->kind != PTX_BRANCH)
            continue;
        const int32_t reconvergence_pc = g->blocks[b].ipdom;
        last->op[1] = reconvergence_pc == g->count ? PTX_NO_PC : g->blocks[reconvergence_pc].begin;
        last->target_syncs = g->blocks[g->block_of[last->op[0]]].syncs;
        last->next_syncs = !ptx_is_unguarded(last) && g->blocks[b + 1].syncs;
    }
}

bool ptx_cfg_build(ptx_kernel *kernel) {
    const size_t n = kernel->count;
    graph g = {.kernel = kernel};
    g.blocks = calloc(n + 1, sizeof *g.blocks);
    g.edges = calloc(3 * n + 1, sizeof *g.edges);
    g.nodes = calloc(n + 1, sizeof *g.nodes);
    g.block_of = calloc(n, sizeof *g.block_of);
    g.stack = calloc(n + 1, sizeof *g.stack);
    g.cursor = calloc(n + 1, sizeof *g.cursor);
    const bool good = g.blocks && g.edges && g.nodes && g.block_of && g.stack && g.cursor;
    if (good) {
        find_blocks(&g);
        find_edges(&g);
        order_blocks(&g);
        find_ipdoms(&g);
        propagate_syncs(&g);
        mark_branches(&g);
    }
    free(g.blocks);
    free(g.edges);
    free(g.nodes);
    free(g.block_of);
    free(g.stack);
    free(g.cursor);
    return good;
}
