"""The traps of reductions along axes of any layout, each as a change of our sources."""

from mutants import INCLUDE, Mutant

PLAN = "csrc/reduce/general/plan.c"
PAIRS = INCLUDE + "reduce/general/pair_pieces.cuh"
MASKED = INCLUDE + "reduce/general/masked_pieces.cuh"
LANES = INCLUDE + "reduce/general/lane_columns.cuh"
LANE_PLAN, LANE_ORDER = "csrc/reduce/general/lane_plan.c", "csrc/reduce/general/lane_order.c"
AXIS = INCLUDE + "reduce/general/axis.cuh"


def layouts(name):
    return ("tests/reductions/test_axis_layouts.py", "-k", name)


MUTANTS = (
    Mutant(
        "what an axis repeats counts once",
        PLAN,
        "gr_general_plan_make",
        "set_multiplicity(p, once_is_enough ? 1 : multiplicity);",
        "set_multiplicity(p, 1);",
        layouts("count_as_often"),
    ),
    Mutant(
        "positions do not count what is repeated",
        PLAN,
        "extract_broadcast",
        "if (i < end || !is_broadcast(",
        "if (!is_broadcast(",
        layouts("positions"),
    ),
    Mutant(
        "results in the order of the elements",
        PLAN,
        "store_output",
        "    const bool fits = store(&outs, &dims);",
        "    outs.count = 0;\n    const bool fits = store(&outs, &dims);\n    dims.stride[0] = 1;",
        layouts("c_order"),
    ),
    Mutant(
        "a copy of results has the strides of the output",
        "csrc/reduce/reduce.c",
        "append_placement",
        "copy.stride[at] = next;",
        "copy.stride[at] = order->stride[d] * (int64_t)gr_dtypes[dtype].item_bytes;",
        layouts("many_results"),
    ),
    Mutant(
        "results that begin anywhere are copied as vectors",
        "csrc/reduce/reduce.c",
        "append_placement",
        "self->out_aligned ? 16 : 1",
        "16",
        layouts("many_results"),
    ),
    Mutant(
        "a repetition of nothing counts",
        PLAN,
        "gr_general_plan_make",
        "layout->rearranged && plan->reduced_count > 0",
        "layout->rearranged",
        layouts("nothing"),
    ),
    Mutant(
        "rows of bytes begin at a word",
        "csrc/reduce/general/axis.c",
        "plan_spread",
        "item < 4 ? layout->origin % 4 / item : 0",
        "0",
        layouts("words"),
    ),
    Mutant(
        "a step leads past the end of a turn",
        "csrc/reduce/general/dims.c",
        "gr_dims_iterator",
        "iterator.step_remainder = step % extent;",
        "iterator.step_remainder = step;",
        layouts("views"),
    ),
    Mutant(
        "the first strip of a pair of rows is left out",
        PAIRS,
        "reduce_pair_pieces",
        "for (k = 0; k * strip + lane < count; ++k)",
        "for (k = 1; k * strip + lane < count; ++k)",
        ("tests/reductions/test_pairs_of_rows.py", "-k", "exact_ones"),
    ),
    Mutant(
        "strips that groups share are combined in another order",
        PAIRS,
        "reduce_pair_pieces",
        "for (k = 0; k * strip + lane < count; ++k)",
        "for (k = (count - lane - 1) / strip + 1; count > lane && k-- > 0;)",
        ("tests/reductions/test_pairs_of_rows.py", "-k", "many_rows"),
    ),
    Mutant(
        "the last element of a masked row counts instead of missing ones",
        MASKED,
        "StripUnderMask",
        "(flags[k] != 0) & (k < count)",
        "flags[k] != 0",
        ("tests/reductions/test_masked_rows.py", "-k", "exact_ones"),
    ),
    Mutant(
        "a mask has the strides of the elements",
        MASKED,
        "StripUnderMask",
        "if (step == 1) {",
        "if (step >= 0) {",
        ("tests/reductions/test_masked_rows.py", "-k", "strides"),
    ),
    Mutant(
        "general kernels do not wait",
        "build_support/kernels.py",
        "",
        r"// (griddepcontrol\.\w+;",
        r"// (griddepcontrol\.launch\w+;",
        ("tests/packaging/test_build.py", "-k", "remarks"),
    ),
    Mutant(
        "the lanes of columns follow from the number of results",
        LANE_PLAN,
        "gr_lanes_plan",
        "gr_lanes_of(p->count);",
        "gr_lanes_of(p->count / (p->results > 8 ? 2 : 1));",
        ("tests/reductions/test_lanes.py",),
    ),
    Mutant(
        "two vectors count as contiguous if one is",
        "csrc/reduce/general/launch.h",
        "has_adjacent_elements",
        "(!layout->pair || along->second_stride[0] == item)",
        "true",
        ("tests/reductions/test_pairs_of_columns.py", "-k", "one_vector"),
    ),
    Mutant(
        "the parts of complex numbers have the order of other axes",
        LANE_ORDER,
        "has_neighbours",
        "along->extent[0] == 2",
        "along->extent[0] == 3",
        ("tests/reductions/test_pairs_of_columns.py", "-k", "same_bits and norm"),
    ),
    Mutant(
        "a lane of pairs has one element less",
        AXIS,
        "FromPair",
        "uint64_t left = p.lanes.each + (number < p.lanes.rest);",
        "uint64_t left = p.lanes.each;",
        ("tests/reductions/test_pairs_of_columns.py", "-k", "no_pair_is_lost"),
    ),
    Mutant(
        "a lane of a sequence has one element less",
        LANES,
        "",
        "(c.rest > lane ? c.rest - lane : 0)",
        "(c.rest > lane + 1 ? c.rest - lane - 1 : 0)",
        ("tests/reductions/test_lanes.py",),
    ),
)
