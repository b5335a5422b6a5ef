/* Tensor maps, and the copies of tiles that they describe. */
#ifndef PTXSIM_TENSOR_H
#define PTXSIM_TENSOR_H

#include "interpreter/lanes.h"

/* False for 128 bytes that no map is. */
bool ptx_tensor_map_decode(const void *map, ptx_tensor *tensor);

/* Whether the first row of a tile begins at a multiple of 16 bytes of the tensor's: else an H200 stops. */
bool ptx_tile_is_aligned(const ptx_tile *tile);

/* The bytes of a box in shared memory, those outside the tensor too. */
uint64_t ptx_tile_bytes(const ptx_tensor *tensor);
/* The bytes of shared memory over which they lie. */
uint64_t ptx_tile_span_bytes(const ptx_tensor *tensor);

/* Between global memory and a place in shared memory; `address` is the place's, which decides where the
   swizzle puts each piece. What lies outside the tensor is filled, and never written. */
ptx_status ptx_tile_load(ptx_warp *warp, const ptx_instr *in, unsigned lane, const ptx_tile *tile,
                         uint8_t *to, uint64_t address);
/* What a copy to shared memory will overwrite is gone at once. */
void ptx_tile_poison(const ptx_tensor *tensor, uint8_t *to, uint64_t address);
ptx_status ptx_tile_store(ptx_warp *warp, const ptx_instr *in, unsigned lane, const ptx_tile *tile,
                          const uint8_t *from, uint64_t address);

#endif
