"""The traps of order statistics: keys, digits and what is left of a rank, ties, and where results go."""

from mutants import INCLUDE, Mutant

KEYS = INCLUDE + "order/order.cuh"
SELECT, TOP, SMALL, SORT, BETWEEN = (
    f"cuda_kernels/order/auto/order_{name}.cu" for name in ("select", "top", "small", "sort", "between")
)
BLOCK = INCLUDE + "order/block_select.cuh"
SAMPLED = "cuda_kernels/order/auto/order_sampled.cu"
METHODS = "gpureduce/_order/methods.py"


def order(words):
    return ("tests/order/test_order.py", "-k", words)


def sampled(words):
    return ("tests/order/test_sampled.py", "-k", words)


MUTANTS = (
    Mutant(
        "the median of valid elements is that of all",
        KEYS,
        "given_rank",
        "(count - 1 + i) / 2;",
        "(p.length - 1 + i) / 2;",
        order("stay_on_the_device"),
    ),
    Mutant(
        "the quantile of valid elements is that of all",
        KEYS,
        "given_rank",
        "last = count - (count > 0);",
        "last = p.length - (count > 0);",
        order("quantiles_without_nans"),
    ),
    # Keys
    Mutant(
        "negative numbers descend",
        KEYS,
        "Keys",
        "x & sign ? Key(~x) : Key(x | sign)",
        "Key(x | sign)",
        order("elements_of_ranks"),
    ),
    Mutant(
        "NaNs are in the order of their bits", KEYS, "Keys", "size > infinity ? none :", "", order("nans")
    ),
    Mutant(
        "zeros of either sign differ",
        KEYS,
        "Keys",
        "one_zero && size == 0 ? sign :",
        "",
        order("signs_of_zero"),
    ),
    # Digits
    Mutant(
        "elements outside the digits so far count, too",
        KEYS,
        "Digit",
        "there = there && (prefix == first_prefix || second);",
        "there = there && (prefix >= first_prefix || second);",
        order("elements_of_ranks"),
    ),
    Mutant(
        "the rank is not that within the bin",
        KEYS,
        "bin_of",
        "rest -= __shfl_sync(0xffffffffu, sum - own, at);",
        "",
        order("elements_of_ranks"),
    ),
    Mutant(
        "bins keep what a digit left",
        SELECT,
        "order_digit",
        "            all[(group << p.bits) + i] = 0;\n",
        "",
        order("elements_of_ranks"),
    ),
    Mutant(
        "a NaN spoils the next call",
        SELECT,
        "order_digit",
        "        tickets[1] = 0;\n",
        "        ;\n",
        order("left_for_the_next_call"),
        gpu_only="the simulator gives each call memory of its own",
    ),
    Mutant(
        "a line's NaN is not reported",
        SELECT,
        "order_digit",
        "atomicOr(&tickets[1], 1u);",
        "",
        order("nans"),
    ),
    Mutant(
        "a NaN of one line spoils the next",
        SELECT,
        "order_rows",
        "            bool spoilt = false;\n",
        "            static __shared__ bool spoilt;\n",
        order("nans"),
    ),
    Mutant(
        "a key is completed from the first of several elements",
        SELECT,
        "order_rows",
        "counts[found] != 1",
        "counts[found] > 2",
        order("elements_of_ranks or alike"),
    ),
    Mutant(
        "each line has the ranks of the first",
        KEYS,
        "given_rank",
        "p.flags & GR_ORDER_RANKS_PER_LINE ? line * p.rank_count + i : i",
        "i",
        order("ranks_of_each_line"),
    ),
    # Ties
    Mutant(
        "a tie too few",
        SELECT,
        "order_rows",
        "ranks.rest[0] + 1,",
        "ranks.rest[0],",
        order("first_elements"),
    ),
    Mutant(
        "ties of other parts are forgotten",
        TOP,
        "order_gather",
        "before[0], before[1]);",
        "before[0], 0);",
        order("first_elements_that_are_equal"),
    ),
    Mutant(
        "what is equal is not sorted by its place",
        TOP,
        "order_sort",
        "a > b || (a == b && at > bt)",
        "a > b",
        order("first_elements"),
    ),
    # Sorting
    Mutant(
        "elements of a warp with one digit change places",
        SORT,
        "Spread",
        "(count + first)",
        "(count + __popc(alike) - 1 - first)",
        order("first_elements"),
    ),
    Mutant(
        "what a warp counted before is forgotten",
        SORT,
        "Spread",
        "(count + first)",
        "first",
        order("first_elements"),
    ),
    Mutant(
        "counts of the warps before are forgotten",
        SORT,
        "Spread",
        "own[digit] + before[digit]",
        "before[digit]",
        order("first_elements"),
    ),
    Mutant(
        "what is missing in a tile is in the way",
        SORT,
        "order_tile",
        "digit_of(keys, own[j], shift) : GR_ORDER_DIGITS - 1",
        "digit_of(keys, own[j], shift) : 0",
        order("first_elements"),
    ),
    Mutant(
        "tiles count from where they are",
        SORT,
        "order_sums",
        "counts[i] = before + sum - own[j];",
        "counts[i] = sum - own[j];",
        order("all_elements_of_many_tiles"),
    ),
    Mutant(
        "digits of the warps before take no room",
        SORT,
        "order_move",
        "            start += sums[w];\n",
        "            start += 0;\n",
        order("first_elements"),
    ),
    Mutant(
        "places are those in the tile",
        SORT,
        "order_move",
        "int64_t(begin + i)",
        "int64_t(i)",
        order("first_elements"),
    ),
    Mutant(
        "the last digit is none",
        SORT,
        "order_tile",
        "for (unsigned shift = 0; shift < Keys<Key>::width;",
        "for (unsigned shift = 8; shift < Keys<Key>::width;",
        order("first_elements"),
    ),
    Mutant(
        "equal elements of a warp share a rank",
        SMALL,
        "order_small",
        "(other == key && i < place)",
        "false",
        order("elements_of_ranks"),
    ),
    # Few lines: a block's selection, and windows
    Mutant(
        "the rank is not that within the bin of the block",
        BLOCK,
        "BlockSelect",
        "rest = rank - before - (high ? low : 0);",
        "rest = rank - before;",
        sampled("elements"),
    ),
    Mutant(
        "of equal elements all are taken",
        BLOCK,
        "BlockSelect",
        "else if (left == 0 || enough)",
        "else if (true)",
        sampled("first_elements"),
    ),
    Mutant(
        "elements of other keys take part in the order of indices",
        BLOCK,
        "BlockSelect",
        "(by_index && own != key)",
        "false",
        sampled("first_elements"),
    ),
    Mutant(
        "a list with too few elements is taken",
        BLOCK,
        "Candidates",
        "last - window.below >= window.count",
        "false",
        sampled("misleads"),
    ),
    Mutant(
        "a list that overflowed is taken",
        BLOCK,
        "Candidates",
        "window.count > p.capacity ||",
        "",
        sampled("misleads"),
    ),
    Mutant(
        "a list that begins behind the rank is taken",
        BLOCK,
        "Candidates",
        "first < window.below ||",
        "",
        sampled("between_the_two_ranks"),
    ),
    Mutant(
        "equal elements after the window are kept",
        SAMPLED,
        "Filter",
        "(own == range.last && index > range.last_index)",
        "false",
        sampled("windows_of_equal"),
    ),
    Mutant(
        "equal elements before the window do not count",
        SAMPLED,
        "Filter",
        "lower += before;",
        "lower += 0;",
        sampled("windows_of_equal"),
    ),
    Mutant(
        "NaNs of negative sign are the least",
        SAMPLED,
        "Ordinals",
        "start = Key(of(Key(keys.infinity | sign)) + (keys.reverse != 0));",
        "start = 0;",
        sampled("elements"),
    ),
    Mutant(
        "the window ends between zeros of either sign",
        SAMPLED,
        "Ordinals",
        "is_zero(key) ? max(of(0), of(sign)) : of_key(key)",
        "of_key(key)",
        sampled("first_elements"),
    ),
    Mutant(
        "a window ends between keys that elements have",
        SAMPLED,
        "order_sample",
        "keys.of(keys.element(Key(found.key ^ keys.reverse)));",
        "found.key;",
        sampled("beside_nans"),
    ),
    Mutant(
        "a block forgets elements that it cannot stage",
        SAMPLED,
        "Filter",
        "direct = at + total > Staged<Key>::capacity;",
        "direct = 0;",
        sampled("first_elements"),
    ),
    Mutant(
        "the second rank has the key of the first",
        SAMPLED,
        "order_block",
        "last == rank || found.repeated ? found.key",
        "true ? found.key",
        sampled("elements_of_ranks"),
    ),
    Mutant(
        "elements of one bucket are in any order",
        SAMPLED,
        "Top",
        "by_key && keys[i] != keys[other] ? keys[i] < keys[other] : indices[i] < indices[other];",
        "indices[i] < indices[other];",
        sampled("first_elements"),
    ),
    # Results
    Mutant(
        "a difference of integers wraps",
        BETWEEN,
        "difference",
        "return double(uint64_t(widen(upper)) - uint64_t(widen(lower)));",
        "return double(int64_t(uint64_t(widen(upper)) - uint64_t(widen(lower))));",
        ("tests/reductions/test_numpy_corners.py", "-k", "far_apart"),
    ),
    Mutant(
        "what is nearer is not asked",
        BETWEEN,
        "between",
        "const bool nearer = ends.weight >= 0.5;",
        "const bool nearer = false;",
        order("stay_on_the_device"),
    ),
    Mutant(
        "the closest observation is the even one",
        METHODS,
        "_closest_observation",
        "(floor % 2 == 1)",
        "(floor % 2 == 0)",
        order("methods"),
    ),
)
