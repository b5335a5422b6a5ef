/* The names of special registers. */
#include "parser/special.h"

#include "ir.h"

bool ptx_find_clock(const ptx_token *name, unsigned *shift) {
    static const struct {
        const char *name;
        unsigned shift;
    } clocks[] = {{"%clock", 0},       {"%clock64", 0},        {"%clock_hi", 32},
                  {"%globaltimer", 0}, {"%globaltimer_lo", 0}, {"%globaltimer_hi", 32}};
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++)
        if (ptx_token_is(name, clocks[i].name)) {
            *shift = clocks[i].shift;
            return true;
        }
    return false;
}

bool ptx_find_special(const ptx_token *name, uint64_t *which) {
    static const char *const names[PTX_SPECIAL_COUNT] = {
#define SPECIAL(id, name, value) name,
#include "specials.def"
    };
    for (unsigned i = 0; i < PTX_SPECIAL_COUNT; i++)
        if (ptx_token_is(name, names[i])) {
            *which = i;
            return true;
        }
    return false;
}
