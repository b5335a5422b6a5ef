"""The traps of variances and higher moments."""

from mutants import INCLUDE, Mutant

VARIANCE, POWERS = INCLUDE + "reduce/ops/variance.cuh", INCLUDE + "reduce/ops/moments.cuh"
VARIANCE_SUMS = INCLUDE + "reduce/ops/variance_sums.cuh"
VARIANCE_COMPLEX = INCLUDE + "reduce/ops/variance_complex.cuh"
WIDE_INTEGERS = INCLUDE + "ops/wide_integers.cuh"
PYTHON = "gpureduce/_reduce/"


def moments(words):
    return ("tests/statistics/test_moments.py", "-k", words)


LARGE_MEAN = moments("large_mean or axis or lost")

MUTANTS = (
    Mutant(
        "moments on the device divide by the number of elements, whatever ddof is",
        "cuda_kernels/reduce/general/moments_of_sums.cu",
        "moments_of_sums",
        "less = n - p.ddof;",
        "less = n;",
        ("tests/api/test_short_way.py", "-k", "moments"),
    ),
    Mutant(
        "merged variances forget how far apart the means are",
        VARIANCE_SUMS,
        "merge_plain",
        "(a.squares + b.squares) + more};",
        "a.squares + b.squares};",
        LARGE_MEAN,
    ),
    Mutant(
        "merged about another point, the sums stay where they were",
        VARIANCE_SUMS,
        "merge_plain",
        "const T sum_a = a.sum + from_a, sum_b = b.sum + from_b;",
        "const T sum_a = a.sum + b.sum, sum_b = sum_a;",
        LARGE_MEAN,
    ),
    Mutant(
        "a turn is about 0, which a large mean is far from",
        VARIANCE,
        "VectorVarOfNumbers",
        "* (Value(1) / N);",
        "* Value(0);",
        moments("large_mean"),
    ),
    Mutant(
        "a column keeps to a point that is far from the mean",
        VARIANCE,
        "VarTogether",
        "else if (is_far(T(count), kept.sum, kept.squares))",
        "else if (false)",
        ("tests/statistics/test_exponents.py", "-k", "columns_of_one_thread"),
    ),
    Mutant(
        "a turn counts NaNs, too",
        VARIANCE,
        "VectorVarOfNumbers",
        "count += is_nan ? 0.0 : 1.0;",
        "count += 1.0;",
        moments("nans_among"),
    ),
    Mutant(
        "a NaN of a column is forgotten",
        VARIANCE,
        "VarTogether",
        "(kept.left_out & ~is_shrunk ? GR_VAR_HAS_NAN : 0)",
        "(0)",
        moments("nans_among"),
    ),
    Mutant(
        "a column begins about a NaN that was left out",
        VARIANCE,
        "VarTogether",
        "const uint32_t count = rows - (kept.left_out & ~is_shrunk);",
        "const uint32_t count = rows;",
        moments("nans_among"),
    ),
    Mutant(
        "a warp adds up about a far element",
        VARIANCE,
        "VarOfNumbers",
        "<= 0.75 * count * double(squares);",
        "<= count * double(squares);",
        moments("far"),
    ),
    Mutant(
        "squares beyond a double are not scaled",
        VARIANCE_SUMS,
        "merge",
        "if (both.marks >= GR_VAR_SHRUNK || !is_medium(both.squares))",
        "if (both.marks >= GR_VAR_SHRUNK)",
        ("tests/statistics/test_exponents.py", "-k", "largest_double or all_exponents"),
    ),
    Mutant(
        "a difference of 128 bits is one less",
        WIDE_INTEGERS,
        "minus",
        "Int128{1, 0}",
        "Int128{0, 0}",
        ("tests/reductions/test_exact_integers.py",),
    ),
    Mutant(
        "only one half of complex numbers varies",
        VARIANCE_COMPLEX,
        "VectorVarOfComplex",
        "fma(apart[i].re, apart[i].re, apart[i].im * apart[i].im)",
        "apart[i].re * apart[i].re",
        moments("as_numpy"),
    ),
    Mutant(
        "third powers move as second ones",
        POWERS,
        "moved",
        "fma(e, fma(count, e, 3 * s.first), 3 * s.second)",
        "fma(e, fma(count, e, 2 * s.first), 3 * s.second)",
        moments("moments"),
    ),
    Mutant(
        "fourth powers forget the third when they move",
        POWERS,
        "moved",
        "6 * s.second), 4 * s.third)",
        "6 * s.second), s.third)",
        moments("moments"),
    ),
    Mutant(
        "the mean is rounded before deviations are taken",
        PYTHON + "power_sums.py",
        "ratios",
        "moved(sums, -ahead)",
        "moved(sums, sums[..., 1] - (sums[..., 1] + ahead))",
        moments("moments_about"),
    ),
    Mutant(
        "of pieces the NaNs of the first are forgotten",
        PYTHON + "power_sums.py",
        "sums_of",
        "min(np.copysign(1, [total[0], more[0]]))",
        "np.copysign(1, more[0])",
        moments("pieces"),
    ),
    Mutant(
        "too few elements are not warned of under a mask",
        PYTHON + "variance.py",
        "_report_nonfinite",
        'counts = run("count_nonzero", mask, axes)',
        "pass",
        moments("mask"),
    ),
    Mutant(
        "a standard deviation is a variance",
        VARIANCE_SUMS,
        "variance",
        "Narrow<Out>::from(flags & GR_FINISH_ROOT ? sqrt(result) : result)",
        "Narrow<Out>::from(result)",
        moments("as_numpy or arguments"),
    ),
)
