"""The traps of published reduction ladders, and those of work in streams, each as a change of our sources."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A change of a function, and the tests that ought to fail under it.

    The tokens of `old` must occur exactly `times` times in `function`, or the change is out of date and the
    run fails. `function` may name a struct or a macro instead; "" is for the top level of the file.
    """

    trap: str
    file: str
    function: str
    old: str
    new: str
    tests: tuple[str, ...]  # arguments of pytest
    times: int = 1
    gpu_only: str = ""  # why the simulator cannot show it


def ladder(name, dtype="float32"):
    return ("tests/reductions/test_ladder.py", "-k", f"test_every_size and {name}-{dtype}-")


def operators(name, op, dtype):
    return ("tests/reductions/test_ladder_operators.py", "-k", f"test_every_size and {name}-{op}-{dtype}")


def races(name):
    return (f"tests/simulator/test_racecheck.py::test_every_rung_but_the_racy_one_is_clean[float32-{name}]",)


STREAMS = ("tests/driver/test_fake_streams.py",)
KERNELS = "cuda_kernels/reduce/"
INCLUDE = "cuda_kernels/include/"
V0 = KERNELS + "v0_interleaved_modulo.cu"
V2 = KERNELS + "v2_sequential.cu"
V3 = KERNELS + "v3_first_add_on_load.cu"
V4 = KERNELS + "v4_last_warp_unrolled.cu"
V5 = KERNELS + "v5_completely_unrolled.cu"
V6 = KERNELS + "v6_many_per_thread.cu"
V7 = KERNELS + "v7_warp_shuffle.cu"
V11 = KERNELS + "v11_clusters.cu"
V12 = KERNELS + "v12_bulk_copy.cu"
BLOCK_REDUCE = INCLUDE + "reduce/ladder/block_reduce.cuh"
LAST_BLOCK = INCLUDE + "reduce/ladder/last_block.cuh"
MANY_LOADS = INCLUDE + "reduce/ladder/many_loads.cuh"
OPS = INCLUDE + "reduce/ladder/ops.cuh"
UNROLLED_TREE = INCLUDE + "reduce/ladder/unrolled_tree.cuh"
VECTOR_LOADS = INCLUDE + "reduce/ladder/vector_loads.cuh"
PLACE = INCLUDE + "reduce/ladder/arg_value.cuh"
PLAN = "csrc/reduce/ladder/plan.c"
CALL = "csrc/python/call.c"
JOB = "csrc/python/job.c"

SECOND_LOAD = "    if (i + blockDim.x < n)\n"
SHUFFLE_STAGE = """    if (warp == 0)
        x = warp_reduce<Op>(lane < warps ? warp_results[lane] : Op::identity());
"""
# As most texts print it: halving the number of warps, which loses the odd ones.
HALVED_SHUFFLE_STAGE = """    if (warp == 0) {
        x = lane < warps ? warp_results[lane] : Op::identity();
        for (unsigned offset = warps / 2; offset > 0; offset /= 2)
            x = Op::combine(x, __shfl_down_sync(0xffffffffu, x, offset));
    }
"""

MUTANTS = (
    # The grid
    Mutant(
        "grid = n / block: the tail is dropped",
        PLAN,
        "pass_grid",
        "const uint64_t whole = gr_ceil_div(n, span * block);",
        "const uint64_t whole = n / (span * block);",
        ladder("v0"),
    ),
    Mutant(
        "grid = ceil(n / block) / 2 for v0",
        PLAN,
        "pass_grid",
        "const uint64_t whole = gr_ceil_div(n, span * block);",
        "const uint64_t whole = gr_ceil_div(n, span * block) / 2;",
        ladder("v0"),
    ),
    Mutant(
        "grid = ceil(n / block) / 2 for two elements per thread",
        PLAN,
        "pass_grid",
        "const uint64_t whole = gr_ceil_div(n, span * block);",
        "const uint64_t whole = gr_ceil_div(n, block) / span;",
        ladder("v3"),
    ),
    Mutant(
        "partial sums only, never a scalar",
        PLAN,
        "plan_passes",
        "for (size_t pass = 0; !last; ++pass)",
        "for (size_t pass = 0; pass < 1; ++pass)",
        ladder("v0"),
    ),
    Mutant(
        "the next pass in place across blocks",
        PLAN,
        "plan_passes",
        "last ? out : gr_program_buffer(",
        "last ? out : pass > 0 ? in : gr_program_buffer(",
        ladder("v0"),
    ),
    Mutant(
        "atomics into uninitialised memory",
        PLAN,
        "gr_ladder_plan",
        "if (variant->output == GR_OUTPUT_ATOMIC) {",
        "if (variant->output == GR_OUTPUT_ATOMIC && request->n != request->n) {",
        ladder("atomic"),
    ),
    Mutant(
        "block of 32 threads accepted",
        "csrc/reduce/ladder/ladder.h",
        "",
        "GR_MIN_BLOCK = 64",
        "GR_MIN_BLOCK = 32",
        ("tests/reductions/test_input.py", "tests/api/test_api.py", "-k", "block_sizes or variant_record"),
    ),
    # The load
    *(
        Mutant(f"second load unguarded in {name}", file, "reduce", old, "", ladder(name))
        for name, file, old in (
            ("v3", V3, SECOND_LOAD),
            ("v4", V4, SECOND_LOAD),
            ("v5", V5, "    if (i + Block < n)\n"),
            ("v6", V6, "        if (i + Block < n)\n    "),
            ("v7", V7, "        if (i + blockDim.x < n)\n    "),
        )
    ),
    Mutant(
        "guard with the length that forgets the index", V0, "reduce", "if (i < n)", "if (n > 0)", ladder("v0")
    ),
    Mutant(
        "tail left uninitialised in shared memory, v0",
        V0,
        "reduce",
        "    slots[t] = x;\n",
        "    if (i < n)\n        slots[t] = x;\n",
        ladder("v0"),
    ),
    Mutant(
        "tail left uninitialised in shared memory, v3",
        V3,
        "reduce",
        "    slots[t] = x;\n",
        "    if (i < n)\n        slots[t] = x;\n",
        ladder("v3"),
    ),
    Mutant(
        "elements per thread from n / grid / block, v6",
        V6,
        "reduce",
        "i < n; i += step) {",
        "i < n / step * step; i += step) {",
        ladder("v6"),
    ),
    Mutant(
        "elements per thread from n / grid / block, v7",
        V7,
        "reduce",
        "i < n; i += step) {",
        "i < n / step * step; i += step) {",
        ladder("v7"),
    ),
    Mutant(
        "n % 4 dropped",
        VECTOR_LOADS,
        "accumulate_share",
        "if (first < n % Vec::length)",
        "if (first < n % Vec::length && n == 0)",
        ladder("v8"),
    ),
    Mutant(
        "a pass over fewer than four partial sums drops them",
        VECTOR_LOADS,
        "accumulate_share",
        "if (first < n % Vec::length)",
        "if (first < n % Vec::length && count > 0)",
        ladder("v8"),
    ),
    Mutant(
        "the ticket is not set back, v9",
        LAST_BLOCK,
        "last_block",
        "draw_ticket(ticket, parts)",
        "atomicAdd(ticket, 1)",
        ("tests/reductions/test_ladder_views.py", "-k", "leaves_the_ticket and v9"),
    ),
    Mutant(
        "what lies before the first boundary is lost, v10",
        MANY_LOADS,
        "accumulate_ends",
        "if (first < parts.head)",
        "if (first < parts.head && n == 0)",
        ("tests/reductions/test_ladder_views.py", "-k", "from_any_element and v10"),
    ),
    Mutant(
        "the vectors behind the last whole turn are lost, v10",
        MANY_LOADS,
        "accumulate_all",
        "for (; i < parts.count; i += step)",
        "for (; i < parts.count / (Loads * step) * step; i += step)",
        ladder("v10"),
    ),
    Mutant(
        "blocks of a cluster do not wait for its results, v11",
        V11,
        "reduce",
        "    cluster_arrive();\n    cluster_wait();\n    if (rank != 0)",
        "    if (rank != 0)",
        ladder("v11"),
    ),
    Mutant(
        "a piece of the ring is asked for before it was read, v12",
        V12,
        "reduce",
        "        __syncthreads(); // all have read the piece: its place is free\n",
        "",
        ("tests/reductions/test_ladder.py", "-k", "test_explicit_grid and v12 and float32"),
    ),
    Mutant(
        "no wait for the copies, v12",
        V12,
        "reduce",
        "ptx::mbarrier_wait_parity(shared_address(&full[stage]), parity);",
        "",
        ladder("v12"),
    ),
    Mutant(
        "int32 added up in 32 bits",
        V3,
        "reduce",
        "Acc x = Op::identity();",
        "In x = In(0);",
        ladder("v3", "int32"),
    ),
    Mutant(
        "index of 32 bits, signed",
        V0,
        "reduce",
        "const uint64_t i = uint64_t(blockIdx.x) * blockDim.x + t;",
        "const int i = int(blockIdx.x * blockDim.x + t);",
        ("tests/reductions/test_ladder.py", "--device=cuda", "--large", "-k", "test_huge"),
        gpu_only="needs 2^31 elements",
    ),
    Mutant(
        "length of 32 bits",
        V7,
        "reduce",
        "i < n; i += step) {",
        "i < unsigned(n); i += step) {",
        ("tests/reductions/test_ladder.py", "--device=cuda", "--large", "-k", "test_huge"),
        gpu_only="needs 2^32 elements",
    ),
    # The tree
    Mutant(
        "no branch for 1024 threads",
        UNROLLED_TREE,
        "unrolled_tree",
        "Block >= 1024",
        "Block >= 2048",
        ladder("v5"),
    ),
    Mutant(
        "odd numbers of warps lose part in the shuffle stage",
        BLOCK_REDUCE,
        "block_reduce",
        SHUFFLE_STAGE,
        HALVED_SHUFFLE_STAGE,
        ladder("v7"),
    ),
    Mutant(
        "no __syncthreads between the rounds, v2",
        V2,
        "reduce",
        "            slots[t] = Op::combine(slots[t], slots[t + stride]);\n        __syncthreads();\n",
        "            slots[t] = Op::combine(slots[t], slots[t + stride]);\n",
        ladder("v2"),
    ),
    Mutant(
        "no __syncthreads before the shuffle stage, v7",
        BLOCK_REDUCE,
        "block_reduce",
        "        warp_results[warp] = x;\n    __syncthreads();\n",
        "        warp_results[warp] = x;\n",
        ladder("v7"),
    ),
    # Lanes run in lockstep here: the race check shows what no result does.
    Mutant(
        "no __syncwarp before the last warp writes, v4",
        V4,
        "warp_step",
        "    __syncwarp(); // all have read before anyone writes\n",
        "",
        races("v4"),
    ),
    Mutant(
        "no __syncwarp after the last warp has written, v4",
        V4,
        "warp_step",
        "    __syncwarp(); // all have written before anyone reads the next round\n",
        "",
        races("v4"),
    ),
    Mutant(
        "no __syncwarp before the last warp writes, v5",
        UNROLLED_TREE,
        "warp_step",
        "    __syncwarp();\n    slots[t] = x;\n",
        "    slots[t] = x;\n",
        races("v5"),
    ),
    # The operators
    Mutant(
        "max that drops a NaN",
        OPS,
        "Max",
        "return b > a || b != b ? b : a;",
        "return b > a ? b : a;",
        ("tests/reductions/test_ladder_operators.py", "-k", "test_special_values"),
    ),
    Mutant(
        "minimum that starts from 0",
        OPS,
        "Min",
        "return Limits<Acc>::largest;",
        "return Acc(0);",
        operators("v0", "min", "int32"),
    ),
    Mutant(
        "product of int32 kept in 32 bits",
        INCLUDE + "reduce/ladder/instantiate.cuh",
        "GR_MAKE_SUM",
        "#define GR_MAKE_SUM(op, Op, dtype, In, Acc) GR_KERNELS(op, Op, dtype, In, Acc)",
        "#define GR_MAKE_SUM(op, Op, dtype, In, Acc) GR_KERNELS(op, Op, dtype, In, In)",
        operators("v0", "prod", "int32"),
    ),
    Mutant(
        "argmax whose ties depend on the order of the lanes",
        PLACE,
        "Extreme",
        " | (equal & (b.position < a.position))",
        "",
        operators("cub_block", "argmax", "int32"),
    ),
    Mutant(
        "argmin that passes over a NaN",
        PLACE,
        "Extreme",
        " | (b_is_nan & !a_is_nan)",
        "",
        operators("cub_block", "argmin", "float32"),
    ),
    Mutant(
        "positions counted in the order of the memory",
        "csrc/python/ladder.c",
        "parse_call",
        "gr_op_is_positional(request->op)",
        "gr_ops[request->op].result == GR_RESULT_SUM",
        ("tests/reductions/test_ladder_operators.py", "-k", "test_places_are_counted"),
    ),
    Mutant(
        "others' streams that do not come after our work",
        JOB,
        "py_job_execute",
        "order_streams(self, true,",
        "order_streams(self, false,",
        ("tests/driver/test_fake_driver.py", "-k", "tensors"),
    ),
    Mutant(
        "results in the order of the axes, whatever the memory's order is",
        CALL,
        "is_slower",
        "gr_magnitude(here) <= gr_magnitude(there)",
        "gr_magnitude(here) >= gr_magnitude(there)",
        ("tests/reductions/test_memory_order.py", "-k", "test_every_order_of_axes"),
    ),
    Mutant(
        "an array of another library taken beyond its address space",
        "csrc/python/operands/operand.c",
        "set_device_source",
        "first > (uint64_t)0 - (uint64_t)low",
        "first > 0",
        ("tests/driver/test_fake_driver.py", "-k", "tensors or interface"),
    ),
    Mutant(
        "a result written where the array is read-only",
        JOB,
        "parse_out",
        "!device_out->read_only && ",
        "",
        ("tests/driver/test_fake_driver.py", "-k", "tensors or interface"),
    ),
    Mutant(
        "min of no elements left to the kernels",
        "csrc/python/fast_path.c",
        "has_result",
        "reduced_count(call) > 0",
        "reduced_count(call) >= 0",
        ("tests/api/test_short_way.py", "-k", "test_results_and_errors and min"),
    ),
    Mutant(
        "truth of an element cut down to its integer part",
        OPS,
        "Any",
        "return a | Acc(b != T(0));",
        "return a | Acc(Acc(b) != 0);",
        operators("v0", "any", "float32"),
    ),
    Mutant(
        "atomics into zeros, whatever the identity",
        PLAN,
        "gr_ladder_plan",
        "gr_op_identity(request->op, gr_op_partial(request->op, request->dtype));",
        "gr_op_identity(GR_OP_sum, gr_op_partial(request->op, request->dtype));",
        operators("atomic", "prod", "int64"),
    ),
    Mutant(
        "compare and swap without another try",
        KERNELS + "atomic.cu",
        "atomic_combine",
        "while (seen.word != expected);",
        "while (false);",
        (
            "tests/reductions/test_ladder_operators.py",
            "--device=cuda",
            "-k",
            "test_every_size and atomic-max-float64",
        ),
        gpu_only="blocks of a kernel with atomics run one after the other",
    ),
    # The checker itself
    Mutant(
        "check with a tolerance of 1e-3",
        "tests/support/reference.py",
        "mismatch",
        "result.item() != case.exact:",
        "abs(result.item() - case.exact) > 1e-3 * abs(case.exact):",
        ("tests/reductions/test_lost_element.py",),
    ),
    Mutant(
        "check that lets a NaN pass",
        "tests/support/reference.py",
        "mismatch",
        "if not error <= allowed:",
        "if error > allowed:",
        ("tests/reductions/test_lost_element.py",),
    ),
    Mutant(
        "bound a hundred times too wide",
        "tests/support/reference.py",
        "bound",
        "return rounds * u / (1",
        "return 100 * rounds * u / (1",
        ("tests/reductions/test_lost_element.py",),
    ),
    # Work in streams
    Mutant(
        "streams that share an array in no order",
        "csrc/device/device.c",
        "gr_stream_wait_for",
        "    if (from == to)\n        return GR_OK;\n    gr_status status",
        "    if (from == to || from != to)\n        return GR_OK;\n    gr_status status",
        STREAMS,
    ),
    Mutant(
        "memory of one stream freed in another",
        "csrc/device/allocation.c",
        "free_in_stream",
        "free_async(backend, state->stream, allocation->address);",
        "free_async(backend, 0, allocation->address);",
        STREAMS,
    ),
    Mutant(
        "clean memory of one stream kept for another",
        "csrc/device/free_list.c",
        "fits",
        "self->bytes == bytes && self->stream_state.id == stream",
        "self->bytes == bytes && (self->stream_state.id == 0) == (stream == 0)",
        STREAMS,
    ),
    Mutant(
        "memory of a graph's stream freed before the graph",
        "csrc/device/allocation.c",
        "alloc_for_graph",
        "status = backend->streams->retain_in_graph(backend, stream_state, release, allocation, error);",
        "release(allocation);",
        STREAMS,
    ),
    Mutant(
        "a hidden wait in a call of a stream",
        "csrc/executor/executor.c",
        "fetch",
        "    if (out != NULL)\n        return backend->download(",
        "    if (self->stream_state.capture == 0 && backend->wait(backend, stream, error) != GR_OK)\n"
        "        return error->status;\n"
        "    if (out != NULL)\n        return backend->download(",
        STREAMS,
    ),
)
