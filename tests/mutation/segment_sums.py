"""The traps of exact sums of segments: lost bits, exponents of batches, rounding, counts, shared states."""

from mutants import INCLUDE, Mutant

FOLDER = INCLUDE + "segments/"
SUMS, VALUES = FOLDER + "exact_sums.cuh", FOLDER + "values.cuh"
BATCHES, TILES = FOLDER + "stream_batches.cuh", FOLDER + "segments.cuh"
LOST = FOLDER + "lost_sums.cuh"
SHORT = "cuda_kernels/segments/auto/segment_short.cu"
PLAN = "csrc/segments/segments.c"
PYTHON = "gpureduce/_segments/segment_plan.py"


def sums(words):
    return ("tests/segments/test_segment_sums.py", "-k", words)


def nans(words):
    return ("tests/segments/test_segment_nan.py", "-k", words)


MUTANTS = (
    Mutant(
        "errors that two doubles do not hold are dropped from sums of few rows",
        SUMS,
        "add_all",
        "exact = exact && second.error == 0;",
        "exact = exact && second.error == second.error;",
        sums("cancellation"),
    ),
    Mutant(
        "the kernel of lost sums is not told of a long segment that is left to it",
        SHORT,
        "ShortSums",
        "        mark_lost(p.lost);\n",
        "",
        sums("long_segments_among"),
    ),
    Mutant(
        "blocks that share a segment read the same rows",
        SHORT,
        "ShortSums",
        "number * blockDim.x + threadIdx.x",
        "threadIdx.x",
        sums("long_segments_among"),
    ),
    Mutant(
        "a warp leaves a long segment to nobody",
        SHORT,
        "ShortSums",
        "if (rows > int64_t(most_rows)) return true;",
        "if (rows > int64_t(most_rows)) return false;",
        sums("all_lengths"),
    ),
    Mutant(
        "a sum that three doubles do not hold is not lost",
        SUMS,
        "add_low",
        "two.error != 0 ? double(NAN) : two.sum",
        "two.sum",
        sums("far_exponents or cancellation"),
    ),
    Mutant(
        "errors of the first double are dropped",
        SUMS,
        "Expansion",
        "middle = two.sum;",
        "middle = two.error;",
        sums("random_calls"),
    ),
    Mutant(
        "subnormal numbers count as zeros",
        SUMS,
        "Exponents",
        "Bits == 64 && __double2loint(x) != 0",
        "false",
        sums("subnormal"),
    ),
    Mutant(
        "a batch of float64 takes two doubles for too many exponents",
        BATCHES,
        "StreamBatches",
        "near = wide ? 36 :",
        "near = wide ? 60 :",
        sums("exponents_of_a_batch"),
    ),
    Mutant(
        "a batch of float32 takes one double for too many exponents",
        BATCHES,
        "StreamBatches",
        "36 : 53 - 24 - 9;",
        "36 : 53 - 24 + 9;",
        sums("exponents_of_a_batch"),
    ),
    Mutant(
        "exponents below those of lane 0 are near whatever they are",
        SUMS,
        "Exponents",
        " && int(least >> 21) >= top - apart",
        "",
        sums("exponents_of_a_batch or random_calls"),
    ),
    Mutant(
        "exponents above those of lane 0 are near whatever they are",
        SUMS,
        "Exponents",
        " && int(most >> 20) <= top",
        "",
        sums("exponents_of_a_batch or random_calls"),
    ),
    Mutant(
        "elements of a lane are added in one double whatever their exponents",
        BATCHES,
        "StreamBatches",
        "- int(least >> 24) <= 53 - 24 - 4",
        "- int(least >> 24) <= 53",
        sums("batches_of_a_lane"),
    ),
    Mutant(
        "the sums of lanes are added in one double whatever their errors",
        SUMS,
        "add_lanes",
        "exact = exact && high.error == 0;",
        "",
        sums("random_calls or batches_of_a_lane"),
    ),
    Mutant(
        "the sums of lanes are their first doubles",
        SUMS,
        "add_lanes",
        "(!Narrow || x.middle == 0) && x.low == 0;",
        "true;",
        sums("random_calls or batches_of_a_lane"),
    ),
    Mutant(
        "rounding to odd is rounding to nearest",
        SUMS,
        "to_odd",
        "if (error == 0 || bits & 1)",
        "if (true)",
        sums("random_calls or every_path"),
    ),
    Mutant(
        "a mean is the quotient of the rounded sum",
        SUMS,
        "Rounded",
        "fma(-quotient, count, value)",
        "0.0",
        sums("random_calls or every_path"),
    ),
    Mutant(
        "a sum of negative zeros is positive",
        SUMS,
        "round_sum",
        "if (s.middle == 0 && s.low == 0 && (!mean || s.high == 0))",
        "if (s.middle == 0 && s.low == 0 && !mean && s.high != 0)",
        sums("every_path"),
    ),
    Mutant(
        "no block adds up long segments again",
        LOST,
        "LostSums",
        "later |= 1u << of;",
        "later |= 0;",
        sums("lengths"),
    ),
    Mutant(
        "blocks that share a segment begin with its first rows",
        LOST,
        "LostSums",
        "segment.begin + blockIdx.y * threads + threadIdx.x",
        "segment.begin + threadIdx.x",
        sums("few_long"),
    ),
    Mutant(
        "a warp keeps the state of the segment before",
        LOST,
        "LostSums",
        "        clear(state, lane, 32);\n",
        "",
        sums("lengths"),
    ),
    Mutant(
        "means of uint64 are those of int64",
        VALUES,
        "SegmentResults",
        "sum += static_cast<Whole>(count) << 63;",
        "sum += 0;",
        sums("means_of_integers"),
    ),
    Mutant(
        "a mean divides by the number of all elements, NaNs too",
        PLAN,
        "needs_counts",
        "op != GR_OP_nansum",
        "op != GR_OP_nanmean && op != GR_OP_nansum",
        nans("exact"),
    ),
    Mutant(
        "the smallest number of NaNs alone is infinity",
        TILES,
        "Segments",
        "sum = nan_of(sum);",
        "sum = sum;",
        nans("infinities"),
    ),
    Mutant(
        "a sum that exceeds 64 bits is returned",
        PYTHON,
        "_fitting_sums",
        "(upper > whole.max >> 32)",
        "(upper > whole.max)",
        sums("do_not_fit"),
    ),
)
