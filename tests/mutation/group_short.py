"""The traps of group sums of few rows: lists of rows, lanes, warps, lost sums and empty groups."""

from mutants import Mutant

KERNEL = "cuda_kernels/groups/auto/group_short.cu"
TESTS = ("tests/segments/test_group_short.py", "-k", "blocks_of_any_size or races")

MUTANTS = (
    Mutant(
        "rows of the last batch of labels are lost",
        KERNEL,
        "ShortGroup",
        "base < p.length",
        "base + in_flight * blockDim.x <= p.length",
        TESTS,
    ),
    Mutant(
        "warps write their rows to the same place",
        KERNEL,
        "ShortGroup",
        "atomicAdd(listed, own_rows)",
        "atomicMax(listed, own_rows)",
        TESTS,
    ),
    Mutant(
        "elements of other groups count",
        KERNEL,
        "ShortGroup",
        "own[i] = own[i] && (in_list || label[i] == group);",
        "own[i] = own[i] && (in_list || label[i] < p.groups);",
        TESTS,
    ),
    Mutant(
        "lanes of the same column are lost",
        KERNEL,
        "ShortGroup",
        "apart >= width",
        "apart > width",
        TESTS,
    ),
    Mutant(
        "sums of half of the warps are lost",
        KERNEL,
        "ShortGroup",
        "warps >> (warp + half) & 1",
        "warps >> warp & 1",
        TESTS,
    ),
    Mutant(
        "each warp computes one lost sum of a tile again",
        KERNEL,
        "ShortGroup",
        "if (number++ % (blockDim.x / 32) == threadIdx.x / 32)",
        "if (number++ == threadIdx.x / 32)",
        TESTS,
    ),
    Mutant(
        "the sum of an empty group is -0",
        KERNEL,
        "ShortGroup",
        "if (rows == 0) {",
        "if (rows == 0 && p.options != 0) {",
        ("tests/segments/test_group_short.py", "-k", "without_rows"),
    ),
)
