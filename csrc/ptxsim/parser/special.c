/* The names of special registers. */
#include "parser/special.h"

#include "ir.h"

bool ptx_find_clock(const ptx_token *name, unsigned *shift) {
    static const struct {
        const char *name;
        unsigned shift;
    } clocks[] = {{"%clock", 0},       {"%clock64", 0},        {"%clock_hi", 32},
                  {"%globaltimer", 0}, {"%globaltimer_lo", 0}, {"%globaltimer_hi", 32}};
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++)
        if (ptx_token_is(name, clocks[i].name)) {
            *shift = clocks[i].shift;
            return true;
        }
    return false;
}

bool ptx_find_special(const ptx_token *name, uint64_t *which) {
    static const char *const names[PTX_SPECIAL_COUNT] = {
        [PTX_TID_X] = "%tid.x",
        [PTX_TID_Y] = "%tid.y",
        [PTX_TID_Z] = "%tid.z",
        [PTX_NTID_X] = "%ntid.x",
        [PTX_NTID_Y] = "%ntid.y",
        [PTX_NTID_Z] = "%ntid.z",
        [PTX_CTAID_X] = "%ctaid.x",
        [PTX_CTAID_Y] = "%ctaid.y",
        [PTX_CTAID_Z] = "%ctaid.z",
        [PTX_NCTAID_X] = "%nctaid.x",
        [PTX_NCTAID_Y] = "%nctaid.y",
        [PTX_NCTAID_Z] = "%nctaid.z",
        [PTX_CLUSTER_CTAID_X] = "%cluster_ctaid.x",
        [PTX_CLUSTER_CTAID_Y] = "%cluster_ctaid.y",
        [PTX_CLUSTER_CTAID_Z] = "%cluster_ctaid.z",
        [PTX_CLUSTER_CTARANK] = "%cluster_ctarank",
        [PTX_CLUSTERID_X] = "%clusterid.x",
        [PTX_CLUSTERID_Y] = "%clusterid.y",
        [PTX_CLUSTERID_Z] = "%clusterid.z",
        [PTX_CLUSTER_NCTAID_X] = "%cluster_nctaid.x",
        [PTX_CLUSTER_NCTAID_Y] = "%cluster_nctaid.y",
        [PTX_CLUSTER_NCTAID_Z] = "%cluster_nctaid.z",
        [PTX_CLUSTER_NCTARANK] = "%cluster_nctarank",
        [PTX_NCLUSTERID_X] = "%nclusterid.x",
        [PTX_NCLUSTERID_Y] = "%nclusterid.y",
        [PTX_NCLUSTERID_Z] = "%nclusterid.z",
        [PTX_LANEID] = "%laneid",
        [PTX_WARPID] = "%warpid",
        [PTX_NWARPID] = "%nwarpid",
        [PTX_LANEMASK_EQ] = "%lanemask_eq",
        [PTX_LANEMASK_LT] = "%lanemask_lt",
        [PTX_LANEMASK_LE] = "%lanemask_le",
        [PTX_LANEMASK_GT] = "%lanemask_gt",
        [PTX_LANEMASK_GE] = "%lanemask_ge",
        [PTX_DYNAMIC_SMEM_SIZE] = "%dynamic_smem_size",
    };
    for (unsigned i = 0; i < PTX_SPECIAL_COUNT; i++)
        if (ptx_token_is(name, names[i])) {
            *which = i;
            return true;
        }
    return false;
}
