/* Implements slots.h. */
#include "parser/slots.h"

#include <string.h>

#include "parser/cursor.h"
#include "reserve.h"

enum { MAX_REGISTER_BYTES = 4 << 20 };

bool ptx_new_slot(ptx_parser *p, unsigned bytes, uint32_t *slot) {
    ptx_kernel *kernel = p->kernel;
    uint32_t size = bytes > 4 ? PTX_LANES * bytes : PTX_LANES * 4;
    if (kernel->register_bytes + kernel->constant_bytes + size > MAX_REGISTER_BYTES)
        return ptx_unsupported(p, &p->token, "the kernel uses too many registers");
    *slot = kernel->register_bytes;
    kernel->register_bytes += size;
    return true;
}

bool ptx_constant_slot(ptx_parser *p, ptx_constant_kind kind, uint64_t value, unsigned bytes, uint32_t *op) {
    ptx_kernel *kernel = p->kernel;
    if (bytes == 4 && kind == PTX_CONSTANT_VALUE)
        value = (uint32_t)value;
    const uint32_t hash = ptx_hash(&value, sizeof value, 2 * (uint32_t)kind + (bytes == 8));
    uint32_t known = PTX_NO_ENTRY;
    while ((known = ptx_index_find(&p->constant_index, hash, known)) != PTX_NO_ENTRY) {
        const ptx_constant *c = &kernel->constants[known];
        if (c->kind == kind && c->value == value && c->bytes == bytes) {
            *op = PTX_CONSTANT | c->offset;
            return true;
        }
    }
    if (!ptx_reserve(&kernel->constants, &kernel->constant_capacity, kernel->constant_count,
                     sizeof *kernel->constants))
        return ptx_out_of_memory(p);
    if (kernel->register_bytes + kernel->constant_bytes + 256 > MAX_REGISTER_BYTES)
        return ptx_unsupported(p, &p->token, "the kernel uses too many constants");
    if (!ptx_index_add(&p->constant_index, hash))
        return ptx_out_of_memory(p);
    ptx_constant added = {.kind = kind, .value = value, .bytes = bytes, .offset = kernel->constant_bytes};
    kernel->constants[kernel->constant_count++] = added;
    kernel->constant_bytes += PTX_LANES * bytes;
    *op = PTX_CONSTANT | added.offset;
    return true;
}

/* The newest declaration of `name`, or of a numbered range with that prefix that includes the number. */
static uint32_t find_declared(const ptx_parser *p, const char *name, size_t length, bool numbered,
                              uint32_t number) {
    const uint32_t hash = ptx_hash(name, length, numbered);
    uint32_t i = PTX_NO_ENTRY;
    while ((i = ptx_index_find(&p->register_index, hash, i)) != PTX_NO_ENTRY)
        if (p->registers[i].numbered == numbered && p->registers[i].length == length &&
            number < p->registers[i].count && memcmp(p->registers[i].name, name, length) == 0)
            return i;
    return PTX_NO_ENTRY;
}

ptx_registers *ptx_find_register(ptx_parser *p, const ptx_token *name, uint32_t *number) {
    enum { MAX_DIGITS = 7 };
    uint32_t found = find_declared(p, name->start, name->length, false, 0);
    uint32_t value = 0, power_of_ten = 1;
    *number = 0;
    for (size_t digits = 1; digits <= MAX_DIGITS && digits <= name->length; digits++, power_of_ten *= 10) {
        const char *first = name->start + name->length - digits;
        if (*first < '0' || *first > '9')
            break;
        value += power_of_ten * (uint32_t)(*first - '0');
        if (*first == '0' && digits > 1)
            continue;
        const uint32_t i = find_declared(p, name->start, name->length - digits, true, value);
        if (i == PTX_NO_ENTRY || (found != PTX_NO_ENTRY && i < found))
            continue;
        found = i;
        *number = value;
    }
    return found == PTX_NO_ENTRY ? NULL : &p->registers[found];
}

bool ptx_register_slot(ptx_parser *p, ptx_registers *r, uint32_t number, uint32_t *op) {
    uint32_t *slot = &r->slots[number];
    if (*slot == 0) {
        uint32_t fresh = 0;
        if (r->type == PTX_TYPE_PRED)
            fresh = p->kernel->predicate_count++;
        else if (!ptx_new_slot(p, r->type == PTX_TYPE_B128 ? 16 : ptx_type_bytes(r->type), &fresh))
            return false;
        *slot = fresh + 1;
    }
    *op = *slot - 1;
    return true;
}
