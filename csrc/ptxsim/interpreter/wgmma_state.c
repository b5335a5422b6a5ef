/* Checks that a kernel leaves registers alone while wgmma operations use them. */
#include "interpreter/wgmma_state.h"

#include <stdlib.h>

#include "interpreter/fault.h"
#include "interpreter/lanes.h"

enum { REGISTER_BYTES = PTX_LANES * 4 };

void ptx_wgmma_reset(ptx_warp *warp) {
    ptx_wgmma_state *p = warp->wgmma;
    if (!p)
        return;
    memset(p->registers, 0, warp->worker->kernel->register_bytes / REGISTER_BYTES * sizeof *p->registers);
    p->committed_groups = p->pending = 0;
    p->active = p->fenced = false;
    p->read_count = 0;
}

void ptx_wgmma_free(ptx_warp *warp) {
    ptx_wgmma_state *p = warp->wgmma;
    if (p) {
        free(p->registers);
        free(p->accumulators);
        free(p->reads);
    }
    free(p);
    warp->wgmma = NULL;
}

/* A move of an accumulator register. Compilers emit such moves when a variable is renamed, and ptxas removes
   them, so that the state moves with the register. */
static void move_register(ptx_warp *warp, uint32_t from, uint32_t to) {
    ptx_wgmma_state *p = warp->wgmma;
    ptx_wgmma_register *target = &p->registers[to];
    p->pending += (p->registers[from].accumulating != 0) - (uint32_t)(target->accumulating != 0);
    *target = p->registers[from];
    memcpy(p->accumulators + (size_t)to * REGISTER_BYTES, p->accumulators + (size_t)from * REGISTER_BYTES,
           REGISTER_BYTES);
}

static ptx_status check_register(ptx_warp *warp, const ptx_instr *in, uint32_t index, bool writes) {
    ptx_wgmma_register *reg = &warp->wgmma->registers[index];
    const ptx_kernel *kernel = warp->worker->kernel;
    if (reg->accumulating || (reg->reading_a && writes))
        return ptx_fault(
            warp, in, -1, PTX_ERR_BARRIER,
            "this %s a register that the wgmma.mma_async at PTX line %u %s, and no wgmma.wait_group has "
            "waited for it",
            writes ? "writes" : "reads", kernel->source[reg->in - kernel->code].line,
            reg->accumulating ? "sums into" : "takes A from");
    reg->accessed = reg->completed_sum;
    return PTX_OK;
}

ptx_status ptx_wgmma_check(ptx_warp *warp, const ptx_instr *in) {
    ptx_status status = PTX_OK;
    const bool copies = in->opcode == PTX_OP_mov_32 && ptx_role_of(in, 1) == PTX_ROLE_READ;
    if (copies && warp->wgmma->registers[in->op[1] / REGISTER_BYTES].in) {
        move_register(warp, in->op[1] / REGISTER_BYTES, in->op[0] / REGISTER_BYTES);
        return PTX_OK;
    }
    for (uint32_t k = 0; k < in->operand_count && status == PTX_OK; k++) {
        const ptx_role role = ptx_role_of(in, k);
        if (role != PTX_ROLE_OTHER)
            status = check_register(warp, in, in->op[k] / REGISTER_BYTES, role == PTX_ROLE_WRITTEN);
    }
    if (status == PTX_OK && in->address == PTX_ADDRESS_32)
        status = check_register(warp, in, in->base / REGISTER_BYTES, false);
    return status;
}

ptx_status ptx_wgmma_end(ptx_warp *warp) {
    const ptx_wgmma_state *p = warp->wgmma;
    const uint32_t registers = warp->worker->kernel->register_bytes / REGISTER_BYTES;
    if (!p || !p->pending)
        return PTX_OK;
    for (uint32_t i = 0; i < registers; i++)
        if (p->registers[i].accumulating)
            return ptx_fault(
                warp, p->registers[i].in, -1, PTX_ERR_BARRIER,
                "the warp exits while this wgmma is in flight: no wgmma.wait_group has waited for it");
    return PTX_OK;
}
