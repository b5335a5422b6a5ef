/* From addresses to the host's memory, checked. */
#ifndef PTXSIM_ADDRESS_H
#define PTXSIM_ADDRESS_H

#include "interpreter/lanes.h"

/* Lanes in rows of so many: tiles of 8, 16 or 32 columns have one pattern in each row. */
enum { PTX_ROW = 8 };

/* Where the active lanes' accesses are on the host. */
typedef struct ptx_lane_pointers {
    bool packed;              /* all lanes are active and each follows the one before */
    bool uniform;             /* one address for every lane */
    bool packed_rows;         /* all lanes are active, and in each row each follows the one before */
    bool uniform_rows;        /* all lanes are active, and each row has one address */
    uint8_t *lane[PTX_LANES]; /* lane[0] alone when packed or same */
} ptx_lane_pointers;

/* The host's place of `size` bytes at an address of a state space, checked. */
ptx_status ptx_locate(ptx_warp *warp, const ptx_instr *in, unsigned lane, unsigned space, uint64_t address,
                      uint64_t size, unsigned alignment, uint8_t **host);

/* The places of all lanes of the mask, `size` bytes each, for a memory instruction. */
ptx_status ptx_locate_lanes(ptx_warp *warp, const ptx_instr *in, uint32_t mask, unsigned size,
                            ptx_lane_pointers *at);

static inline uint8_t *ptx_lane_pointer(const ptx_lane_pointers *at, unsigned lane, size_t size) {
    return at->packed ? at->lane[0] + lane * size : at->lane[at->uniform ? 0 : lane];
}

#endif
