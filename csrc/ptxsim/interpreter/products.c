#include "interpreter/products.h"

#include <stdlib.h>

#include "interpreter/fault.h"
#include "interpreter/lanes.h"

enum { UNIT = PTX_LANES * 4 };

void ptx_products_reset(ptx_warp *warp) {
    ptx_products *p = warp->products;
    if (!p)
        return;
    memset(p->units, 0, warp->worker->kernel->register_bytes / UNIT * sizeof *p->units);
    p->groups = p->pending = 0;
    p->watched = p->fenced = false;
    p->span_count = 0;
}

void ptx_products_free(ptx_warp *warp) {
    ptx_products *p = warp->products;
    if (p) {
        free(p->units);
        free(p->sums);
        free(p->spans);
    }
    free(p);
    warp->products = NULL;
}

/* A copy of a register that a product sums into: compilers write such ones where a variable changes its name,
   and they come to nothing. The copy takes all that is known of the register. */
static void rename_unit(ptx_warp *warp, uint32_t from, uint32_t to) {
    ptx_products *p = warp->products;
    ptx_product_unit *target = &p->units[to];
    p->pending += (p->units[from].summing != 0) - (uint32_t)(target->summing != 0);
    *target = p->units[from];
    memcpy(p->sums + (size_t)to * UNIT, p->sums + (size_t)from * UNIT, UNIT);
}

static ptx_status touch(ptx_warp *warp, const ptx_instr *in, uint32_t unit, bool writes) {
    ptx_product_unit *u = &warp->products->units[unit];
    const ptx_kernel *kernel = warp->worker->kernel;
    if (u->summing || (u->lent && writes))
        return ptx_fault(
            warp, in, -1, PTX_ERR_BARRIER,
            "this %s a register that the wgmma.mma_async at PTX line %u %s, and no wgmma.wait_group has "
            "waited for it",
            writes ? "writes" : "reads", kernel->source[u->in - kernel->code].line,
            u->summing ? "sums into" : "takes A from");
    u->touched = u->landed;
    return PTX_OK;
}

ptx_status ptx_products_check(ptx_warp *warp, const ptx_instr *in) {
    ptx_status status = PTX_OK;
    const bool copies = in->opcode == PTX_OP_mov_32 && ptx_role_of(in, 1) == PTX_ROLE_READ;
    if (copies && warp->products->units[in->op[1] / UNIT].in) {
        rename_unit(warp, in->op[1] / UNIT, in->op[0] / UNIT);
        return PTX_OK;
    }
    for (uint32_t k = 0; k < in->operand_count && status == PTX_OK; k++) {
        const ptx_role role = ptx_role_of(in, k);
        if (role != PTX_ROLE_OTHER)
            status = touch(warp, in, in->op[k] / UNIT, role == PTX_ROLE_WRITTEN);
    }
    if (status == PTX_OK && in->address == PTX_ADDRESS_32)
        status = touch(warp, in, in->base / UNIT, false);
    return status;
}

ptx_status ptx_products_end(ptx_warp *warp) {
    const ptx_products *p = warp->products;
    const uint32_t units = warp->worker->kernel->register_bytes / UNIT;
    if (!p || !p->pending)
        return PTX_OK;
    for (uint32_t i = 0; i < units; i++)
        if (p->units[i].summing)
            return ptx_fault(
                warp, p->units[i].in, -1, PTX_ERR_BARRIER,
                "the warp ends while this product is under way: no wgmma.wait_group has waited for it");
    return PTX_OK;
}
