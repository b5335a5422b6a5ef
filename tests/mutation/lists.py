"""The traps of reductions of many arrays: windows of exponents, ends of arrays, positions, kept tables."""

from mutants import INCLUDE, Mutant

SQUARES, SUMS, SEGMENTS, BITS, FINISH, SCALE = (
    INCLUDE + f"multi/{name}.cuh" for name in ("squares", "sums", "segments", "bits", "finish", "scale")
)
CALL, TABLE = "csrc/python/array_list.c", "csrc/device/tables.c"


def lists(words):
    return ("tests/multi/test_lists.py", "-k", words)


MUTANTS = (
    Mutant(
        "what the last rounding leaves out of a square is lost",
        SQUARES,
        "Squares",
        "} else { rest += left; }",
        "} else { rest += 0 * left; }",
        lists("test_results_are_exact and plain"),
    ),
    Mutant(
        "float32 has a level less than its span needs",
        SQUARES,
        "Squares",
        "rest += left - (next - left_out);",
        "rest += 0 * left;",
        lists("test_state_is and float32"),
    ),
    Mutant(
        "elements far below the window's top are taken for near ones",
        SQUARES,
        "Squares",
        "return less >= (upper > binades ? upper - binades - 1 : 0);",
        "return less >= 0;",
        lists("test_state_is and float32"),
    ),
    Mutant(
        "squares of bfloat16 are added to each other although they need 54 bits",
        SQUARES,
        "SquareWindow",
        "uint32_t together = 16;",
        "uint32_t together = 17;",
        lists("test_few_small and bfloat16"),
    ),
    Mutant(
        "squares of float16 are added to each other although they need 54 bits",
        SQUARES,
        "SquareWindow",
        "uint32_t together = 13;",
        "uint32_t together = 14;",
        lists("test_few_small and float16"),
    ),
    Mutant(
        "what the sum of a batch leaves out is lost",
        SQUARES,
        "Squares",
        "rest += all - (after - sum);",
        "rest += 0 * all;",
        lists("test_few_small"),
    ),
    Mutant(
        "small elements are added in the window of large ones",
        SQUARES,
        "Squares",
        "most < upper && less >= lower",
        "most < upper",
        lists("test_state_is"),
    ),
    Mutant(
        "bins are folded too late",
        SQUARES,
        "Squares",
        "added > GR_EXACT_WIDE_FOLD - max_added",
        "added > 1000000",
        lists("test_full_windows and float32"),
    ),
    Mutant(
        "the last window is left behind",
        SQUARES,
        "Squares",
        "empty(); fold_bins();",
        "fold_bins();",
        lists("test_results_are_exact and plain"),
    ),
    Mutant(
        "magnitudes of float64 lose the sign of the lower words",
        SUMS,
        "Sums",
        "unsigned i = sizeof(In) / 8;",
        "unsigned i = 0;",
        lists("test_results_are_exact and float64"),
    ),
    Mutant(
        "an infinity of one block is not told",
        SUMS,
        "join",
        "if (infinities != 0)",
        "if (infinities < 0)",
        lists("test_results_are_exact and specials"),
    ),
    Mutant(
        "the last tile of an array is a whole one",
        SEGMENTS,
        "each_segment",
        "min((behind - array.first_tile) * tile_elements, array.count)",
        "(behind - array.first_tile) * tile_elements",
        lists("test_results_are_exact and plain"),
    ),
    Mutant(
        "elements before the first aligned vector are left out",
        SEGMENTS,
        "Aligned",
        "threadIdx.x < head",
        "threadIdx.x < 0",
        lists("test_arrays_at_any_address"),
    ),
    Mutant(
        "a root is rounded without what follows its leading digits",
        FINISH,
        "rounded_root",
        "bool more = tail;",
        "bool more = false;",
        lists("test_root_is_rounded"),
    ),
    Mutant(
        "the root of an odd exponent is that of the even one",
        FINISH,
        "rounded_root",
        "exponent % 2 != 0",
        "exponent % 2 > 0",
        lists("test_results_are_exact"),
    ),
    Mutant(
        "NaNs are not larger than infinity",
        BITS,
        "Largest",
        "isnan(x) ? 0x7ff8000000000000ull",
        "isnan(x) ? 0ull",
        lists("test_results_are_exact and specials"),
    ),
    Mutant(
        "positions begin anew in each array",
        BITS,
        "fingerprint_list",
        "each ? segment.first : segment.position",
        "segment.first",
        lists("test_fingerprint_is_that"),
    ),
    Mutant(
        "arrays are scaled up",
        SCALE,
        "factor_of",
        "factor > 1 ? 1 : factor",
        "factor",
        lists("test_scaling"),
    ),
    Mutant(
        "an array with gaps is read as one without",
        CALL,
        "is_dense",
        "return false;",
        "return true;",
        lists("test_views"),
    ),
    Mutant(
        "a list of as many arrays gets the table of another list",
        TABLE,
        "is_table_of",
        "memcmp(table->content, content, bytes) == 0",
        "content != NULL",
        lists("test_results_are_exact"),
    ),
)
