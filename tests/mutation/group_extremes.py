"""The traps of extremes of groups: keys, positions, labels, shares of blocks, and the plan."""

from mutants import INCLUDE, Mutant

KERNELS = "cuda_kernels/groups/auto/group_extremes.cu"
KEYS = INCLUDE + "groups/keys.cuh"
PARTITIONS = "cuda_kernels/groups/auto/group_extremes_partition.cu"
PLAN = "csrc/groups/extremes/plan.c"


def extremes(words):
    return ("tests/segments/test_group_extremes.py", "-k", words)


ANY, STRIDES, REPEATED = extremes("extremes"), extremes("strides"), extremes("repeated")
PARTITIONED = extremes("by_partitions")

MUTANTS = (
    Mutant(
        "negative numbers are in the opposite order",
        KEYS,
        "Keys",
        "bits & sign ? negative : sign",
        "sign",
        ANY,
    ),
    Mutant("infinity is a NaN", KEYS, "Keys", "size > infinity", "size >= infinity", ANY),
    Mutant("-0 is less than 0 for positions", KEYS, "Keys", "Positional && size == 0", "false", ANY),
    Mutant(
        "the last of equal rows counts",
        KEYS,
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
        KEYS,
        "take_key",
        "keys_of<Key>(q)[result] = 0;",
        "",
        REPEATED,
    ),
    Mutant("a group of NaNs has a number", KEYS, "put_result", " || found == 1", "", ANY),
    Mutant(
        "blocks that share a partition do not share keys",
        PARTITIONS,
        "PartitionKeys",
        "combination.add(keys_of<Key>(p) + first_group + group, key);",
        "{}",
        PARTITIONED,
    ),
    Mutant(
        "each block of a partition writes its keys",
        PARTITIONS,
        "combine_partition",
        "share.blocks == 1",
        "true",
        PARTITIONED,
    ),
    Mutant(
        "rows of no batch are in the first group",
        PARTITIONS,
        "PartitionKeys",
        "if (batch.valid >> i & 1)",
        "",
        PARTITIONED,
    ),
    Mutant(
        "keys of partitions are read before all rows are in",
        INCLUDE + "groups/segments.cuh",
        "each_batch",
        "        }\n        __syncthreads();",
        "        }",
        extremes("races"),
    ),
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
