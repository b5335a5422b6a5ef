"""Convolves by chosen variants, or `auto`, in all their dtypes and a few sizes, checking results.

Small on purpose: this is the program that ``tests/gpu/sanitize.py --ladder conv`` runs.
"""

import argparse
import sys
from pathlib import Path

import gpureduce
from gpureduce._conv.geometry import geometry

sys.path.append(str(Path(__file__).resolve().parents[2]))
from tests.support import conv_cases as cases

DTYPES = ("float16", "bfloat16", "float32", "float64")
# Twelve channels, as the fast rungs want them; groups, depthwise, strides, dilations, pads; many channels.
CASES = tuple(
    cases.Case(*sizes)
    for sizes in (
        (2, 6, 34, 12, 24, 3, 3), (1, 7, 9, 5, 7, 3, 2, (2, 1), (1, 2), (1, 2)),
        (1, 6, 7, 4, 6, 3, 3, 1, 1, 1, 2), (2, 5, 9, 8, 8, 3, 3, 1, 1, 1, 8), (1, 6, 6, 32, 16, 3, 3, 1, 1),
        (1, 8, 9, 64, 72, 3, 3, 1, 1), (1, 9, 8, 64, 64, 3, 3, 2, 1), (1, 8, 8, 64, 64, 1, 1),
        (1, 17, 18, 3, 32, 3, 3, 2, 1), (1, 3, 4, 129, 7, 3, 3),
    )
)  # fmt: skip
FEW = (CASES[0], CASES[1], CASES[5])


def reason(variant, dtype, precision, case, layout, device):
    """What is wrong with a convolution, or None."""
    x, w = cases.arrays(dtype, case, layout, "exact")
    options = {**case.options, "layout": layout}
    got = gpureduce.conv2d(x, w, **options, precision=precision, variant=variant, device=device)
    return cases.mismatch(x, w, got, "exact", precision, **options)


def row_of_results(case, layout):
    """How many results are adjacent: filters, or pixels."""
    *_, height, width = geometry(*case.shapes("NCHW"), **case.options, layout="NCHW").shape
    return case.f if layout == "NHWC" else height * width


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("variants", nargs="+")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--by-threads", action="store_true", help="only what no copy engine stores")
    parser.add_argument("--short", action="store_true", help="few sizes only")
    options = parser.parse_args()
    sizes = [(case, layout) for case in (FEW if options.short else CASES) for layout in cases.LAYOUTS]
    if options.by_threads:  # results whose rows begin off 16 bytes
        sizes = [(case, layout) for case, layout in sizes if row_of_results(case, layout) % 8 != 0]
    records = {variant.name: variant for variant in gpureduce.variants("conv")}
    wrong = 0
    for name in options.variants:
        record = records.get(name)
        kinds = [(dtype, "ieee") for dtype in (record.dtypes if record else DTYPES)]
        if record is None or record.precision not in (None, "ieee"):
            precisions = [record.precision] if record else ["tf32", "tf32x3"]
            kinds = [*(kinds if record is None else []), *(("float32", each) for each in precisions)]
        for dtype, precision in kinds:
            for case, layout in sizes:
                found = reason(name, dtype, precision, case, layout, options.device)
                if found:
                    wrong += 1
                    print(f"{name} {dtype} {precision} {case} {layout}: {found}")
    print(f"wrong results: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
