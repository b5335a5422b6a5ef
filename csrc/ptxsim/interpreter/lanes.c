/* Reads the addresses of a warp's memory instruction. */
#include "interpreter/lanes.h"

PTX_CLONES bool ptx_read_addresses(const ptx_warp *w, const ptx_instr *in, unsigned size,
                                   u64 address[PTX_LANES]) {
    u64 differs = 0;
    if (in->address == PTX_ADDRESS_64) {
        const ptx_u64 *a = ptx_base_lanes(w, in);
        for (unsigned i = 0; i < PTX_LANES; i++) {
            address[i] = a[i] + (u64)in->imm;
            differs |= a[i] - a[0] - (u64)i * size;
        }
    } else {
        const ptx_u32 *a = ptx_base_lanes(w, in);
        for (unsigned i = 0; i < PTX_LANES; i++) {
            address[i] = (u32)(a[i] + (u32)in->imm);
            differs |= (u32)(a[i] - a[0] - i * size);
        }
    }
    return differs == 0;
}
