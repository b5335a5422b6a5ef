/* Implements ptx_text.h. */
#include "device/ptx_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void gr_enable_remarks(char *text) {
    static const char remark[] = "// griddepcontrol.", target[] = "\n.target sm_75\n",
                      later[] = "\n.target sm_90\n";
    char *at = strstr(text, remark), *const head = strstr(text, target);
    if (at == NULL || head == NULL)
        return;
    memcpy(head, later, sizeof later - 1);
    for (; at != NULL; at = strstr(at, remark))
        memset(at, ' ', 2);
}

static char *append(char *to, const char *from, const char *end) {
    const size_t bytes = (size_t)(end - from);
    memcpy(to, from, bytes);
    return to + bytes;
}

char *gr_extract_kernel(const char *text, size_t size, const char *entry) {
    static const char begin[] = "\n.visible .entry ", end[] = "\n}\n";
    const size_t length = strlen(entry);
    const char *from = text, *const text_end = text + size;
    char *copy = malloc(size + 1), *to = copy;
    if (copy == NULL)
        return NULL;
    for (const char *at = strstr(from, begin); at != NULL; at = strstr(from, begin)) {
        const char *name = at + sizeof begin - 1, *last = strstr(name, end);
        const bool wanted = strncmp(name, entry, length) == 0 && name[length] == '(';
        const char *next = last != NULL ? last + sizeof end - 2 : text_end; /* at the line's end */
        to = append(to, from, wanted ? next : at);
        from = next;
    }
    *append(to, from, text_end) = '\0';
    return copy;
}
