/* Handlers of vprintf and __assertfail, functions of the CUDA runtime. A call is one instruction; its
   operands are the addresses of the call's .param variables in the thread's local memory. */
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "interpreter/address.h"
#include "interpreter/exec.h"
#include "interpreter/fault.h"
#include "interpreter/output.h"
#include "reserve.h"

enum {
    MAX_ARGUMENTS = 32, /* CUDA's limit; further conversions are printed literally */
    MAX_FIELD = 1 << 20 /* maximal width or precision, in characters */
};

/* The state of one lane's call. */
typedef struct printing {
    ptx_warp *w;
    const ptx_instr *in;
    unsigned lane;
    u64 arguments, offset; /* generic address of the arguments, 0 if none, and the offset of the next one */
    unsigned count;        /* arguments read so far */
} printing;

/* A parsed conversion specification. */
typedef struct conversion {
    const char *text;
    size_t length;
    char flags[6];
    int width, precision; /* precision -1: none */
    unsigned stars;       /* arguments that specify the width or the precision */
    unsigned bytes;       /* size of an integer argument: 1, 2, 4 or 8 */
    char type;            /* conversion character; 0: not one of CUDA's */
} conversion;

static ptx_status read_param(ptx_warp *w, const ptx_instr *in, unsigned operand, unsigned lane,
                             unsigned bytes, u64 *value) {
    uint8_t *from = NULL;
    const u64 address = ptx_further_address(w, in, operand, lane);
    ptx_status status = ptx_locate(w, in, lane, PTX_SPACE_LOCAL, address, bytes, bytes, &from);
    *value = 0;
    if (status == PTX_OK)
        memcpy(value, from, bytes);
    return status;
}

/* Reads a string up to its NUL, at most `max_length` characters. The caller frees it. */
static ptx_status read_string(ptx_warp *w, const ptx_instr *in, unsigned lane, u64 address, size_t max_length,
                              char **out) {
    char *text = NULL;
    size_t length = 0, capacity = 0;
    ptx_status status = PTX_OK;
    for (bool more = true; more && status == PTX_OK; length++) {
        uint8_t *from = NULL;
        if (!ptx_reserve(&text, &capacity, length, 1))
            status = ptx_fault(w, in, (int)lane, PTX_ERR_MEMORY, "out of memory for a string");
        else if (length < max_length)
            status = ptx_locate(w, in, lane, PTX_SPACE_GENERIC, address + length, 1, 1, &from);
        if (status == PTX_OK)
            text[length] = from ? (char)*from : '\0';
        more = status == PTX_OK && text[length] != '\0';
    }
    *out = text;
    return status;
}

/* Reads the next argument, aligned to its size. */
static ptx_status read_argument(printing *p, unsigned bytes, u64 *value) {
    uint8_t *from = NULL;
    *value = 0;
    if (!p->arguments)
        return ptx_fault(p->w, p->in, (int)p->lane, PTX_ERR_ADDRESS,
                         "printf: the format has a conversion, but no argument is passed");
    p->offset = (p->offset + bytes - 1) / bytes * bytes;
    ptx_status status =
        ptx_locate(p->w, p->in, p->lane, PTX_SPACE_GENERIC, p->arguments + p->offset, bytes, bytes, &from);
    if (status != PTX_OK)
        return status;
    memcpy(value, from, bytes);
    p->offset += bytes;
    p->count++;
    return PTX_OK;
}

/* ---- conversion specifications ---- */

static bool accept(const char **at, char c) {
    const bool there = **at == c;
    *at += there;
    return there;
}

static int parse_number(const char **at) {
    int number = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        number = number < MAX_FIELD ? number * 10 + (**at - '0') : MAX_FIELD;
    return number < MAX_FIELD ? number : MAX_FIELD;
}

static unsigned parse_size(const char **at) {
    if (accept(at, 'h'))
        return accept(at, 'h') ? 1 : 2;
    if (accept(at, 'l')) {
        (void)accept(at, 'l');
        return 8;
    }
    return 4;
}

/* `text` starts with a '%'. INT_MIN as the width or precision means that an argument specifies it. */
static conversion parse_conversion(const char *text) {
    conversion c = {.text = text, .precision = -1};
    const char *at = text + 1;
    size_t flags = 0;
    for (; *at && strchr("-+ #0", *at); at++)
        if (!strchr(c.flags, *at))
            c.flags[flags++] = *at;
    c.width = accept(&at, '*') ? INT_MIN : parse_number(&at);
    if (accept(&at, '.'))
        c.precision = accept(&at, '*') ? INT_MIN : parse_number(&at);
    c.stars = (c.width == INT_MIN ? 1u : 0u) + (c.precision == INT_MIN ? 1u : 0u);
    c.bytes = parse_size(&at);
    if (*at && strchr("diouxXcsfFeEgGaAp%", *at))
        c.type = *at++;
    c.length = (size_t)(at - text);
    return c;
}

static ptx_status read_star(printing *p, int *number) {
    u64 value;
    if (*number != INT_MIN)
        return PTX_OK;
    ptx_status status = read_argument(p, 4, &value);
    const int64_t asked = (int32_t)value;
    *number = (int)(asked > MAX_FIELD ? MAX_FIELD : asked < -MAX_FIELD ? -MAX_FIELD : asked);
    return status;
}

/* ---- output ---- */

static ptx_status print_text(const printing *p, const char *text, size_t length) {
    return ptx_output_append(p->w, p->in, p->lane, text, length);
}

static int64_t sign_extended(u64 value, unsigned bytes) {
    const unsigned shift = 64 - 8 * bytes;
    return (int64_t)(value << shift) >> shift;
}

/* snprintf of one conversion; width and precision are passed as arguments. */
static int write_conversion(char *to, size_t size, const conversion *c, u64 value, const char *string) {
    char format[16];
    const bool integer = strchr("diouxX", c->type) != NULL;
    const char type[2] = {c->type, '\0'};
    snprintf(format, sizeof format, "%%%s*%s%s%s", c->flags, c->type == 'c' || c->type == 'p' ? "" : ".*",
             integer ? "ll" : "", type);
    if (c->type == 's')
        return snprintf(to, size, format, c->width, c->precision, string);
    if (c->type == 'c')
        return snprintf(to, size, format, c->width, (int)value);
    if (c->type == 'p')
        return snprintf(to, size, format, c->width, (void *)(uintptr_t)value);
    if (c->type == 'd' || c->type == 'i')
        return snprintf(to, size, format, c->width, c->precision, (long long)sign_extended(value, c->bytes));
    if (integer)
        return snprintf(to, size, format, c->width, c->precision,
                        (unsigned long long)(value << (64 - 8 * c->bytes) >> (64 - 8 * c->bytes)));
    return snprintf(to, size, format, c->width, c->precision, ptx_f64_of(value));
}

static ptx_status print_value(const printing *p, const conversion *c, u64 value, const char *string) {
    char brief[128], *text = brief;
    const int length = write_conversion(brief, sizeof brief, c, value, string);
    if (length >= (int)sizeof brief) {
        text = malloc((size_t)length + 1);
        if (!text)
            return ptx_fault(p->w, p->in, (int)p->lane, PTX_ERR_MEMORY,
                             "out of memory for the text that is printed");
        write_conversion(text, (size_t)length + 1, c, value, string);
    }
    ptx_status status = length > 0 ? print_text(p, text, (size_t)length) : PTX_OK;
    if (text != brief)
        free(text);
    return status;
}

static ptx_status print_conversion(printing *p, conversion *c) {
    if (c->type == '%' && c->length == 2)
        return print_text(p, "%", 1);
    if (!c->type || c->type == '%' || p->count + c->stars + 1 > MAX_ARGUMENTS)
        return print_text(p, c->text, c->length);
    u64 value = 0;
    char *string = NULL;
    ptx_status status = read_star(p, &c->width);
    if (status == PTX_OK)
        status = read_star(p, &c->precision);
    const bool small = strchr("diouxXc", c->type) && (c->bytes < 8 || c->type == 'c');
    if (status == PTX_OK)
        status = read_argument(p, small ? 4 : 8, &value);
    if (status == PTX_OK && c->type == 's')
        status = value ? read_string(p->w, p->in, p->lane, value,
                                     c->precision < 0 ? SIZE_MAX : (size_t)c->precision, &string)
                       : PTX_OK;
    if (status == PTX_OK)
        status = print_value(p, c, value, string ? string : "(null)");
    free(string);
    return status;
}

static ptx_status print_format(printing *p, const char *format) {
    ptx_status status = PTX_OK;
    while (*format && status == PTX_OK) {
        const size_t plain = strcspn(format, "%");
        if (plain) {
            status = print_text(p, format, plain);
            format += plain;
            continue;
        }
        conversion c = parse_conversion(format);
        status = print_conversion(p, &c);
        format += c.length;
    }
    return status;
}

/* ---- the instructions ---- */

/* The call of one lane. *result is as documented by CUDA: the number of arguments, or -1 without a format. */
static ptx_status print_lane(ptx_warp *w, const ptx_instr *in, unsigned lane, unsigned first, u32 *result) {
    printing p = {.w = w, .in = in, .lane = lane};
    u64 address = 0;
    char *format = NULL;
    ptx_status status = read_param(w, in, first, lane, 8, &address);
    if (status == PTX_OK)
        status = read_param(w, in, first + 2, lane, 8, &p.arguments);
    *result = UINT32_MAX;
    if (status != PTX_OK || !address)
        return status;
    status = read_string(w, in, lane, address, SIZE_MAX, &format);
    if (status == PTX_OK)
        status = print_format(&p, format);
    free(format);
    *result = p.count;
    return status;
}

/* Numbers are formatted in the C locale. */
PTX_HANDLER(vprintf) {
    const unsigned results = in->operand_count == 6 ? 2 : 0;
    if (!w->worker->run->config->print)
        return ptx_fault(w, in, -1, PTX_ERR_UNSUPPORTED, "this launch has nowhere to print to");
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return ptx_fault(w, in, -1, PTX_ERR_MEMORY, "out of memory for a locale");
    const locale_t before = uselocale(plain);
    ptx_status status = PTX_OK;
    for (uint32_t left = mask; left && status == PTX_OK; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        u32 result;
        uint8_t *to = NULL;
        status = print_lane(w, in, lane, results, &result);
        if (status == PTX_OK && results)
            status = ptx_locate(w, in, lane, PTX_SPACE_LOCAL, ptx_further_address(w, in, 0, lane), 4, 4, &to);
        if (to)
            memcpy(to, &result, sizeof result);
    }
    uselocale(before);
    freelocale(plain);
    return status;
}

/* Reads a string for an error message, at most BRIEF characters; "" if the pointer is null. */
static ptx_status read_brief(ptx_warp *w, const ptx_instr *in, unsigned lane, unsigned operand, char **out) {
    enum { BRIEF = 150 };
    u64 address;
    ptx_status status = read_param(w, in, operand, lane, 8, &address);
    if (status == PTX_OK)
        status = read_string(w, in, lane, address, address ? BRIEF : 0, out);
    return status;
}

/* __assertfail(expression, file, line, function, bytes per character) */
PTX_HANDLER(assertfail) {
    const unsigned lane = (unsigned)__builtin_ctz(mask);
    char *expression = NULL, *file = NULL, *function = NULL;
    u64 line = 0;
    ptx_status status = read_brief(w, in, lane, 0, &expression);
    if (status == PTX_OK)
        status = read_brief(w, in, lane, 2, &file);
    if (status == PTX_OK)
        status = read_param(w, in, 4, lane, 4, &line);
    if (status == PTX_OK)
        status = read_brief(w, in, lane, 6, &function);
    if (status == PTX_OK)
        status = ptx_fault(w, in, (int)lane, PTX_ERR_ASSERT, "%s:%u: %s: assertion '%s' failed", file,
                           (unsigned)line, function, expression);
    free(expression);
    free(file);
    free(function);
    return status;
}
