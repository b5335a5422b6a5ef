"""The traps of matrix products, each as a change of our sources."""

from mutants import Mutant

KERNELS = "cuda_kernels/matmul/"
PLAN = "csrc/matmul/plan.c"
M0 = KERNELS + "m0_naive_columns.cu"
M2 = KERNELS + "m2_shared_tiles.cu"
M3 = KERNELS + "m3_thread_column.cu"
M4 = KERNELS + "m4_thread_tile.cu"
M7 = KERNELS + "m7_double_buffer.cu"
VECTOR = KERNELS + "auto/matmul_vector.cu"
PACK = KERNELS + "auto/matmul_pack.cu"


def shapes(name, dtype="float32"):
    return ("tests/test_matmul.py", "-k", f"test_every_shape and {name}-{dtype}")


def races(name):
    return (f"tests/test_matmul_api.py::test_no_races[{name}]",)


VECTORS = ("tests/test_matmul.py", "-k", "test_a_matrix_and_a_vector")
MUTANTS = (
    Mutant(
        "tiles of rows by floor: the last rows are lost",
        PLAN,
        "gr_ceil_div(self->m, rows)",
        "(self->m / rows)",
        shapes("m3"),
    ),
    Mutant(
        "tiles of columns by floor: the last columns are lost",
        PLAN,
        "gr_ceil_div(self->n, columns)",
        "(self->n / columns ? self->n / columns : 1)",
        shapes("m4"),
    ),
    Mutant(
        "the last row of every matrix is not stored",
        M0,
        "row >= p.m",
        "row + 1 >= p.m",
        shapes("m0"),
    ),
    Mutant(
        "the k-tail of a tile is not zero",
        M2,
        "tile_a[y][x] = x < p.k - step ? *a : T(0)",
        "tile_a[y][x] = *a",
        shapes("m2"),
    ),
    Mutant(
        "the steps along k end one too early",
        M3,
        "step < p.k;",
        "step + DEEP <= p.k;",
        shapes("m3"),
    ),
    Mutant(
        "a step along k is taken twice",
        M2,
        "step += TILE, a += TILE",
        "step += TILE / 2, a += TILE / 2",
        shapes("m2"),
    ),
    Mutant(
        "no barrier before the tiles are read",
        M2,
        "        __syncthreads();\n#pragma unroll",
        "#pragma unroll",
        races("m2"),
    ),
    Mutant(
        "no barrier before the tiles are written again",
        M2,
        "tile_b[i][x], sum);\n        __syncthreads();",
        "tile_b[i][x], sum);",
        races("m2"),
    ),
    Mutant(
        "the buffer that is being read is the one written",
        M7,
        "store_transposed(tile_a[now ^ 1])",
        "store_transposed(tile_a[now])",
        races("m7"),
    ),
    Mutant(
        "every pair of a stack takes the first matrix of b",
        PLAN,
        "params.b_stack[d] = b->stack[d];",
        "params.b_stack[d] = 0;",
        ("tests/test_matmul.py", "-k", "test_stacks"),
    ),
    Mutant(
        "the result overwrites an operand that is still read",
        "csrc/python/matmul.c",
        "found = found || (job",
        "found = found && (job",
        ("tests/test_matmul_api.py", "-k", "out_may_be"),
    ),
    Mutant(
        "parts of a vector's products begin one too late",
        VECTOR,
        "const uint64_t first = part * p.part;",
        "const uint64_t first = part * p.part + (part > 0);",
        VECTORS,
    ),
    Mutant(
        "the sum of the last part is lost",
        VECTOR,
        "for (unsigned i = 1; i < parts; ++i)",
        "for (unsigned i = 1; i + 1 < parts; ++i)",
        VECTORS,
    ),
    Mutant(
        "a packed matrix loses the last column of a tile",
        PACK,
        "row < p.rows && column < p.columns)\n            to[",
        "row < p.rows && column + 1 < p.columns)\n            to[",
        ("tests/test_matmul.py", "-k", "test_strides"),
    ),
)
