"""The traps of labels in order, of variances of segments, and of reductions with several outputs."""

from mutants import Mutant

LABELS = "cuda_kernels/segments/auto/label_order.cu"
VARIANCES = "cuda_kernels/include/segments/spread.cuh"
ORDERED = "cuda_kernels/include/segments/ordered.cuh"
CUSTOM = "csrc/python/custom.c"


def segments(words):
    return ("tests/segments/test_segments.py", "-k", words)


def kernels(words):
    return ("tests/reductions/test_reduction_outputs.py", "-k", words)


MUTANTS = (
    Mutant(
        "rows of one label change places within a warp",
        LABELS,
        "label_place",
        "__popc(alike & ((1u << lane) - 1))",
        "__popc(alike >> lane) - 1",
        segments("labels_on_the_device"),
    ),
    Mutant(
        "a warp's rows go where those of the one before do",
        LABELS,
        "label_place",
        "        next += count;\n",
        "",
        segments("labels_on_the_device"),
    ),
    Mutant(
        "a label less than 0 is a large one",
        LABELS,
        "key_as",
        "label & p.sign || ",
        "",
        segments("labels_on_the_device"),
    ),
    Mutant(
        "a group begins behind its own rows",
        LABELS,
        "label_offsets",
        "keys[middle] < group",
        "keys[middle] <= group",
        segments("labels_on_the_device"),
    ),
    Mutant(
        "tiles before this one count for nothing",
        LABELS,
        "label_scan",
        "        total += all;\n",
        "        total = all;\n",
        segments("more_tiles"),
    ),
    Mutant(
        "the key of no group has a digit too many",
        "csrc/segments/labels/labels.c",
        "plan",
        "passes * GR_LABEL_DIGIT_BITS > 0",
        "passes * GR_LABEL_DIGIT_BITS > 1",
        segments("labels_on_the_device"),
    ),
    Mutant(
        "sums about one point are taken for sums about the other",
        VARIANCES,
        "OrderedVar",
        "nearer ? b.point : a.point",
        "a.point",
        segments("variances_about_a_large_mean"),
    ),
    Mutant(
        "a variance is divided by all elements",
        VARIANCES,
        "OrderedVar",
        "max(counted - p.ddof, 0.0)",
        "counted",
        segments("variances_about_a_large_mean"),
    ),
    Mutant(
        "row lanes are combined in the order of the warp, not of the segment",
        ORDERED,
        "Ordered",
        "strip % (2 * step) == 0",
        "row_lane() % (2 * step) == 0",
        ("tests/segments/test_segment_order.py", "-k", "alone_and_among"),
    ),
    Mutant(
        "a chunk is where the first chunk of the next segment is",
        ORDERED,
        "Ordered",
        " + first)",
        ")",
        ("tests/segments/test_segment_order.py", "-k", "follows_from_its_length"),
    ),
    Mutant(
        "all outputs are the first",
        CUSTOM,
        "parse_out",
        "request->outs[number] = request->out_bytes;",
        "request->outs[number] = 0;",
        kernels("outputs_of_many_dtypes"),
    ),
    Mutant(
        "an output on the device is written where another one is",
        CUSTOM,
        "parse_out",
        "request->outs[number] = operand.source.origin - self->binding.device_out;",
        "request->outs[number] = 16 * number;",
        kernels("outputs_of_many_dtypes"),
    ),
    Mutant(
        "what is repeated has the numbers of what it repeats",
        CUSTOM,
        "describe_arrays",
        "layout->rearranged = !self->uses_index;",
        "layout->rearranged = true;",
        kernels("repeated_elements_have_numbers"),
    ),
)
