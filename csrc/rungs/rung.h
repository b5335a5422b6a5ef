/* What the rungs of every ladder have in common: the first columns of each rungs.def. */
#ifndef GR_RUNGS_RUNG_H
#define GR_RUNGS_RUNG_H

#include "device/backend.h"

typedef enum gr_backends { GR_BACKENDS_BOTH, GR_BACKENDS_CUDA } gr_backends;
typedef enum gr_role { GR_ROLE_RUNG, GR_ROLE_SIDE, GR_ROLE_STUDY } gr_role;
typedef enum gr_entry { GR_ENTRY_RUNTIME, GR_ENTRY_TEMPLATE, GR_ENTRY_LIBRARY } gr_entry;

typedef struct gr_rung {
    const char *ladder;
    const char *name;
    const char *file;  /* without ending */
    const char *after; /* the name of another rung; empty for the first */
    gr_role role;
    gr_backends backends;
    uint32_t capability; /* 75 for compute capability 7.5 */
    gr_entry entry;
    const char *title;
    const char *technique;
} gr_rung;

/* A gr_rung from those columns. */
#define GR_RUNG_COLUMNS(ladder, name, file, after, role, backends, capability, launch, title, technique)     \
    {                                                                                                        \
        ladder, #name, #file, #after, GR_ROLE_##role, GR_BACKENDS_##backends, capability, GR_ENTRY_##launch, \
            title, technique                                                                                 \
    }

/* The place of a name among `count` rows of `row_bytes` bytes, whose first member is a gr_rung. GR_ERR_VALUE
   lists the names; `of` follows the unknown one. */
gr_status gr_rung_find(const void *rows, size_t row_bytes, size_t count, const char *name, const char *of,
                       size_t *out, gr_error *error);

/* GR_ERR_VALUE where the device cannot run the rung at all. */
gr_status gr_rung_check(const gr_rung *rung, const gr_device_info *info, gr_error *error);

#endif
