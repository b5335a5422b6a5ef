/* Textures: their descriptors, and samples of them as the CUDA programming guide defines them. */
#ifndef PTXSIM_TEXTURE_H
#define PTXSIM_TEXTURE_H

#include "interpreter/lanes.h"

typedef enum ptx_geometry {
    PTX_GEOMETRY_1D,
    PTX_GEOMETRY_2D,
    PTX_GEOMETRY_3D,
    PTX_GEOMETRY_LAYERED_1D,
    PTX_GEOMETRY_LAYERED_2D,
    PTX_GEOMETRY_CUBE,
    PTX_GEOMETRY_LAYERED_CUBE
} ptx_geometry;

/* Coordinates as the instruction has them. */
typedef struct ptx_texture_point {
    unsigned dimensions; /* along which the texture is sampled */
    int64_t layer;       /* the slice of a layered texture; faces of a cube are layers */
    bool layered;
    bool integer; /* `index` counts, not `at` */
    float at[3];
    int32_t index[3];
} ptx_texture_point;

/* Returns false if the bytes are no descriptor. */
bool ptx_texture_decode(const void *descriptor, ptx_texture *texture);
/* Bytes from the first to behind the last element. */
u64 ptx_texture_span(const ptx_texture *texture);
/* Replaces coordinates of a cube by those of the face that they point at; the face becomes the layer. */
void ptx_texture_face(ptx_texture_point *point);
/* Stores four 32-bit values, floats or integers as the texture's format and read mode say. `data` is the
   texture's first element. */
void ptx_texture_sample(const ptx_texture *texture, const uint8_t *data, const ptx_texture_point *point,
                        u32 out[4]);

#endif
