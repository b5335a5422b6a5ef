"""The traps of copies, of any layout and to a device, each as a change of our sources."""

from mutants import Mutant

PLAN = "csrc/reduce/convert/convert.c"
COPY = "cuda_kernels/reduce/general/copy.cu"
TESTS = ("tests/arrays/test_copies.py",)

MUTANTS = (
    Mutant(
        "the last sixteen bytes of a run reach into the next one",
        COPY,
        "copy_runs",
        "GR_COPY_VECTOR <= p.extent[0];",
        "1 <= p.extent[0];",
        TESTS,
    ),
    Mutant(
        "vectors that no run begins at", COPY, "joined", "if (shift & 4 * by)", "if (shift & 2 * by)", TESTS
    ),
    Mutant(
        "a tile without its last column",
        COPY,
        "turn_elements",
        "if (across < p.across && down < p.down)\n                loaded",
        "if (across + 1 < p.across && down < p.down)\n                loaded",
        TESTS,
    ),
    Mutant(
        "tiles of vectors where rows are none",
        PLAN,
        "has_vectors",
        "is_even(p->out_down, by)",
        "is_even(p->out_down, 1)",
        TESTS,
    ),
    Mutant(
        "an inner axis whose first element alone is copied",
        PLAN,
        "plan_copy",
        "params.inner = dims[close].extent;",
        "params.inner = 1;",
        TESTS,
    ),
    Mutant(
        "chunks that threads bring lie one over the other",
        "csrc/executor/staging_ring.c",
        "enqueue_copies",
        "self->binding->device_out + chunk * self->job.chunk_bytes;",
        "self->binding->device_out;",
        ("tests/driver/test_fake_driver.py", "-k", "large_arrays"),
    ),
    Mutant(
        "memory that threads brought to is kept",
        "csrc/executor/executor.c",
        "release",
        "backend->streams->free_async(backend, self->stream_state.stream, self->uploaded[i]);",
        ";",
        ("tests/driver/test_fake_driver.py", "-k", "large_arrays"),
    ),
    Mutant(
        "elements of a thread that carry nothing to the next row",
        "cuda_kernels/include/reduce/general/copied.cuh",
        "addresses",
        "ahead[i] = carry;",
        "ahead[i] = 0;",
        TESTS,
    ),
    Mutant(
        "a conversion without what follows the last whole vector",
        PLAN,
        "plan_conversion",
        "is_even((int64_t)count, GR_CONVERT_ITEMS_PER_THREAD) &&",
        "count >= GR_CONVERT_ITEMS_PER_THREAD &&",
        TESTS,
    ),
)
