"""The traps of matrix products, each as a change of our sources."""

from mutants import Mutant

KERNELS = "cuda_kernels/matmul/"
PLAN = "csrc/matmul/plan.c"
M0 = KERNELS + "m0_naive_columns.cu"
M2 = KERNELS + "m2_shared_tiles.cu"
M3 = KERNELS + "m3_thread_column.cu"
M4 = KERNELS + "m4_thread_tile.cu"
M7 = KERNELS + "m7_double_buffer.cu"
M8 = KERNELS + "m8_async_copies.cu"
M10 = KERNELS + "m10_split_k.cu"
T0 = KERNELS + "t0_mma.cu"
T1 = KERNELS + "t1_wgmma.cu"
T2 = KERNELS + "t2_three_products.cu"
T3 = KERNELS + "t3_half.cu"
T4 = KERNELS + "t4_halves.cu"
T5 = KERNELS + "t5_double.cu"
INCLUDE = "cuda_kernels/include/"
RING = INCLUDE + "matmul/cp_async_pipeline.cuh"
STAGES = INCLUDE + "matmul/tma_pipeline.cuh"
DOUBLE = INCLUDE + "matmul/double.cuh"
STEPS = INCLUDE + "matmul/k_steps.cuh"
PARTS = INCLUDE + "matmul/half_split.cuh"
WIDE = INCLUDE + "matmul/accumulators.cuh"
MAPS = "csrc/matmul/tensor_maps.c"
OTHER = KERNELS + "auto/matmul_other.cu"
VECTOR = KERNELS + "auto/matmul_vector.cu"
PACK = KERNELS + "auto/matmul_pack.cu"
SMALL = KERNELS + "small/matmul_small.cu"
SHORT = KERNELS + "small/matmul_short.cu"
COLUMNS = KERNELS + "small/matmul_columns.cu"
PANEL = INCLUDE + "matmul/panel.cuh"
FRAGMENTS = INCLUDE + "matmul/panel_fragments.cuh"


def shapes(name, dtype="float32"):
    return ("tests/matmul/test_matmul.py", "-k", f"test_every_shape and {name}-{dtype}")


def races(name):
    return (f"tests/matmul/test_matmul_api.py::test_no_races[{name}]",)


def whole(name, dtype="float32"):
    return ("tests/matmul/test_matmul.py", "-k", f"test_whole_tiles and {name}-{dtype}")


def many(name):
    return (f"tests/matmul/test_matmul.py::test_more_tiles_than_multiprocessors[{name}]",)


FLOAT64 = ("tests/matmul/test_matmul.py", "-k", "test_every_shape_by_default and float64")
ROUNDS = ("tests/matmul/test_batch_invariance.py", "-k", "one_after_the_other")
INVARIANT = ("tests/matmul/test_batch_invariance.py", "-k", "number_and_place")
SLICES = ("tests/matmul/test_matmul.py", "-k", "test_k_in_slices")
EVERY = ("tests/matmul/test_matmul.py", "-k", "test_every_dtype")
VECTORS = ("tests/matmul/test_matmul.py", "-k", "test_a_matrix_and_a_vector")
SMALL_PRODUCTS = ("tests/matmul/test_small_products.py",)
MUTANTS = (
    Mutant(
        "elements of a short product beyond the end of k are multiplied",
        SHORT,
        "multiply_short",
        "const bool inside = unsigned(i) < count;",
        "const bool inside = true;",
        SMALL_PRODUCTS,
    ),
    Mutant(
        "elements of a row beyond the end of k are multiplied with those of few columns",
        COLUMNS,
        "bring_columns",
        "i < deep ? found[s] : T(0.f)",
        "found[s]",
        SMALL_PRODUCTS,
    ),
    Mutant(
        "parts of a product with few columns depend on the number of rows",
        "csrc/matmul/short.c",
        "gr_matmul_columns",
        "count_parts(self.k)",
        "(self.m < 9 ? 1 : count_parts(self.k))",
        SMALL_PRODUCTS,
    ),
    Mutant(
        "halves of a small tile off a boundary of four bytes are not shifted",
        INCLUDE + "matmul/direct_tiles.cuh",
        "LinesAlongK",
        "__funnelshift_r(x, y, shift % 4 * 8)",
        "x",
        SMALL_PRODUCTS,
    ),
    Mutant(
        "a part of k is lost where a block takes all of them",
        KERNELS + "small/matmul_direct.cu",
        "Multiplier",
        "totals[i] + sum",
        "totals[i]",
        SMALL_PRODUCTS,
    ),
    Mutant(
        "the longer parts of a small product end where the shorter ones do",
        INCLUDE + "matmul/k_parts.cuh",
        "KParts",
        "min(part, more)",
        "0u",
        SMALL_PRODUCTS,
    ),
    Mutant(
        "elements beyond the end of k of a small product are not zeros",
        PANEL,
        "Panel",
        "if (deep < DEPTH)",
        "if (deep < 0)",
        SMALL_PRODUCTS,
    ),
    Mutant(
        "elements beyond the end of k of a small tile are not zeros",
        INCLUDE + "matmul/direct_tiles.cuh",
        "LinesAlongN",
        "number[i] < deep ? size[i] : 0",
        "size[i]",
        SMALL_PRODUCTS,
    ),
    Mutant(
        "lines off a boundary of four bytes are not shifted",
        PANEL,
        "shifted",
        "shift % 4 * 8",
        "0",
        SMALL_PRODUCTS,
    ),
    Mutant(
        "parts of a small product depend on the number of rows",
        "csrc/matmul/k_parts.c",
        "gr_matmul_k_parts",
        "bytes < MIN_BYTES",
        "bytes < MIN_BYTES || self->m < 9",
        INVARIANT,
    ),
    Mutant(
        "tiles of rows by floor: the last rows are lost",
        PLAN,
        "multiply",
        "gr_ceil_div(self->m, tiling->rows)",
        "(self->m / tiling->rows ? self->m / tiling->rows : 1)",
        shapes("m3"),
    ),
    Mutant(
        "tiles of columns by floor: the last columns are lost",
        "csrc/matmul/common.c",
        "gr_matmul_make_params",
        "gr_ceil_div(self->n, columns)",
        "(self->n / columns ? self->n / columns : 1)",
        shapes("m4"),
    ),
    Mutant(
        "the last row of every matrix is not stored",
        M0,
        "matmul",
        "row >= p.m",
        "row + 1 >= p.m",
        shapes("m0"),
    ),
    Mutant(
        "the k-tail of a tile is not zero",
        M2,
        "matmul",
        "tile_a[y][x] = x < p.k - step ? *a : T(0)",
        "tile_a[y][x] = *a",
        shapes("m2"),
    ),
    Mutant(
        "the steps along k end one too early",
        M3,
        "matmul",
        "step < p.k;",
        "step + TILE_K <= p.k;",
        shapes("m3"),
    ),
    Mutant(
        "a step along k is taken twice",
        M2,
        "matmul",
        "step += TILE, a += TILE",
        "step += TILE / 2, a += TILE / 2",
        shapes("m2"),
    ),
    Mutant(
        "no barrier before the tiles are read",
        M2,
        "matmul",
        "        __syncthreads();\n#pragma unroll",
        "#pragma unroll",
        races("m2"),
    ),
    Mutant(
        "no barrier before the tiles are written again",
        M2,
        "matmul",
        "tile_b[i][x], sum);\n        __syncthreads();",
        "tile_b[i][x], sum);",
        races("m2"),
    ),
    Mutant(
        "the buffer that is being read is the one written",
        M7,
        "matmul",
        "of_a.store(tile_a[now ^ 1])",
        "of_a.store(tile_a[now])",
        races("m7"),
    ),
    Mutant(
        "every pair of a stack takes the first matrix of b",
        PLAN,
        "multiply",
        "memcpy(params.b_stack, self->b.stack, sizeof params.b_stack);",
        "",
        ("tests/matmul/test_matmul.py", "-k", "test_stacks"),
    ),
    Mutant(
        "the result overwrites an operand that is still read",
        "csrc/python/job.c",
        "py_job_out_overlaps",
        "found = found || py",
        "found = found && py",
        ("tests/matmul/test_matmul_api.py", "-k", "out_may_be"),
    ),
    Mutant(
        "parts of a vector's products begin one too late",
        VECTOR,
        "line_of",
        "const uint64_t first = part * p.slice_length;",
        "const uint64_t first = part * p.slice_length + (part > 0);",
        VECTORS,
    ),
    Mutant(
        "the sum of the last part is lost",
        VECTOR,
        "finish",
        "for (unsigned i = 1; i < parts; ++i)",
        "for (unsigned i = 1; i + 1 < parts; ++i)",
        VECTORS,
    ),
    Mutant(
        "a packed matrix loses the last column of a tile",
        PACK,
        "pack_tile",
        "row < p.rows && column < p.columns)\n            to[",
        "row < p.rows && column + 1 < p.columns)\n            to[",
        ("tests/matmul/test_matmul.py", "-k", "test_strides"),
    ),
    Mutant(
        "the last column of every matrix is not stored",
        M2,
        "matmul",
        "column < p.n)",
        "column + 1 < p.n)",
        shapes("m2"),
    ),
    Mutant(
        "a tile is multiplied twice, and the next one never",
        M7,
        "matmul",
        "of_b.load(p, step + TILE_K,",
        "of_b.load(p, step,",
        shapes("m7"),
    ),
    Mutant(
        "a wait leaves the group of copies under way that is read",
        M8,
        "matmul",
        "ptx::cp_async_wait_group<STAGES - 2>();",
        "ptx::cp_async_wait_group<STAGES - 1>();",
        races("m8"),
    ),
    Mutant(
        "copies overwrite the stage that others read",
        M8,
        "matmul",
        "        __syncthreads(); // all",
        "        // all",
        races("m8"),
    ),
    Mutant(
        "copies between products bring less than all of a tile",
        STEPS,
        "Steps",
        "turn < (i + GROUP) * Of::TURNS / TILE_K; ++turn)",
        "turn < (i + GROUP) * Of::TURNS / TILE_K - (i + GROUP == TILE_K); ++turn)",
        whole("m9"),
    ),
    Mutant(
        "the tail of k is copied from beyond the matrix",
        RING,
        "Copies",
        "row + k_offset < valid_k && column",
        "row + k_offset < TILE_K && column",
        shapes("m8"),
    ),
    Mutant(
        "the short step takes elements of the next",
        STEPS,
        "Elements",
        "there = there && k + k_offset < valid_k;",
        "there = there;",
        shapes("m9"),
    ),
    Mutant(
        "rows of 16 bytes are not cut where the short step ends",
        STEPS,
        "Vectors",
        "const bool there = !SHORT || k + turn * ROWS < valid_k;",
        "const bool there = true;",
        ("tests/matmul/test_matmul.py", "-k", "not_finite and m9"),
    ),
    Mutant(
        "tiles moved back from an edge are stored where they were",
        STEPS,
        "shifted_tile_coord",
        "{p.m < ROWS ? 0 : min(row, p.m - ROWS),",
        "{row,",
        shapes("m9"),
    ),
    Mutant(
        "copies of the step before are not waited for",
        STEPS,
        "Steps",
        "ptx::cp_async_wait_group<STAGES - 2>();",
        "ptx::cp_async_wait_group<STAGES - 1>();",
        races("m9"),
    ),
    Mutant(
        "a stage is filled while others read it",
        STEPS,
        "Steps",
        "            __syncthreads(); // all copies have arrived",
        "            // all copies have arrived",
        races("m9"),
    ),
    Mutant(
        "parts of k share a step",
        STEPS,
        "KRange",
        "each + (part < more ? 1 : 0),",
        "each + (part <= more ? 1 : 0),",
        shapes("m10"),
    ),
    Mutant(
        "the first parts of k lose a step",
        STEPS,
        "KRange",
        "each + (part < more ? 1 : 0),",
        "each,",
        shapes("m10"),
    ),
    Mutant(
        "the sums of a cluster's last block are lost",
        M10,
        "add_up",
        "unsigned other = 1; other < parts",
        "unsigned other = 1; other + 1 < parts",
        shapes("m10"),
    ),
    Mutant(
        "sums are read before the other blocks have written them",
        M10,
        "matmul",
        "    cluster_sync();\n    add_up",
        "    __syncthreads();\n    add_up",
        races("m10"),
    ),
    Mutant(
        "a block ends while others read its sums",
        M10,
        "matmul",
        "cluster_sync(); // before any block ends, of which others may still read",
        "",
        races("m10"),
    ),
    Mutant(
        "a matrix is taken to lie the other way",
        PLAN,
        "multiply",
        "params.b_column = self->b.column;",
        "params.b_column = 1;",
        ("tests/matmul/test_matmul.py", "-k", "test_sides_are_taken"),
    ),
    Mutant(
        "a slice of k is lost",
        INCLUDE + "matmul/split_k.cuh",
        "add_slices",
        "for (unsigned i = 0; i < count; ++i)",
        "for (unsigned i = 0; i + 1 < count; ++i)",
        SLICES,
    ),
    Mutant(
        "every slice takes the first part of k",
        M10,
        "matmul_of",
        "slice * parts + blockIdx.x % parts,",
        "blockIdx.x % parts,",
        SLICES,
    ),
    Mutant(
        "a round replaces the rounds before",
        M10,
        "matmul",
        "results.store(p, place, round > 0);",
        "results.store(p, place, false);",
        ROUNDS,
    ),
    Mutant(
        "the number of parts of k depends on the number of rows",
        "csrc/matmul/common.c",
        "count_parts",
        "(double)self->n",
        "(double)self->m",
        INVARIANT,
    ),
    Mutant(
        "slices of a row depend on the number of results",
        "csrc/matmul/gemv.c",
        "has_fixed_order",
        "return self->batch_invariant &&",
        "return !self->batch_invariant &&",
        INVARIANT,
    ),
    Mutant(
        "the tail of k in fragments is what follows in memory",
        T0,
        "matmul",
        "unsigned(min(p.k - step, uint64_t(TILE_K)))",
        "TILE_K",
        shapes("t0"),
    ),
    Mutant(
        "copies for tensor cores are not waited for",
        T0,
        "matmul",
        "ptx::cp_async_wait_group<STAGES - 2>();",
        "ptx::cp_async_wait_group<STAGES - 1>();",
        races("t0"),
    ),
    Mutant(
        "factors of TF32 are cut, not rounded",
        INCLUDE + "common/mma.cuh",
        "cvt_rna_tf32",
        "return y;",
        "return x & 0xffffe000;",
        shapes("t0"),
    ),
    Mutant(
        "a tensor map ends a column early",
        MAPS,
        "tensor_of",
        ".sizes = {columns * words, rows, count}",
        ".sizes = {(columns - (columns > 1)) * words, rows, count}",
        shapes("t1"),
    ),
    Mutant(
        "a tensor map ends a row early",
        MAPS,
        "tensor_of",
        ".sizes = {columns * words, rows, count}",
        ".sizes = {columns * words, rows - (rows > 1), count}",
        shapes("t1"),
    ),
    Mutant(
        "a stage is free before its products are done",
        T1,
        "multiply",
        "        finish_products(sums);\n        ring.release(ring.full());",
        "        ring.release(ring.full());\n        finish_products(sums);",
        races("t1"),
    ),
    Mutant(
        "a stage is free when all readers but one have read it",
        STAGES,
        "TmaPipeline",
        "READING_WARPS * CLUSTER)",
        "READING_WARPS * CLUSTER - 1)",
        races("t1"),
    ),
    Mutant(
        "the phase before is waited for: tiles are read that have not come",
        STAGES,
        "Pipeline",
        "ptx::mbarrier_wait_parity(full(), parity);",
        "ptx::mbarrier_wait_parity(full(), parity ^ 1);",
        races("t1"),
    ),
    Mutant(
        "the small parts of B are left out",
        T2,
        "multiply",
        "(i < 4 ? small : big)",
        "(i < 4 ? big : big)",
        shapes("t2"),
    ),
    Mutant(
        "small parts are not shown to the tensor cores",
        T2,
        "part",
        "        ptx::fence_proxy_async_shared();\n        ptx::mbarrier_arrive(parted",
        "        ptx::mbarrier_arrive(parted",
        races("t2"),
    ),
    Mutant(
        "persistent blocks make their first tile alone",
        T2,
        "t2_f32",
        "number += gridDim.x) {",
        "number = tiles) {",
        many("t2"),
    ),
    Mutant(
        "a cluster's blocks make the same tile twice",
        T3,
        "place_in_cluster",
        "place.row += blockIdx.x % S::CLUSTER * ROWS;",
        "",
        shapes("t3", "float16"),
    ),
    Mutant(
        "products of two stages are under way when the first is free",
        T3,
        "multiply",
        "wait_for_products<1>()",
        "wait_for_products<2>()",
        races("t3"),
    ),
    Mutant(
        "the engine stores what threads have not shown it",
        T3,
        "store",
        "    ptx::fence_proxy_async_shared();\n    group_barrier(group);\n    if",
        "    group_barrier(group);\n    if",
        races("t3"),
    ),
    Mutant(
        "results are stored before the other warps have laid theirs down",
        T3,
        "store",
        "    ptx::fence_proxy_async_shared();\n    group_barrier(group);\n    if",
        "    ptx::fence_proxy_async_shared();\n    if",
        races("t3"),
    ),
    Mutant(
        "the last column is lost where the engine cannot store",
        T3,
        "store_rows",
        "if (place.column + 32 * i + lane < p.n)",
        "if (place.column + 32 * i + lane + 1 < p.n)",
        shapes("t3", "float16"),
    ),
    Mutant(
        "the scales of B are left out",
        T4,
        "store",
        "sums[i] * of_a[row] * of_b[column]",
        "sums[i] * of_a[row]",
        shapes("t4"),
    ),
    Mutant(
        "parts of the matrices of a stack are those of the one before",
        T4,
        "bring",
        "2 * pair.b + small",
        "2 * (pair.b - (pair.b > 0)) + small",
        ("tests/matmul/test_matmul.py", "-k", "test_stacks and t4"),
    ),
    Mutant(
        "the last column of float64 is lost where it is odd",
        DOUBLE,
        "OfDouble",
        "to_column < p.n)\n                store_pair",
        "to_column + 1 < p.n)\n                store_pair",
        shapes("t5", "float64"),
    ),
    Mutant(
        "persistent blocks of float64 make their first tile alone",
        T5,
        "matmul",
        "number += gridDim.x) {",
        "number = tiles) {",
        many("t5"),
    ),
    Mutant(
        "a stage of float64 is free before a warp has read it",
        T5,
        "multiply",
        "ring.release(before);",
        "ring.release(ring.full());",
        races("t5"),
    ),
    Mutant(
        "the second group's share of k is lost",
        T5,
        "add_up",
        "unsigned other = 1; other < S::GROUPS",
        "unsigned other = 2; other < S::GROUPS",
        FLOAT64,
    ),
    Mutant(
        "groups take the same share of k",
        T5,
        "bring",
        "parts.begin(group) + stage * TILE_K",
        "parts.begin(0) + stage * TILE_K",
        FLOAT64,
    ),
    Mutant(
        "one of four magnitudes is not looked at for the scale",
        PARTS,
        "t4_rows",
        "max(magnitude(x[2]), magnitude(x[3]))",
        "magnitude(x[2])",
        shapes("t4"),
    ),
    Mutant(
        "the steps along k of other dtypes end one too early",
        OTHER,
        "matmul",
        "step < p.k; step += TILE_K",
        "step + TILE_K <= p.k; step += TILE_K",
        EVERY,
    ),
    Mutant(
        "no barrier before the tiles of other dtypes are written again",
        OTHER,
        "matmul",
        "tile_b[i][x + s * (TILE / THREAD_TILE)], sums[r][s]);\n        }\n        __syncthreads();",
        "tile_b[i][x + s * (TILE / THREAD_TILE)], sums[r][s]);\n        }",
        ("tests/matmul/test_matmul_api.py", "-k", "no_races_by_default"),
    ),
    Mutant(
        "imaginary parts are added where they are subtracted",
        WIDE,
        "multiply_add",
        "multiply_add(-a.im, b.im, c.re)",
        "multiply_add(a.im, b.im, c.re)",
        EVERY,
    ),
    Mutant(
        "the sums of a block's last warp are lost",
        VECTOR,
        "columns",
        "int w = 1; w < WARPS; ++w",
        "int w = 1; w + 1 < WARPS; ++w",
        VECTORS,
    ),
    Mutant(
        "the tail of a row is lost",
        VECTOR,
        "sum_of_row",
        "if (i + uint64_t(u) * lanes < p.end)",
        "if (i + uint64_t(u + 1) * lanes < p.end)",
        VECTORS,
    ),
    Mutant(
        "the block that ends first adds up the parts",
        VECTOR,
        "is_last",
        "draw_ticket(ticket, parts) == parts - 1",
        "draw_ticket(ticket, parts) == 0",
        VECTORS,
    ),
)
