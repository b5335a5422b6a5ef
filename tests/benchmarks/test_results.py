"""The committed measurements hold what the README and the issue of speed say of them."""

import itertools
import json
import statistics
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from benchmarks.harness import command
from benchmarks.harness.libraries import LABELS
from benchmarks.harness.results import load
from benchmarks.report import coverage, documents, row_order
from benchmarks.report import peers as table
from benchmarks.suite import accuracy, arrays, exact_sums
from benchmarks.suite import interleaved as lone

ROOT = Path(__file__).resolve().parents[2]


def first_passes(name):
    return {
        (row["variant"], row["n"], row["dtype"], row["block_size"]): row["first_pass_us"]
        for row in load(name)["rows"]
    }


def test_no_rung_is_slower_than_its_published_form():
    published = first_passes("published_forms_h200.json")
    ours = first_passes("ladder_h200.json")
    assert len(published) == 9
    slower = {
        key[0]: (ours[key]["median"], time)
        for key, time in published.items()
        if ours[key]["median"] > 1.05 * time
    }
    assert not slower


def floats_ratios():
    """Of each row its bytes, whether it is flat, and ours relative to the others, by name."""
    for row in load("floats_h100.json")["rows"]:
        count = int(np.prod(row["shape"]))
        for name, others in row["ratio"].items():
            for other, ratio in others.items():
                yield count * np.dtype(row["dtype"]).itemsize, row["axis"] is None, name, other, ratio


def test_nan_forms_take_the_time_of_the_plain_operator():
    found = [(size, ratio) for size, flat, name, other, ratio in floats_ratios() if flat and "." not in other]
    assert len([size for size, _ in found if size >= 1 << 28]) >= 8
    assert all(ratio <= 1.03 for size, ratio in found if size >= 1 << 28)
    assert all(ratio <= 1.041 for size, ratio in found if size >= 1 << 25)
    assert all(ratio <= 1.27 for _, ratio in found)


def test_norms_and_nan_forms_beat_pytorch_and_cupy():
    slower = [each for each in floats_ratios() if "." in each[3] and each[4] > 1.005]
    # Rows of float64, of CuPy's mostly.
    assert all(size == 1 << 27 and not flat and ratio <= 1.08 for size, flat, _, _, ratio in slower)
    assert all(other.startswith("cupy") or ratio <= 1.01 for *_, other, ratio in slower) and len(slower) <= 5
    logarithms = [each[4] for each in floats_ratios() if each[3] == "torch.logsumexp"]
    assert len(logarithms) >= 10 and max(logarithms) < 0.4


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_every_variant_was_measured(dtype):
    measured = {row["variant"] for row in load("ladder_h200.json")["rows"] if row["dtype"] == dtype}
    assert measured == {"auto", *(variant.name for variant in gpureduce.variants("reduction"))}


def test_variances_take_as_long_as_sums():
    """Those of all elements from 2^26 on; and nowhere longer than PyTorch's or CuPy's."""
    rows = load("moments_h100.json")["rows"]
    large = [row for row in rows if len(row["shape"]) == 1 and row["shape"][0] >= 1 << 26]
    assert {row["dtype"] for row in large} >= {"float32", "float64"}
    for row in large:
        assert row["ratio"]["sum"] <= 1.06, row
        assert row["us"]["nanvar"]["median"] <= 1.02 * row["us"]["var"]["median"], row
    for row in rows:
        assert all(row["ratio"].get(name, 0) <= 0.88 for name in ("torch.var", "cupy.var")), row
        if len(row["shape"]) == 2:
            assert row["ratio"]["sum"] <= (1.06 if row["shape"][0] == 8192 else 1.22), row


def test_axes_were_measured_in_every_shape():
    """Sums of 2^24 float32 come near the bandwidth of the flat sum, as docs/benchmarks/axes.md says."""
    rows = [row for row in load("axis_h200.json")["rows"] if row["dtype"] == "float32"]
    ratios = {(tuple(row["shape"]), row["axes"][0]): row["ratio"] for row in rows if len(row["shape"]) == 2}
    sweep = [ratios[(1 << i, 1 << (24 - i)), axis] for i in range(25) for axis in (0, 1)]
    assert max(sweep) <= 1.5


def test_arrays_of_the_host_go_as_fast_as_the_bus():
    """What docs/benchmarks/host-arrays.md says of one run: compared with the peers, and with a plain copy."""
    rows = {(row["where"], row["n"]): row for row in load("host_h200.json")["rows"]}
    long, short = rows["host", 1 << 28], rows["host", 1 << 10]
    assert long["gb_per_s"] >= 0.9 * rows["pinned copy", 1 << 28]["gb_per_s"]
    assert max(long["ratio"]["cupy"], long["ratio"]["torch"]) <= 0.2
    assert short["us"]["gpureduce"]["median"] <= 11
    assert max(short["ratio"]["cupy"], short["ratio"]["torch"]) <= 0.35
    scalars = {n: row["ratio"]["torch"] for (where, n), row in rows.items() if where == "device"}
    assert all(ratio <= 0.5 for ratio in scalars.values()) and len(scalars) >= 5


@pytest.fixture(scope="module")
def peers():
    """Rows of the run against the peers, by operator, dtype, exponent of two and offset; its best GB/s."""
    record = load("peers_h200.json")
    rows = {
        (row["op"], row["dtype"], row["n"].bit_length() - 1, row["offset"]): row for row in record["rows"]
    }
    return rows, table.best_bandwidth(record)


def test_float32_sums_are_faster_than_cubs(peers):
    """What docs/benchmarks/sums.md says of one run."""
    rows, best = peers
    ratio = {k: rows["sum", "float32", k, 0]["ratio"]["cub"] for k in range(31)}
    assert max(ratio.values()) <= 1
    assert max(ratio[k] for k in range(14, 23)) <= 0.90
    assert max(ratio[k] for k in range(23, 26)) <= 0.97
    assert max(ratio[28], ratio[29]) <= 0.995
    assert ratio[30] <= 0.996  # where CUB's has 0.992 of the best bandwidth
    share = {k: rows["sum", "float32", k, 0]["gb_per_s"] / best for k in (28, 29, 30)}
    assert share[28] >= 0.98 and share[29] >= 0.985 and share[30] >= 0.985


def test_other_dtypes_and_operators_are_faster_than_cubs(peers):
    rows, best = peers
    for (op, dtype, exponent, offset), row in rows.items():
        if op != "sum" and exponent >= 16 and not offset:
            assert row["ratio"]["cub"] <= 1, (op, dtype, exponent)
    for dtype, most in {"int8": 0.8, "uint8": 0.8, "float16": 0.93, "bfloat16": 0.93}.items():
        long = [
            row
            for (op, name, _, offset), row in rows.items()
            if (op, name, offset) == ("sum", dtype, 0) and row["n"] * (1 if "int8" in dtype else 2) >= 1 << 28
        ]
        assert len(long) >= 2
        assert all(row["ratio"]["cub"] <= most and row["gb_per_s"] >= 0.95 * best for row in long)


def test_arrays_off_a_boundary_are_as_fast(peers):
    rows, _ = peers
    slower = {
        (op, dtype, exponent): row["us"]["gpureduce"]["median"]
        / rows[op, dtype, exponent, 0]["us"]["gpureduce"]["median"]
        for (op, dtype, exponent, offset), row in rows.items()
        if offset
    }
    assert len(slower) > 60 and max(slower.values()) <= 1.05


def test_sums_one_after_the_other_are_as_fast_as_they_were(peers):
    """A run of kernels that are faster between others', less what CUB's took longer on that GPU."""
    before, now = peers[0], load("peers_sums_h200.json")["rows"]
    slower = []
    for row in now:
        old = before[row["op"], row["dtype"], row["n"].bit_length() - 1, row["offset"]]["us"]
        change = {name: row["us"][name]["median"] / old[name]["median"] for name in ("gpureduce", "cub")}
        slower.append(change["gpureduce"] / max(1, change["cub"]))
        assert row["offset"] or row["ratio"]["cub"] <= 1, row
    assert len(slower) > 150 and max(slower) <= 1.02 and np.median(slower) <= 0.97


# Up to how many bytes, and at most how much of CUB's time between two kernels of PyTorch's, as in
# docs/benchmarks/sums.md.
ALONE = (
    *((128, 1.03), (2 << 10, 1.14), (16 << 10, 1.3), (1 << 20, 0.85), (4 << 20, 0.88), (24 << 20, 0.94)),
    *((48 << 20, 1.03), (128 << 20, 0.80), (256 << 20, 0.95), (512 << 20, 0.97), (4 << 30, 0.99)),
)


def test_reductions_between_other_kernels():
    """One block, and what just fits the cache, are where CUB is not slower; the rest is faster than it."""
    rows = load("interleaved_h200.json")["rows"]
    assert {(row["op"], row["dtype"]) for row in rows} == set(lone.CASES)
    slower = {}
    for row in rows:
        nbytes = row["n"] * np.dtype(row["dtype"]).itemsize
        most = next(most for up_to, most in ALONE if nbytes <= up_to)
        if row["ratio"]["cub"] > most:
            slower[row["op"], row["dtype"], row["n"]] = row["ratio"]["cub"]
        if "torch" in row["ratio"]:
            assert row["ratio"]["torch"] <= 1, row
    assert not slower


def test_the_page_of_sums_begins_with_what_was_measured(peers):
    """Its first paragraph has speeds over each library, and how often CUB is faster between other kernels."""
    page = (ROOT / "docs/benchmarks/sums.md").read_text(encoding="utf-8")
    first = " ".join(page.split("\n\n")[1].split())
    rows = [
        row
        for (op, dtype, _, offset), row in peers[0].items()
        if (op, dtype, offset) == ("sum", "float32", 0)
    ]
    for library in ("cub", "torch", "cupy"):
        speeds = [1 / row["ratio"][library] for row in rows if library in row["ratio"]]
        name = LABELS[library]
        assert f"{min(speeds):.2f} to {max(speeds):.2f} times as fast as {name}'s" in first
        assert f"({statistics.geometric_mean(speeds):.2f}" in first
    ratios = [row["ratio"]["cub"] for row in load("interleaved_h200.json")["rows"]]
    slower = [ratio for ratio in ratios if ratio > 1.005]
    assert f"{1 / statistics.geometric_mean(ratios):.2f} times as fast as CUB's" in first
    assert f"of {len(ratios)} cases" in first and f"in {len(slower)} of them" in first
    assert f"by up to {100 * (max(slower) - 1):.0f} %" in first


def test_observers_slow_the_simulator_down_by_at_most_six():
    record = load("instrument_xeon.json")
    assert "Xeon" in record["cpu"]
    ratios = {row["variant"]: row["ratio"]["counters and races"] for row in record["rows"]}
    assert {"v2", "v7"} <= ratios.keys() and min(ratios.values()) > 1 and max(ratios.values()) <= 6


def test_documents_with_committed_results_are_current(capsys):
    if not (ROOT / "README.md").exists():
        pytest.skip("no README next to the tests")
    assert documents.main(["--check", "--root", str(ROOT)]) == 0, capsys.readouterr().out


def test_documents_of_which_one_is_stale_are_reported(tmp_path, capsys, monkeypatch):
    page = tmp_path / "docs/reference/coverage.md"
    page.parent.mkdir(parents=True)
    page.write_text(coverage.page().replace("| sum |", "| total |", 1))
    monkeypatch.setattr(documents, "documents", lambda root: {"docs/reference/coverage.md": coverage.page()})
    root = ["--root", str(tmp_path)]
    assert documents.main(["--check", *root]) == 1
    assert f"{page} is not current" in capsys.readouterr().out
    assert documents.main(root) == 0 and documents.main(["--check", *root]) == 0


def test_documents_of_matmul_follow_its_results(monkeypatch):
    row = {"dtype": "float32", "m": 2048, "n": 2048, "k": 1024, "tflop_per_s": 1.0, "of_cublas": 1.0}
    row |= {"error": 0.0, "us": {"median": 123.4}}
    rows = [{**row, "variant": name} for name in ("m1", "m2", "auto", "cublas")]
    head = {"device": "Some GPU", "toolkit": "13", "driver_cuda": "13", "date": "2026", "method": "None."}
    monkeypatch.setattr(documents, "load_matmul", lambda: {**head, "rows": rows})
    parts = documents.tables()["docs/benchmarks/matmul.md"]
    for marker in ("<!-- matmul-table -->", "<!-- matmul-sizes -->"):
        assert "Some GPU" in parts[marker] and "123.4" in parts[marker]
    assert "Some GPU, measured 2026" in documents.charts()["docs/images/matmul-dark.svg"]


def test_the_busiest_unit_is_not_the_dram_before_v4():
    """What notebooks/bandwidth.ipynb says of the hardware's counters."""
    rows = {row["variant"]: row for row in load("pipes_h200.json")["rows"]}
    dram = {name: row["percent"]["dram__throughput"] for name, row in rows.items()}
    busiest = {name: row["percent"]["gpu__compute_memory_throughput"] for name, row in rows.items()}
    for name in ("v0", "v1", "v2", "v3"):
        assert busiest[name] > 2 * dram[name]
        assert abs(busiest[name] - rows[name]["percent"]["l1tex__data_pipe_lsu_wavefronts"]) < 2
    assert all(abs(busiest[name] - dram[name]) < 0.1 for name in ("v4", "v5", "v6", "v7", "v8"))
    assert busiest["v4"] < busiest["v3"] and dram["v4"] > dram["v3"]


def test_compute_sanitizer_saw_every_variant():
    record = json.loads((ROOT / "tests" / "data" / "compute_sanitizer_h200.json").read_text())
    own = [variant for variant in gpureduce.variants("reduction") if variant.block_sizes]  # not a library's
    clean = {variant.name for variant in own if variant.role != "study"}
    for tool in ("memcheck", "racecheck", "initcheck", "synccheck"):
        rows = [row for row in record["rows"] if row["tool"] == tool and clean & set(row["variants"])]
        assert clean == {name for row in rows for name in row["variants"]}
        assert not any(row["findings"] or row["wrong_sums"] for row in rows)
    for variant in gpureduce.variants("reduction"):
        if variant.role == "study":
            (row,) = (row for row in record["rows"] if row["variants"] == [variant.name])
            assert row["tool"] == "racecheck" and row["findings"] > 0


def test_compute_sanitizer_saw_every_product():
    record = json.loads((ROOT / "tests" / "data" / "compute_sanitizer_products_h200.json").read_text())
    clean = {v.name for v in gpureduce.variants("matmul") if v.block_sizes and v.role != "study"} | {"auto"}
    for tool in ("memcheck", "racecheck", "initcheck", "synccheck"):
        rows = [row for row in record["rows"] if row["tool"] == tool and clean & set(row["variants"])]
        assert clean == {name for row in rows for name in row["variants"]}
        assert not any(row["findings"] or row["wrong_sums"] for row in rows)


def test_compute_sanitizer_saw_the_kernels_of_group_sums():
    record = json.loads((ROOT / "tests" / "data" / "compute_sanitizer_groups_h200.json").read_text())
    assert {row["tool"] for row in record["rows"]} >= {"memcheck", "racecheck"}
    assert all(
        row["findings"] == row["wrong_sums"] == 0 and row["variants"] == ["auto"] for row in record["rows"]
    )


def test_a_million_random_groups_are_summed_exactly():
    """By tests/gpu/random_groups.py, against integers and fractions: other calls on a GPU than simulated."""
    (on_gpu,), (simulated,) = (
        json.loads((ROOT / "tests" / "data" / f"random_groups_{name}.json").read_text())["rows"]
        for name in ("h200", "sim")
    )
    assert on_gpu["results"] > 2_000_000 and on_gpu["groups"] > 200_000
    assert simulated["first"] >= on_gpu["first"] + on_gpu["calls"] and simulated["groups"] > 100_000
    assert on_gpu["groups"] + simulated["groups"] > 1_000_000
    assert on_gpu["wrong"] == simulated["wrong"] == 0


def test_default_float32_sums_are_as_exact_as_numpys():
    rows = load("accuracy_h200.json")["rows"]
    assert {row["case"] for row in rows} == set(accuracy.CASES)
    for row in rows:
        error = row["relative_error"]
        # Both round once at the least, so that a result next to the exact sum is not beaten.
        assert error["auto"] <= max(error["numpy"], 2.0**-24), row["case"]


@pytest.mark.usefixtures("full")
def test_accuracy_is_the_same_on_this_device(device):
    """A small run of the same measurement holds the same claim, with the bits of the device at hand."""
    options = ["--device", device, "--n", "100003", "--draws", "2", "--variants", "auto"]
    benchmark = command.prepare("accuracy", command.parse("accuracy", options))
    for row in benchmark.run():
        assert row["relative_error"]["auto"] <= max(row["relative_error"]["numpy"], 2.0**-24), row["case"]


def test_exact_sums_cost_what_the_page_says():
    """Relative to the plain sum of the same run, on normal data; worst against best data; and CUB's sum."""
    found = load("exact_h200.json")
    rows = [row for row in found["rows"] if row["data"] == "normal"]
    ratio = {(row["op"], row["dtype"], row["n"].bit_length() - 1): row["ratio"] for row in rows}
    most = {
        ("sum", "float32"): {22: 1.75, 24: 1.28, 26: 1.08, 28: 1.03, 30: 1.02},
        ("sum", "float64"): {24: 1.32, 26: 1.15, 28: 1.1, 30: 1.2},
        ("sum", "float16"): {28: 1.05, 30: 1.05},
        ("sum", "bfloat16"): {28: 1.1, 30: 1.05},
        ("dot", "float32"): {28: 1.07},
        ("dot", "float64"): {28: 1.33},
    }
    slow = [(key, k, ratio[(*key, k)]) for key, all in most.items() for k in all if ratio[(*key, k)] > all[k]]
    assert not slow
    assert max(value for (_, _, k), value in ratio.items() if k <= 22) < 5
    small = {row["n"]: row["us"] for row in rows if row["op"] == "sum" and row["dtype"] == "float32"}
    assert all(us["exact"] <= us["gpureduce"] + 0.7 for n, us in small.items() if n <= 1 << 10)
    assert all(us["exact"] <= 2.05 * us["gpureduce"] for n, us in small.items() if 1 << 10 < n < 1 << 24)
    assert exact_sums.slowest_over_fastest(found, "float32", 1 << 28) <= 1.05
    assert exact_sums.slowest_over_fastest(found, "float64", 1 << 28) <= 1.17
    relative = {
        row["n"]: row["us"]["exact"] / row["us"]["cub"]
        for row in rows
        if row["dtype"] == "float32" and "cub" in row["us"]
    }
    assert max(relative[1 << k] for k in (24, 26, 28, 30)) <= 1.13 and max(relative.values()) <= 1.33
    assert found["compared"] >= 360_000 and found["different"] == 0


def test_exact_sums_of_wide_data_cost_what_the_page_says():
    """Relative to sums of normal data, and to plain sums."""
    rows = load("exact_wide_h200.json")["rows"]
    us = {(row["dtype"], row["n"], row["data"]): row["us"] for row in rows}
    assert {row["dtype"] for row in rows} == set(exact_sums.WIDE_DTYPES)
    wide = [(dtype, n) for dtype, n, data in us if data == "wide"]
    assert len(wide) >= 14
    most = {"float32": (2.0, 3.45), "float64": (1.91, 3.2)}
    for dtype, n in wide:
        time, normal = us[dtype, n, "wide"]["exact"], us[dtype, n, "normal"]
        assert time <= most[dtype][0] * normal["exact"], (dtype, n)
        assert time <= most[dtype][1] * normal["gpureduce"], (dtype, n)


def test_segments_have_no_cliffs():
    """Of the same elements in one segment or in ten million, and compared with CUB."""
    rows = [row for row in load("scans_h200.json")["rows"] if row["what"] == "segments"]
    us = {
        (row["shape"], row["segments"]): {name: t["median"] for name, t in row["us"].items()} for row in rows
    }
    of_flat = {key: times["gpureduce"] / times["flat"] for key, times in us.items()}
    assert len(us) == 16 and max(of_flat.values()) < 4.65
    assert all(1.145 < value < 1.235 for (_, count), value in of_flat.items() if count <= 10**4)
    assert all(1.85 < value < 2.45 for (_, count), value in of_flat.items() if count == 10**5)
    over = {key: times["gpureduce"] / times["cub"] for key, times in us.items()}
    assert {key: round(value, 2) for key, value in over.items() if value > 1} == {
        ("uniform", 10**3): 1.01,
        ("uniform", 10**4): 1.12,
    }
    assert all(value < 0.69 or value > 1 for value in over.values())
    assert all(value < 0.022 for (shape, _), value in over.items() if shape == "skewed")


def test_exact_sums_of_segments_cost_what_the_page_says():
    """Relative to products of the same segments."""
    over = {
        (row["dtype"], row["lengths"], row["segments"]): row["us"]["sum"]["median"]
        / row["us"]["prod"]["median"]
        for row in load("segments_h100.json")["rows"]
    }
    assert len(over) == 16 and all(ratio <= 1 for (_, _, count), ratio in over.items() if count <= 1000)
    assert 1.76 < max(ratio for (dtype, *_), ratio in over.items() if dtype == "float64") < 1.775
    assert 1.415 < max(ratio for (dtype, _, count), ratio in over.items() if dtype == "float32") < 1.425
    assert max(ratio for (dtype, *_), ratio in over.items() if dtype != "float64") < 1.44


def group_times():
    """The medians of groups_h200.json, by rows, columns, groups, labels, values and dtype."""
    return {
        (row["rows"], row["columns"], row["groups"], row["labels"], row["values"], row["dtype"]): {
            name: of["median"] for name, of in row["us"].items()
        }
        for row in load("groups_h200.json")["rows"]
    }


def of_scalars(found, groups, labels="uniform", values="normal", dtype="float32"):
    return found[10**7, 1, groups, labels, values, dtype]


def test_peers_of_group_sums_take_the_time_that_the_page_says():
    found = group_times()
    ratio = {key: {name: each / us["gpureduce"] for name, each in us.items()} for key, us in found.items()}
    for groups, most in ((100, 56.5), (1000, 22), (10**4, 5), (10**6, 1.285)):
        assert 0.98 * most < of_scalars(ratio, groups)["index_add"] < most
    sorting = {key: of["deterministic"] for key, of in ratio.items() if "deterministic" in of}
    assert all(
        (13 if key[1] == 1 else 3.95) < each < (336 if key[1] == 1 else 6.55) for key, each in sorting.items()
    )
    assert min(of["jax"] for of in ratio.values() if "jax" in of) > 1
    assert 1.27 < 1 / of_scalars(ratio, 10**6, dtype="float64")["index_add"] < 1.29
    rows = {key[:3]: of["index_add"] for key, of in ratio.items() if key[1] > 1 and key[5] == "float32"}
    for key, bounds in {
        (156_250, 64, 1000): (1.575, 1.59),
        (10**6, 64, 10**5): (3.4, 3.5),
        (10**5, 768, 1000): (4.3, 4.4),
    }.items():
        assert bounds[0] < rows[key] < bounds[1]
    many = {labels: of_scalars(ratio, 10**6, labels)["index_add"] for labels in ("zipf", "equal", "sorted")}
    assert 11.5 < many["zipf"] < 11.6 and 140.5 < many["equal"] < 141.5 and 1.03 < many["sorted"] < 1.045


def test_group_sums_keep_their_bounds():
    """The floor of elements and labels is half the time in which they are copied."""
    found = group_times()

    for groups, labels in itertools.product((100, 10**4), ("uniform", "zipf", "sorted", "equal")):
        us = of_scalars(found, groups, labels)
        assert us["gpureduce"] <= 1.2 / 2 * us["copy"]
        assert 39 < us["gpureduce"] < 47
    for labels, bound in (("uniform", 0.83), ("sorted", 1.0)):
        us = of_scalars(found, 10**6, labels)
        assert us["gpureduce"] <= bound * us["index_add"]
    for key, bound in (((10**6, 64, 10**5), 0.31), ((10**5, 768, 1000), 0.27)):
        us = found[(*key, "uniform", "normal", "float32")]
        assert us["gpureduce"] <= bound * us["index_add"]
    for groups in (100, 10**4, 10**6):
        narrow, wide = (
            of_scalars(found, groups, values=values)["gpureduce"] for values in ("normal", "wide")
        )
        assert wide <= 1.25 * narrow
    for groups in (10**4, 10**6):
        assert (
            of_scalars(found, groups, dtype="float64")["gpureduce"]
            <= 2 * of_scalars(found, groups)["gpureduce"]
        )
    one = of_scalars(found, 10**4)["gpureduce"]
    assert all(of_scalars(found, 10**4, dtype=half)["gpureduce"] <= one for half in ("float16", "bfloat16"))


def test_extremes_of_groups_take_the_time_that_the_page_says():
    us = {
        (row["op"], row["groups"], row["labels"], row["dtype"], row["rows"]): {
            name: times["median"] for name, times in row["us"].items()
        }
        for row in load("group_extremes_h200.json")["rows"]
    }
    some = us["max", 10**4, "uniform", "float32", 10**7]
    assert some["gpureduce"] < 33.65 and 0.029 < some["gpureduce"] / some["before"] < 0.031
    assert 15.5 < some["torch"] / some["gpureduce"] < 16.5
    equal = us["max", 10**4, "equal", "float32", 10**7]
    assert 293 < equal["torch"] / equal["gpureduce"] < 295
    for groups in (10**5, 10**6):
        many = us["max", groups, "uniform", "float32", 10**7]
        assert 116.5 < many["gpureduce"] < 145 and many["gpureduce"] < 0.5 * many["torch"]
    positions = us["argmax", 10**4, "uniform", "float32", 10**7]
    assert 1.155 < positions["gpureduce"] / some["gpureduce"] < 1.165
    few, many = (us["softmax", groups, "uniform", "float32", 10**7] for groups in (10**4, 10**6))
    assert 0.385 < few["gpureduce"] / few["before"] < 0.395
    assert 0.765 < few["gpureduce"] / few["torch"] < 0.775
    assert 1.455 < many["gpureduce"] / many["torch"] < 1.465
    later = {row["groups"]: row["us"] for row in load("group_softmax_h200.json")["rows"]}
    saved = {groups: 1 - of["gpureduce"]["median"] / of["before"]["median"] for groups, of in later.items()}
    assert 0.235 < saved[10**4] < 0.245 and 0.185 < saved[10**6] < 0.195
    assert 528.5 < later[10**4]["gpureduce"]["median"] < 529.5


def test_partitions_of_groups_take_the_time_that_the_page_says():
    us = {
        tuple(row[name] for name in ("op", "rows", "columns", "groups", "labels", "values", "dtype")): {
            name: times["median"] for name, times in row["us"].items()
        }
        for row in load("group_partitions_h200.json")["rows"]
    }
    ratio = {key: times["gpureduce"] / times["before"] for key, times in us.items()}
    wide = us["sum", 10**7, 1, 10**6, "uniform", "normal", "float64"]
    assert wide["gpureduce"] < 168.5 and 1603 < wide["before"] < 1604.5
    assert 0.335 < ratio["max", 10**7, 1, 10**6, "zipf", "normal", "float32"] < 0.345
    assert max(ratio.values()) == ratio["max", 10**7, 1, 10**6, "equal", "normal", "float32"] < 1.195
    rows = [
        each
        for key, each in ratio.items()
        if key[2] in (64, 768) and key[4:] == ("uniform", "normal", "float32")
    ]
    assert len(rows) == 3 and min(rows) > 0.715 and max(rows) < 0.875


def test_rows_by_their_length_take_the_time_that_the_page_says():
    shares = row_order.shares(load("row_order_h200.json"))
    medians = {
        of: {name: statistics.median(values) for name, values in columns.items()}
        for of, columns in shares.items()
    }
    single = {of: columns.pop("1 row") for of, columns in medians.items()}
    averages = [share for (op, _), share in single.items() if op == "average"]
    others = [share for (op, _), share in single.items() if op != "average"]
    assert (round(min(averages), 2), round(max(averages), 2)) == (0.80, 0.85)
    assert (round(min(others), 2), round(max(others), 2)) == (1.22, 1.98)
    assert all(0.595 < share < 1.085 for columns in medians.values() for share in columns.values())


def test_order_statistics_take_half_of_others_time():
    """Of a whole array of 2^26, where it has all of CuPy's or PyTorch's; of smaller ones and rows no more."""
    rows = load("order_h200.json")["rows"]
    us = {
        (row["what"], row["dtype"], *row["shape"]): {name: t["median"] for name, t in row["us"].items()}
        for row in rows
    }
    for dtype in ("float32", "float64", "int32"):
        found = us["median", dtype, 1 << 26]
        theirs = [time for name, time in found.items() if name != "gpureduce"]
        assert found["gpureduce"] <= 0.5 * min(theirs)
    for (what, *_), found in us.items():
        theirs = min(time for name, time in found.items() if name != "gpureduce")
        assert found["gpureduce"] <= (0.87 if what.startswith("topk") else 1.04) * theirs, what
    many = [found for (what, _, *shape), found in us.items() if what == "topk 100000" and len(shape) == 1]
    assert len(many) == 12 and all(found["gpureduce"] <= 0.74 * found["torch"] for found in many)
    assert us["topk 100000", "float32", 512, 1 << 17]["gpureduce"] <= 3400


def test_scans_keep_what_they_reach():
    rows = [row for row in load("scans_h200.json")["rows"] if row["what"] == "scan"]
    times = {(row["dtype"], row["n"]): {name: t["median"] for name, t in row["us"].items()} for row in rows}
    assert len(times) == 24 and all(found["gpureduce"] <= 0.58 * found["cupy"] for found in times.values())
    of_copy = {key: found["gpureduce"] / found["copy"] for key, found in times.items() if key[1] >= 1 << 26}
    assert len(of_copy) == 9 and max(of_copy.values()) <= 1.09
    for (dtype, n), found in times.items():
        if dtype != "int32":
            assert found["gpureduce"] <= 0.82 * min(found[name] for name in ("cub", "torch", "cupy"))
        else:  # CUB's results have four bytes
            assert found["gpureduce"] <= (1.22 if n >= 1 << 24 else 0.97) * found["cub"]


def test_several_gpus_take_the_time_of_one():
    """What docs/benchmarks/several-gpus.md says of four H200s: of tensors on them, and of host arrays."""
    rows = {
        (row["where"], row["gpus"], row["n"]): {name: t["median"] for name, t in row["us"].items()}
        for row in load("multi_device_h200.json")["rows"]
    }
    assert rows["device", 2, 1 << 10]["gpureduce"] <= 18 and rows["device", 2, 1 << 10]["max"] <= 21
    assert rows["device", 4, 1 << 10]["gpureduce"] <= 27  # target: 20
    for gpus, exponent, most in ((2, 28, 1.03), (2, 30, 1.03), (4, 28, 1.05), (4, 30, 1.07)):  # target: 1.03
        found = rows["device", gpus, 1 << exponent]
        assert found["gpureduce"] <= most * found["slowest"]
    for (where, gpus, _), found in rows.items():
        if where == "device" and gpus > 1:
            assert found["gpureduce"] < min(found[name] for name in ("torch", "nccl", "jax"))
            assert found["gpureduce"] < 1.01 * found["cupy"]
    for gpus, least in ((1, 0.95), (2, 0.93), (4, 0.92)):
        found = rows["pinned", gpus, 1 << 29]
        assert found["copies"] >= least * found["gpureduce"]
    for gpus, least in ((1, 45), (2, 67), (4, 74)):  # GB/s
        assert least * rows["pageable", gpus, 1 << 29]["gpureduce"] <= 4e-3 * 2**29


def test_copies_take_less_time_than_pytorchs():
    """Except the cases that docs/benchmarks/copies.md names."""
    rows = load("arrays_h100.json")["rows"]
    over = {(row["layout"], row["dtype"], row["to"]): row["of_torch"] for row in rows}
    assert len(rows) == len(arrays.cases()) and statistics.geometric_mean(over.values()) <= 0.56
    rest = {("transposed, 3 rows", "float16"), ("transposed, 3 rows", "int8"), ("cropped", "float32")}
    slower = {case: ratio for case, ratio in over.items() if ratio > 1.1}
    assert {case[:2] for case in slower} == rest and len(slower) == 3 and max(slower.values()) <= 1.41


def test_layouts_have_few_cliffs():
    """Beside PyTorch, in layouts drawn at random; docs/benchmarks/layouts.md lists those that are slower."""
    rows = load("layouts_h200.json")["rows"]
    over = [row["of_torch"] for row in rows if row["of_torch"] > 1.05]
    assert len(rows) >= 320 and statistics.geometric_mean(row["of_torch"] for row in rows) <= 0.38
    assert len(over) <= 2 and max(over) <= 1.33


def test_exact_sums_are_faster_than_cubs_sums_of_any_gpu():
    """CUB's level of determinism "GPU to GPU" has bins of exponents, and is not correctly rounded."""
    rows = [row for row in load("cccl_h200.json")["rows"] if row["what"] == "sum"]
    share = {(row["dtype"], row["n"]): _of(row, "exact", "gpu_to_gpu") for row in rows}
    assert len(share) == 18
    assert all(share["float32", n] <= 0.75 for dtype, n in share if dtype == "float32")
    assert all(share["float64", n] <= 0.45 for dtype, n in share if dtype == "float64" and n <= 1 << 24)
    assert all(row["error"]["exact"] <= 2.0**-24 for row in rows if "error" in row)


def test_top_k_and_equal_segments_beside_the_newest_cub():
    rows = load("cccl_h200.json")["rows"]
    top = [row for row in rows if row["what"] == "top"]
    assert len(top) == 10
    assert max(_of(row, "gpureduce", "torch") for row in top) <= 0.41
    assert max(_of(row, "gpureduce", "cub") for row in top) <= 1.06
    segments = {row["size"]: _of(row, "gpureduce", "cub") for row in rows if row["what"] == "segments"}
    assert segments.pop(4) <= 1.45 and max(segments.values()) <= 1.05


def _of(row, name, other):
    return row["us"][name]["median"] / row["us"][other]["median"]
