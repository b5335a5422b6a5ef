"""The simulator's counters against those of an H200, as ncu_compare.py and ncu_products.py recorded them."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from tests.support import shared_patterns

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "gpu"))
import ncu_compare  # noqa: E402
import ncu_products  # noqa: E402

pytestmark = pytest.mark.usefixtures("full")

RESULTS = json.loads((TESTS / "data" / "ncu_h200.json").read_text())
PATTERNS = json.loads((TESTS / "data" / "shared_wavefronts_h200.json").read_text())


def test_the_table_covers_every_rung_type_and_size():
    rows = {(row["variant"], row["dtype"], row["n"]) for row in RESULTS["rows"]}
    assert rows == {
        (v, d, 1 << log) for v in ncu_compare.RUNGS for d in ncu_compare.DTYPES for log in (20, 25)
    }


@pytest.mark.parametrize(
    "row", RESULTS["rows"], ids=lambda row: f"{row['variant']}-{row['dtype']}-{row['n']}"
)
def test_the_hardware_counts_the_same(row):
    hardware, simulator = row["hardware"], row["simulator"]
    for name in ncu_compare.COMPARED:
        assert hardware[name] > 0
        assert simulator[name] == pytest.approx(hardware[name], rel=0.02), name
    excess = [side["shared wavefronts"] - side["ideal shared wavefronts"] for side in (simulator, hardware)]
    assert excess[0] == pytest.approx(excess[1], rel=0.02)
    # v0's working lanes lie two slots apart, which 8-byte slots make a conflict, too.
    conflicts = row["variant"] == "v1" or (row["variant"], row["dtype"]) == ("v0", "float64")
    assert (excess[0] > 0) == conflicts


@pytest.mark.parametrize("variant", ncu_compare.RUNGS)
def test_the_recorded_counters_are_those_of_these_kernels(variant):
    """Else the kernels or the simulator have changed, and ncu is to be asked again."""
    n = 1 << 20
    (row,) = (
        row for row in RESULTS["rows"] if (row["variant"], row["dtype"], row["n"]) == (variant, "float32", n)
    )
    assert ncu_compare.simulated(variant, "float32", n) == row["simulator"]


def test_wavefronts_of_every_pattern():
    """Loads and stores of 4, 8 and 16 bytes per lane in 64 patterns each, by the hardware's own counters."""
    assert len(PATTERNS["rows"]) == 64 * len(shared_patterns.WIDTHS)
    texts = {(w, s): shared_patterns.ptx(w, s) for w in shared_patterns.WIDTHS for s in (False, True)}
    different = []
    for row in PATTERNS["rows"]:
        pattern = shared_patterns.patterns(row["width"])[row["pattern"]]
        offsets = np.array([-1 if address is None else address for address in pattern], dtype=np.int32)
        for store in (False, True):
            text = texts[row["width"], store]
            totals = gpureduce.simulate(text, "load", 1, 32, [offsets], races=False).totals
            side = "store" if store else "load"
            got = (totals.shared_wavefronts, totals.shared_ideal)
            if got != (row[side], row[f"{side}_ideal"]):
                different.append((row, side, got))
    assert not different
    assert len({row["load"] for row in PATTERNS["rows"]}) > 10  # patterns of all kinds


def test_the_documented_table_is_current():
    path = TESTS.parent / "docs/reference/counters.md"
    if not path.exists():
        pytest.skip("no docs next to the tests")
    assert ncu_compare.table(RESULTS) in path.read_text()
    assert ncu_products.table(PRODUCTS) in path.read_text()


PRODUCTS = json.loads((TESTS / "data" / "ncu_products_h200.json").read_text())
# Machine code loads several words at once where PTX asks for one after the other.
MERGED_LOADS = {("m2", "float32"), ("m3", "float32"), ("m4", "float32"), ("m4", "float64")}


def test_the_table_of_products_covers_every_rung():
    assert [(row["variant"], row["dtype"]) for row in PRODUCTS["rows"]] == ncu_products.combinations()


@pytest.mark.parametrize("row", PRODUCTS["rows"], ids=lambda row: f"{row['variant']}-{row['dtype']}")
def test_the_hardware_counts_the_same_of_products(row):
    """What they load, store, copy and multiply; every rung multiplies all, and once, or three times."""
    hardware, simulator = row["hardware"], row["simulator"]
    for name in ncu_products.COMPARED:
        if name == "shared load wavefronts" and (row["variant"], row["dtype"]) in MERGED_LOADS:
            assert hardware[name] < simulator[name]
        elif name == "global load sectors" and simulator["asynchronous copies"] > 0:
            # Of copies of 16 bytes past L1 the hardware counts 18 sectors for 512 bytes in one piece.
            assert simulator[name] <= hardware[name] <= simulator[name] * 18 / 16
        elif name == "bytes by tensor map" and row["variant"] == "t3":
            # The last 128 columns of its tiles lie outside of C, and are not stored.
            assert hardware[name] == simulator[name] - 128 * ncu_products.M * 2
        else:
            assert simulator[name] == pytest.approx(hardware[name], rel=0.02), name
    m, n, k = ncu_products.SHAPE
    done = hardware["multiply-adds"] + hardware["tensor multiply-adds"]
    wide = 512 if row["variant"] == "t3" else n  # its tiles have 256 columns
    assert done == m * wide * k * (3 if row["variant"] in ("t2", "t4") else 1)


@pytest.mark.parametrize(("variant", "dtype"), ncu_products.combinations())
def test_the_recorded_counters_of_products_are_those_of_these_kernels(variant, dtype):
    """Else the kernels or the simulator have changed, and ncu is to be asked again."""
    (row,) = (row for row in PRODUCTS["rows"] if (row["variant"], row["dtype"]) == (variant, dtype))
    assert ncu_products.simulated(variant, dtype) == row["simulator"]
