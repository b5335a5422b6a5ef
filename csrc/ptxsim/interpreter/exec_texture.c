/* Handlers of texture fetches (tex), and of loads and stores of surfaces (suld, sust). The handle of an
   object is the address of its descriptor. */
#include "interpreter/address.h"
#include "interpreter/exec.h"
#include "interpreter/fault.h"
#include "interpreter/texture.h"

/* An object and its data. */
typedef struct object {
    u64 handle;
    ptx_texture texture;
    uint8_t *data;
} object;

static ptx_status find_object(ptx_warp *w, const ptx_instr *in, unsigned lane, u64 handle, object *out) {
    uint8_t *descriptor;
    if (out->data && out->handle == handle)
        return PTX_OK;
    const ptx_allocation *allocation = ptx_view_find(w->worker->view, handle);
    if (!allocation || handle - allocation->address + PTX_TEXTURE_BYTES > allocation->bytes)
        return ptx_fault(w, in, (int)lane, PTX_ERR_ADDRESS, "0x%llx is no texture or surface object",
                         (unsigned long long)handle);
    ptx_status status = ptx_locate(w, in, lane, PTX_SPACE_GLOBAL, handle, PTX_TEXTURE_BYTES, 1, &descriptor);
    if (status != PTX_OK)
        return status;
    if (!ptx_texture_decode(descriptor, &out->texture))
        return ptx_fault(w, in, (int)lane, PTX_ERR_ADDRESS, "0x%llx is no texture or surface object",
                         (unsigned long long)handle);
    out->handle = handle;
    return ptx_locate(w, in, lane, PTX_SPACE_GLOBAL, out->texture.address, ptx_texture_span(&out->texture), 1,
                      &out->data);
}

/* ---- textures ---- */

static bool has_layer(ptx_geometry geometry) {
    return geometry == PTX_GEOMETRY_LAYERED_1D || geometry == PTX_GEOMETRY_LAYERED_2D ||
           geometry == PTX_GEOMETRY_LAYERED_CUBE;
}

static unsigned dimensions_of(ptx_geometry geometry) {
    return geometry == PTX_GEOMETRY_1D || geometry == PTX_GEOMETRY_LAYERED_1D   ? 1
           : geometry == PTX_GEOMETRY_2D || geometry == PTX_GEOMETRY_LAYERED_2D ? 2
                                                                                : 3;
}

/* The coordinates from operand `first` on. */
static ptx_texture_point read_point(const ptx_warp *w, const ptx_instr *in, unsigned lane, unsigned first,
                                    ptx_geometry geometry) {
    const bool layered = has_layer(geometry);
    ptx_texture_point point = {.dimensions = dimensions_of(geometry),
                               .layered = layered || geometry == PTX_GEOMETRY_CUBE,
                               .integer = ptx_type_class(in->type) != PTX_CLASS_F};
    if (layered)
        point.layer = ptx_number_of(w, in, first, lane);
    for (unsigned i = 0; i < point.dimensions; i++) {
        const u32 bits = ptx_number_of(w, in, first + layered + i, lane);
        point.at[i] = ptx_f32_of(bits);
        point.index[i] = (s32)bits;
    }
    if (geometry == PTX_GEOMETRY_CUBE || geometry == PTX_GEOMETRY_LAYERED_CUBE) {
        ptx_texture_face(&point);
        point.dimensions = 2;
    }
    return point;
}

static ptx_status fetch(ptx_warp *w, const ptx_instr *in, uint32_t mask, ptx_geometry geometry) {
    object from = {.data = NULL};
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const ptx_status status = find_object(w, in, lane, ptx_further_address(w, in, 4, lane), &from);
        if (status != PTX_OK)
            return status;
        const ptx_texture_point point = read_point(w, in, lane, 6, geometry);
        u32 out[4];
        ptx_texture_sample(&from.texture, from.data, &point, out);
        for (unsigned c = 0; c < 4; c++)
            ((ptx_u32 *)ptx_lanes(w, in, c))[lane] = out[c];
    }
    return PTX_OK;
}

#define FETCH(name, geometry)                                                                                \
    PTX_HANDLER(name) {                                                                                      \
        return fetch(w, in, mask, geometry);                                                                 \
    }
FETCH(tex_1d, PTX_GEOMETRY_1D)
FETCH(tex_2d, PTX_GEOMETRY_2D)
FETCH(tex_3d, PTX_GEOMETRY_3D)
FETCH(tex_layered_1d, PTX_GEOMETRY_LAYERED_1D)
FETCH(tex_layered_2d, PTX_GEOMETRY_LAYERED_2D)
FETCH(tex_cube, PTX_GEOMETRY_CUBE)
FETCH(tex_layered_cube, PTX_GEOMETRY_LAYERED_CUBE)

/* ---- surfaces ---- */

typedef enum boundary { BOUNDARY_TRAP, BOUNDARY_CLAMP, BOUNDARY_ZERO } boundary;

/* What an access outside the surface does: the last part of the opcode. */
static boundary boundary_of(const ptx_warp *w, const ptx_instr *in) {
    const ptx_kernel *kernel = w->worker->kernel;
    const ptx_source *source = &kernel->source[in - kernel->code];
    const char *text = kernel->module->text + source->text_offset + source->column - 1;
    const size_t length = strcspn(text, " \t{[");
    return length > 6 && memcmp(text + length - 6, ".clamp", 6) == 0  ? BOUNDARY_CLAMP
           : length > 5 && memcmp(text + length - 5, ".zero", 5) == 0 ? BOUNDARY_ZERO
                                                                      : BOUNDARY_TRAP;
}

/* The bytes of an access of a lane; *at is NULL if it is outside and does nothing. */
static ptx_status find_bytes(ptx_warp *w, const ptx_instr *in, unsigned lane, unsigned first,
                             ptx_geometry geometry, object *of, uint8_t **at) {
    const ptx_status status = find_object(w, in, lane, ptx_further_address(w, in, first, lane), of);
    *at = NULL;
    if (status != PTX_OK)
        return status;
    const ptx_texture *t = &of->texture;
    const ptx_texture_point point = read_point(w, in, lane, first + 2, geometry);
    const u64 bytes = (u64)in->vector * ptx_type_bytes(in->type);
    const int64_t row = (int64_t)t->size[0] * t->channels * t->channel_bytes;
    int64_t index[3] = {point.index[0], point.dimensions > 1 ? point.index[1] : 0,
                        point.layered          ? point.layer
                        : point.dimensions > 2 ? point.index[2]
                                               : 0};
    const int64_t last[3] = {row - (int64_t)bytes, (int64_t)t->size[1] - 1, (int64_t)t->size[2] - 1};
    for (unsigned i = 0; i < 3; i++) {
        if (index[i] >= 0 && index[i] <= last[i])
            continue;
        const boundary outside = boundary_of(w, in);
        if (outside == BOUNDARY_ZERO)
            return PTX_OK;
        if (outside == BOUNDARY_CLAMP && last[i] >= 0)
            index[i] = index[i] < 0 ? 0 : last[i];
        else
            return ptx_fault(
                w, in, (int)lane, PTX_ERR_ADDRESS,
                "the coordinates (%lld, %lld, %lld) are outside the surface of %lld bytes x %u x %u",
                (long long)index[0], (long long)index[1], (long long)index[2], (long long)row, t->size[1],
                t->size[2]);
    }
    *at = of->data + (u64)index[2] * t->slice + (u64)index[1] * t->pitch + (u64)index[0];
    return PTX_OK;
}

/* One element of a vector, in its register. */
static uint8_t *element_of(const ptx_warp *w, const ptx_instr *in, unsigned operand, unsigned lane) {
    return (uint8_t *)ptx_lanes(w, in, operand) + lane * (ptx_is_wide(in, operand) ? 8 : 4);
}

static ptx_status surface_load(ptx_warp *w, const ptx_instr *in, uint32_t mask, ptx_geometry geometry) {
    object from = {.data = NULL};
    const unsigned bytes = ptx_type_bytes(in->type);
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        uint8_t *at;
        const ptx_status status = find_bytes(w, in, lane, in->vector, geometry, &from, &at);
        if (status != PTX_OK)
            return status;
        for (unsigned e = 0; e < in->vector; e++) {
            memset(element_of(w, in, e, lane), 0, ptx_is_wide(in, e) ? 8 : 4);
            if (at)
                memcpy(element_of(w, in, e, lane), at + e * bytes, bytes);
        }
    }
    return PTX_OK;
}

static ptx_status surface_store(ptx_warp *w, const ptx_instr *in, uint32_t mask, ptx_geometry geometry) {
    object to = {.data = NULL};
    const unsigned bytes = ptx_type_bytes(in->type), values = in->operand_count - in->vector;
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        uint8_t *at;
        const ptx_status status = find_bytes(w, in, lane, 0, geometry, &to, &at);
        if (status != PTX_OK)
            return status;
        for (unsigned e = 0; e < in->vector && at; e++)
            memcpy(at + e * bytes, element_of(w, in, values + e, lane), bytes);
    }
    return PTX_OK;
}

#define SURFACE(suffix, geometry)                                                                            \
    PTX_HANDLER(surface_load_##suffix) {                                                                     \
        return surface_load(w, in, mask, geometry);                                                          \
    }                                                                                                        \
    PTX_HANDLER(surface_store_##suffix) {                                                                    \
        return surface_store(w, in, mask, geometry);                                                         \
    }
SURFACE(1d, PTX_GEOMETRY_1D)
SURFACE(2d, PTX_GEOMETRY_2D)
SURFACE(3d, PTX_GEOMETRY_3D)
SURFACE(layered_1d, PTX_GEOMETRY_LAYERED_1D)
SURFACE(layered_2d, PTX_GEOMETRY_LAYERED_2D)
