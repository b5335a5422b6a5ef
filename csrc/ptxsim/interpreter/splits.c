/* Creates, merges and switches warp splits. */
#include "interpreter/splits.h"

#include <stdlib.h>
#include <string.h>

static ptx_split current_split(const ptx_warp *warp) {
    ptx_split split = {.pc = warp->pc,
                       .reconvergence_pc = warp->reconvergence_pc,
                       .active = warp->active,
                       .depth = warp->depth};
    memcpy(split.stack, warp->stack, warp->depth * sizeof *warp->stack);
    return split;
}

static void load_split(ptx_warp *warp, const ptx_split *split) {
    warp->pc = split->pc;
    warp->reconvergence_pc = split->reconvergence_pc;
    warp->active = split->active;
    warp->depth = split->depth;
    memcpy(warp->stack, split->stack, split->depth * sizeof *split->stack);
}

static void append_split(ptx_warp *warp, const ptx_split *split) {
    warp->splits[warp->split_count++] = *split;
}

static ptx_split remove_split(ptx_warp *warp, uint32_t i) {
    const ptx_split split = warp->splits[i];
    memmove(&warp->splits[i], &warp->splits[i + 1], (--warp->split_count - i) * sizeof split);
    return split;
}

/* Allocates for the maximal number of splits, one per lane. */
static bool has_capacity(ptx_warp *warp) {
    if (warp->splits == NULL)
        warp->splits = calloc(PTX_LANES, sizeof *warp->splits);
    return warp->splits != NULL;
}

/* Splits off the lanes that wait at the innermost stack entry with waiting lanes. */
static bool split_waiting(ptx_split *from, uint32_t live, ptx_split *out) {
    uint32_t elsewhere = from->active;
    for (uint32_t k = from->depth; k-- > 0; elsewhere |= from->stack[k].mask) {
        const uint32_t lanes = from->stack[k].mask & live & ~elsewhere;
        if (lanes == 0)
            continue;
        *out = (ptx_split){.pc = from->stack[k].pc, .reconvergence_pc = PTX_NO_PC, .active = lanes};
        for (uint32_t j = 0; j < from->depth; j++)
            from->stack[j].mask &= ~lanes;
        return true;
    }
    return false;
}

bool ptx_splits_create(ptx_warp *warp) {
    ptx_split split, current = current_split(warp);
    bool found = split_waiting(&current, warp->live, &split);
    for (uint32_t i = 0; !found && i < warp->split_count; i++)
        found = split_waiting(&warp->splits[i], warp->live, &split);
    if (!found || !has_capacity(warp))
        return false;
    append_split(warp, &current);
    load_split(warp, &split);
    return true;
}

/* Index of the first split that is not blocked; split_count if all are. */
static uint32_t first_unblocked(const ptx_warp *warp) {
    uint32_t i = 0;
    while (i < warp->split_count && warp->splits[i].blocked)
        i++;
    return i;
}

void ptx_splits_rotate(ptx_warp *warp) {
    const uint32_t i = first_unblocked(warp);
    if (i == warp->split_count)
        return;
    const ptx_split next = remove_split(warp, i), current = current_split(warp);
    append_split(warp, &current);
    load_split(warp, &next);
}

void ptx_splits_unblock(ptx_warp *warp) {
    for (uint32_t i = 0; i < warp->split_count; i++)
        warp->splits[i].blocked = false;
}

bool ptx_splits_switch(ptx_warp *warp) {
    if (warp->split_count == 0)
        return false;
    const ptx_split next = remove_split(warp, 0);
    load_split(warp, &next);
    return true;
}

/* Merges a split that is at the same instruction. Its waiting lanes become splits of their own; its active
   lanes reconverge where the running lanes do. */
static void merge(ptx_warp *warp, uint32_t i) {
    ptx_split other = remove_split(warp, i), split;
    while (split_waiting(&other, warp->live, &split))
        append_split(warp, &split);
    for (uint32_t j = 0; j < warp->depth; j++)
        if ((warp->stack[j].mask & warp->active) == warp->active)
            warp->stack[j].mask |= other.active;
    warp->active |= other.active;
}

bool ptx_splits_gather(ptx_warp *warp, bool create) {
    for (uint32_t i = 0; i < warp->split_count; i++)
        if (warp->splits[i].pc == warp->pc && warp->splits[i].blocked) {
            merge(warp, i);
            ptx_splits_unblock(warp);
            return true;
        }
    const uint32_t i = first_unblocked(warp);
    if (i < warp->split_count) {
        const ptx_split next = remove_split(warp, i);
        ptx_split current = current_split(warp);
        current.blocked = true;
        append_split(warp, &current);
        load_split(warp, &next);
        return true;
    }
    if (!create || !ptx_splits_create(warp))
        return false;
    for (uint32_t j = 0; j < warp->split_count; j++)
        warp->splits[j].blocked = true; /* the running split is new, and the only one that is not blocked */
    return true;
}
