"""The traps of group sums by partitions: ranks, segments, shares of blocks, sums in planes, and the plan."""

from mutants import INCLUDE, Mutant

PARTITION = "cuda_kernels/groups/auto/group_partition.cu"
ACCUMULATE = "cuda_kernels/groups/auto/group_accumulate.cu"
SEGMENTS = INCLUDE + "groups/segments.cuh"
FAR_GROUPS = INCLUDE + "groups/far_groups.cuh"
PLAN = "csrc/groups/partition/plan.c"


def partitions(words):
    return ("tests/segments/test_group_partitions.py", "-k", words)


ANY, SHARED, INTEGERS = partitions("any_data"), partitions("share"), partitions("integers")
FAR = partitions("far_from")

MUTANTS = (
    # Tiles
    Mutant(
        "lanes of one partition take the same number",
        PARTITION,
        "Tile",
        "__shfl_sync(0xffffffffu, rank, 0) + threadIdx.x % 32",
        "__shfl_sync(0xffffffffu, rank, 0)",
        SHARED,
    ),
    Mutant(
        "rows of one partition are moved to the same places",
        PARTITION,
        "Tile",
        "stride = 257;",
        "stride = 256;",
        SHARED,
    ),
    Mutant(
        "a tile is of one partition if some of its rows are",
        PARTITION,
        "Tile",
        "__syncthreads_and(same)",
        "__syncthreads_or(same)",
        SHARED,
    ),
    Mutant(
        "a negative label is a large one",
        PARTITION,
        "Tile",
        "uint64_t(int64_t(label)) < p.sums.groups",
        "int64_t(label) < int64_t(p.sums.groups)",
        INTEGERS,
    ),
    Mutant(
        "the last tile reads as many rows as the others",
        PARTITION,
        "partition_tile",
        "tile.count == tile.rows",
        "true",
        INTEGERS,
    ),
    Mutant(
        "a group has its number among all groups",
        PARTITION,
        "Tile",
        "group[i] & ((1u << p.shift) - 1)",
        "group[i]",
        INTEGERS,
    ),
    Mutant(
        "rows after the last vector of 16 bytes stay behind",
        PARTITION,
        "Tile",
        "if (const unsigned i = vectors * each + threadIdx.x; i < count)",
        "if (const unsigned i = vectors * each + threadIdx.x; i < count && false)",
        INTEGERS,
    ),
    Mutant(
        "the tile is written before all its rows are in place",
        PARTITION,
        "partition_tile",
        "tile.place(group, ranks, x);\n    __syncthreads();",
        "tile.place(group, ranks, x);",
        partitions("races"),
    ),
    Mutant(
        "a warp is of one partition if one of its lanes is",
        PARTITION,
        "Tile",
        "__all_sync(0xffffffffu, first",
        "__any_sync(0xffffffffu, first",
        SHARED,
    ),
    # Segments
    Mutant(
        "the second part of a partition begins with the first",
        SEGMENTS,
        "Segments",
        "before > share.first ? before : share.first",
        "before",
        SHARED,
    ),
    Mutant(
        "a part of a partition goes on to its end",
        SEGMENTS,
        "Segments",
        "last < share.end ? last : share.end",
        "last",
        SHARED,
    ),
    Mutant(
        "the last vector of a warp is left out",
        SEGMENTS,
        "SegmentRows",
        "(all + 31) / 32",
        "all / 32",
        INTEGERS,
    ),
    Mutant(
        "a lane takes rows of the next partition",
        SEGMENTS,
        "SegmentRows",
        "end = end < all ? end : all;",
        "",
        INTEGERS,
    ),
    Mutant(
        "a warp begins one tile late",
        SEGMENTS,
        "Segments",
        "before[tile + step] <= number",
        "before[tile + step] <= number + 1",
        INTEGERS,
    ),
    Mutant(
        "a tile without rows has some",
        SEGMENTS,
        "SegmentRows",
        "if (number >= tile_end) // a tile without rows\n                enter(segments.find(number));",
        "",
        partitions("tiles_without_rows"),
    ),
    # Sums
    Mutant(
        "the upper window has the exponents of the lower one",
        ACCUMULATE,
        "Accumulation",
        "table.window(1, group) << Addends<In>::exponents",
        "table.window(1, group)",
        ANY,
    ),
    Mutant(
        "an element outside the windows leaves no trace",
        ACCUMULATE,
        "OutsideAdder",
        "outside.set(group);",
        "",
        ANY,
    ),
    Mutant(
        "groups 32 apart share a trace of elements outside",
        ACCUMULATE,
        "GroupBits",
        "&words[group / 32], 1u",
        "&words[0], 1u",
        partitions("outside_windows or next_to_windows"),
    ),
    Mutant(
        "two windows are one",
        INCLUDE + "groups/table.cuh",
        "WindowTable",
        "choice.windows == 1 && uint32_t(upper)",
        "uint32_t(upper)",
        partitions("two_windows"),
    ),
    Mutant(
        "the planes get the low bits alone",
        ACCUMULATE,
        "Accumulation",
        "plane += up;",
        "return;",
        SHARED,
    ),
    Mutant(
        "an integer's upper half is lost where blocks meet",
        ACCUMULATE,
        "Accumulation",
        "atomicAdd(planes + p.results, static_cast<unsigned long long>(rest >> 32));",
        "{}",
        SHARED,
    ),
    Mutant(
        "blocks that share a partition do not tell their planes",
        ACCUMULATE,
        "Accumulation",
        "atomicOr(used + threadIdx.x, block.used[threadIdx.x]);",
        "{}",
        SHARED,
    ),
    Mutant(
        "numbers of rows do not meet",
        ACCUMULATE,
        "Accumulation",
        "atomicAdd(counts() + result, static_cast<unsigned long long>(rows(group)));",
        "{}",
        SHARED,
    ),
    Mutant(
        "the first block of a partition writes its results",
        SEGMENTS,
        "is_last_of_partition",
        "share.blocks - 1;",
        "0;",
        SHARED,
    ),
    Mutant(
        "the sum of a float64 is rounded twice",
        INCLUDE + "groups/table.cuh",
        "WindowTable",
        " && uint32_t(top) + (1u << 19) < 1u << 20",
        "",
        partitions("double_sums"),
    ),
    Mutant(
        "a subnormal sum is scaled like a normal one",
        INCLUDE + "groups/result.cuh",
        "GroupResult",
        "return units == 0 || (to > 0 && to < 2047);",
        "return units == 0 || to < 2047;",
        partitions("double_sums"),
    ),
    # Groups of elements far from the windows
    Mutant(
        "elements far below the windows are added to planes",
        FAR_GROUPS,
        "PlaneRange",
        "digit - lowest > count - 3",
        "int(digit - lowest) > int(count - 3)",
        FAR,
    ),
    Mutant(
        "a far element is thought to have one digit",
        FAR_GROUPS,
        "PlaneRange",
        "digit - lowest > count - 3",
        "digit - lowest > count - 1",
        FAR,
    ),
    Mutant(
        "the planes of far groups keep what was added first",
        ACCUMULATE,
        "Accumulation",
        "results.clear(result);",
        "",
        FAR,
    ),
    Mutant(
        "a far group with a NaN is summed again",
        ACCUMULATE,
        "Accumulation",
        "(flags & (GR_GROUP_FAR | special)) != GR_GROUP_FAR",
        "(flags & GR_GROUP_FAR) == 0",
        FAR,
    ),
    Mutant(
        "only the first far groups get results",
        FAR_GROUPS,
        "FarGroups",
        "first < all;",
        "first < 1;",
        FAR,
    ),
    Mutant(
        "far groups of different words of bits share planes",
        FAR_GROUPS,
        "FarGroups",
        "before[threadIdx.x] = upto - count;",
        "before[threadIdx.x] = 0;",
        FAR,
    ),
    Mutant(
        "means of far groups where blocks meet are divided by the rows of one block",
        ACCUMULATE,
        "Accumulation",
        "table.rows[group] = uint32_t(rows);",
        "{}",
        FAR,
    ),
    Mutant(
        "the highest digit of a far group is lost",
        FAR_GROUPS,
        "FarGroups",
        "digits = highest[slot] - from + 1",
        "digits = highest[slot] - from",
        FAR,
    ),
    Mutant(
        "planes of far groups are left as they are",
        FAR_GROUPS,
        "FarGroups",
        "*at = 0;",
        "",
        FAR,
    ),
    # The plan
    Mutant(
        "a block takes more rows than a window holds",
        PLAN,
        "gr_partition_set",
        "1u << GR_GROUP_WINDOW_MAX_ROWS_SHIFT",
        "UINT32_MAX",
        ("tests/segments/test_group_partitions.py", "-k", "window_holds", "--large"),
    ),
    *(
        Mutant(
            f"a call leaves {what} behind",
            file,
            function,
            old,
            "{}",
            ("tests/segments/test_group_partitions.py", "-k", "leave_nothing"),
        )
        for what, file, function, old in (
            (
                "numbers of partitions",
                SEGMENTS,
                "clear_rows",
                "state_of(q)[GR_PARTITION_ROWS + threadIdx.x] = 0;",
            ),
            ("numbers of rows by partitions", ACCUMULATE, "Accumulation", "counts()[result] = 0;"),
        )
    ),
)
