/* A rung is one kernel, or one way to compute, of a ladder; a user names it as `variant=`. This header has
   what all ladders share: the first columns of each rungs.def, the search by name, and the check against a
   device. */
#ifndef GR_RUNGS_RUNG_H
#define GR_RUNGS_RUNG_H

#include "device/backend.h"

typedef enum gr_backends { GR_BACKENDS_BOTH, GR_BACKENDS_CUDA } gr_backends;
/* RUNG: a step of the ladder; SIDE: next to it, for special shapes or comparison; STUDY: wrong on purpose. */
typedef enum gr_role { GR_ROLE_RUNG, GR_ROLE_SIDE, GR_ROLE_STUDY } gr_role;
/* RUNTIME: one kernel for all block sizes; TEMPLATE: a kernel per block size; LIBRARY: a library launches. */
typedef enum gr_entry { GR_ENTRY_RUNTIME, GR_ENTRY_TEMPLATE, GR_ENTRY_LIBRARY } gr_entry;

typedef struct gr_rung {
    const char *ladder;
    const char *name;
    const char *file;  /* stem of the kernel's source in cuda_kernels/ */
    const char *after; /* name of the previous rung; empty for the first */
    gr_role role;
    gr_backends backends;
    uint32_t capability; /* minimum compute capability: 75 for 7.5 */
    gr_entry entry;
    const char *title;
    const char *technique;
} gr_rung;

/* Initializes a gr_rung from the first columns of a row. */
#define GR_RUNG_COLUMNS(ladder, name, file, after, role, backends, capability, launch, title, technique)     \
    {                                                                                                        \
        ladder, #name, #file, #after, GR_ROLE_##role, GR_BACKENDS_##backends, capability, GR_ENTRY_##launch, \
            title, technique                                                                                 \
    }

/* A ladder: rows whose first member is a gr_rung. */
typedef struct gr_ladder {
    const void *rows;
    size_t row_bytes, count;
    const char *of; /* what follows an unknown name in messages */
} gr_ladder;
#define GR_LADDER(rows, of)                                                                                  \
    { rows, sizeof(rows)[0], sizeof(rows) / sizeof(rows)[0], of }

/* Returns the row of a name; NULL after GR_ERR_VALUE, which lists the names. */
const void *gr_rung_find(const gr_ladder *ladder, const char *name, gr_error *error);

/* GR_ERR_VALUE if the rung cannot run on the device. */
gr_status gr_rung_check(const gr_rung *rung, const gr_device_info *info, gr_error *error);

#endif
