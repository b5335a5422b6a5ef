"""The traps of reductions of groups with masks, weights and quantiles, and of states of groups."""

from mutants import Mutant

MASK = "cuda_kernels/segments/auto/label_mask.cu"
WEIGHTS = "cuda_kernels/groups/auto/group_weights.cu"
STATES = "cuda_kernels/groups/auto/group_states.cu"
SQUARES, SUMS = "gpureduce/_segments/group_squares.py", "gpureduce/_segments/exact_groups.py"
QUANTILE = "cuda_kernels/groups/auto/group_quantile.cu"
ROWS, NANS = "gpureduce/_segments/masked.py", "gpureduce/_segments/skip_nan.py"


def tests_of(name, words):
    return (f"tests/{name}.py", "-k", words)


MASKED = tests_of("segments/test_masked", "groups_and_segments or every_dtype")
WEIGHTED = tests_of("segments/test_weighted", "results or order or special")
OF_STATES = tests_of("states/test_group_states", "exact or special or every")
OF_SQUARES = tests_of("states/test_group_states", "squares")
QUANTILES = tests_of("segments/test_group_quantiles", "results or special or exact")
WITHOUT_NANS = tests_of("segments/test_segment_nan_masks", "results or alone")

MUTANTS = (
    Mutant(
        "a position is not a row of its line",
        ROWS,
        "_rows_of",
        "// columns % rows",
        "// columns",
        MASKED,
    ),
    Mutant(
        "rows of results on a device are those of one line",
        ROWS,
        "_rows_of",
        ", lines)",
        ", 1)",
        WITHOUT_NANS,
    ),
    Mutant(
        "the row of no position is the last",
        ROWS,
        "_rows_of",
        "np.append(-1",
        "np.append(rows - 1",
        WITHOUT_NANS,
    ),
    Mutant(
        "NaNs that are skipped are chosen whatever the mask",
        NANS,
        "mask_of_numbers",
        "numbers & chosen.handle",
        "numbers",
        WITHOUT_NANS,
    ),
    Mutant(
        "the mask of numbers on a device ignores the other mask",
        NANS,
        "_on_device",
        "_BOOL, chosen",
        "_BOOL",
        WITHOUT_NANS,
    ),
    Mutant(
        "a group without elements is one of NaNs alone",
        NANS,
        "reduce_positions",
        "(rows < 0) & (first >= 0)",
        "rows < 0",
        WITHOUT_NANS,
    ),
    Mutant(
        "a row before the first segment is in it",
        MASK,
        "segment_of",
        "low - 1;",
        "low > 0 ? low - 1 : 0;",
        MASKED,
    ),
    Mutant(
        "a negative label is a group", MASK, "group_of", "label & p.sign ? ~0ull : label", "label", MASKED
    ),
    Mutant(
        "labels of all lines are those of the first",
        MASK,
        "masked_label",
        "(line * p.groups + group)",
        "group",
        MASKED,
    ),
    Mutant(
        "the mask has no columns", MASK, "masked_label", " + int64_t(column) * p.column_stride", "", MASKED
    ),
    Mutant(
        "labels of rows do not repeat", MASK, "label_mask", "row /= p.repeats;", "row %= p.length;", WEIGHTED
    ),
    Mutant(
        "a product loses its rounding error",
        WEIGHTS,
        "rounding_error",
        "error != 0 ? error : T(-0.0)",
        "false ? error : T(-0.0)",
        WEIGHTED,
    ),
    Mutant("an error of 0 is +0", WEIGHTS, "rounding_error", "T(-0.0)", "T(0)", WEIGHTED),
    Mutant(
        "an infinite product has an error",
        WEIGHTS,
        "rounding_error",
        "product - product == 0 && ",
        "",
        WEIGHTED,
    ),
    Mutant(
        "errors are in the place of products", WEIGHTS, "products", "out[at + p.inner]", "out[at]", WEIGHTED
    ),
    Mutant("a state keeps what its planes had", STATES, "finish_states", "*at = 0;", "", OF_STATES),
    Mutant(
        "a state forgets infinities",
        STATES,
        "finish_states",
        "(flags & ~uint32_t(GR_GROUP_MINUS_ZERO))",
        "0",
        OF_STATES,
    ),
    Mutant(
        "a state has all planes at the first position",
        STATES,
        "finish_states",
        "position_of(plane)",
        "position_of(0)",
        OF_STATES,
    ),
    Mutant("a NaN is an element", QUANTILE, "quantiles", "if (last == last) {", "{", QUANTILES),
    Mutant(
        "the middle is the lower neighbour",
        QUANTILE,
        "between",
        "lower == upper || part == 0",
        "true",
        QUANTILES,
    ),
    Mutant(
        "a quantile counts one element too many",
        QUANTILE,
        "quantiles",
        "p.q * double(count - 1)",
        "p.q * double(count)",
        QUANTILES,
    ),
    Mutant(
        "a label that is no group is one of the next line",
        SUMS,
        "_sums_under_mask",
        "(numbers >= 0) & (numbers < groups)",
        "numbers >= 0",
        tests_of("segments/test_exact_variances", "masks"),
    ),
    Mutant(
        "a square has no rounding error",
        SQUARES,
        "squares",
        "np.where(np.isfinite(product), error, 0)",
        "np.zeros_like(product)",
        OF_SQUARES,
    ),
    Mutant(
        "an infinite square has an error",
        SQUARES,
        "squares",
        "np.where(np.isfinite(product), error, 0)",
        "error",
        OF_SQUARES,
    ),
    Mutant(
        "elements of any exponent have one scale", SQUARES, "", "-480, 500, 0", "-1100, 1100, 0", OF_SQUARES
    ),
    Mutant("squares keep the scale of their elements", SQUARES, "_widest", " + digits", "", OF_SQUARES),
    Mutant(
        "a sum of -0 alone has had another element",
        SUMS,
        "GroupSums",
        "words[..., -1][zeros & signs.reshape(zeros.shape)] = 0",
        "pass",
        tests_of("states/test_group_states", "zeros"),
    ),
    Mutant(
        "the rows of errors have no label",
        SUMS,
        "GroupSums",
        "np.tile(labels, rows.shape[self.axis] // len(labels))",
        "np.resize(np.append(labels, np.full(len(labels), -1)), rows.shape[self.axis])",
        OF_SQUARES,
    ),
)
