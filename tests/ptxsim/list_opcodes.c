/* Generates the list of instructions in docs/reference/simulator-ptx.md from opcodes.def and unsupported.def.
   Usage: list_opcodes FILE writes it between the marks of the file; list_opcodes --check FILE only checks
   that it is up to date. */
#include <stdlib.h>

#include "check.h"
#include "parser/opcodes.h"

enum { MOST_ROWS = 2000, MOST_PARTS = 24, TEXT = 1 << 18 };

static const char begin_mark[] = "<!-- instructions: make -C tests/ptxsim list -->\n",
                  end_mark[] = "<!-- end -->\n";

/* The parts of a pattern as written in opcodes.def. */
typedef struct form {
    unsigned count;
    char part[MOST_PARTS][400];
} form;

static form forms[MOST_ROWS];
static size_t form_count;
static char text[TEXT];
static size_t length;

static void add(const char *what) {
    length += (size_t)snprintf(text + length, sizeof text - length, "%s", what);
}

static form split(const char *pattern) {
    form f = {.count = 0};
    while (*pattern && f.count < MOST_PARTS) {
        const size_t part = strcspn(pattern, ".");
        snprintf(f.part[f.count++], sizeof f.part[0], "%.*s", (int)part, pattern);
        pattern += part + (pattern[part] == '.');
    }
    return f;
}

/* Whether one of the alternatives of `all` equals `one`. */
static int has_choice(const char *all, const char *one, size_t one_length) {
    for (; *all; all += strcspn(all, "|"), all += *all == '|')
        if (strcspn(all, "|") == one_length && memcmp(all, one, one_length) == 0)
            return 1;
    return 0;
}

/* Merges forms that differ in a single part, such as the type, into one form with more alternatives. */
static int join(form *to, const form *from) {
    unsigned differs = 0, at = 0;
    if (to->count != from->count)
        return 0;
    for (unsigned i = 0; i < to->count; i++)
        if (strcmp(to->part[i], from->part[i]) != 0) {
            differs++;
            at = i;
        }
    if (differs == 0)
        return 1;
    if (differs > 1 || at == 0 || *to->part[at] == '?' || *from->part[at] == '?')
        return 0;
    for (const char *choice = from->part[at]; *choice; choice += *choice == '|') {
        const size_t size = strcspn(choice, "|");
        char *all = to->part[at];
        if (!has_choice(all, choice, size) && strlen(all) + size + 2 < sizeof to->part[0])
            sprintf(all + strlen(all), "|%.*s", (int)size, choice);
        choice += size;
    }
    return 1;
}

static void collect(void) {
    const ptx_opcode_row *row;
    for (size_t i = 0; (row = ptx_opcode_row_at(i)) && form_count < MOST_ROWS; i++) {
        const form f = split(row->pattern);
        size_t k = 0;
        while (k < form_count && !(strcmp(forms[k].part[0], f.part[0]) == 0 && join(&forms[k], &f)))
            k++;
        if (k == form_count)
            forms[form_count++] = f;
    }
}

/* As in opcodes.def, with braces around optional parts. */
static void add_form(const form *f) {
    add("`");
    for (unsigned i = 0; i < f->count; i++) {
        const int optional = *f->part[i] == '?';
        add(optional ? "{" : "");
        add(i ? "." : "");
        add(f->part[i] + optional);
        add(optional ? "}" : "");
    }
    add("`");
}

/* Instructions with the same first part are on one line, in the order of the table. */
static void list_forms(void) {
    static char done[MOST_ROWS];
    for (size_t i = 0; i < form_count; i++) {
        const char *before = "- ";
        for (size_t k = i; k < form_count; k++) {
            if (done[k] || strcmp(forms[k].part[0], forms[i].part[0]) != 0)
                continue;
            add(before);
            add_form(&forms[k]);
            before = ", ";
            done[k] = 1;
        }
        add(*before == ',' ? "\n" : "");
    }
}

static void list_unsupported(void) {
    const ptx_unsupported_row *row;
    add("\n## Unsupported instructions\n\nOpcodes that begin with, or contain, these parts raise an error "
        "that names the reason:\n\n");
    for (size_t i = 0; (row = ptx_unsupported_at(i)); i++) {
        size_t first = 0;
        while (strcmp(ptx_unsupported_at(first)->what, row->what) != 0)
            first++;
        if (first < i)
            continue;
        add("- ");
        add(row->what);
        add(": ");
        const ptx_unsupported_row *other;
        for (size_t k = i; (other = ptx_unsupported_at(k)); k++) {
            char one[120];
            if (strcmp(other->what, row->what) != 0)
                continue;
            snprintf(one, sizeof one, "%s`%s%s`", k == i ? "" : ", ", other->part ? "." : "",
                     other->part ? other->part : other->start);
            add(one);
        }
        add("\n");
    }
}

static char *read_all(const char *path) {
    FILE *file = fopen(path, "rb");
    char *all = calloc(1, TEXT);
    if (!file || !all || !fread(all, 1, TEXT - 1, file)) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    fclose(file);
    return all;
}

int main(int count, char **arguments) {
    const int check = count == 3 && strcmp(arguments[1], "--check") == 0;
    const char *path = arguments[count - 1];
    if (count != 2 + check) {
        fprintf(stderr, "usage: list_opcodes [--check] FILE\n");
        return 2;
    }
    collect();
    list_forms();
    list_unsupported();
    CHECK(form_count < MOST_ROWS && length < sizeof text - 1);
    char *page = read_all(path), *begin = strstr(page, begin_mark),
         *end = begin ? strstr(begin, end_mark) : NULL;
    CHECK(begin && end);
    if (begin && end) {
        begin += strlen(begin_mark);
        const int same = (size_t)(end - begin) == length && memcmp(begin, text, length) == 0;
        if (check)
            check_report(same, path, 0, "is not what the tables say; make -C tests/ptxsim list");
        FILE *file = check || same ? NULL : fopen(path, "wb");
        if (file) {
            fprintf(file, "%.*s%s%s", (int)(begin - page), page, text, end);
            CHECK(fclose(file) == 0);
        }
    }
    free(page);
    return finish_checks("list_opcodes");
}
