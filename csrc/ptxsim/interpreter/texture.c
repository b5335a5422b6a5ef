/* Encodes and decodes descriptors of textures; address modes, conversions and linear filtering. */
#include "interpreter/texture.h"

#include <math.h>

#include "diagnostic.h"
#include "interpreter/half.h"

static const char magic[8] = "ptx tex";

/* The simulator's encoding. */
typedef struct packed_texture {
    char magic[8];
    ptx_texture texture;
} packed_texture;

_Static_assert(sizeof(packed_texture) <= PTX_TEXTURE_BYTES, "bytes of a descriptor");

static bool is_valid(const ptx_texture *t) {
    const bool format = t->channels >= 1 && t->channels <= 4 && t->channels != 3 &&
                        t->format < PTX_TEXTURE_FORMATS &&
                        (t->channel_bytes == 1 || t->channel_bytes == 2 || t->channel_bytes == 4) &&
                        (t->format != PTX_TEXTURE_FLOAT || t->channel_bytes > 1);
    bool sizes = true;
    for (unsigned i = 0; i < 3; i++)
        sizes = sizes && t->size[i] >= 1 && t->size[i] <= 1u << 27 && t->mode[i] <= PTX_ADDRESS_BORDER;
    return format && sizes && t->pitch < 1ull << 32 && t->slice < 1ull << 36;
}

ptx_status ptx_texture_encode(const ptx_texture *texture, void *descriptor, ptx_error *error) {
    if (!is_valid(texture))
        return ptx_fail(error, PTX_ERR_ARGUMENT,
                        "a texture of %u x %u x %u elements of %u channels of %u bytes", texture->size[0],
                        texture->size[1], texture->size[2], texture->channels, texture->channel_bytes);
    packed_texture packed = {.texture = *texture};
    memcpy(packed.magic, magic, sizeof magic);
    memset(descriptor, 0, PTX_TEXTURE_BYTES);
    memcpy(descriptor, &packed, sizeof packed);
    return PTX_OK;
}

bool ptx_texture_decode(const void *descriptor, ptx_texture *texture) {
    packed_texture packed;
    memcpy(&packed, descriptor, sizeof packed);
    *texture = packed.texture;
    return memcmp(packed.magic, magic, sizeof magic) == 0 && is_valid(texture);
}

static u64 element_bytes(const ptx_texture *t) {
    return (u64)t->channels * t->channel_bytes;
}

u64 ptx_texture_span(const ptx_texture *t) {
    return (t->size[2] - 1) * t->slice + (t->size[1] - 1) * t->pitch + t->size[0] * element_bytes(t);
}

/* ---- elements ---- */

/* A channel without conversion: a float, or an integer extended to 32 bits. */
static u32 read_channel(const ptx_texture *t, const uint8_t *from) {
    const bool sign = t->format == PTX_TEXTURE_SIGNED;
    uint16_t two;
    u32 four;
    switch (t->channel_bytes) {
    case 1:
        return sign ? (u32)(int8_t)*from : *from;
    case 2:
        memcpy(&two, from, sizeof two);
        if (t->format == PTX_TEXTURE_FLOAT)
            return ptx_bits_f32(ptx_f32_of_half(two));
        return sign ? (u32)(int16_t)two : two;
    default:
        memcpy(&four, from, sizeof four);
        return four;
    }
}

static f32 linear_of_srgb(f32 value) {
    return value <= 0.04045f ? value / 12.92f : powf((value + 0.055f) / 1.055f, 2.4f);
}

/* cudaReadModeNormalizedFloat: integers as floats of [0, 1] or [-1, 1]. */
static f32 normalized(const ptx_texture *t, u32 bits, unsigned channel) {
    if (t->format == PTX_TEXTURE_FLOAT)
        return ptx_f32_of(bits);
    const bool sign = t->format == PTX_TEXTURE_SIGNED;
    const f32 largest = (f32)((1u << (8 * t->channel_bytes - sign)) - 1);
    const f32 value = (sign ? (f32)(s32)bits : (f32)bits) / largest;
    if (t->srgb && !sign && channel < 3)
        return linear_of_srgb(value);
    return value < -1 ? -1 : value;
}

static bool gives_floats(const ptx_texture *t) {
    return t->format == PTX_TEXTURE_FLOAT || t->normalized_read;
}

/* ---- address modes ---- */

static int64_t modulo(int64_t a, int64_t n) {
    return (a % n + n) % n;
}

/* The index of an element along one axis; -1: the border. */
static int64_t wrapped(const ptx_texture *t, unsigned axis, int64_t i) {
    const int64_t n = t->size[axis];
    /* wrapping and mirroring need normalized coordinates */
    const unsigned mode =
        t->mode[axis] == PTX_ADDRESS_BORDER || t->normalized_coordinates ? t->mode[axis] : PTX_ADDRESS_CLAMP;
    if (i >= 0 && i < n)
        return i;
    if (mode == PTX_ADDRESS_BORDER)
        return -1;
    if (mode == PTX_ADDRESS_CLAMP)
        return i < 0 ? 0 : n - 1;
    if (mode == PTX_ADDRESS_WRAP)
        return modulo(i, n);
    const int64_t at = modulo(i, 2 * n);
    return at < n ? at : 2 * n - 1 - at;
}

/* An element, converted, outside the texture as the address modes say. */
static void read_element(const ptx_texture *t, const uint8_t *data, const ptx_texture_point *point,
                         const int64_t index[3], u32 out[4]) {
    int64_t at[3] = {0, 0, 0};
    bool border = false;
    for (unsigned axis = 0; axis < point->dimensions; axis++) {
        at[axis] = t->linear_memory && (index[axis] < 0 || index[axis] >= t->size[axis])
                       ? -1
                       : wrapped(t, axis, index[axis]);
        border = border || at[axis] < 0;
    }
    if (point->layered)
        at[2] = point->layer < 0 ? 0 : point->layer >= t->size[2] ? t->size[2] - 1 : point->layer;
    out[0] = out[1] = out[2] = 0;
    out[3] = gives_floats(t) ? ptx_bits_f32(1) : 1;
    const uint8_t *from =
        border ? NULL : data + (u64)at[2] * t->slice + (u64)at[1] * t->pitch + (u64)at[0] * element_bytes(t);
    for (unsigned c = 0; c < t->channels; c++) {
        if (border)
            out[c] = t->linear_memory  ? 0
                     : gives_floats(t) ? ptx_bits_f32(t->border[c])
                                       : (u32)(int64_t)t->border[c];
        else
            out[c] = read_channel(t, from + c * t->channel_bytes);
        if (!border && t->normalized_read)
            out[c] = ptx_bits_f32(normalized(t, out[c], c));
    }
}

/* ---- samples ---- */

static f32 scaled(const ptx_texture *t, const ptx_texture_point *point, unsigned axis) {
    f32 x = point->at[axis];
    if (x != x)
        return 0;
    if (!t->normalized_coordinates)
        return x;
    if (t->mode[axis] == PTX_ADDRESS_WRAP)
        x -= floorf(x);
    return x * (f32)t->size[axis];
}

/* A float as an index; far outside the texture it does not matter where. */
static int64_t index_of(f32 x) {
    const f32 limit = 1e9f;
    return (int64_t)floorf(x < -limit ? -limit : x > limit ? limit : x);
}

enum { WHOLE = 256 }; /* the sum of all weights */

/* Weights of the corners, in units of 1/256, as measured on an H100: the weight of a corner is split along z,
   then x, then y, and each half is rounded. Ties go up, but along y down where x is low. */
static void corner_weights(const u32 part[3], u32 weight[8]) {
    for (unsigned z = 0; z < 2; z++) {
        const u32 all = z ? part[2] : WHOLE - part[2];
        const u32 high = (all * part[0] + WHOLE / 2) / WHOLE, low = all - high;
        u32 *to = &weight[4 * z];
        to[3] = (high * part[1] + WHOLE / 2) / WHOLE;
        to[2] = (low * part[1] + WHOLE / 2 - 1) / WHOLE;
        to[1] = high - to[3];
        to[0] = low - to[2];
    }
}

static void filter(const ptx_texture *t, const uint8_t *data, const ptx_texture_point *point, u32 out[4]) {
    int64_t first[3] = {0, 0, 0};
    f32 sum[4] = {0, 0, 0, 0};
    u32 part[3] = {0, 0, 0}, weight[8];
    for (unsigned axis = 0; axis < point->dimensions; axis++) {
        const f32 x = scaled(t, point, axis) - 0.5f;
        first[axis] = index_of(x);
        part[axis] = (u32)((x - floorf(x)) * WHOLE + 0.5f);
    }
    corner_weights(part, weight);
    for (unsigned corner = 0; corner < 8; corner++) {
        u32 element[4];
        const int64_t at[3] = {first[0] + (corner & 1), first[1] + (corner >> 1 & 1),
                               first[2] + (corner >> 2)};
        if (!weight[corner])
            continue;
        read_element(t, data, point, at, element);
        for (unsigned c = 0; c < 4; c++)
            sum[c] += (f32)weight[corner] / WHOLE * ptx_f32_of(element[c]);
    }
    for (unsigned c = 0; c < 4; c++)
        out[c] = ptx_bits_f32(sum[c]);
}

void ptx_texture_sample(const ptx_texture *t, const uint8_t *data, const ptx_texture_point *point,
                        u32 out[4]) {
    int64_t index[3] = {0, 0, 0};
    if (t->linear_filter && !point->integer && gives_floats(t)) {
        filter(t, data, point, out);
        return;
    }
    for (unsigned axis = 0; axis < point->dimensions; axis++)
        index[axis] = point->integer ? point->index[axis] : index_of(scaled(t, point, axis));
    read_element(t, data, point, index, out);
}

void ptx_texture_face(ptx_texture_point *p) {
    const f32 x = p->at[0], y = p->at[1], z = p->at[2];
    const f32 ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
    const f32 major = ax >= ay && ax >= az ? x : ay >= az ? y : z;
    const unsigned axis = ax >= ay && ax >= az ? 0 : ay >= az ? 1 : 2;
    const bool negative = major < 0;
    const f32 s = axis == 0 ? (negative ? z : -z) : axis == 1 ? x : negative ? -x : x;
    const f32 t = axis == 1 ? (negative ? -z : z) : -y;
    const f32 length = fabsf(major);
    p->layer = 6 * p->layer + 2 * (int64_t)axis + negative;
    p->at[0] = length == 0 ? 0.5f : (s / length + 1) / 2;
    p->at[1] = length == 0 ? 0.5f : (t / length + 1) / 2;
}
