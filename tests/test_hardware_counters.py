"""The simulator's counters against those of an H200, as tests/gpu/ncu_compare.py recorded them."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import shared_patterns

import gpureduce

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "gpu"))
import ncu_compare  # noqa: E402

RESULTS = json.loads((HERE / "data" / "ncu_h200.json").read_text())
PATTERNS = json.loads((HERE / "data" / "shared_wavefronts_h200.json").read_text())


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
    """Loads and stores of 4, 8 and 16 bytes a lane in 64 patterns each, by the hardware's own counters."""
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
    path = HERE.parent / "docs" / "instrument.md"
    if not path.exists():
        pytest.skip("no docs beside the tests")
    assert ncu_compare.table(RESULTS) in path.read_text()
