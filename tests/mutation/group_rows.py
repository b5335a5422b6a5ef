"""The traps of group sums of sorted rows: partitions, parts, runs, splits, ranges, slots and rounding."""

from mutants import INCLUDE, Mutant

ORDER = "cuda_kernels/groups/auto/group_rows_order.cu"
COLUMNS, ROWS = INCLUDE + "groups/column_sums.cuh", INCLUDE + "groups/sorted_rows.cuh"
RING = INCLUDE + "groups/row_ring.cuh"
PLAN = "csrc/groups/rows/plan.c"


def rows(words):
    return ("tests/segments/test_group_rows.py", "-k", words)


ANY = rows("random_calls or any_number")
PARTS = rows("tiles_partitions")
EXPONENTS = rows("every_exponent or mislead")
TIES = rows("next_to_ties")

MUTANTS = (
    # The order of the rows
    Mutant(
        "a warp of one counter draws one number",
        ORDER,
        "draw",
        "atomicAdd(&counters[which], 32u)",
        "atomicAdd(&counters[which], 1u)",
        PARTS,
    ),
    Mutant(
        "lanes of one counter draw the same number",
        ORDER,
        "draw",
        "__shfl_sync(0xffffffffu, first, 0) + lane",
        "__shfl_sync(0xffffffffu, first, 0)",
        PARTS,
    ),
    Mutant(
        "a record of a tile is a place too early",
        ORDER,
        "each_record",
        "before[tile[i] + step] <= at",
        "before[tile[i] + step] < at",
        PARTS,
    ),
    Mutant(
        "rows of a turn have the first place of their group",
        ORDER,
        "sort_labels",
        "(rank & 0xffff)",
        "0",
        PARTS,
    ),
    Mutant(
        "rows of several turns have the place of the first",
        ORDER,
        "sort_labels",
        "rows <= turn &&",
        "",
        PARTS,
    ),
    Mutant(
        "parts of a partition overlap",
        ORDER,
        "Part",
        "uint32_t(uint64_t(rows) * number / parts)",
        "0",
        PARTS,
    ),
    Mutant(
        "runs of one part are all rows of a group",
        ORDER,
        "put_runs",
        "!whole ? part.base / p.slot_rows + i",
        "!whole ? uint32_t(GR_SORTED_SHORT)",
        PARTS,
    ),
    Mutant(
        "parts of a partition have the same runs",
        ORDER,
        "put_runs",
        "partitions * p.locals + base / p.slot_rows",
        "partitions * p.locals + part.base / p.slot_rows",
        PARTS,
    ),
    Mutant(
        "a group has the rows of one part",
        ORDER,
        "put_runs",
        "atomicAdd(address<uint32_t>(p.totals) + slot, count);",
        "address<uint32_t>(p.totals)[slot] = count;",
        PARTS,
    ),
    Mutant(
        "empty groups have no results",
        ORDER,
        "put_empty_groups",
        "counts[local] != 0",
        "true",
        ANY,
    ),
    Mutant(
        "numbers of rows are added to those of the call before",
        ORDER,
        "partition_labels",
        "address<uint32_t>(p.totals)[i] = 0;",
        "{}",
        rows("leave_nothing"),
    ),
    # Splits and ranges
    Mutant(
        "an element above the range is taken",
        COLUMNS,
        "FloatColumn",
        "most < scale.top &&",
        "",
        EXPONENTS,
    ),
    Mutant(
        "an element below the range is taken",
        COLUMNS,
        "FloatColumn",
        "&& least >= scale.bottom",
        "",
        EXPONENTS,
    ),
    Mutant(
        "a float64 above the range is taken",
        COLUMNS,
        "DoubleColumn",
        "most < scale.top &&",
        "",
        EXPONENTS,
    ),
    Mutant(
        "a float64 below the range is taken",
        COLUMNS,
        "DoubleColumn",
        "&& least >= scale.bottom",
        "",
        EXPONENTS,
    ),
    Mutant(
        "infinities of float16 are finite",
        COLUMNS,
        "HalfColumn",
        "return sum - sum == 0;",
        "return true;",
        ANY,
    ),
    Mutant(
        "the sum of -0 is 0",
        COLUMNS,
        "FloatColumn",
        "double upper = 0, lower = -0.0;",
        "double upper = 0, lower = 0;",
        ANY,
    ),
    Mutant(
        "the upper half of an int64 has no sign",
        COLUMNS,
        "IntegerColumn",
        "int64_t(x >> 32)",
        "int64_t(uint32_t(x >> 32))",
        ANY,
    ),
    # Rounding
    Mutant(
        "a rounded sum is always near enough",
        COLUMNS,
        "FloatColumn",
        "if (error == 0)",
        "if (true)",
        TIES,
    ),
    Mutant(
        "an error below a tie is not seen",
        COLUMNS,
        "round_exactly",
        "head.bits -= 1;",
        "{}",
        TIES,
    ),
    Mutant(
        "a third double is lost",
        COLUMNS,
        "DoubleColumn",
        "if (left == 0)",
        "",
        TIES,
    ),
    Mutant(
        "a mean of float64 is always near enough",
        COLUMNS,
        "DoubleColumn",
        "least == most &&",
        "",
        ANY,
    ),
    Mutant(
        "the rest of a division is not seen",
        COLUMNS,
        "round_quotient",
        "|| rest != 0",
        "",
        ANY,
    ),
    Mutant(
        "a mean is divided by all rows",
        ROWS,
        "SortedRows",
        "is_mean() ? run.end - run.begin : 1",
        "is_mean() ? p.rows.length : 1",
        ANY,
    ),
    # Rows in flight
    Mutant(
        "rows are read before their copies are complete",
        RING,
        "RowRing",
        "cp_async_wait_group<stages - 1>",
        "cp_async_wait_group<stages>",
        ANY,
    ),
    Mutant(
        "no row after a chunk is copied",
        ROWS,
        "end_of_rows",
        "run.slot == GR_SORTED_SHORT && run.begin < end ? run.end : end",
        "end",
        ANY,
    ),
    Mutant(
        "rows of the run before are added",
        ROWS,
        "SortedRows",
        "i - before < count",
        "i < before + count",
        ANY,
    ),
    # Groups of several teams
    Mutant(
        "a team adds the rows of the chunks after it",
        ROWS,
        "sum_sorted_rows",
        "run.slot == GR_SORTED_SHORT ? run.end : min(run.end, end)",
        "run.end",
        ANY,
    ),
    Mutant(
        "each chunk of a large group is added with those after it",
        ROWS,
        "sum_sorted_rows",
        "if ((chunk - first) % together != 0)\n            return;",
        "",
        rows("together"),
    ),
    Mutant(
        "chunks together end where the group does",
        ROWS,
        "sum_sorted_rows",
        "run.end == rows ? rows : run.end / p.chunk * p.chunk",
        "run.end",
        rows("together"),
    ),
    Mutant(
        "pieces of -0 are not counted",
        ROWS,
        "SortedRows",
        "atomicAdd(special_at(place), Word(rows) << 32);\n            return;",
        "return;",
        rows("specials"),
    ),
    Mutant(
        "the state of a slot is forgotten",
        ROWS,
        "SortedRows",
        "Word(flags | GR_SORTED_HAS_STATE)",
        "Word(flags)",
        rows("specials or exponent"),
    ),
    Mutant(
        "the sums of a slot are forgotten if it has a state",
        ROWS,
        "SortedRows",
        "state[at / 32 + k] += pieces.at[k];",
        "{}",
        rows("specials or exponent"),
    ),
    # What a call leaves behind
    *(
        Mutant(f"a call leaves {what} behind", ROWS, function, old, new, rows("leave_nothing"))
        for what, function, old, new in (
            ("sums", "SortedRows", "atomicExch(sum_at(i, place), 0ull)", "*sum_at(i, place)"),
            ("states", "SortedRows", "atomicExch(state_at(place) + i, 0ull)", "*(state_at(place) + i)"),
            ("tickets", "SortedRows", "*ticket = 0;", "{}"),
            ("numbers of rows", "clear_counts", "reinterpret_cast<uint32_t *>(p.counts)[i] = 0;", "{}"),
        )
    ),
    # The plan
    Mutant(
        "a thread takes columns of the next row",
        PLAN,
        "vector_of",
        "inner % vector == 0 &&",
        "",
        rows("columns_that_are_apart"),
    ),
    Mutant(
        "a thread takes columns that are apart",
        PLAN,
        "vector_of",
        "in_order &&",
        "",
        rows("columns_that_are_apart"),
    ),
)
