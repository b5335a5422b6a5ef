"""The traps of states that stay on a device, and of sums that are launched on several at once."""

from mutants import Mutant

KERNEL = "cuda_kernels/states/auto/states.cu"


def placed(words):
    return ("tests/states/test_placed_states.py", "-k", words)


MUTANTS = (
    Mutant(
        "a digit hands on nothing",
        KERNEL,
        "write_sums",
        "word += load(i - 1, k - 1) >> 32;",
        "word += 0;",
        placed("carries"),
    ),
    Mutant(
        "the last digit of a sum loses its sign",
        KERNEL,
        "write_sums",
        "if (k + 3 < words)\n                word &= 0xffffffff;",
        "if (k + 2 < words)\n                word &= 0xffffffff;",
        placed("carries"),
    ),
    Mutant(
        "flags are added",
        KERNEL,
        "merge_sums",
        "return int64_t(a | b | (beyond ? GR_EXACT_OVERFLOW : 0));",
        "return int64_t(a + b);",
        placed("carries or dot"),
    ),
    Mutant(
        "an overflow is forgotten",
        KERNEL,
        "merge_sums",
        "(beyond ? GR_EXACT_OVERFLOW : 0)",
        "0",
        ("tests/states/test_states.py", "-k", "overflow"),
    ),
    Mutant(
        "a count wraps",
        KERNEL,
        "add_counts",
        "return (a | b | sum) < 0 ? INT64_MIN : sum;",
        "return sum;",
        ("tests/states/test_states.py", "-k", "overflow"),
    ),
    Mutant(
        "the imaginary squares are left out",
        KERNEL,
        "begin_squares",
        "word = is_flags ? word | more : word + more;",
        "word = is_flags ? word | more : word;",
        placed("var-complex64"),
    ),
    Mutant(
        "of equal ones that merged last is taken",
        KERNEL,
        "is_before",
        "field<int64_t>(p.source, p.index, i) < field<int64_t>(p.target, p.index, i);",
        "field<int64_t>(p.source, p.index, i) >= field<int64_t>(p.target, p.index, i);",
        placed("positions"),
    ),
    Mutant(
        "what has no elements wins",
        KERNEL,
        "merge_extremes",
        "if (field<uint64_t>(p.source, p.count, i) == 0 ||\n",
        "if (\n",
        placed("masks"),
    ),
    Mutant(
        "what has no elements is not replaced",
        KERNEL,
        "merge_extremes",
        "(count > 0 &&",
        "(",
        placed("masks"),
    ),
    Mutant(
        "results of no elements keep what was there",
        KERNEL,
        "has_none",
        "    return !(p.flags & GR_STATE_EQUAL_COUNTS) && p.states.has",
        "    return false && p.states.has",
        placed("masks"),
    ),
    Mutant(
        "the upper halves of integers have no sign",
        KERNEL,
        "digit_of",
        "p.flags & GR_STATE_HIGH_SIGNED ? int64_t(high) >> 32 :",
        "p.flags & GR_STATE_HIGH_SIGNED ? int64_t(high >> 32) :",
        placed("sum-int64"),
    ),
    Mutant(
        "the parts of several devices are left out",
        "csrc/python/sharded.c",
        "collect",
        "gr_exact_states_merge(one->out, words, one->each, one->size)",
        "gr_exact_states_merge(one->out, words, 0, one->size)",
        ("tests/devices/test_spread.py", "-k", "at_once"),
    ),
    Mutant(
        "the mean of several devices is of the last one's elements",
        "csrc/python/sharded.c",
        "parse_shard",
        "(__builtin_add_overflow(self->elements, elements, &self->elements) ||",
        "((self->elements = elements) == 0 ||",
        ("tests/devices/test_spread.py", "-k", "at_once"),
    ),
)
