"""The traps of whole arrays that begin anywhere."""

from mutants import INCLUDE, Mutant

VECTORS, FLAT, RING = (
    INCLUDE + name
    for name in (
        "reduce/flat/unaligned_vectors.cuh",
        "reduce/flat/flat.cuh",
        "reduce/flat/flat_tma.cuh",
    )
)
ADDRESSES = ("tests/reductions/test_whole_arrays_at_addresses.py",)
RINGS = ("tests/simulator/test_racecheck.py", "-k", "depend_on_the_address")

MUTANTS = (
    Mutant(
        "vectors begin at the first line",
        FLAT,
        "aligned_split",
        "ByIndex ? 0 : (128 - p.in % 128)",
        "(128 - p.in % 128)",
        ADDRESSES,
    ),
    Mutant(
        "halves keep their place in a word",
        VECTORS,
        "UnalignedVectors",
        "last[k], 16)",
        "last[k], 0)",
        ADDRESSES,
    ),
    Mutant(
        "the last half of a vector is the one before it",
        VECTORS,
        "UnalignedVectors",
        "address(k) + 14",
        "address(k) + 12",
        ADDRESSES,
    ),
    Mutant(
        "halves are loaded as words behind them",
        VECTORS,
        "UnalignedVectors",
        "address(k) - odd);",
        "address(k) + odd);",
        ADDRESSES,
    ),
    Mutant(
        "a copy has no more bytes than its piece",
        RING,
        "ring",
        "skew > 0 ? 128u : 0u",
        "0u",
        RINGS,
    ),
    Mutant(
        "the elements behind the last copy stay out of shared memory",
        RING,
        "store_end",
        "threadIdx.x < bytes / sizeof(In)",
        "false",
        RINGS,
    ),
)
