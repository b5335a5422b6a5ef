"""The traps of NaN-aware reductions, norms and sums of exponentials."""

from mutants import INCLUDE, Mutant

NAN, NORMS, EXPONENTIALS, PAIRS = (
    INCLUDE + name
    for name in (
        "reduce/ops/nan.cuh",
        "reduce/ops/norms.cuh",
        "reduce/ops/log_sum_exp.cuh",
        "reduce/ops/pairs.cuh",
    )
)
PYTHON = "gpureduce/_reduce/"


def nan(words):
    return ("tests/statistics/test_nan.py", "-k", words)


def norms(words):
    return ("tests/statistics/test_norms.py", "-k", words)


EUCLIDEAN = norms("euclidean")
LOGARITHMS = norms("logarithms")

MUTANTS = (
    # NaNs
    Mutant(
        "a mean counts NaNs, too",
        NAN,
        "counted",
        ": NanSum<In>::identity(), counts};",
        ": NanSum<In>::identity(), 1};",
        nan("nanmean"),
    ),
    Mutant(
        "NaNs behind whole chunks count",
        NAN,
        "NanMean",
        "Of::load(x, position), !is_nan(widen(x))",
        "Of::load(x, position), 1",
        nan("nanmean"),
    ),
    Mutant(
        "what is not there of a column counts",
        NAN,
        "BatchAccumulator",
        "counted<In>(x(j), there(j))",
        "counted<In>(x(j))",
        nan("many_threads"),
    ),
    Mutant(
        "lanes keep their counts", NAN, "NanMean", "x.low += __shfl", "x.low = __shfl", nan("many_threads")
    ),
    Mutant(
        "of a count the high bits are lost", NAN, "VectorAccumulator", "0x7ffffffu", "0x3u", nan("nanmean")
    ),
    Mutant(
        "a NaN makes a product 0",
        NAN,
        "NanProd",
        "? Prod<In>::identity() : value",
        "? State() : value",
        nan("nanprod"),
    ),
    Mutant(
        "a complex number is a NaN by its real part alone",
        NAN,
        "lesser",
        "is_nan(a) || (!is_nan(b) && less(b, a)) ? b : a",
        "is_nan(a.re) || (!is_nan(b.re) && less(b, a)) ? b : a",
        nan("extremes"),
    ),
    Mutant(
        "a difference leaves NaNs out", NAN, "Extremes", "s.nans ? T(NAN) : result", "result", norms("peak")
    ),
    Mutant(
        "of equal ones the last wins",
        NAN,
        "NanArgExtreme",
        "Largest ? less(s.value, value) : less(value, s.value)",
        "Largest ? !less(value, s.value) : !less(s.value, value)",
        nan("first_of_equals"),
    ),
    Mutant(
        "of equal ones in a turn the last wins",
        NAN,
        "VectorNanArgExtreme",
        "for (unsigned i = N * length; i-- > 0;)",
        "for (unsigned i = 0; i < N * length; ++i)",
        nan("positions"),
    ),
    Mutant(
        "a turn equal to those before wins",
        NAN,
        "VectorNanArgExtreme",
        "Largest ? less(acc.value, best) : less(best, acc.value)",
        "Largest ? !less(best, acc.value) : !less(acc.value, best)",
        nan("first_of_equals"),
    ),
    Mutant(
        "no word of slices of NaNs",
        PYTHON + "nan.py",
        "_warn_of_all_nan",
        "np.isnan(result).any()",
        "False",
        nan("warnings"),
    ),
    Mutant(
        "a NaN's position is returned",
        PYTHON + "nan.py",
        "_reject_all_nan",
        "(result < 0).any()",
        "False",
        nan("positions"),
    ),
    # Norms
    Mutant("large squares overflow", NORMS, "RootNorm", "large ? -GR_SCALE : GR_SCALE", "0", EUCLIDEAN),
    Mutant("small squares underflow", NORMS, "RootNorm", "large ? -GR_SCALE", "true ? -GR_SCALE", EUCLIDEAN),
    Mutant(
        "next to larger ones others are lost",
        NORMS,
        "RootNorm",
        "+ low.sum() * shrink * shrink",
        "",
        EUCLIDEAN,
    ),
    Mutant("others count too much", NORMS, "RootNorm", "low.sum() * shrink * shrink", "low.sum()", EUCLIDEAN),
    Mutant(
        "sums of any scale are medium ones",
        NORMS,
        "RootNorm",
        "x.scale == GR_MEDIUM)) {",
        "true)) {",
        EUCLIDEAN,
    ),
    Mutant("zeros drown what is small", NORMS, "RootNorm", "if (high.sum() == 0)", "if (false)", EUCLIDEAN),
    Mutant(
        "powers forget an exponent",
        NORMS,
        "two_to",
        "{exp2(left - second), first + second,",
        "{exp2(left - second), first,",
        norms("layout"),
    ),
    Mutant(
        "the smaller of two powers counts as it is",
        NORMS,
        "AnyNorm",
        "a.value + b.value * scale,",
        "a.value + b.value,",
        norms("layout"),
    ),
    Mutant(
        "the root forgets the rest of a quotient",
        NORMS,
        "root_of",
        "rest + log2(mantissa) / order",
        "log2(mantissa) / order",
        norms("underflows"),
    ),
    # Sums of exponentials
    Mutant(
        "the largest is left out twice",
        EXPONENTIALS,
        "LogSumExp",
        "(less.others + 1) *",
        "less.others *",
        LOGARITHMS,
    ),
    Mutant(
        "equal ones count once", EXPONENTIALS, "VectorAccumulator", "(double(equals) - 1)", "0.0", LOGARITHMS
    ),
    Mutant("-infinity adds something", EXPONENTIALS, "exp_of", "x > -86.0f", "x != -86.0f", LOGARITHMS),
    Mutant(
        "the 1 drowns what is small",
        EXPONENTIALS,
        "LogSumExp",
        "log1p(s.others)",
        "log(1 + s.others)",
        LOGARITHMS,
    ),
    # Pairs
    Mutant(
        "the first is not conjugated", PAIRS, "VecDot", "{x.re, -x.im}", "{x.re, x.im}", norms("products")
    ),
    Mutant(
        "weights are not divided by",
        PAIRS,
        "Average",
        "quotient(s.sum, s.weights)",
        "s.sum",
        norms("weights"),
    ),
)
