/* Implements ptx_text.h. */
#include "device/ptx_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char HEAD[] = "register differences ", LABEL[] = "$L__BB";

bool gr_has_differences(const char *text) {
    return strncmp(text, HEAD, sizeof HEAD - 1) == 0;
}

enum { REGISTER_TYPES = 6 };

/* Reads a text with differences and writes PTX. */
typedef struct restoration {
    const char *from;
    char *to, *to_end;
    uint32_t
        registers[REGISTER_TYPES]; /* of each type, the register that most recently stood first on a line */
    uint32_t function, block;      /* of the most recent label */
    bool is_first;                 /* no register of the line was read */
    bool damaged;
} restoration;

/* Copies bytes. */
static void copy_text(restoration *state, size_t bytes) {
    if ((size_t)(state->to_end - state->to) < bytes) {
        state->damaged = true;
        return;
    }
    memcpy(state->to, state->from, bytes);
    state->from += bytes;
    state->to += bytes;
}

/* Reads a sign and digits, and writes the sum of the reference and the difference. Returns the sum, or the
   reference if the text has no difference here. */
static uint32_t restore_number(restoration *state, uint32_t reference) {
    const char *at = state->from;
    if ((*at != '+' && *at != '-') || at[1] < '0' || at[1] > '9')
        return reference;
    const bool is_negative = *at++ == '-';
    uint32_t difference = 0;
    for (; *at >= '0' && *at <= '9'; ++at)
        difference = 10 * difference + (uint32_t)(*at - '0');
    state->from = at;
    const uint32_t number = is_negative ? reference - difference : reference + difference;
    char digits[10];
    size_t count = 0;
    for (uint32_t rest = number; count == 0 || rest != 0; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    if ((size_t)(state->to_end - state->to) < count) {
        state->damaged = true;
        return number;
    }
    while (count != 0)
        *state->to++ = digits[--count];
    return number;
}

/* Returns the type of a register, whose name begins behind the %, or -1. Counts the letters of the type. */
static int register_type(const char *name, size_t *letters) {
    static const char types[REGISTER_TYPES][3] = {"fd", "rd", "rs", "f", "p", "r"};
    for (int type = 0; type < REGISTER_TYPES; ++type) {
        *letters = strlen(types[type]);
        if (strncmp(name, types[type], *letters) == 0)
            return type;
    }
    return -1;
}

static void restore_register(restoration *state) {
    size_t letters = 0;
    const int type = register_type(state->from + 1, &letters);
    if (type < 0) {
        copy_text(state, 1);
        return;
    }
    copy_text(state, 1 + letters);
    const char *before = state->from;
    const uint32_t number = restore_number(state, state->registers[type]);
    if (state->from != before && state->is_first) {
        state->registers[type] = number;
        state->is_first = false;
    }
}

static void restore_label(restoration *state) {
    if (strncmp(state->from, LABEL, sizeof LABEL - 1) != 0) {
        copy_text(state, 1);
        return;
    }
    copy_text(state, sizeof LABEL - 1);
    state->function = restore_number(state, state->function);
    if (*state->from == '_') {
        copy_text(state, 1);
        state->block = restore_number(state, state->block);
    }
}

static void restore_next(restoration *state, const char *end) {
    switch (*state->from) {
    case '%':
        restore_register(state);
        return;
    case '$':
        restore_label(state);
        return;
    case '\n':
        state->is_first = true;
        copy_text(state, 1);
        break;
    default:
        break;
    }
    size_t bytes = 0;
    for (const char *at = state->from; at != end && *at != '%' && *at != '$' && *at != '\n'; ++at)
        ++bytes;
    copy_text(state, bytes);
}

gr_restore_result gr_restore_registers(const char *text, size_t size, char **ptx, size_t *ptx_size) {
    enum { MAX_RATIO = 16 }; /* a difference has at least two characters, a number at most ten */
    *ptx = NULL;
    const char *at = text + sizeof HEAD - 1;
    uint64_t bytes = 0;
    for (; *at >= '0' && *at <= '9' && bytes <= MAX_RATIO * (uint64_t)size; ++at)
        bytes = 10 * bytes + (uint64_t)(*at - '0');
    if (*at != '\n' || bytes > MAX_RATIO * (uint64_t)size)
        return GR_RESTORE_DAMAGED;
    char *copy = malloc(bytes + 1);
    if (copy == NULL)
        return GR_RESTORE_NO_MEMORY;
    restoration state = {.from = at + 1, .to = copy, .to_end = copy + bytes, .is_first = true};
    while (state.from != text + size && !state.damaged)
        restore_next(&state, text + size);
    if (state.damaged || state.to != state.to_end) {
        free(copy);
        return GR_RESTORE_DAMAGED;
    }
    *state.to = '\0';
    *ptx = copy;
    *ptx_size = bytes;
    return GR_RESTORE_OK;
}

void gr_enable_remarks(char *text) {
    static const char *const remarks[] = {"// griddepcontrol.", "// cvt.rn."};
    static const char target[] = "\n.target sm_75\n", later[] = "\n.target sm_90\n";
    char *const head = strstr(text, target);
    if (head == NULL || strstr(text, remarks[0]) == NULL)
        return;
    memcpy(head, later, sizeof later - 1);
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; ++i)
        for (char *at = text; (at = strstr(at, remarks[i])) != NULL;)
            memset(at, ' ', 2);
}

static char *append(char *to, const char *from, const char *end) {
    const size_t bytes = (size_t)(end - from);
    memcpy(to, from, bytes);
    return to + bytes;
}

/* Returns the end of the block that begins at the first brace from `at` on, without braces in comments. */
static const char *block_end(const char *at, const char *text_end) {
    int depth = 0;
    while ((at = strpbrk(at, "{}/")) != NULL) {
        if (at[0] == '/' && at[1] == '/')
            at += strcspn(at, "\n");
        else if (*at++ == '{')
            ++depth;
        else if (at[-1] == '}' && --depth <= 0)
            return at;
    }
    return text_end;
}

char *gr_extract_kernel(const char *text, size_t size, const char *entry) {
    static const char begin[] = "\n.visible .entry ";
    const size_t length = strlen(entry);
    const char *from = text, *const text_end = text + size;
    char *copy = malloc(size + 1), *to = copy;
    if (copy == NULL)
        return NULL;
    for (const char *at = strstr(from, begin); at != NULL; at = strstr(from, begin)) {
        const char *name = at + sizeof begin - 1, *next = block_end(name, text_end);
        const bool wanted = strncmp(name, entry, length) == 0 && name[length] == '(';
        to = append(to, from, wanted ? next : at);
        from = next;
    }
    *append(to, from, text_end) = '\0';
    return copy;
}
