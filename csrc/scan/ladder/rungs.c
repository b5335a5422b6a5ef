/* The ladder of scans: the rows of scan/rungs.def as C data. */
#include "scan/ladder/ladder.h"

const gr_scan_variant gr_scan_variants[] = {
#define GR_RUNG(name, file, after, role, backends, capability, launch, title, technique, method_, order)     \
    {                                                                                                        \
        .rung = GR_RUNG_COLUMNS("scan", name, file, after, role, backends, capability, launch, title,        \
                                technique),                                                                  \
        .method = GR_SCAN_##method_,                                                                         \
        .timed = GR_ORDER_##order,                                                                           \
    },
#define GR_ORDER_FIXED false
#define GR_ORDER_TIMED true
#include "scan/rungs.def"
#undef GR_RUNG
};

const gr_ladder gr_scan_ladder = GR_LADDER(gr_scan_variants, " of scans");
