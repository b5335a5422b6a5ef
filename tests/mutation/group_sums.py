"""The traps of exact group sums: windows, carries, planes, spills, rounding, signs, samples and labels."""

from mutants import INCLUDE, Mutant

FOLDER = INCLUDE + "groups/"
ADDENDS, ACCUMULATORS = FOLDER + "addends.cuh", FOLDER + "accumulators.cuh"
PLANES, ROWS = FOLDER + "planes.cuh", FOLDER + "rows.cuh"
SAMPLE, WINDOW, TABLE = FOLDER + "sample.cuh", FOLDER + "window.cuh", FOLDER + "table.cuh"
RESULT = FOLDER + "result.cuh"
FINISH = "cuda_kernels/groups/auto/group_finish.cu"
PLAN, KIND = "csrc/groups/groups.c", "csrc/groups/kind.c"
CORE = "csrc/python/segments.c"


def sums(words, *options):
    return ("tests/segments/test_group_sums.py", "-k", words, *options)


ANY = sums("random_calls")

MUTANTS = (
    # Windows
    Mutant(
        "a window loses its carries",
        TABLE,
        "WindowTable",
        "((old ^ sum) & (digit ^ sum)) < 0 ? (digit < 0 ? -1 : 1) : 0",
        "0",
        sums("carries"),
    ),
    Mutant(
        "a negative lower word takes nothing from the upper one",
        TABLE,
        "WindowTable",
        "Traits::upper(addend) + (digit[i] < 0)",
        "Traits::upper(addend)",
        sums("carries"),
    ),
    Mutant(
        "a window takes the exponent above it",
        ADDENDS,
        "Addends",
        "{above < choice.windows * exponents << 23, ",
        "{above <= choice.windows * exponents << 23, ",
        sums("every_exponent"),
    ),
    Mutant(
        "the second window adds to the first",
        TABLE,
        "WindowTable",
        "(window * Traits::words * groups + group)",
        "group",
        sums("any_data"),
    ),
    Mutant(
        "rows after the last batch of a block begin with the batch before",
        WINDOW,
        "WindowSums",
        "i = batches * step + threadIdx.x;",
        "i = (batches > 0 ? batches - 1 : 0) * step + threadIdx.x;",
        sums("any_data"),
    ),
    Mutant(
        "a warp of one group counts as one row",
        WINDOW,
        "WindowSums",
        "atomicAdd(&table.rows[first], 32 * each);",
        "atomicAdd(&table.rows[first], each);",
        sums("one_group"),
    ),
    Mutant(
        "a warp is of one group if one of its lanes is",
        WINDOW,
        "WindowSums",
        "__all_sync(0xffffffffu, together)",
        "__any_sync(0xffffffffu, together)",
        sums("any_data"),
    ),
    Mutant(
        "numbers of rows lie behind the windows in use",
        WINDOW,
        "WindowSums",
        "copy(slab + all, table.rows, groups);",
        "copy(slab + windows * words * groups, table.rows, groups);",
        sums("any_data"),
    ),
    Mutant(
        "a float64 has no implicit bit in a window",
        ADDENDS,
        "Addends",
        "(word & 0xfffffffffffff) | 1ll << 52",
        "(word & 0xfffffffffffff)",
        sums("any_data"),
    ),
    Mutant(
        "the middle word of a float64 takes no carry of a warp's sum",
        ADDENDS,
        "Addends",
        "addend.upper + int64_t(addend.low >> 32)",
        "addend.upper",
        sums("one_group"),
    ),
    # The sample
    Mutant(
        "the sample reads past the end",
        SAMPLE,
        "choose_windows",
        "i < p.length ? Addends<In>::exponent(in[i]) : 0",
        "Addends<In>::exponent(in[i])",
        sums("any_data"),
    ),
    Mutant(
        "windows take infinities",
        SAMPLE,
        "best_window",
        "first + width < Bins",
        "first + width <= Bins",
        sums("sample"),
    ),
    Mutant(
        "a window begins at zeros",
        SAMPLE,
        "best_window",
        "first = 1 + threadIdx.x % 32;",
        "first = threadIdx.x % 32;",
        sums("sample or any_data"),
    ),
    # Planes
    Mutant(
        "a subnormal has the exponent 0",
        ACCUMULATORS,
        "FloatPlanes",
        "(exponent > 0 ? exponent : 1)",
        "exponent",
        ANY,
    ),
    Mutant(
        "an element of a plane has no sign",
        ACCUMULATORS,
        "FloatPlanes",
        "int64_t(word >> 31 ? -value : value)",
        "int64_t(value)",
        ANY,
    ),
    Mutant(
        "the third part of a float64 is lost",
        ACCUMULATORS,
        "Planes",
        "i < 3; ++i)\n            if (pieces",
        "i < 2; ++i)\n            if (pieces",
        ANY,
    ),
    Mutant(
        "planes from the 33rd on are not published",
        PLANES,
        "PlaneAdder",
        "threadIdx.x < UsedPlanes<In>::words",
        "threadIdx.x < 1",
        ANY,
    ),
    Mutant(
        "a second flag of a group is lost",
        PLANES,
        "PlaneAdder",
        "& flags) != flags",
        "& 15) == 0",
        ANY,
    ),
    Mutant(
        "a plane that overflows below 0 carries up",
        PLANES,
        "PlaneAdder",
        "old < 0 ? -(1ll << (64 - Planes<In>::bits)) : ",
        "",
        sums("spill and float32", "--large"),
    ),
    Mutant(
        "a plane that overflows does not carry",
        PLANES,
        "PlaneAdder",
        "((old ^ sum) & (addend ^ sum)) >= 0",
        "true",
        sums("spill and float32", "--large"),
    ),
    Mutant(
        "no plane of 2^24 rows spills",
        PLAN,
        "params_of",
        "self->length >> GR_GROUP_MAX_ROWS_SHIFT > 0",
        "self->length >> 40 > 0",
        sums("spill and float32", "--large"),
    ),
    # Rows
    Mutant(
        "a negative label is a large one",
        ROWS,
        "load_labels",
        " || group[i] & p.label_sign",
        "",
        ANY,
    ),
    Mutant(
        "every line counts its rows",
        ROWS,
        "each_element",
        "line == 0 && c == 0",
        "c == 0",
        ANY,
    ),
    Mutant(
        "windows of labels that are not contiguous",
        KIND,
        "gr_group_is_contiguous",
        "&& self->label_stride == (int64_t)label",
        "",
        sums("random_calls", "--group-cases=1000"),
    ),
    Mutant(
        "windows of several columns",
        KIND,
        "gr_group_is_contiguous",
        "&& self->inner == 1",
        "",
        sums("contiguous_rows"),
    ),
    Mutant(
        "windows of several lines",
        KIND,
        "gr_group_is_contiguous",
        "&& self->lines == 1",
        "",
        sums("contiguous_rows"),
    ),
    # The last step
    Mutant(
        "the second window has the exponents of the first",
        FINISH,
        "finish_windows",
        "(sums.window(1) << GR_GROUP_WINDOW_EXPONENTS)",
        "sums.window(1)",
        sums("any_data"),
    ),
    Mutant(
        "the words of windows have no sign",
        FINISH,
        "SlabSums",
        "int32_t(slab[(window * Words + word) * p.groups])",
        "slab[(window * Words + word) * p.groups]",
        sums("any_data"),
    ),
    Mutant(
        "the slabs of a warp are left out",
        FINISH,
        "SlabSums",
        "warp < warps; ++warp",
        "warp + 1 < warps; ++warp",
        sums("many_blocks"),
    ),
    Mutant(
        "a sum of 128 bits overflows",
        RESULT,
        "GroupResult",
        "highest - lowest < 126 && ",
        "",
        sums("any_data"),
    ),
    Mutant(
        "a short state has no digits for its sign",
        RESULT,
        "GroupResult",
        "const int top = 2 + ",
        "const int top = 0 + ",
        ANY,
    ),
    Mutant(
        "the windows are forgotten where planes are used",
        RESULT,
        "GroupResult",
        "if (units != 0)\n            add_to_state",
        "if (units != 0 && first > last)\n            add_to_state",
        sums("any_data"),
    ),
    Mutant(
        "digits above the last lose their sign",
        RESULT,
        "add_to_state",
        "state[last] += int64_t(uint64_t(pieces.at[k]) << 32);",
        "{}",
        ANY,
    ),
    Mutant(
        "a mean is divided by all rows",
        RESULT,
        "GroupResult",
        "mean && rows > 0 ? rows : 1",
        "mean && rows > 0 ? p.length : 1",
        ANY,
    ),
    Mutant(
        "a quotient does not see the rest of its division",
        RESULT,
        "round_quotient",
        "static_cast<uint64_t>(quotient) != 0 || rest != 0",
        "static_cast<uint64_t>(quotient) != 0",
        ANY,
    ),
    Mutant(
        "a quotient has the exponent of its numerator",
        RESULT,
        "round_quotient",
        "exponent + 64 - shift - more",
        "exponent + 64 - shift",
        ANY,
    ),
    Mutant(
        "a subnormal sum is rounded twice",
        RESULT,
        "GroupResult",
        "to > 0 && to < 255",
        "to < 255",
        ANY,
    ),
    Mutant(
        "the mean of no rows is 0",
        RESULT,
        "GroupResult",
        "if (mean && rows == 0)\n            return put_empty(result);",
        "",
        ANY,
    ),
    Mutant(
        "the sum of -0 is 0",
        RESULT,
        "GroupResult",
        "bits == 0 && flags & GR_GROUP_MINUS_ZERO",
        "false",
        ANY,
    ),
    Mutant(
        "the sum of 0 and -0 is -0",
        FINISH,
        "settle_signs",
        "x != minus_zero && flags[result] != 0",
        "false",
        ANY,
    ),
    Mutant(
        "the last bit of a whole number does not see those below",
        INCLUDE + "exact/finish.cuh",
        "round_whole",
        "static_cast<uint64_t>(shifted) != 0",
        "false",
        sums("decides_a_tie"),
    ),
    # What a call leaves behind
    *(
        Mutant(f"a call leaves {what} behind", file, function, old, new, sums("leave_nothing"))
        for what, file, function, old, new in (
            ("planes", RESULT, "GroupResult", "*plane_at(first + i, result) = 0;", "{}"),
            ("flags", RESULT, "GroupResult", "if (flags != left)\n            *flags_at = left;", ""),
            (
                "numbers of rows",
                FINISH,
                "settle_signs",
                "reinterpret_cast<uint64_t *>(p.counts)[i] = 0;",
                "{}",
            ),
            ("signs", FINISH, "settle_signs", "header[GR_GROUP_OPEN_SIGNS] = 0;", "{}"),
        )
    ),
    # The call
    Mutant(
        "warnings of a call by label take its labels for offsets",
        CORE,
        "report_nonfinite",
        "self->by_label ? -1 : ",
        "",
        sums("warnings"),
    ),
)
