/* A decoder of LZMA2. The format: https://tukaani.org/xz/xz-file-format.txt, and the LZMA specification of
   Igor Pavlov. A text is a sequence of literal bytes and of matches, which are copied from `distance` bytes
   before. Each decision is a bit that the range coder codes by an adaptive probability, which is chosen by
   what came before: by `state`, the position, and the last byte. */
#include "device/xz.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    HEAD_BYTES = 12, /* of a file */
    CRC_32 = 1,      /* the kind of check in the head */
    LZMA2 = 0x21,    /* the only filter of the block */

    PROBABILITY_BITS = 11,
    EVEN = 1 << (PROBABILITY_BITS - 1),
    SHIFT = 5, /* how fast probabilities adapt */
    TOP = 1 << 24,

    STATES = 12,
    LITERAL_STATES = 7, /* states after a literal come first */
    POSITIONS = 16,
    MAX_LITERAL_BITS = 4, /* lc + lp of LZMA2 */
    LITERAL_PROBABILITIES = 0x300,
    LENGTH_STATES = 4,
    SLOT_BITS = 6,
    FIRST_MODELLED_SLOT = 4, /* distances of lower slots have no more bits */
    FIRST_DIRECT_SLOT = 14,  /* the middle bits of distances from here on have no probability */
    MODELLED_DISTANCES = 1 << (FIRST_DIRECT_SLOT / 2),
    ALIGN_BITS = 4,
    MIN_MATCH = 2,
};

typedef uint16_t probability;

typedef struct lengths {
    probability is_long, is_longest;
    probability low[POSITIONS][8], middle[POSITIONS][8], high[256];
} lengths;

typedef struct decoder {
    const uint8_t *in, *in_end;
    uint32_t range, code;
    uint8_t *out;
    size_t at;
    bool damaged;                                       /* more bytes were asked for than there are */
    unsigned literal_bits, literal_mask, position_mask; /* lc, and lp and pb as masks */
    unsigned state;
    uint32_t distance[4]; /* the last four, less one */
    struct {
        probability is_match[STATES][POSITIONS], is_repeat[STATES], is_not_last[STATES],
            is_not_second[STATES], is_fourth[STATES], is_longer[STATES][POSITIONS];
        probability slot[LENGTH_STATES][1 << SLOT_BITS], distance[MODELLED_DISTANCES], align[1 << ALIGN_BITS];
        lengths match, repeat;
        probability literal[LITERAL_PROBABILITIES << MAX_LITERAL_BITS];
    } p;
} decoder;

/* ---- the range coder ---- */

static inline void normalize(decoder *d) {
    if (d->range < TOP) {
        d->damaged |= d->in == d->in_end;
        d->range <<= 8;
        d->code = d->code << 8 | (d->in < d->in_end ? *d->in++ : 0);
    }
}

static inline unsigned bit(decoder *d, probability *p) {
    normalize(d);
    const uint32_t bound = (d->range >> PROBABILITY_BITS) * *p;
    if (d->code < bound) {
        d->range = bound;
        *p = (probability)(*p + (((1u << PROBABILITY_BITS) - *p) >> SHIFT));
        return 0;
    }
    d->range -= bound;
    d->code -= bound;
    *p = (probability)(*p - (*p >> SHIFT));
    return 1;
}

/* The highest bit first; p[1] is the root of the tree. */
static inline unsigned tree(decoder *d, probability *p, unsigned bits) {
    unsigned node = 1;
    for (unsigned i = 0; i < bits; ++i)
        node = node << 1 | bit(d, p + node);
    return node - (1u << bits);
}

static inline unsigned reverse_tree(decoder *d, probability *p, unsigned bits) {
    unsigned node = 1, value = 0;
    for (unsigned i = 0; i < bits; ++i) {
        const unsigned one = bit(d, p + node);
        node = node << 1 | one;
        value |= one << i;
    }
    return value;
}

static uint32_t direct(decoder *d, unsigned bits) {
    uint32_t value = 0;
    while (bits-- > 0) {
        normalize(d);
        d->range >>= 1;
        const bool one = d->code >= d->range;
        d->code -= one ? d->range : 0;
        value = value << 1 | one;
    }
    return value;
}

/* ---- literals and matches ---- */

static void literal(decoder *d) {
    const unsigned before = d->at > 0 ? d->out[d->at - 1] : 0;
    const unsigned place =
        ((unsigned)d->at & d->literal_mask) << d->literal_bits | before >> (8 - d->literal_bits);
    probability *p = d->p.literal + (size_t)LITERAL_PROBABILITIES * place;
    unsigned node = 1;
    if (d->state >= LITERAL_STATES) { /* it differs from the byte with which the match would have gone on */
        unsigned other = d->out[d->at - d->distance[0] - 1], same = 0x100;
        while (node < 0x100 && same) {
            other <<= 1;
            const unsigned expected = other & 0x100, got = bit(d, p + 0x100 + expected + node);
            node = node << 1 | got;
            same = expected >> 8 == got ? 0x100 : 0;
        }
    }
    while (node < 0x100)
        node = node << 1 | bit(d, p + node);
    d->out[d->at++] = (uint8_t)node;
    d->state = d->state < 4 ? 0 : d->state < 10 ? d->state - 3 : d->state - 6;
}

static unsigned length(decoder *d, lengths *p, unsigned position) {
    if (bit(d, &p->is_long) == 0)
        return MIN_MATCH + tree(d, p->low[position], 3);
    if (bit(d, &p->is_longest) == 0)
        return MIN_MATCH + 8 + tree(d, p->middle[position], 3);
    return MIN_MATCH + 16 + tree(d, p->high, 8);
}

static uint32_t new_distance(decoder *d, unsigned bytes) {
    const unsigned of_length = bytes - MIN_MATCH < LENGTH_STATES ? bytes - MIN_MATCH : LENGTH_STATES - 1;
    const unsigned slot = tree(d, d->p.slot[of_length], SLOT_BITS);
    if (slot < FIRST_MODELLED_SLOT)
        return slot;
    const unsigned bits = slot / 2 - 1;
    const uint32_t base = (2u | (slot & 1)) << bits;
    if (slot < FIRST_DIRECT_SLOT)
        return base + reverse_tree(d, d->p.distance + base - slot, bits);
    const uint32_t upper = direct(d, bits - ALIGN_BITS) << ALIGN_BITS;
    return base + upper + reverse_tree(d, d->p.align, ALIGN_BITS);
}

/* One of the last four distances comes first. Returns the bytes of the match. */
static unsigned repeated(decoder *d, unsigned position) {
    const unsigned state = d->state;
    unsigned which = 0;
    if (bit(d, &d->p.is_not_last[state]) == 0) {
        if (bit(d, &d->p.is_longer[state][position]) == 0) {
            d->state = state < LITERAL_STATES ? 9 : 11;
            return 1;
        }
    } else {
        which = 1;
        if (bit(d, &d->p.is_not_second[state]) != 0)
            which = 2 + bit(d, &d->p.is_fourth[state]);
    }
    const uint32_t distance = d->distance[which];
    memmove(d->distance + 1, d->distance, which * sizeof *d->distance);
    d->distance[0] = distance;
    d->state = state < LITERAL_STATES ? 8 : 11;
    return length(d, &d->p.repeat, position);
}

static unsigned matched(decoder *d, unsigned position) {
    memmove(d->distance + 1, d->distance, 3 * sizeof *d->distance);
    const unsigned bytes = length(d, &d->p.match, position);
    d->distance[0] = new_distance(d, bytes);
    d->state = d->state < LITERAL_STATES ? 7 : 10;
    return bytes;
}

/* A chunk of `size` bytes of text. */
static bool lzma(decoder *d, size_t size) {
    const size_t end = d->at + size;
    if (d->in_end - d->in < 5 || *d->in++ != 0)
        return false;
    d->range = UINT32_MAX;
    d->code = 0;
    for (int i = 0; i < 4; ++i)
        d->code = d->code << 8 | *d->in++;
    while (d->at < end && !d->damaged) {
        const unsigned position = (unsigned)d->at & d->position_mask;
        if (bit(d, &d->p.is_match[d->state][position]) == 0) {
            if (d->state >= LITERAL_STATES && d->distance[0] >= d->at)
                return false;
            literal(d);
            continue;
        }
        const unsigned bytes =
            bit(d, &d->p.is_repeat[d->state]) == 0 ? matched(d, position) : repeated(d, position);
        if (d->distance[0] >= d->at || bytes > end - d->at)
            return false;
        const uint8_t *from = d->out + d->at - d->distance[0] - 1;
        for (unsigned i = 0; i < bytes; ++i) /* they may overlap */
            d->out[d->at + i] = from[i];
        d->at += bytes;
    }
    normalize(d);
    return !d->damaged && d->in == d->in_end && d->code == 0;
}

/* ---- chunks of LZMA2 ---- */

typedef struct chunk {
    bool plain, resets_text, resets_state, has_properties;
    size_t text, packed; /* bytes */
    uint8_t properties;
    const uint8_t *data;
} chunk;

/* Reads the head of the next chunk; at the end of the chunks its `text` is 0. */
static bool next_chunk(const uint8_t **at, const uint8_t *end, chunk *out) {
    const uint8_t *from = *at;
    if (from == end)
        return false;
    const unsigned control = *from++;
    *out = (chunk){.plain = control < 0x80, .resets_text = control == 1 || control >= 0xe0};
    if (control == 0) {
        *at = from;
        return true;
    }
    out->resets_state = control >= 0xa0;
    out->has_properties = control >= 0xc0;
    const ptrdiff_t head = out->plain ? 2 : out->has_properties ? 5 : 4;
    if ((out->plain && control > 2) || end - from < head)
        return false;
    out->text = (size_t)(out->plain ? 0 : control & 0x1f) << 16 | (size_t)from[0] << 8 | from[1];
    ++out->text;
    out->packed = out->plain ? out->text : ((size_t)from[2] << 8 | from[3]) + 1;
    out->properties = out->has_properties ? from[4] : 0;
    out->data = from + head;
    *at = out->data;
    if ((size_t)(end - out->data) < out->packed)
        return false;
    *at += out->packed;
    return true;
}

static bool set_properties(decoder *d, unsigned properties) {
    const unsigned lc = properties % 9, lp = properties / 9 % 5, pb = properties / 45;
    if (lc + lp > MAX_LITERAL_BITS || pb > 4)
        return false;
    d->literal_bits = lc;
    d->literal_mask = (1u << lp) - 1;
    d->position_mask = (1u << pb) - 1;
    return true;
}

static void reset(decoder *d) {
    d->state = 0;
    memset(d->distance, 0, sizeof d->distance);
    for (probability *p = (probability *)&d->p; p < (probability *)(&d->p + 1); ++p)
        *p = EVEN;
}

static bool decode(decoder *d, const uint8_t *at, const uint8_t *end) {
    chunk next;
    bool ready = false;
    while (next_chunk(&at, end, &next) && next.text > 0) {
        if (next.resets_text && d->at > 0)
            return false; /* of a second block */
        if (next.plain) {
            memcpy(d->out + d->at, next.data, next.text);
            d->at += next.text;
            continue;
        }
        if (next.has_properties && !set_properties(d, next.properties))
            return false;
        ready |= next.has_properties;
        if (!ready)
            return false;
        if (next.resets_state)
            reset(d);
        d->in = next.data;
        d->in_end = next.data + next.packed;
        if (!lzma(d, next.text))
            return false;
    }
    return true;
}

/* ---- the file ---- */

static const uint8_t MAGIC[] = {0xfd, '7', 'z', 'X', 'Z', 0};

static uint32_t number_at(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

bool gr_is_xz(const uint8_t *packed, size_t size) {
    return size >= sizeof MAGIC && memcmp(packed, MAGIC, sizeof MAGIC) == 0;
}

/* Returns where the chunks begin, or NULL. */
static const uint8_t *chunks_of(const uint8_t *packed, const uint8_t *end) {
    const bool whole = end - packed > HEAD_BYTES && end[-2] == 'Y' && end[-1] == 'Z';
    if (!whole || packed[6] != 0 || packed[7] != CRC_32)
        return NULL;
    const uint8_t *block = packed + HEAD_BYTES;
    const ptrdiff_t head = 4 * (block[0] + 1);
    if (block[0] < 2 || end - block < head || block[1] != 0 || block[2] != LZMA2)
        return NULL;
    return block + head;
}

gr_xz_result gr_unpack_xz(const uint8_t *packed, size_t size, char **text, size_t *text_size) {
    const uint8_t *end = packed + size, *first = chunks_of(packed, end), *at = first;
    chunk next;
    size_t bytes = 0;
    do {
        if (at == NULL || !next_chunk(&at, end, &next))
            return GR_XZ_DAMAGED;
        bytes += next.text;
    } while (next.text > 0);
    while ((at - packed) % 4 != 0) /* padding */
        ++at;
    if (end - at < 4)
        return GR_XZ_DAMAGED;
    *text = malloc(bytes + 1);
    decoder *d = malloc(sizeof *d);
    if (*text == NULL || d == NULL) {
        free(d);
        return GR_XZ_NO_MEMORY;
    }
    memset(d, 0, sizeof *d);
    d->out = (uint8_t *)*text;
    const bool decoded = decode(d, first, end);
    free(d);
    (*text)[bytes] = '\0';
    *text_size = bytes;
    return decoded && crc32_z(0, (const uint8_t *)*text, bytes) == number_at(at) ? GR_XZ_OK : GR_XZ_DAMAGED;
}
