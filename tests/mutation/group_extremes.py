"""The traps of extremes of groups: keys, positions, labels, shares of blocks, and the plan."""

from mutants import Mutant

KERNELS = "cuda_kernels/groups/auto/group_extremes.cu"
PLAN = "csrc/groups/extremes/plan.c"


def extremes(words):
    return ("tests/segments/test_group_extremes.py", "-k", words)


ANY, STRIDES, REPEATED = extremes("extremes"), extremes("strides"), extremes("repeated")

MUTANTS = (
    Mutant(
        "negative numbers are in the opposite order",
        KERNELS,
        "Keys",
        "bits & sign ? negative : sign",
        "sign",
        ANY,
    ),
    Mutant("infinity is a NaN", KERNELS, "Keys", "size > infinity", "size >= infinity", ANY),
    Mutant("-0 is less than 0 for positions", KERNELS, "Keys", "Positional && size == 0", "false", ANY),
    Mutant(
        "the last of equal rows counts",
        KERNELS,
        "Keys",
        "uint32_t(~uint32_t(row))",
        "uint32_t(row)",
        ANY,
    ),
    Mutant(
        "rows of a group before a row without a group are lost",
        KERNELS,
        "SharedKeys",
        "valid[i] && valid[i - 1] && group",
        "valid[i - 1] && group",
        ANY,
    ),
    Mutant(
        "the last of neighbouring rows counts",
        KERNELS,
        "SharedKeys",
        "key[i] = combination.of(key[i], key[i - 1]);",
        "",
        ANY,
    ),
    Mutant(
        "rows after the last batch have the numbers of the first",
        KERNELS,
        "SharedKeys",
        "mine + share.batches * step",
        "mine",
        extremes("batches"),
    ),
    Mutant(
        "keys are as large after a call",
        KERNELS,
        "finish",
        "keys_of<Key>(q)[result] = 0;",
        "",
        REPEATED,
    ),
    Mutant("a group of NaNs has a number", KERNELS, "finish", " || found == 1", "", ANY),
    Mutant(
        "the minimum of a group is that of the maximum",
        PLAN,
        "is_flipped",
        "op == GR_OP_nanmin || ",
        "",
        extremes("nanmin or extremes"),
    ),
    Mutant(
        "columns are rows of one column",
        PLAN,
        "set_blocks",
        "self->inner != 1 || ",
        "",
        STRIDES,
    ),
)
