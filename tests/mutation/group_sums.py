"""The traps of exact group sums: windows, carries, planes, spills, rounding, signs, samples and labels."""

from mutants import INCLUDE, Mutant

FOLDER = INCLUDE + "groups/"
ADDENDS, ACCUMULATORS = FOLDER + "addends.cuh", FOLDER + "accumulators.cuh"
PLANES, ROWS = FOLDER + "planes.cuh", FOLDER + "rows.cuh"
SAMPLE, WINDOW = FOLDER + "sample.cuh", FOLDER + "window.cuh"
FINISH = "cuda_kernels/groups/auto/group_finish.cu"
PLAN = "csrc/groups/groups.c"
CORE = "csrc/python/segments.c"
FRESH = "the simulator's workspace is new in every call"


def sums(words, *options):
    return ("tests/segments/test_group_sums.py", "-k", words, *options)


ANY = sums("random_calls")

MUTANTS = (
    # Windows
    Mutant(
        "a window loses its carries",
        WINDOW,
        "WindowSums",
        "carry += old + part < part;",
        "carry += 0;",
        sums("carries"),
    ),
    Mutant(
        "a carry that makes a word 0 is lost",
        WINDOW,
        "WindowSums",
        "carry = part < word;",
        "carry = 0;",
        sums("carries"),
    ),
    Mutant(
        "a window takes the exponent above it",
        WINDOW,
        "WindowSums",
        "above < choice.windows * Traits::exponents",
        "above <= choice.windows * Traits::exponents",
        sums("every_exponent"),
    ),
    Mutant(
        "the second window adds to the first",
        WINDOW,
        "WindowSums",
        "(window * Traits::words * uint32_t(p.groups) + uint32_t(group))",
        "uint32_t(group)",
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
        "atomicAdd(&rows[group], 32u);",
        "atomicAdd(&rows[group], 1u);",
        sums("one_group"),
    ),
    Mutant(
        "a warp is of one group if its first two lanes are",
        WINDOW,
        "WindowSums",
        "__all_sync(0xffffffffu, batch.label[i] == __shfl_sync(0xffffffffu, batch.label[i], 0))",
        "__shfl_sync(0xffffffffu, batch.label[i], 1) == __shfl_sync(0xffffffffu, batch.label[i], 0)",
        sums("any_data"),
    ),
    Mutant(
        "numbers of rows lie behind the windows in use",
        WINDOW,
        "WindowSums",
        "copy(slab + all, words + all, groups);",
        "copy(slab + windows * Traits::words * groups, words + all, groups);",
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
        "threadIdx.x < GR_GROUP_SAMPLES && i < p.length",
        "threadIdx.x < GR_GROUP_SAMPLES",
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
        "threadIdx.x < Used::words",
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
        PLAN,
        "set_windows",
        "self->label_stride != (int64_t)label",
        "false",
        sums("random_calls", "--group-cases=1000"),
    ),
    Mutant(
        "windows of several columns",
        PLAN,
        "set_windows",
        "self->inner > 1 ||",
        "",
        sums("contiguous_rows"),
    ),
    Mutant(
        "windows of several lines",
        PLAN,
        "set_windows",
        "self->lines > 1 ||",
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
        "the upper words of windows have no sign",
        FINISH,
        "SlabSums",
        "word + 1 == Words ? int64_t(int32_t(x)) : int64_t(x)",
        "int64_t(x)",
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
        FINISH,
        "GroupResult",
        "highest - lowest < 126 && ",
        "",
        sums("any_data"),
    ),
    Mutant(
        "a short state has no digits for its sign",
        FINISH,
        "GroupResult",
        "const int top = 2 + ",
        "const int top = 0 + ",
        ANY,
    ),
    Mutant(
        "the windows are forgotten where planes are used",
        FINISH,
        "GroupResult",
        "if (units != 0)",
        "if (units != 0 && first > last)",
        sums("any_data"),
    ),
    Mutant(
        "digits above the last lose their sign",
        FINISH,
        "add_to_state",
        "state[last] += int64_t(uint64_t(pieces.at[k]) << 32);",
        "{}",
        ANY,
    ),
    Mutant(
        "a mean is divided by all rows",
        FINISH,
        "GroupResult",
        "mean && rows > 0 ? rows : 1",
        "mean && rows > 0 ? p.length : 1",
        ANY,
    ),
    Mutant(
        "the mean of no rows is 0",
        FINISH,
        "GroupResult",
        "if (mean && rows == 0)\n            return put_empty(result);",
        "",
        ANY,
    ),
    Mutant(
        "the sum of -0 is 0",
        FINISH,
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
        Mutant(
            f"a call leaves {what} behind", FINISH, function, old, new, sums("leave_nothing"), gpu_only=FRESH
        )
        for what, function, old, new in (
            ("planes", "GroupResult", "*plane_at(first + i, result) = 0;", "{}"),
            ("flags", "GroupResult", "if (flags != left)\n            *flags_at = left;", ""),
            ("numbers of rows", "settle_signs", "reinterpret_cast<uint64_t *>(p.counts)[i] = 0;", "{}"),
            ("signs", "settle_signs", "header[GR_GROUP_OPEN_SIGNS] = 0;", "{}"),
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
