/* Parses source positions, including those of inlined calls. */
#include "parser/grammar.h"

#include <string.h>

#include "parser/cursor.h"
#include "reserve.h"

bool ptx_parse_file(ptx_parser *p) {
    uint64_t index = 0;
    unsigned line = p->token.line;
    ptx_advance(p);
    if (!ptx_parse_count(p, UINT32_MAX, &index, "the file index"))
        return false;
    if (p->token.kind != PTX_TOKEN_STRING)
        return ptx_syntax(p, &p->token, "expected the name of a file");
    ptx_module *m = p->module;
    if (!ptx_reserve(&m->files, &m->file_capacity, m->file_count, sizeof *m->files))
        return ptx_out_of_memory(p);
    char *name = strndup(p->token.start, p->token.length);
    if (!name)
        return ptx_out_of_memory(p);
    m->files[m->file_count++] = (ptx_source_file){.index = (uint32_t)index, .name = name};
    while (p->token.kind != PTX_TOKEN_END && p->token.line == line)
        ptx_advance(p);
    return true;
}

/* The location of the inlined call: reuses one of the last NEAR locations, or adds it. */
static bool find_caller(ptx_parser *p, ptx_location position, uint32_t *caller) {
    enum { NEAR = 64 };
    ptx_module *m = p->module;
    for (size_t i = m->location_count; i-- > 0 && m->location_count - i <= NEAR;) {
        const ptx_location *l = &m->locations[i];
        if (l->file == position.file && l->line == position.line && l->column == position.column) {
            *caller = (uint32_t)i + 1;
            return true;
        }
    }
    if (!ptx_reserve(&m->locations, &m->location_capacity, m->location_count, sizeof *m->locations))
        return ptx_out_of_memory(p);
    m->locations[m->location_count++] = position;
    *caller = (uint32_t)m->location_count;
    return true;
}

static bool parse_position(ptx_parser *p, ptx_location *position) {
    uint64_t file, line, column;
    if (!ptx_parse_count(p, UINT32_MAX, &file, "the file index") ||
        !ptx_parse_count(p, UINT32_MAX, &line, "the source line") ||
        !ptx_parse_count(p, UINT32_MAX, &column, "the column"))
        return false;
    *position = (ptx_location){.file = (uint32_t)file, .line = (uint32_t)line, .column = (uint32_t)column};
    return true;
}

/* .loc file line column [, function_name label [+ offset], inlined_at file line column] */
bool ptx_parse_location(ptx_parser *p) {
    ptx_module *m = p->module;
    ptx_location position, caller;
    unsigned written = p->token.line;
    if (!parse_position(p, &position))
        return false;
    while (p->token.kind != PTX_TOKEN_END && p->token.line == written && !ptx_at(p, "inlined_at"))
        ptx_advance(p);
    if (p->token.line == written && ptx_accept(p, "inlined_at") &&
        (!parse_position(p, &caller) || !find_caller(p, caller, &position.caller)))
        return false;
    if (position.line == 0) /* code without a source line; the previous location is more useful */
        return true;
    if (!ptx_reserve(&m->locations, &m->location_capacity, m->location_count, sizeof *m->locations))
        return ptx_out_of_memory(p);
    m->locations[m->location_count++] = position;
    p->location = (uint32_t)m->location_count;
    return true;
}
