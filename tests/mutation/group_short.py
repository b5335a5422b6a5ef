"""The traps of group sums of few rows: lists of rows, lanes, warps, carries, lost sums and empty groups."""

from mutants import Mutant

FOLDER = "cuda_kernels/groups/auto/"
SHORT, SHARED, LISTS = (FOLDER + f"group_{name}.cu" for name in ("short", "shared", "lists"))


def tests(words):
    return ("tests/segments/test_group_short.py", "-k", words)


MUTANTS = (
    Mutant(
        "elements of other groups count",
        SHORT,
        "ShortGroup",
        "const bool own = label[i] == group;",
        "const bool own = label[i] < p.groups;",
        tests("blocks_of_any_size or races"),
    ),
    Mutant(
        "sums of all warps but the first are lost",
        SHORT,
        "ShortGroup",
        "if (warp > 0 || warps == 1)",
        "if (warp > 0 || warps > 0)",
        tests("blocks_of_any_size"),
    ),
    Mutant(
        "the sum of an empty group is -0",
        SHORT,
        "ShortGroup",
        "if (rows == 0) {",
        "if (rows == 0 && p.options != 0) {",
        tests("without_rows"),
    ),
    Mutant(
        "a carry into the upper half of a plane is lost",
        SHARED,
        "BlockGroups",
        " + (before + low < low)",
        "",
        tests("planes_in_shared_memory"),
    ),
    Mutant(
        "a sum of 0 is -0 if any element is",
        SHARED,
        "SharedGroups",
        "rows != minus_zeros",
        "minus_zeros == 0",
        tests("planes_in_shared_memory"),
    ),
    Mutant(
        "planes that only the second addend of an element is added to are not rounded",
        SHARED,
        "SharedGroups",
        "i < 3",
        "i < 1",
        tests("planes_in_shared_memory"),
    ),
    Mutant(
        "rows of the last batch of labels are lost",
        LISTS,
        "GroupLists",
        "base < p.length",
        "base + labels * blockDim.x <= p.length",
        tests("lists_of_rows"),
    ),
    Mutant(
        "warps write their rows to the same place",
        LISTS,
        "GroupLists",
        "atomicAdd(listed, own_rows)",
        "atomicMax(listed, own_rows)",
        tests("lists_of_rows"),
    ),
    Mutant(
        "lanes of the same column are lost",
        LISTS,
        "GroupLists",
        "apart >= width",
        "apart > width",
        tests("lists_of_rows"),
    ),
    Mutant(
        "sums of half of the warps are lost",
        LISTS,
        "GroupLists",
        "half = warps / 2",
        "half = warps / 4",
        tests("lists_of_rows"),
    ),
    Mutant(
        "the sum of two rows is rounded twice",
        LISTS,
        "GroupLists",
        "to_odd(sum.sum, sum.error)",
        "sum.sum",
        tests("two_rows"),
    ),
)
