"""The traps of exact sums: carries, folds, the one rounding, signs, infinities and NaNs, and handing over."""

from mutants import INCLUDE, Mutant

STATE = "csrc/exact/params.h"
HANDED, PLAN = "csrc/exact/state.c", "csrc/exact/plan.c"
BINS = INCLUDE + "exact_bins.cuh"
BLOCK = INCLUDE + "exact_block.cuh"
PRODUCTS = INCLUDE + "exact_products.cuh"
SUM = INCLUDE + "exact_sum.cuh"
EACH = INCLUDE + "exact_each.cuh"
JOIN = INCLUDE + "exact_join.cuh"


def state(words=""):
    return ("tests/test_exact_state.py", *(("-k", words) if words else ()))


def parts(words):
    return ("tests/test_states.py", "-k", words)


def sums(words="any_floats"):
    return ("tests/test_exact.py", "-k", words)


MUTANTS = (
    # The state, in C
    Mutant("a carry is dropped", STATE, "digit[i] + carry;", "digit[i];", state()),
    Mutant("a carry has no sign", STATE, "carry = sum >> 32;", "carry = sum >> 32 & 0xffffffff;", state()),
    Mutant("the last carry is dropped", STATE, "    digit[count - 1] += carry;\n", "", state()),
    Mutant("ties go up", STATE, " || (kept & 1) != 0)", " || true)", state("rounding")),
    Mutant("ties go down", STATE, " || (kept & 1) != 0)", ")", state("rounding")),
    Mutant(
        "the sticky bit forgets the digits below",
        STATE,
        " || (count > 3 && gr_exact_any(digit, count - 3))",
        "",
        state("rounding"),
    ),
    Mutant(
        "the sticky bit forgets the rest of a digit",
        STATE,
        "(low << shift & 0xffffffff) != 0 || ",
        "",
        state("rounding"),
    ),
    Mutant(
        "a quotient forgets its remainder",
        STATE,
        "bool rest = remainder != 0;",
        "bool rest = false;",
        state("rounding"),
    ),
    Mutant("subnormal results are normal", STATE, "    if (unit < least)\n", "    if (false)\n", state()),
    Mutant("a sum is never negative", STATE, "| (negative ? sign : 0)", "", state()),
    Mutant(
        "the sum of nothing but -0 is 0",
        STATE,
        "return flags & GR_EXACT_OTHER ? 0 : sign;",
        "return 0;",
        state("flags"),
    ),
    Mutant("NaN is infinity", STATE, "fraction != 0 ? GR_EXACT_NAN : ", "", state("flags")),
    Mutant(
        "inf - inf is infinity",
        STATE,
        " || infinities == (GR_EXACT_INFINITY | GR_EXACT_MINUS_INFINITY)",
        "",
        state("flags"),
    ),
    Mutant(
        "a bin of float32 is folded too late",
        STATE,
        "GR_EXACT_NARROW_FOLD = 8192",
        "GR_EXACT_NARROW_FOLD = 65536",
        sums("bin_is_folded"),
    ),
    Mutant(
        "a bin of float64 is folded too late",
        STATE,
        "GR_EXACT_WIDE_FOLD = 2048",
        "GR_EXACT_WIDE_FOLD = 16384",
        sums("pair_is_folded"),
    ),
    # States that are handed out
    Mutant(
        "a state keeps its paint",
        HANDED,
        "words[k] = (int64_t)((uint64_t)words[k] - paint);",
        "words[k] += 0;",
        parts("bytes_there"),
    ),
    Mutant(
        "a block alone keeps its state",
        PLAN,
        "self->states && !each && few < 2 ? 2",
        "false ? 2",
        parts("any_parts"),
    ),
    Mutant("squares are of the other vector", PLAN, " && !self->squares;", ";", parts("any_parts")),
    Mutant(
        "flags are not joined", HANDED, "= one[flags] | other[flags];", "= one[flags];", parts("infinities")
    ),
    Mutant(
        "a sum beyond a state is taken",
        HANDED,
        "        if (!is_good(sum, size))\n            return false;\n",
        "",
        parts("beyond"),
    ),
    Mutant(
        "a thread forgets what it folded",
        INCLUDE + "exact_states.cuh",
        "whole[i] += state[i];",
        "whole[i] += 0;",
        parts("many_results"),
    ),
    # The kernels
    Mutant("a bin is not emptied", BINS, "        place = -0.0;\n", "", sums()),
    Mutant(
        "a pair forgets what its sums left out",
        BINS,
        " + __double2ll_rn(pair.y * first * second)",
        "",
        sums(),
    ),
    Mutant("sums of the largest overflow", BINS, "power_of_two(-64) : 1.0", "1.0 : 1.0", sums()),
    Mutant(
        "infinities spoil a pair",
        BINS,
        "flags_of(pair.x);",
        "flags_of(pair.x) | flags_of(pair.y);",
        sums("specials"),
    ),
    Mutant(
        "a bin of NaN is a number",
        BINS,
        "bits << 12 != 0 ? GR_EXACT_NAN",
        "false ? GR_EXACT_NAN",
        sums("specials"),
    ),
    Mutant("a piece is lost", BLOCK, "i < 3; ++i)", "i < 2; ++i)", sums()),
    Mutant(
        "folds do not wait for all threads",
        SUM,
        "    mine.settle();\n    __syncthreads();\n",
        "    mine.settle();\n",
        sums("races"),
    ),
    Mutant("the count of additions is not", SUM, "added += more * Bins::each;", "", sums("bin_is_folded")),
    Mutant("a thread keeps the state of its last result", EACH, "state[i] = 0;", ";", sums("many_results")),
    Mutant("a state is left behind", JOIN, "atomicExch(", "atomicOr(", sums("races")),
    Mutant(
        "flags of other blocks are lost",
        JOIN,
        "        join_flags(whole + flags, static_cast<uint32_t>(state[flags]));\n",
        "",
        sums("specials"),
    ),
    Mutant(
        "a mean under a mask divides by all", SUM, "p.flags & GR_EXACT_MASKED ? counted : ", "", sums("means")
    ),
    Mutant(
        "products lose their error",
        PRODUCTS,
        "        if (!whole)\n",
        "        if (false)\n",
        sums("products"),
    ),
    Mutant(
        "products that underflow are rounded",
        PRODUCTS,
        "1023 + 110",
        "1023 - 1023",
        sums("products"),
    ),
    Mutant(
        "products that overflow are infinite",
        PRODUCTS,
        "1023 + 2040",
        "1023 + 4000",
        sums("products"),
    ),
    Mutant(
        "the sign of a complex product",
        SUM,
        "if (part == 1 && component == 0)",
        "if (part == 1)",
        sums("results_go"),
    ),
)
