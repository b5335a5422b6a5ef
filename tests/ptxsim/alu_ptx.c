/* Composes the text of a kernel that executes one instruction per thread. */
#include "alu_ptx.h"

#include <stdio.h>
#include <string.h>

static void add(char *text, size_t size, const char *part) {
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", part);
}

static void load_source(char *text, size_t size, char letter, unsigned index) {
    char line[160];
    snprintf(line, sizeof line, "ld.global.b64 %%t, [%%from+%u];\n", 8 * index);
    add(text, size, line);
    if (letter == 'p')
        snprintf(line, sizeof line, "setp.ne.s64 %%p%u, %%t, 0;\n", index + 1);
    else if (letter == 'l')
        snprintf(line, sizeof line, "mov.b64 %%l%u, %%t;\n", index + 1);
    else
        snprintf(line, sizeof line, "cvt.u%s.u64 %%%c%u, %%t;\n", letter == 'h' ? "16" : "32", letter,
                 index + 1);
    add(text, size, line);
}

void alu_ptx(char *text, size_t size, const char *op, const char *shape, const char *extra) {
    char line[200];
    *text = '\0';
    add(text, size,
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .pred %p<6>;\n.reg .b16 %h<6>;\n.reg .b32 %w<6>;\n.reg .b64 %l<6>;\n"
        ".reg .b64 %from, %to, %t;\n.reg .b32 %index;\n"
        "ld.param.u64 %from, [in];\nld.param.u64 %to, [out];\n"
        "mov.u32 %w1, %ctaid.x;\nmov.u32 %w2, %ntid.x;\nmov.u32 %w3, %tid.x;\n"
        "mad.lo.u32 %index, %w1, %w2, %w3;\n"
        "mad.wide.u32 %from, %index, 32, %from;\nmad.wide.u32 %to, %index, 8, %to;\n");
    for (unsigned i = 1; shape[i]; i++)
        load_source(text, size, shape[i], i - 1);
    snprintf(line, sizeof line, "%s %%%c0", op, shape[0]);
    add(text, size, line);
    for (unsigned i = 1; shape[i]; i++) {
        snprintf(line, sizeof line, ", %%%c%u", shape[i], i);
        add(text, size, line);
    }
    snprintf(line, sizeof line, "%s;\n", extra);
    add(text, size, line);
    if (shape[0] == 'p')
        add(text, size, "selp.u64 %t, 1, 0, %p0;\n");
    else if (shape[0] == 'l')
        add(text, size, "mov.b64 %t, %l0;\n");
    else
        add(text, size, shape[0] == 'h' ? "cvt.u64.u16 %t, %h0;\n" : "cvt.u64.u32 %t, %w0;\n");
    add(text, size, "st.global.b64 [%to], %t;\nret;\n}\n");
}
