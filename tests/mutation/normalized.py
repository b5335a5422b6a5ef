"""The traps of functions that normalize rows: where a row ends, and in which order its parts are combined."""

from mutants import INCLUDE, Mutant

OPS, TILE, ROWS = (INCLUDE + f"normalize/{name}.cuh" for name in ("ops", "tile", "rows"))
STAGED = INCLUDE + "normalize/staged.cuh"
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
        "a stage gets the row that it had",
        STAGED,
        "pipelined_rows",
        "fetch(r + uint64_t(p.stages) * gridDim.x, stage);",
        "fetch(r, stage);",
        normalized("test_rows_in_shared_memory"),
    ),
    Mutant(
        "a bias without a weight lies behind the shared memory",
        STAGED,
        "pipelined_rows",
        "ring + (p.stages + (p.weight != 0)) * vectors",
        "ring + (p.stages + 1) * vectors",
        normalized("test_rows_in_shared_memory and float64"),
    ),
    Mutant(
        "a tile is read before it has arrived",
        STAGED,
        "resident_rows",
        "ptx::mbarrier_wait_parity(shared_address(&full[i]), parity);",
        "",
        normalized("test_rows_in_shared_memory"),
    ),
    Mutant(
        "exponentials of a tile in shared memory are those of its elements",
        STAGED,
        "resident_rows",
        "tile.put_back(kept(i));",
        "",
        normalized("test_rows_in_shared_memory"),
    ),
    Mutant(
        "the number of threads of a row depends on the number of rows",
        PLAN,
        "divide",
        "vectors > block / 2)",
        "self->lines > 1 && vectors > block / 2)",
        normalized("test_batch"),
    ),
)
