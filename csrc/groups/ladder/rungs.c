/* The ladder of group sums: the rows of groups/rungs.def as C data. */
#include "groups/ladder/ladder.h"

const gr_group_variant gr_group_variants[] = {
#define GR_RUNG(name, file, after, role, backends, capability, launch, title, technique, method_, atomics)   \
    {                                                                                                        \
        .rung = GR_RUNG_COLUMNS("groups", name, file, after, role, backends, capability, launch, title,      \
                                technique),                                                                  \
        .method = GR_GROUP_##method_,                                                                        \
        .float_atomics = GR_ATOMICS_##atomics,                                                               \
    },
#define GR_ATOMICS_FLOATS true
#define GR_ATOMICS_INTEGERS false
#define GR_ATOMICS_NONE false
#include "groups/rungs.def"
#undef GR_RUNG
};

const gr_ladder gr_group_ladder = GR_LADDER(gr_group_variants, " of group sums");
