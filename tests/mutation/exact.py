"""The traps of exact sums: carries, folds, the one rounding, signs, infinities and NaNs, and handing over."""

from mutants import INCLUDE, Mutant

STATE = "csrc/exact/superaccumulator.h"
PARAMS = "csrc/exact/params.h"
HANDED, PLAN = "csrc/exact/state.c", "csrc/exact/plan.c"
BINS = INCLUDE + "exact/bins.cuh"
BLOCK = INCLUDE + "exact/block.cuh"
SUM = INCLUDE + "exact/sum.cuh"
EACH = INCLUDE + "exact/each.cuh"
FINISH = INCLUDE + "exact/finish.cuh"
WINDOW = INCLUDE + "exact/window.cuh"
SLOTS = INCLUDE + "exact/slots.cuh"
VARIANCE = "csrc/exact/variance.c"
RUNNING = INCLUDE + "exact/running.cuh"


def state(words=""):
    return ("tests/exact/test_exact_state.py", *(("-k", words) if words else ()))


def parts(words):
    return ("tests/states/test_states.py", "-k", words)


def rounding():
    return ("tests/exact/test_exact_statistics.py", "-k", "python_does or any_floats or near_ties")


def running():
    return ("tests/exact/test_exact_scan.py", "-k", "any_floats or many_pieces")


def sums(words="any_floats"):
    return ("tests/exact/test_exact.py", "-k", words)


MUTANTS = (
    # The state, in C
    Mutant("a carry is dropped", STATE, "gr_exact_carry", "digit[i] + carry;", "digit[i];", state()),
    Mutant(
        "a carry has no sign",
        STATE,
        "gr_exact_carry",
        "carry = sum >> 32;",
        "carry = sum >> 32 & 0xffffffff;",
        state(),
    ),
    Mutant(
        "the last carry is dropped", STATE, "gr_exact_carry", "    digit[count - 1] += carry;\n", "", state()
    ),
    Mutant("ties go up", STATE, "gr_exact_round", " || (kept & 1) != 0)", " || true)", state("rounding")),
    Mutant("ties go down", STATE, "gr_exact_round", " || (kept & 1) != 0)", ")", state("rounding")),
    Mutant(
        "the sticky bit forgets the digits below",
        STATE,
        "gr_exact_leading_of_digits",
        " != 0 || more,",
        " != 0,",
        state("rounding"),
    ),
    Mutant(
        "the sticky bit forgets the rest of a digit",
        STATE,
        "gr_exact_leading_of_digits",
        "(low << shift & 0xffffffff) != 0 || ",
        "",
        state("rounding"),
    ),
    Mutant(
        "a quotient by much forgets its remainder",
        STATE,
        "gr_exact_divide_long",
        "remainder != 0 || (word",
        "(word",
        state("rounding"),
    ),
    Mutant(
        "a quotient forgets its remainder",
        STATE,
        "gr_exact_divide_short",
        "low, remainder != 0, (uint32_t)*at",
        "low, false, (uint32_t)*at",
        state("rounding"),
    ),
    Mutant(
        "subnormal results are normal",
        STATE,
        "gr_exact_round",
        "    if (unit < min_unit)\n",
        "    if (false)\n",
        state(),
    ),
    Mutant("a sum is never negative", STATE, "gr_exact_result", "| (negative ? sign : 0)", "", state()),
    Mutant(
        "the sum of nothing but -0 is 0",
        STATE,
        "gr_exact_result",
        "return flags & GR_EXACT_NOT_MINUS_ZERO ? 0 : sign;",
        "return 0;",
        state("flags"),
    ),
    Mutant(
        "NaN is infinity", STATE, "gr_exact_decompose", "fraction != 0 ? GR_EXACT_NAN : ", "", state("flags")
    ),
    Mutant(
        "inf - inf is infinity",
        STATE,
        "gr_exact_special",
        " || infinities == (GR_EXACT_INFINITY | GR_EXACT_MINUS_INFINITY)",
        "",
        state("flags"),
    ),
    Mutant(
        "a bin of float32 is folded too late",
        PARAMS,
        "",
        "GR_EXACT_NARROW_FOLD = 8192",
        "GR_EXACT_NARROW_FOLD = 65536",
        sums("bin_is_folded"),
    ),
    Mutant(
        "a bin of float64 is folded too late",
        PARAMS,
        "",
        "GR_EXACT_WIDE_FOLD = 1024",
        "GR_EXACT_WIDE_FOLD = 16384",
        sums("pair_is_folded"),
    ),
    # States that are handed out
    Mutant(
        "digits are not carried",
        HANDED,
        "gr_exact_states_normalise",
        "words[k] = sum & 0xffffffff;",
        "words[k] = sum;",
        parts("any_parts"),
    ),
    Mutant(
        "flags keep the count of blocks",
        FINISH,
        "put_state",
        "i == Words - 1 ? state[i] & 0xffffffff : state[i]",
        "state[i]",
        parts("many_blocks"),
    ),
    Mutant(
        "a warp hands over what its lanes reach",
        FINISH,
        "put_state",
        "for (unsigned i = threadIdx.x; i < Words; i += 32)",
        "if (unsigned i = threadIdx.x; i < Words)",
        parts("any_parts"),
    ),
    Mutant(
        "a result replaces a state",
        WINDOW,
        "is_plain",
        "(GR_EXACT_MEAN | GR_EXACT_STATES)",
        "GR_EXACT_MEAN",
        parts("any_parts"),
    ),
    Mutant(
        "squares are of the other vector",
        PLAN,
        "gr_exact_plan",
        " && !self->squares;",
        ";",
        parts("any_parts"),
    ),
    Mutant(
        "flags are not joined",
        HANDED,
        "add_states",
        "= one[flags] | other[flags];",
        "= one[flags];",
        parts("infinities"),
    ),
    Mutant(
        "a sum beyond a state is taken",
        HANDED,
        "gr_exact_states_merge",
        "        if (!is_normalised(sum, size))\n            return false;\n",
        "",
        parts("beyond"),
    ),
    Mutant(
        "a thread forgets what it folded",
        EACH,
        "states_alone",
        "out[i] = state[i];",
        "out[i] = 0;",
        parts("many_results"),
    ),
    # The kernels
    Mutant(
        "a bin is not emptied",
        BINS,
        "DoubleBins",
        "reinterpret_cast<double *>(bins)[bin * most_threads + thread] = -0.0;",
        ";",
        sums(),
    ),
    Mutant(
        "a pair forgets what its sums left out",
        BINS,
        "PairBins",
        "sum.low += __double2ll_rn(pair.y",
        "sum.low += 0 * __double2ll_rn(pair.y",
        sums(),
    ),
    Mutant(
        "sums of the largest overflow",
        BINS,
        "PairBins",
        "            x *= 0x1p-64;\n",
        "            x *= 1;\n",
        sums(),
    ),
    Mutant(
        "infinities spoil a pair",
        BINS,
        "flags_of",
        ": flags_of(pair.x);",
        ": flags_of(pair.x) | flags_of(pair.y);",
        sums("specials"),
    ),
    Mutant(
        "a bin of NaN is a number",
        BINS,
        "flags_of",
        "bits << 12 != 0 ? GR_EXACT_NAN",
        "false ? GR_EXACT_NAN",
        sums("specials"),
    ),
    Mutant(
        "a piece is lost",
        BLOCK,
        "add_pieces",
        "i < 3; ++i)\n        add_piece",
        "i < 2; ++i)\n        add_piece",
        sums(),
    ),
    Mutant("a piece of a bin is lost", SUM, "fold", "if (lane < 3)", "if (lane < 2)", sums()),
    Mutant(
        "a digit's lower half does not carry",
        BLOCK,
        "add_digit",
        "high += atomicAdd(half, low) + low < low;",
        "atomicAdd(half, low);",
        sums(),
    ),
    Mutant(
        "a warp's sum has no sign",
        BLOCK,
        "warp_total",
        "static_cast<int32_t>(warp_add(piece))",
        "warp_add(piece)",
        sums(),
    ),
    Mutant(
        "folds do not wait for all threads",
        SUM,
        "fold",
        "    mine.normalize();\n    __syncthreads();\n",
        "    mine.normalize();\n",
        sums("races"),
    ),
    Mutant(
        "blocks add the vectors behind the last tile twice",
        SUM,
        "add_packed",
        "at += many ? gridDim.y * threads : threads",
        "at += threads",
        sums("any_floats"),
    ),
    Mutant(
        "the count of additions is not",
        SUM,
        "Folder",
        "added += more * Bins::each;",
        "",
        sums("bin_is_folded"),
    ),
    Mutant(
        "a thread keeps the state of its last result",
        EACH,
        "each_alone",
        "state[i] = 0;",
        ";",
        sums("many_results"),
    ),
    Mutant("a state is left behind", BLOCK, "is_last_to_join", "atomicExch(", "atomicOr(", sums("races")),
    Mutant(
        "flags of other blocks are lost",
        BLOCK,
        "is_last_to_join",
        "join_flags(whole + flags, static_cast<uint32_t>(state[flags]));",
        ";",
        sums("specials"),
    ),
    Mutant(
        "a mean under a mask divides by all",
        FINISH,
        "finish",
        "p.flags & GR_EXACT_MASKED ? counted : ",
        "",
        sums("means"),
    ),
    Mutant(
        "a warp's carry is dropped",
        FINISH,
        "WarpDigits",
        "ripple(first == 0 ? 0 : carry, 0xffffffff)",
        "ripple(0, 0xffffffff)",
        sums(),
    ),
    Mutant(
        "a carry is not propagated over lanes",
        FINISH,
        "WarpDigits",
        "(generated | propagated) + generated + 1)",
        "generated + generated + 1)",
        sums("carries"),
    ),
    Mutant(
        "a negative number is inverted without the 1",
        FINISH,
        "WarpDigits",
        "ripple(before == 0);",
        "ripple(0);",
        sums(),
    ),
    Mutant(
        "a warp forgets digits",
        FINISH,
        "round_digits",
        "more = digits.any(static_cast<int>(count) - 3)",
        "more = false",
        sums(),
    ),
    Mutant(
        "a window is wider than its sums",
        WINDOW,
        "WindowExponents",
        "254, 32, 4, 24>",
        "254, 36, 4, 24>",
        sums("window_holds"),
    ),
    Mutant(
        "a double holds more than it can",
        WINDOW,
        "WindowExponents",
        "254, 32, 4, 24>",
        "254, 32, 4, 32>",
        sums("window"),
    ),
    Mutant(
        "a pair of a window overflows",
        WINDOW,
        "Window",
        "span - 1 + 9;",
        "span - 1 + 6;",
        sums("window_holds"),
    ),
    Mutant(
        "what is far from a window is lost",
        WINDOW,
        "Group",
        "OutlierDigits<V>::add(loaded.at(k, e));",
        ";",
        sums(),
    ),
    Mutant(
        "outliers at the ends of an array are lost",
        WINDOW,
        "Group",
        "OutlierDigits<V>::add(x);",
        ";",
        sums("outliers"),
    ),
    Mutant(
        "outliers that a thread has added up are lost",
        WINDOW,
        "Group",
        "OutlierDigits<V>::add_double(sum);",
        ";",
        sums("two_large"),
    ),
    Mutant(
        "the last digit of a float64 is lost",
        WINDOW,
        "OutlierDigits",
        "atomicAdd(digit + 4 * lanes,",
        "atomicAdd(digit + 4 * lanes, 0 &",
        sums("outliers"),
    ),
    Mutant(
        "the range of outliers ends with the digit of the largest",
        WINDOW,
        "OutlierDigits",
        "row(range.most) / 2 + 3",
        "row(range.most) / 2",
        sums("outliers or blocks_with"),
    ),
    Mutant(
        "a word of a state has one of its two digits",
        WINDOW,
        "OutlierDigits",
        "sum[0] + sum[1] * (int64_t(1) << 16);",
        "sum[0];",
        sums("outliers"),
    ),
    Mutant(
        "the sum in the window is not added to outliers",
        FINISH,
        "WarpDigits",
        "if (at >= 0 && at < 5)",
        "if (at >= 0 && at < 1)",
        sums("outliers"),
    ),
    Mutant(
        "what is far from a window is not seen",
        WINDOW,
        "is_plain",
        " && (flags & ~GR_EXACT_NOT_MINUS_ZERO) == 0;",
        ";",
        sums(),
    ),
    Mutant(
        "a whole sum forgets its upper half",
        FINISH,
        "round_whole",
        "static_cast<uint64_t>(shifted) != 0",
        "false",
        sums("window_rounds"),
    ),
    Mutant(
        "sums of all blocks have the same units",
        SLOTS,
        "collect",
        "total += sum.units << up;",
        "total += sum.units << Reach;",
        sums(),
    ),
    Mutant(
        "sums of blocks far apart are lost",
        SLOTS,
        "collect",
        "sum.units, sum.exponent);\n                flags",
        "0, 0);\n                flags",
        sums("far_apart"),
    ),
    Mutant(
        "flags of other blocks' slots are lost",
        SLOTS,
        "collect",
        "flags |= sum.flags;",
        ";",
        sums("specials"),
    ),
    Mutant("a slot is left behind", SLOTS, "clear_slots", "i < others", "i + 1 < others", sums("races")),
    Mutant(
        "products lose their error",
        BINS,
        "ProductBins",
        "rest = __fma_rn(x, y, -product);",
        "rest = -0.0;",
        sums("products"),
    ),
    Mutant(
        "products that underflow are rounded",
        BINS,
        "ProductBins",
        "64; // biased;",
        "0; // biased;",
        sums("products"),
    ),
    Mutant(
        "products that overflow are infinite",
        BINS,
        "ProductBins",
        ">= 2047 - least",
        ">= 2048 - least",
        sums("products"),
    ),
    Mutant(
        "the sign of a complex product",
        SUM,
        "add_element",
        "if (part == 1 && component == 0)",
        "if (part == 1)",
        sums("results_go"),
    ),
    # Cumulative sums
    Mutant("a carry ends after three digits", RUNNING, "RunningSum", "carry != 0 &&", "false &&", running()),
    Mutant("a negative sum loses one unit", RUNNING, "RunningSum", "own - extension)", "own)", running()),
    Mutant("digits below do not decide ties", RUNNING, "RunningSum", "first + 3 < top,", "false,", running()),
    Mutant(
        "flags of pieces are added",
        RUNNING,
        "PrefixThread",
        "word == p.words - 1 ? a | b : a + b",
        "a + b",
        running(),
    ),
    Mutant(
        "a piece has its own sum before it",
        RUNNING,
        "sum_before_pieces",
        "before = own.join(p, before, state[k]);",
        "before = state[k];",
        running(),
    ),
    Mutant(
        "chunks before are forgotten",
        RUNNING,
        "sum_before_pieces",
        "chunk == 0 ? 0 :",
        "true ? 0 :",
        running(),
    ),
    Mutant(
        "halfway sums are certain", RUNNING, "SplitSum", "(bits & (2 * half - 1)) != half", "true", running()
    ),
    Mutant("double sums are certain", RUNNING, "SplitSum", "high + (low - bound) == high", "true", running()),
    Mutant("what is left out has no bound", RUNNING, "SplitSum", "(error + abs(x))", "error", running()),
    Mutant("sums of large numbers overflow", RUNNING, "SplitSum", "abs(first.sum) < most", "true", running()),
    # Variances and roots, on the host
    Mutant(
        "digits behind a quotient are forgotten",
        VARIANCE,
        "divide",
        " || at > (int32_t)x->low",
        "",
        rounding(),
    ),
    Mutant("an odd exponent is halved", VARIANCE, "rooted", "++head.exponent;", "", rounding()),
    Mutant(
        "the rest of a root is forgotten",
        VARIANCE,
        "rooted",
        "|| (u128)root * root != head.bits",
        "",
        rounding(),
    ),
    Mutant(
        "imaginary parts have no mean",
        VARIANCE,
        "subtract_mean",
        "part < self->parts",
        "part < 1",
        rounding(),
    ),
)
