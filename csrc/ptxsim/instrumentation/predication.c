/* The heuristic that decides which branches become predicates. */
#include "instrumentation/predication.h"

static bool body_is_straight(const ptx_kernel *kernel, uint32_t branch, uint32_t end) {
    for (uint32_t pc = branch + 1; pc < end; pc++)
        if (kernel->code[pc].kind != PTX_RUN || kernel->code[pc].collective)
            return false;
    return true;
}

void ptx_find_predicated(const ptx_kernel *kernel, uint32_t *branch_of) {
    for (size_t pc = 0; pc < kernel->count; pc++)
        branch_of[pc] = PTX_NO_PC;
    for (uint32_t pc = 0; pc < kernel->count; pc++) {
        const ptx_instr *in = &kernel->code[pc];
        uint32_t end = in->op[0];
        if (in->kind != PTX_BRANCH || ptx_is_unguarded(in) || end <= pc + 1 ||
            end - pc - 1 > PTX_MAX_PREDICATED || !body_is_straight(kernel, pc, end))
            continue;
        if (kernel->code[end].kind == PTX_EXIT && ptx_is_unguarded(&kernel->code[end]))
            continue;
        for (uint32_t body = pc + 1; body < end; body++)
            branch_of[body] = pc;
    }
    /* A body that is the target of another branch is not predicated. */
    for (uint32_t pc = 0; pc < kernel->count; pc++) {
        const ptx_instr *in = &kernel->code[pc];
        uint32_t branch = in->kind == PTX_BRANCH ? branch_of[in->op[0]] : PTX_NO_PC;
        if (branch == PTX_NO_PC)
            continue;
        uint32_t end = kernel->code[branch].op[0];
        for (uint32_t body = branch + 1; body < end; body++)
            branch_of[body] = PTX_NO_PC;
    }
}
