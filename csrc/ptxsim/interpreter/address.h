/* Translates simulated addresses to host pointers and checks every access: bounds, alignment, lifetime. */
#ifndef PTXSIM_ADDRESS_H
#define PTXSIM_ADDRESS_H

#include "interpreter/lanes.h"

/* Lanes per row of the access patterns below: tiles of 8, 16 or 32 columns have the same pattern in each
   row. */
enum { PTX_ROW = 8 };

/* Host pointers of the active lanes' accesses. */
typedef struct ptx_lane_pointers {
    bool packed;              /* all lanes are active and their accesses are consecutive */
    bool uniform;             /* all lanes have the same address */
    bool packed_rows;         /* all lanes are active and the accesses of each row are consecutive */
    bool uniform_rows;        /* all lanes are active and all lanes of a row have the same address */
    uint8_t *lane[PTX_LANES]; /* only lane[0] if packed or uniform */
} ptx_lane_pointers;

/* Stores the host pointer of `size` bytes at an address of a state space; reports a fault if the access is
   invalid. */
ptx_status ptx_locate(ptx_warp *warp, const ptx_instr *in, unsigned lane, unsigned space, uint64_t address,
                      uint64_t size, unsigned alignment, uint8_t **host);

/* Stores the host pointers of all lanes of the mask of a memory instruction, `size` bytes per lane; reports
   faults as ptx_locate does. */
ptx_status ptx_locate_lanes(ptx_warp *warp, const ptx_instr *in, uint32_t mask, unsigned size,
                            ptx_lane_pointers *at);

static inline uint8_t *ptx_lane_pointer(const ptx_lane_pointers *at, unsigned lane, size_t size) {
    return at->packed ? at->lane[0] + lane * size : at->lane[at->uniform ? 0 : lane];
}

#endif
