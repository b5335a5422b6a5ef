/* Changes PTX as text, but by its grain: lines, words, parts of opcodes, whole instructions made from the
   rows of opcodes.def. So more of what comes out still parses than of bytes thrown at random. */
#include <stdbool.h>
#include <string.h>

#include "fuzz.h"

enum { LINE = 256, TRIES = 16 };

typedef struct text {
    char *bytes;
    size_t size, capacity;
    uint32_t random;
} text;

typedef struct span {
    size_t at, length;
} span;

/* A row of opcodes.def. */
typedef struct row {
    const char *pattern, *signature;
} row;

#define OP(pattern, signature, name) {pattern, signature},
#define COLLECTIVE(pattern, signature, name) {pattern, signature},
#define CONTROL(pattern, signature, name, kind) {pattern, signature},
#define ALSO(pattern, signature, name) {pattern, signature},
static const row rows[] = {
#include "opcodes.def"
};

static unsigned below(text *t, size_t limit) {
    t->random = t->random * 1664525u + 1013904223u;
    return (unsigned)((uint64_t)(t->random ^ t->random >> 15) % (limit ? limit : 1));
}

/* Puts `length` bytes in the place of a span; nothing happens where there is no room. */
static void replace(text *t, span old, const char *bytes, size_t length) {
    char copy[LINE];
    length = length < sizeof copy ? length : sizeof copy;
    if (t->size - old.length + length > t->capacity)
        return;
    memcpy(copy, bytes, length); /* they may come from the text itself */
    memmove(t->bytes + old.at + length, t->bytes + old.at + old.length, t->size - old.at - old.length);
    memcpy(t->bytes + old.at, copy, length);
    t->size = t->size - old.length + length;
}

/* ---- lines and words ---- */

static span line_around(const text *t, size_t at) {
    size_t first = at, end = at;
    while (first > 0 && t->bytes[first - 1] != '\n')
        first--;
    while (end < t->size && t->bytes[end] != '\n')
        end++;
    return (span){first, end - first + (end < t->size)};
}

static span any_line(text *t) {
    return line_around(t, below(t, t->size));
}

static bool in_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("_$%.:", c));
}

static span any_word(text *t) {
    size_t at = below(t, t->size), end;
    while (at < t->size && !in_word(t->bytes[at]))
        at++;
    while (at > 0 && in_word(t->bytes[at - 1]))
        at--;
    for (end = at; end < t->size && in_word(t->bytes[end]); end++)
        ;
    return (span){at, end - at};
}

/* Words that may stand for each other: registers, labels, numbers, opcodes, directives. */
static char kind_of(const text *t, span word) {
    char c = word.length ? t->bytes[word.at] : 0;
    if (c >= '0' && c <= '9')
        return '0';
    return c && strchr("%$.", c) ? c : 'a';
}

/* ---- opcodes and instructions ---- */

/* One of the opcodes that a pattern stands for: `a|b` are alternatives, `?` may be left out. */
static size_t make_opcode(text *t, const char *pattern, char *to) {
    size_t used = 0;
    while (*pattern) {
        size_t part = strcspn(pattern, ".");
        bool optional = *pattern == '?', left_out = optional && below(t, 4);
        const char *choice = pattern + optional, *end = pattern + part;
        unsigned alternatives = 1;
        for (const char *c = choice; c < end; c++)
            alternatives += *c == '|';
        for (unsigned skip = below(t, alternatives); skip; skip--)
            choice += strcspn(choice, "|") + 1;
        size_t length = strcspn(choice, "|.");
        if (!left_out && used + length + 2 < LINE) {
            if (used)
                to[used++] = '.';
            memcpy(to + used, choice, length);
            used += length;
        }
        pattern = end + (*end == '.');
    }
    to[used] = 0;
    return used;
}

static const char *const numbers[] = {"0",
                                      "1",
                                      "2",
                                      "3",
                                      "4",
                                      "8",
                                      "16",
                                      "31",
                                      "32",
                                      "33",
                                      "63",
                                      "64",
                                      "255",
                                      "256",
                                      "1024",
                                      "65535",
                                      "65536",
                                      "-1",
                                      "-2",
                                      "-4",
                                      "0x7fffffff",
                                      "0x80000000",
                                      "4294967295",
                                      "4294967296",
                                      "0f7F800000",
                                      "0fFFC00000",
                                      "0f00000001",
                                      "0d7FF0000000000000",
                                      "0x7fffffffffffffff",
                                      "0x8000000000000000",
                                      "18446744073709551615",
                                      "1.5"};

static const char *any_number(text *t) {
    return numbers[below(t, sizeof numbers / sizeof numbers[0])];
}

/* A label or an address of the text at hand, if it has one. */
static bool quote(text *t, char first, char *to, size_t room) {
    for (unsigned try = 0; try < TRIES; try++) {
        span line = any_line(t);
        const char *from = t->bytes + line.at, *end = from + line.length,
                   *start = memchr(from, first, line.length);
        size_t length = 0;
        if (!start)
            continue;
        if (first == '[')
            length = memchr(start, ']', (size_t)(end - start))
                         ? (size_t)((char *)memchr(start, ']', (size_t)(end - start)) - start) + 1
                         : 0;
        else
            while (start + length < end && in_word(start[length]) && start[length] != ':')
                length++;
        if (length == 0 || length >= room)
            continue;
        memcpy(to, start, length);
        to[length] = 0;
        return true;
    }
    return false;
}

/* One operand by its letter in the signature. Registers are named as nvcc names them; the corpus declares
   that many of each. %rd15 holds the address of an array there, %r15 one in shared memory, and %rd3 that of a
   tensor map where there is one. */
static void make_operand(text *t, char letter, char *to, size_t room) {
    unsigned k = below(t, 16);
    bool small = (letter >= 'a' && letter <= 'z') && below(t, 6) == 0;
    if (strchr("yYxX", letter))
        letter = "hwl"[below(t, 3)];
    if (strchr("hwlk", letter) && small)
        snprintf(to, room, "%s", any_number(t));
    else if (strchr("hH", letter))
        snprintf(to, room, "%%rs%u", k);
    else if (strchr("wWk", letter))
        snprintf(to, room, "%%r%u", k);
    else if (strchr("lLz", letter))
        snprintf(to, room, "%%rd%u", k);
    else if (strchr("dD", letter))
        snprintf(to, room, "%%rq%u", k % 4);
    else if (letter == 'S')
        snprintf(to, room, below(t, 2) ? "%%r%u" : "%%r%u|%%p%u", k, k % 8);
    else if (letter == 'Q')
        snprintf(to, room, below(t, 2) ? "%%p%u" : "%%p%u|%%p%u", k % 8, below(t, 8));
    else if (strchr("Ppn~", letter))
        snprintf(to, room, "%s%%p%u", letter == 'n' && below(t, 2) ? "!" : "", k % 8);
    else if (letter == 't')
        snprintf(to, room, "%%clock");
    else if (letter == 'i')
        snprintf(to, room, "%s", any_number(t));
    else if (letter == 'b' && !quote(t, '$', to, room))
        snprintf(to, room, "$L__BB0_%u", k);
    else if (letter == 'c')
        snprintf(to, room, "[%%rd3, {%%r%u, %%r%u}]", k, below(t, 16));
    else if (strchr("ma", letter) && (below(t, 2) || !quote(t, '[', to, room)))
        snprintf(to, room, below(t, 2) ? "[%%rd15+%u]" : "[%%r15+%u]", 16 * below(t, 8));
}

static size_t make_instruction(text *t, char *to) {
    const row *from = &rows[below(t, sizeof rows / sizeof rows[0])];
    char opcode[LINE];
    make_opcode(t, from->pattern, opcode);
    unsigned vector = strstr(opcode, ".v4") ? 4 : strstr(opcode, ".v2") ? 2 : 1;
    bool combines = strstr(opcode, ".and.") || strstr(opcode, ".or.") || strstr(opcode, ".xor.");
    size_t used = 0;
    const char *separator = " ";
    if (below(t, 6) == 0)
        used = (size_t)snprintf(to, LINE, "@%s%%p%u ", below(t, 2) ? "!" : "", below(t, 8));
    used += (size_t)snprintf(to + used, LINE - used, "%.100s", opcode);
    for (const char *letter = from->signature; *letter && used < LINE - 80; letter++) {
        char operand[40] = "";
        if ((*letter == '~' && !combines) || (*letter == 'z' && !strstr(opcode, "cache_hint")))
            continue;
        if (*letter == '_')
            continue;
        if (strchr("{}", *letter)) {
            used +=
                (size_t)snprintf(to + used, LINE - used, "%s%c", *letter == '{' ? separator : "", *letter);
            separator = *letter == '{' ? "" : ", ";
            continue;
        }
        bool spread = vector > 1 && *letter != 'm' && strchr(from->signature, 'm') && used < LINE - 170;
        for (unsigned e = 0; e < (spread ? vector : 1); e++) {
            make_operand(t, *letter, operand, sizeof operand);
            used += (size_t)snprintf(to + used, LINE - used, "%s%s%s", e ? ", " : separator,
                                     spread && e == 0 ? "{" : "", operand);
        }
        used += (size_t)snprintf(to + used, LINE - used, spread ? "}" : "");
        separator = ", ";
    }
    return used + (size_t)snprintf(to + used, LINE - used, ";\n");
}

/* ---- mutations ---- */

static void drop_line(text *t) {
    replace(t, any_line(t), "", 0);
}

static void copy_line(text *t) {
    span line = any_line(t);
    replace(t, (span){any_line(t).at, 0}, t->bytes + line.at, line.length);
}

static void insert_instruction(text *t) {
    char line[LINE];
    size_t length = make_instruction(t, line);
    replace(t, (span){any_line(t).at, 0}, line, length);
}

static void change_opcode(text *t) {
    char opcode[LINE];
    for (unsigned try = 0; try < TRIES; try++) {
        span word = any_word(t);
        if (kind_of(t, word) != 'a' || !memchr(t->bytes + word.at, '.', word.length))
            continue;
        size_t length = make_opcode(t, rows[below(t, sizeof rows / sizeof rows[0])].pattern, opcode);
        replace(t, word, opcode, length);
        return;
    }
}

/* One dotted part for another: a type, a space, a modifier. */
static void change_part(text *t) {
    span parts[2];
    for (unsigned i = 0; i < 2; i++) {
        size_t at = below(t, t->size), end;
        while (at < t->size && t->bytes[at] != '.')
            at++;
        for (end = at + 1; end < t->size && in_word(t->bytes[end]) && t->bytes[end] != '.'; end++)
            ;
        if (at >= t->size)
            return;
        parts[i] = (span){at, end - at};
    }
    replace(t, parts[0], t->bytes + parts[1].at, below(t, 6) ? parts[1].length : 0);
}

static void change_word(text *t) {
    span word = any_word(t);
    if (kind_of(t, word) == '0' && below(t, 2)) {
        const char *number = any_number(t);
        replace(t, word, number, strlen(number));
        return;
    }
    for (unsigned try = 0; try < TRIES; try++) {
        span other = any_word(t);
        if (kind_of(t, other) != kind_of(t, word))
            continue;
        replace(t, word, t->bytes + other.at, other.length);
        return;
    }
}

static void change_guard(text *t) {
    span line = any_line(t);
    char guard[16];
    size_t length = (size_t)snprintf(guard, sizeof guard, "@%s%%p%u ", below(t, 2) ? "!" : "", below(t, 8));
    const char *old = memchr(t->bytes + line.at, '@', line.length);
    if (old)
        replace(t, (span){(size_t)(old - t->bytes), 1}, "@!", 2);
    else
        replace(t, (span){line.at, 0}, guard, length);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    static void (*const mutations[])(text *) = {drop_line,          copy_line,     insert_instruction,
                                                insert_instruction, change_opcode, change_part,
                                                change_word,        change_word,   change_guard};
    text t = {.bytes = (char *)data, .size = size, .capacity = max_size, .random = seed};
    if (size == 0 || below(&t, 16) == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    for (unsigned left = 1 + below(&t, 4); left && t.size; left--)
        mutations[below(&t, sizeof mutations / sizeof mutations[0])](&t);
    return t.size;
}

/* Lines of one text in another. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t max_size, unsigned seed) {
    if (size > max_size || size == 0 || other_size == 0)
        return 0;
    memcpy(out, data, size);
    text t = {.bytes = (char *)out, .size = size, .capacity = max_size, .random = seed};
    text from = {.bytes = (char *)(uintptr_t)other, .size = other_size, .random = seed + 1};
    size_t to = any_line(&t).at;
    for (unsigned left = 1 + below(&t, 8); left; left--) {
        span line = any_line(&from);
        replace(&t, (span){to, 0}, from.bytes + line.at, line.length);
    }
    return t.size;
}
