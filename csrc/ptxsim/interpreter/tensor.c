/* Encodes and decodes tensor maps; loads and stores tiles row by row, with swizzle. */
#include "interpreter/tensor.h"

#include "diagnostic.h"
#include "interpreter/address.h"

enum { PIECE = 16, MAX_BOX = 256, MAX_STEP = 8, MAX_ROW_BYTES = MAX_BOX * 8 };

/* ---- maps ---- */

/* The simulator's encoding of a map. */
typedef struct packed_map {
    char magic[8];
    u64 address, strides[PTX_TENSOR_DIMENSIONS - 1];
    u32 last[PTX_TENSOR_DIMENSIONS]; /* sizes - 1 */
    uint16_t box[PTX_TENSOR_DIMENSIONS];
    uint8_t steps[PTX_TENSOR_DIMENSIONS], type, rank, swizzle, fill_nan;
} packed_map;

static const char magic[8] = "ptx map";

_Static_assert(sizeof(packed_map) <= PTX_TENSOR_MAP_BYTES, "a map takes 128 bytes");

static unsigned element_bytes(uint32_t type) {
    static const uint8_t bytes[PTX_TENSOR_TYPES] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return bytes[type];
}

static bool is_float(uint32_t type) {
    return type >= PTX_TENSOR_F16;
}

static ptx_status check_dimension(const ptx_tensor *t, unsigned i, ptx_error *error) {
    if (t->sizes[i] < 1 || t->sizes[i] > 1ull << 32)
        return ptx_fail(error, PTX_ERR_ARGUMENT, "a tensor map: %llu elements along dimension %u; 1 to 2^32",
                        (unsigned long long)t->sizes[i], i);
    if (i && (t->strides[i - 1] % PIECE || t->strides[i - 1] >= 1ull << 40))
        return ptx_fail(
            error, PTX_ERR_ARGUMENT,
            "a tensor map: %llu bytes from one to the next along dimension %u; a multiple of 16 below 2^40",
            (unsigned long long)t->strides[i - 1], i);
    if (t->box[i] < 1 || t->box[i] > MAX_BOX)
        return ptx_fail(error, PTX_ERR_ARGUMENT,
                        "a tensor map: a box of %u elements along dimension %u; 1 to %d", t->box[i], i,
                        MAX_BOX);
    if (t->steps[i] < 1 || t->steps[i] > MAX_STEP)
        return ptx_fail(error, PTX_ERR_ARGUMENT, "a tensor map: a step of %u along dimension %u; 1 to %d",
                        t->steps[i], i, MAX_STEP);
    return PTX_OK;
}

static ptx_status check(const ptx_tensor *t, ptx_error *error) {
    if (t->type >= PTX_TENSOR_TYPES || t->swizzle > PTX_SWIZZLE_128)
        return ptx_fail(error, PTX_ERR_ARGUMENT, "a tensor map: there is no such type or swizzle");
    if (t->rank < 1 || t->rank > PTX_TENSOR_DIMENSIONS)
        return ptx_fail(error, PTX_ERR_ARGUMENT, "a tensor map: %u dimensions; 1 to %d", t->rank,
                        PTX_TENSOR_DIMENSIONS);
    if (t->address % PIECE)
        return ptx_fail(error, PTX_ERR_ARGUMENT,
                        "a tensor map: the tensor's address 0x%llx is not aligned to 16 bytes",
                        (unsigned long long)t->address);
    ptx_status status = PTX_OK;
    for (unsigned i = 0; i < t->rank && status == PTX_OK; i++)
        status = check_dimension(t, i, error);
    const u32 row = status == PTX_OK ? t->box[0] * element_bytes(t->type) : 0;
    if (row % PIECE)
        return ptx_fail(error, PTX_ERR_ARGUMENT,
                        "a tensor map: %u bytes of the box lie together, which is no multiple of 16", row);
    if (t->swizzle && row > 16u << t->swizzle)
        return ptx_fail(error, PTX_ERR_ARGUMENT,
                        "a tensor map: %u bytes of the box lie together; the swizzle takes %u", row,
                        16u << t->swizzle);
    if (status == PTX_OK && ptx_tile_bytes(t) > PTX_MAX_SHARED)
        return ptx_fail(error, PTX_ERR_ARGUMENT, "a tensor map: a box of %llu bytes; a block has %d",
                        (unsigned long long)ptx_tile_bytes(t), PTX_MAX_SHARED);
    if (t->fill_nan && !is_float(t->type))
        return ptx_fail(error, PTX_ERR_ARGUMENT, "a tensor map: integers cannot be filled with NaN");
    return status;
}

ptx_status ptx_tensor_map_encode(const ptx_tensor *t, void *map, ptx_error *error) {
    ptx_status status = check(t, error);
    if (status != PTX_OK)
        return status;
    packed_map p = {.address = t->address,
                    .type = (uint8_t)t->type,
                    .rank = (uint8_t)t->rank,
                    .swizzle = (uint8_t)t->swizzle,
                    .fill_nan = t->fill_nan};
    memcpy(p.magic, magic, sizeof magic);
    for (unsigned i = 0; i < t->rank; i++) {
        p.last[i] = (u32)(t->sizes[i] - 1);
        p.box[i] = (uint16_t)t->box[i];
        p.steps[i] = (uint8_t)t->steps[i];
        if (i)
            p.strides[i - 1] = t->strides[i - 1];
    }
    memset(map, 0, PTX_TENSOR_MAP_BYTES);
    memcpy(map, &p, sizeof p);
    return PTX_OK;
}

/* A kernel may have written the map, so that all fields are validated. */
bool ptx_tensor_map_decode(const void *map, ptx_tensor *t) {
    packed_map p;
    memcpy(&p, map, sizeof p);
    *t = (ptx_tensor){
        .type = p.type, .swizzle = p.swizzle, .rank = p.rank, .address = p.address, .fill_nan = p.fill_nan};
    for (unsigned i = 0; i < PTX_TENSOR_DIMENSIONS; i++) {
        t->sizes[i] = (u64)p.last[i] + 1;
        t->box[i] = p.box[i];
        t->steps[i] = p.steps[i];
        if (i)
            t->strides[i - 1] = p.strides[i - 1];
    }
    return memcmp(p.magic, magic, sizeof magic) == 0 && check(t, NULL) == PTX_OK;
}

/* ---- tiles ---- */

bool ptx_tile_is_aligned(const ptx_tile *tile) {
    return (s64)tile->at[0] * element_bytes(tile->tensor.type) % PIECE == 0;
}

/* Elements of a box along a dimension; the innermost dimension has no element stride. */
static u32 length_of(const ptx_tensor *t, unsigned i) {
    return i ? (t->box[i] + t->steps[i] - 1) / t->steps[i] : t->box[i];
}

static u64 row_count(const ptx_tensor *t) {
    u64 rows = 1;
    for (unsigned i = 1; i < t->rank; i++)
        rows *= length_of(t, i);
    return rows;
}

static u32 row_bytes(const ptx_tensor *t) {
    return t->box[0] * element_bytes(t->type);
}

/* Bytes between rows in shared memory; a swizzle pads rows to its width. */
static u32 row_pitch(const ptx_tensor *t) {
    return t->swizzle ? 16u << t->swizzle : row_bytes(t);
}

uint64_t ptx_tile_span_bytes(const ptx_tensor *t) {
    return row_count(t) * row_pitch(t);
}

uint64_t ptx_tile_bytes(const ptx_tensor *t) {
    return row_count(t) * row_bytes(t);
}

/* A row of a box: the bytes inside the tensor and their global address. */
typedef struct tile_row {
    u32 first, bytes;
    u64 address;
} tile_row;

static tile_row find_row(const ptx_tile *tile, u32 number) {
    const ptx_tensor *t = &tile->tensor;
    const unsigned size = element_bytes(t->type);
    const s64 first = tile->at[0], left = (s64)t->sizes[0] - first;
    const s64 begin = first < 0 ? -first : 0, end = left < t->box[0] ? left : t->box[0];
    tile_row row = {.address = t->address + (u64)(first + begin) * size};
    bool inside = begin < end;
    for (unsigned i = 1; i < t->rank; i++) {
        const s64 at = tile->at[i] + (s64)(number % length_of(t, i)) * t->steps[i];
        number /= length_of(t, i);
        inside = inside && at >= 0 && at < (s64)t->sizes[i];
        row.address += (u64)at * t->strides[i - 1];
    }
    if (inside) {
        row.first = (u32)begin * size;
        row.bytes = (u32)(end - begin) * size;
    }
    return row;
}

static ptx_status locate_row(ptx_warp *w, const ptx_instr *in, unsigned lane, const tile_row *row,
                             uint8_t **host) {
    return ptx_locate(w, in, lane, PTX_SPACE_GLOBAL, row->address, row->bytes, 1, host);
}

/* Address of a 16-byte chunk: bits 4 and up are XORed with bits 7 and up, as many bits as the swizzle has. */
static u64 swizzled(const ptx_tensor *t, u64 address) {
    const u64 pattern = (1u << t->swizzle) - 1;
    return address ^ (address >> 7 & pattern) << 4;
}

/* Fills elements outside the tensor: zeros, or the NaN pattern that an H200 uses for every type. */
static void fill(const ptx_tensor *t, uint8_t *row, u32 bytes) {
    memset(row, t->fill_nan ? 0x7f : 0, bytes);
    for (u32 i = 0; i < bytes && t->fill_nan; i += 2)
        row[i] = 0xf7;
}

/* TF32 maps round to 10 fraction bits when loading; all NaNs become the same NaN. */
static void round_to_tf32(uint8_t *row, u32 bytes) {
    for (u32 i = 0; i < bytes; i += sizeof(u32)) {
        u32 value;
        memcpy(&value, row + i, sizeof value);
        value = (value & 0x7fffffffu) > 0x7f800000u ? 0x7fffe000u
                                                    : (value + 0xfffu + (value >> 13 & 1)) & ~0x1fffu;
        memcpy(row + i, &value, sizeof value);
    }
}

void ptx_tile_poison(const ptx_tensor *t, uint8_t *to, uint64_t address) {
    const u32 rows = (u32)row_count(t), bytes = row_bytes(t);
    u64 at = address;
    for (u32 r = 0; r < rows; r++, at += row_pitch(t))
        for (u32 piece = 0; piece < bytes; piece += PIECE)
            memset(to + (s64)(swizzled(t, at + piece) - address), PTX_POISON, PIECE);
}

ptx_status ptx_tile_load(ptx_warp *w, const ptx_instr *in, unsigned lane, const ptx_tile *tile, uint8_t *to,
                         uint64_t address) {
    const ptx_tensor *t = &tile->tensor;
    const u32 rows = (u32)row_count(t), bytes = row_bytes(t);
    uint8_t data[MAX_ROW_BYTES];
    u64 at = address;
    for (u32 r = 0; r < rows; r++, at += row_pitch(t)) {
        const tile_row row = find_row(tile, r);
        if (row.bytes < bytes)
            fill(t, data, bytes);
        if (row.bytes) {
            uint8_t *from;
            ptx_status status = locate_row(w, in, lane, &row, &from);
            if (status != PTX_OK)
                return status;
            memcpy(data + row.first, from, row.bytes);
            if (t->type >= PTX_TENSOR_TF32)
                round_to_tf32(data + row.first, row.bytes);
        }
        for (u32 piece = 0; piece < bytes; piece += PIECE)
            memcpy(to + (s64)(swizzled(t, at + piece) - address), data + piece, PIECE);
    }
    return PTX_OK;
}

ptx_status ptx_tile_store(ptx_warp *w, const ptx_instr *in, unsigned lane, const ptx_tile *tile,
                          const uint8_t *from, uint64_t address) {
    const ptx_tensor *t = &tile->tensor;
    const u32 rows = (u32)row_count(t), bytes = row_bytes(t);
    uint8_t data[MAX_ROW_BYTES];
    u64 at = address;
    for (u32 r = 0; r < rows; r++, at += row_pitch(t)) {
        tile_row row = find_row(tile, r);
        uint8_t *to;
        if (!row.bytes)
            continue;
        row.bytes = (row.bytes + PIECE - 1) / PIECE *
                    PIECE; /* an H200 may overwrite memory up to the next 16 bytes */
        ptx_status status = locate_row(w, in, lane, &row, &to);
        if (status != PTX_OK)
            return status;
        for (u32 piece = 0; piece < bytes; piece += PIECE)
            memcpy(data + piece, from + (s64)(swizzled(t, at + piece) - address), PIECE);
        memcpy(to, data + row.first, row.bytes);
    }
    return PTX_OK;
}
