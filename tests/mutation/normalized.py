"""The traps of functions that normalize rows: where a row ends, and in which order its parts are combined."""

from mutants import INCLUDE, Mutant

OPS, TILE, ROWS = (INCLUDE + f"normalize/{name}.cuh" for name in ("ops", "tile", "rows"))
REDUCER, PLAN = INCLUDE + "normalize/block_sum.cuh", "csrc/normalize/normalize.c"


def normalized(words):
    return ("tests/normalize/test_normalize.py", "-k", words)


MUTANTS = (
    Mutant(
        "sums of exponentials of two tiles have different maxima",
        OPS,
        "Exponentials",
        "a.sum * exp_of(a.max - from)",
        "a.sum",
        normalized("test_lengths"),
    ),
    Mutant(
        "the elements behind the end of a row count in the variance",
        OPS,
        "LayerNorm",
        "index(i) < count ? square(sum, i) : sum",
        "square(sum, i)",
        normalized("test_lengths and layer_norm"),
    ),
    Mutant(
        "a mean of two tiles does not weigh them",
        OPS,
        "LayerNorm",
        "part = count == 0 ? Acc(0) : b.count / count",
        "part = Acc(0.5)",
        normalized("test_lengths and layer_norm"),
    ),
    Mutant(
        "the residual gets the elements, not the sums",
        ROWS,
        "RowTile",
        "+ to_acc(raw[v].at(e))",
        "+ 0 * to_acc(raw[v].at(e))",
        normalized("test_residual"),
    ),
    Mutant(
        "a row that is read twice is read without its residual",
        ROWS,
        "RowTile",
        "F::takes_residual && row.residual.first != nullptr ? row.residual : row.in",
        "row.in",
        normalized("test_residual"),
    ),
    Mutant(
        "warps of a row write to the slot that others still read",
        REDUCER,
        "RowReducer",
        "slot ^= 1;",
        "",
        normalized("test_one_launch_without_races"),
    ),
    Mutant(
        "tiles of a lane are those of its neighbour",
        ROWS,
        "row_tiles",
        "first += stride",
        "first += size",
        normalized("test_lengths"),
        3,
    ),
    Mutant(
        "exponentials of a tile are relative to its own maximum",
        OPS,
        "Softmax",
        "f.scale *= exp_of(tile.max - max);",
        "",
        normalized("test_lengths"),
    ),
    Mutant(
        "the States of two lanes are combined twice",
        ROWS,
        "combine_eight",
        "offset *= 2",
        "offset *= 4",
        normalized("test_lengths"),
    ),
    Mutant(
        "a row begins where the first one begins",
        ROWS,
        "Row",
        "int64_t(column) * p.inner_stride",
        "0 * p.inner_stride",
        normalized("test_axes"),
    ),
    Mutant(
        "the number of threads of a row depends on the number of rows",
        PLAN,
        "divide",
        "if (vectors > most)",
        "if (self->lines > 1 && vectors > most)",
        normalized("test_batch"),
    ),
)
