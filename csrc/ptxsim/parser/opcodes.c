/* The opcode table: pattern matching, a hash index by first part, and the decoding of modifiers. */
#include "parser/opcodes.h"

#include <stdlib.h>
#include <string.h>

static const ptx_opcode_row rows[] = {
#define OP(pattern, signature, name) {pattern, signature, PTX_OP_##name},
#define CONTROL(pattern, signature, name, kind) {pattern, signature, PTX_OP_##name},
#define ALSO(pattern, signature, name) {pattern, signature, PTX_OP_##name},
#include "opcodes.def"
};
enum { ROWS = sizeof rows / sizeof rows[0], ENTRIES = 2 * ROWS };
_Static_assert(ENTRIES <= UINT16_MAX, "the chains number their entries, two a row, from 1 in 16 bits");

static const ptx_opcode_traits traits[PTX_OPCODE_COUNT] = {
#define OP(pattern, signature, name)
#define COLLECTIVE(pattern, signature, name) [PTX_OP_##name] = {PTX_RUN, true},
#define CONTROL(pattern, signature, name, kind)                                                              \
    [PTX_OP_##name] = {kind, (kind) >= PTX_BARRIER && (kind) <= PTX_CLUSTER_WAIT},
#include "opcodes.def"
};

ptx_opcode_traits ptx_opcode_traits_of(ptx_opcode opcode) {
    return traits[opcode];
}

static unsigned hash(const char *name, size_t length) {
    unsigned h = 5381;
    for (size_t i = 0; i < length; i++)
        h = h * 33 + (unsigned char)name[i];
    return h % PTX_OPCODE_BUCKETS;
}

static size_t part_length(const char *name, const char *end) {
    const char *dot = memchr(name, '.', (size_t)(end - name));
    return (size_t)((dot ? dot : end) - name);
}

bool ptx_opcode_index_init(ptx_opcode_index *index) {
    memset(index, 0, sizeof *index);
    index->next = calloc(ENTRIES, sizeof *index->next);
    if (!index->next)
        return false;
    /* A pattern may start with alternatives, "fma|mad": the first two are chained, with an entry each. Rows
       are added from the last one up, so that chains are in the table's order. */
    for (size_t row = ROWS; row-- > 0;) {
        const char *pattern = rows[row].pattern;
        size_t length = part_length(pattern, pattern + strlen(pattern));
        const char *bar = memchr(pattern, '|', length);
        size_t first = bar ? (size_t)(bar - pattern) : length;
        unsigned bucket = hash(pattern, first);
        index->next[2 * row] = index->first[bucket];
        index->first[bucket] = (uint16_t)(2 * row + 1);
        if (bar) {
            bucket = hash(bar + 1, length - first - 1);
            index->next[2 * row + 1] = index->first[bucket];
            index->first[bucket] = (uint16_t)(2 * row + 2);
        }
    }
    return true;
}

void ptx_opcode_index_free(ptx_opcode_index *index) {
    free(index->next);
    index->next = NULL;
}

/* Matches one part against the alternatives of a pattern part. */
static bool part_matches(const char *choice, const char *choice_end, const char *part, size_t length) {
    while (choice < choice_end) {
        const char *bar = memchr(choice, '|', (size_t)(choice_end - choice));
        const char *end = bar ? bar : choice_end;
        if ((size_t)(end - choice) == length && memcmp(choice, part, length) == 0)
            return true;
        choice = end + 1;
    }
    return false;
}

static bool matches(const char *pattern, const char *name, const char *name_end) {
    const char *pattern_end = pattern + strlen(pattern);
    while (pattern < pattern_end) {
        bool optional = *pattern == '?';
        size_t width = part_length(pattern, pattern_end);
        size_t length = name < name_end ? part_length(name, name_end) : 0;
        if (length && part_matches(pattern + optional, pattern + width, name, length))
            name += length + 1;
        else if (!optional)
            return false;
        pattern += width + 1;
    }
    return name >= name_end;
}

const ptx_opcode_row *ptx_opcode_find(const ptx_opcode_index *index, const char *name, size_t length,
                                      const ptx_opcode_row *previous) {
    const char *end = name + length;
    unsigned bucket = hash(name, part_length(name, end));
    bool started = !previous;
    for (unsigned entry = index->first[bucket]; entry; entry = index->next[entry - 1]) {
        const ptx_opcode_row *row = &rows[(entry - 1) / 2];
        if (started && matches(row->pattern, name, end))
            return row;
        started = started || row == previous;
    }
    return NULL;
}

bool ptx_opcode_base_known(const ptx_opcode_index *index, const char *name, size_t length) {
    size_t base = part_length(name, name + length);
    for (unsigned entry = index->first[hash(name, base)]; entry; entry = index->next[entry - 1]) {
        const char *pattern = rows[(entry - 1) / 2].pattern;
        if (part_matches(pattern, pattern + part_length(pattern, pattern + strlen(pattern)), name, base))
            return true;
    }
    return false;
}

const ptx_opcode_row *ptx_opcode_row_at(size_t index) {
    return index < ROWS ? &rows[index] : NULL;
}

static const ptx_unsupported_row unsupported_rows[] = {
#define UNSUPPORTED(start, what) {start, NULL, what},
#define UNSUPPORTED_PART(part, what) {NULL, part, what},
#include "unsupported.def"
#undef UNSUPPORTED
#undef UNSUPPORTED_PART
};
enum { UNSUPPORTED_COUNT = sizeof unsupported_rows / sizeof unsupported_rows[0] };

const ptx_unsupported_row *ptx_unsupported_at(size_t index) {
    return index < UNSUPPORTED_COUNT ? &unsupported_rows[index] : NULL;
}

static bool matches_unsupported(const ptx_unsupported_row *unsupported, const char *name, const char *end) {
    if (unsupported->start) {
        const size_t length = strlen(unsupported->start);
        return (size_t)(end - name) >= length && memcmp(name, unsupported->start, length) == 0 &&
               (name + length == end || name[length] == '.');
    }
    for (; name < end; name += part_length(name, end) + 1)
        if (part_length(name, end) == strlen(unsupported->part) &&
            memcmp(name, unsupported->part, strlen(unsupported->part)) == 0)
            return true;
    return false;
}

const ptx_unsupported_row *ptx_unsupported_find(const char *name, size_t length) {
    for (size_t i = 0; i < UNSUPPORTED_COUNT; i++)
        if (matches_unsupported(&unsupported_rows[i], name, name + length))
            return &unsupported_rows[i];
    return NULL;
}

ptx_type ptx_type_named(const char *name, size_t length) {
    static const struct {
        const char *name;
        ptx_type type;
    } types[] = {
        {"b8", PTX_CLASS_B | 1},  {"b16", PTX_CLASS_B | 2}, {"b32", PTX_CLASS_B | 4},
        {"b64", PTX_CLASS_B | 8}, {"u8", PTX_CLASS_U | 1},  {"u16", PTX_CLASS_U | 2},
        {"u32", PTX_CLASS_U | 4}, {"u64", PTX_CLASS_U | 8}, {"s8", PTX_CLASS_S | 1},
        {"s16", PTX_CLASS_S | 2}, {"s32", PTX_CLASS_S | 4}, {"s64", PTX_CLASS_S | 8},
        {"f16", PTX_CLASS_F | 2}, {"f32", PTX_TYPE_F32},    {"f64", PTX_TYPE_F64},
        {"pred", PTX_TYPE_PRED},  {"b128", PTX_TYPE_B128},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0)
            return types[i].type;
    return PTX_TYPE_NONE;
}

/* Parts of opcodes that are no types; 0 and false: the part does not set this attribute. */
static const struct {
    const char *name;
    uint8_t space, vector, rank, combine, compare, rounding, shape;
    bool ftz, sat, relu, aligned, strong, cache_hint, has_layout, column_major;
} words[] = {
    {"global", .space = PTX_SPACE_GLOBAL},
    {"shared", .space = PTX_SPACE_SHARED},
    {"shared::cta", .space = PTX_SPACE_SHARED},
    {"shared::cluster", .space = PTX_SPACE_CLUSTER},
    {"param", .space = PTX_SPACE_PARAM},
    {"param::entry", .space = PTX_SPACE_PARAM},
    {"param::func", .space = PTX_SPACE_PARAM},
    {"const", .space = PTX_SPACE_CONST},
    {"local", .space = PTX_SPACE_LOCAL},
    {"v2", .vector = 2},
    {"v4", .vector = 4},
    {"1d", .rank = 1},
    {"2d", .rank = 2},
    {"3d", .rank = 3},
    {"4d", .rank = 4},
    {"5d", .rank = 5},
    {"a1d", .rank = 2}, /* coordinates, with the layer */
    {"a2d", .rank = 4},
    {"cube", .rank = 4},
    {"acube", .rank = 4},
    {"and", .combine = PTX_COMBINE_AND},
    {"or", .combine = PTX_COMBINE_OR},
    {"xor", .combine = PTX_COMBINE_XOR},
#define COMPARISON(id, name, test) {#name, .compare = PTX_COMPARE_##id},
#include "comparisons.def"
    {"rni", .rounding = PTX_ROUND_NEAREST},
    {"rzi", .rounding = PTX_ROUND_ZERO},
    {"rmi", .rounding = PTX_ROUND_DOWN},
    {"rpi", .rounding = PTX_ROUND_UP},
    {"rz", .rounding = PTX_ROUND_ZERO},
    {"rm", .rounding = PTX_ROUND_DOWN},
    {"rp", .rounding = PTX_ROUND_UP},
#define SHAPE(m, n, k) {"m" #m "n" #n "k" #k, .shape = PTX_SHAPE_##m##x##n##x##k},
#include "shapes.def"
    {"row", .has_layout = true},
    {"col", .has_layout = true, .column_major = true},
    {"ftz", .ftz = true},
    {"sat", .sat = true},
    {"relu", .relu = true},
    {"aligned", .aligned = true},
    {"volatile", .strong = true},
    {"relaxed", .strong = true},
    {"acquire", .strong = true},
    {"release", .strong = true},
    {"L2::cache_hint", .cache_hint = true},
};

/* Adds what a part of an opcode stands for. */
static void read_part(ptx_opcode_parts *parts, const char *part, size_t length) {
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].name) != length || memcmp(words[i].name, part, length) != 0)
            continue;
        if (words[i].space &&
            parts->space == PTX_SPACE_GENERIC) /* of the two state spaces of a copy, the destination */
            parts->space = (ptx_space)words[i].space;
        if (words[i].vector)
            parts->vector = words[i].vector;
        if (words[i].rank)
            parts->rank = words[i].rank;
        if (words[i].combine)
            parts->combine = (ptx_combine)words[i].combine;
        if (words[i].compare)
            parts->compare = (ptx_compare)words[i].compare;
        if (words[i].rounding)
            parts->rounding = (ptx_rounding)words[i].rounding;
        if (words[i].shape)
            parts->shape = (ptx_shape)words[i].shape;
        parts->column_major = parts->has_layout ? parts->column_major : words[i].column_major;
        parts->has_layout = parts->has_layout || words[i].has_layout;
        parts->ftz = parts->ftz || words[i].ftz;
        parts->sat = parts->sat || words[i].sat;
        parts->relu = parts->relu || words[i].relu;
        parts->aligned = parts->aligned || words[i].aligned;
        parts->strong = parts->strong || words[i].strong;
        parts->cache_hint = parts->cache_hint || words[i].cache_hint;
        return;
    }
}

/* st.async reports its stores itself. */
static ptx_effect effect_of(const char *name, size_t length) {
    static const struct {
        const char *start;
        ptx_effect effect;
    } effects[] = {
        {"ld.", PTX_EFFECT_LOAD},     {"st.async.", PTX_EFFECT_NONE}, {"st.", PTX_EFFECT_STORE},
        {"atom.", PTX_EFFECT_ATOMIC}, {"red.", PTX_EFFECT_ATOMIC},    {"bar.warp.sync", PTX_EFFECT_WARP_SYNC},
    };
    for (size_t i = 0; i < sizeof effects / sizeof effects[0]; i++) {
        size_t size = strlen(effects[i].start);
        if (size <= length && memcmp(effects[i].start, name, size) == 0)
            return effects[i].effect;
    }
    return PTX_EFFECT_NONE;
}

static ptx_opcode_parts split_opcode(const char *name, size_t length) {
    ptx_opcode_parts parts = {.vector = 1, .effect = effect_of(name, length)};
    const char *end = name + length;
    for (name += part_length(name, end) + 1; name < end;) {
        size_t part = part_length(name, end);
        ptx_type type = ptx_type_named(name, part);
        if (part == 4 && memcmp(name, "bf16", 4) == 0) /* an operand type only: no register has it */
            type = PTX_TYPE_BF16;
        const bool pair =
            (part == 5 && memcmp(name, "f16x2", 5) == 0) || (part == 6 && memcmp(name, "bf16x2", 6) == 0);
        if (pair && parts.effect != PTX_EFFECT_NONE) /* the width of the access */
            type = PTX_CLASS_B | 4;
        if (part > 5 && memcmp(name, "m64n", 4) == 0) /* wgmma shape m64nNkK: columns in units of 8 */
            parts.vector = (unsigned)strtoul(name + 4, NULL, 10) / 8;
        if (type != PTX_TYPE_NONE) {
            parts.type2 = parts.type;
            parts.type = type;
        } else {
            read_part(&parts, name, part);
        }
        name += part + 1;
    }
    if (parts.type == PTX_TYPE_B128) { /* two accesses of 64 bits */
        parts.type = PTX_CLASS_B | 8;
        parts.vector = 2;
    }
    return parts;
}

const ptx_opcode_cached *ptx_opcode_lookup(ptx_opcode_index *index, const char *name, size_t length) {
    ptx_opcode_cached *known = &index->known[hash(name, length)];
    if (!known->name || known->length != length || memcmp(known->name, name, length) != 0)
        *known = (ptx_opcode_cached){.name = name,
                                     .length = length,
                                     .parts = split_opcode(name, length),
                                     .row = ptx_opcode_find(index, name, length, NULL)};
    return known;
}
