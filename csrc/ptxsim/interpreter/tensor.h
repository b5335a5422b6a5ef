/* Tensor maps (CUtensorMap) and the tiles that TMA instructions copy with them (cp.async.bulk.tensor). */
#ifndef PTXSIM_TENSOR_H
#define PTXSIM_TENSOR_H

#include "interpreter/lanes.h"

/* Returns false for bytes that are not a valid map. */
bool ptx_tensor_map_decode(const void *map, ptx_tensor *tensor);

/* Whether a tile starts at a multiple of 16 bytes along the innermost dimension; otherwise an H200 faults. */
bool ptx_tile_is_aligned(const ptx_tile *tile);

/* Bytes of a box in shared memory, including elements outside the tensor. */
uint64_t ptx_tile_bytes(const ptx_tensor *tensor);
/* Bytes of shared memory that the rows of a box extend over, including the padding of a swizzle. */
uint64_t ptx_tile_span_bytes(const ptx_tensor *tensor);

/* Copies a tile from global to shared memory. `address` is the offset of `to` in shared memory, which
   determines the swizzle. Elements outside the tensor are filled when loading and skipped when storing. */
ptx_status ptx_tile_load(ptx_warp *warp, const ptx_instr *in, unsigned lane, const ptx_tile *tile,
                         uint8_t *to, uint64_t address);
/* Overwrites the destination of a copy with poison when the copy is issued. */
void ptx_tile_poison(const ptx_tensor *tensor, uint8_t *to, uint64_t address);
ptx_status ptx_tile_store(ptx_warp *warp, const ptx_instr *in, unsigned lane, const ptx_tile *tile,
                          const uint8_t *from, uint64_t address);

#endif
