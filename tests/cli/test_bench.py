"""gpureduce.bench: rows, what follows from them, and the forms they are given out in."""

import csv
import importlib
import importlib.util
import inspect
import io
import itertools
import json
import math
import re
import sys
import types

import numpy as np
import pytest

import gpureduce
from benchmarks.harness.results import RESULTS, load, path_of
from benchmarks.report import figures, ladder
from benchmarks.report import matmul as matmul_table
from benchmarks.report import svg as chart
from gpureduce._bench import groups, matmul_timing, plotting, products, roofline, runner, tiles
from gpureduce._bench import matmul_plotting as matmul_pictures
from tests.support.selection import runs_on

SIZE = 3001
COUNTERS = {"launches", "warp_instructions", "lanes", "shared_wavefronts", "bank_conflicts", "barriers"}
TIMES = {"first_pass_us", "all_passes_us", "end_to_end_us"}


def timed(variant, microseconds, n=1 << 20, **more):
    spread = {"median": microseconds, "min": microseconds * 0.9, "max": microseconds * 1.1}
    times = dict.fromkeys(sorted(TIMES), spread)
    row = {"variant": variant, "op": "sum", "dtype": "float32", "n": n, **times, "result": 1.5}
    return {**row, "relative_error": 1e-7, **more}


HEAD = {
    "device": "Some GPU", "kind": "cuda", "toolkit": "13.0", "driver_cuda": "13.0", "date": "2026-01-02",
    "method": "none", "peak_gb_per_s": 2000.0, "read_gb_per_s": 1000.0,
}  # fmt: skip
TIMES_OF_THREE = [("v0", 40.0), ("v3", 10.0), ("atomic", 8.0)]
TIMED = gpureduce.BenchResult(HEAD, tuple(timed(*row) for row in TIMES_OF_THREE))


@pytest.fixture(scope="module")
def result(device):
    return gpureduce.bench(SIZE, device=device, repeats=2, progress=False)


def test_a_row_for_every_variant_that_runs_here(result, device, on_gpu):
    names = [row["variant"] for row in result.rows]
    here = [variant.name for variant in gpureduce.variants("reduction") if runs_on(variant, device)]
    assert names == here + ["auto"] * on_gpu


def test_sums_are_compared_with_the_exact_one(result):
    data = runner.draw("sum", "float32", SIZE)
    for row in result.rows:
        assert row["exact"] == math.fsum(data)
        assert row["relative_error"] == abs(row["result"] - row["exact"]) / row["exact"]
        # One lost element of 3001 would show as 3e-4.
        assert 0 < row["relative_error"] < 1e-6 or row["result"] == np.float32(row["exact"])


def test_the_simulator_gives_counts_and_no_times(result, on_gpu):
    keys = set().union(*result.records())
    assert (keys > TIMES, keys > COUNTERS) == (on_gpu, not on_gpu)
    assert result.simulated != on_gpu and ("Modelled" in str(result)) != on_gpu
    if not on_gpu:
        assert not any("us" in key.split("_") or "per_s" in key or "over" in key for key in keys)


def test_counts_are_those_of_a_profile():
    found = gpureduce.bench(SIZE, ["v1", "atomic"], device="sim", block_size=128)
    for row in found.rows:
        counts = gpureduce.profile(SIZE, row["variant"], block_size=128).totals
        assert row["warp_instructions"] == counts.warp_instructions
        assert (row["bank_conflicts"], row["atomics"]) == (counts.bank_conflicts, counts.atomics)
        assert (row["global_sectors"], row["block_size"]) == (counts.global_sectors, 128)


@pytest.mark.parametrize(
    "op", ["prod", "min", "max", "any", "all", "bitwise_and", "bitwise_or", "bitwise_xor"]
)
def test_operators_and_dtypes(op, device):
    dtypes = ["int32", "int64"] if op.startswith("bitwise") else ["float32", "float64", "int64"]
    found = gpureduce.bench([1, 777], "v3", op, dtypes, device=device, repeats=1, progress=False)
    assert [(row["dtype"], row["n"]) for row in found.rows] == [(d, n) for d in dtypes for n in (1, 777)]
    for row in found.rows:
        exact = op != "prod" or row["dtype"] == "int64"
        assert row["relative_error"] <= (0 if exact else 1e-4 if row["dtype"] == "float32" else 1e-13)


def test_speed_ups_and_bandwidth():
    first, third, side = TIMED.records()
    assert first["gb_per_s"] == (1 << 22) / 40.0 / 1e3
    assert math.isclose(first["percent_of_peak"], 100 * first["gb_per_s"] / 2000)
    assert math.isclose(third["percent_of_read"], 100 * third["gb_per_s"] / 1000)
    assert (first["over_first"], third["over_first"], side["over_first"]) == (1.0, 4.0, 5.0)
    # v2, the rung before v3, was not measured; what is outside the ladder has none before it.
    assert first["over_previous"] is third["over_previous"] is side["over_previous"] is None
    more = gpureduce.BenchResult(HEAD, (*TIMED.rows, timed("v2", 15.0), timed("v2", 99.0, n=1 << 22)))
    assert more.records()[1]["over_previous"] == 1.5
    last = [timed(name, us) for name, us in (("v10", 20.0), ("v11", 50.0), ("v12", 16.0))]
    last = gpureduce.BenchResult(HEAD, tuple(last)).records()[2]
    assert (last["after"], last["over_previous"]) == ("v10", 1.25)  # v12 does without v11's clusters


def test_json_there_and_back(result, tmp_path):
    path = tmp_path / "result.json"
    text = result.to_json(path)
    assert path.read_text() == text
    for source in (text, path, str(path)):
        assert gpureduce.BenchResult.from_json(source) == result


def test_json_without_its_schema_version_or_with_another_is_refused(result, tmp_path):
    record = json.loads(result.to_json())
    assert record.pop("schema") == 1 and "schema" not in result.head
    with pytest.raises(ValueError, match='source: the text has no schema version; expected "schema": 1'):
        gpureduce.BenchResult.from_json(json.dumps(record))
    path = tmp_path / "later.json"
    for schema in (2, "1", True, None):
        path.write_text(json.dumps({"schema": schema, **record}))
        with pytest.raises(ValueError, match=r"source: .*later\.json has (no schema|schema version)"):
            gpureduce.BenchResult.from_json(path)


@pytest.mark.parametrize("name", sorted(path.name for path in RESULTS.glob("*.json")))
@pytest.mark.committed
def test_committed_results_have_a_schema_version(name):
    assert json.loads((RESULTS / name).read_text("utf-8"))["schema"] == 1


OTHER = ["{}", "[1, 2]", '{"schema": 1, "rows": [{"variant": "v0"}]}', "not json", '{"schema": 1, "rows": 3}']


@pytest.mark.parametrize("text", OTHER)
def test_json_of_something_else(text, tmp_path):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"source: .*other\.json"):
        gpureduce.BenchResult.from_json(path)


def test_table_and_csv(result):
    lines = result.table().splitlines()
    assert len(lines) == 2 + len(result.rows) and len({len(line) for line in lines}) == 1
    assert lines[0].startswith("| variant ") and set(lines[1]) <= set("|-: ")
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert [row["variant"] for row in rows] == [row["variant"] for row in result.rows]
    assert [float(row["result"]) for row in rows] == [row["result"] for row in result.rows]


def test_to_pandas(result):
    pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert (
        list(frame.variant) == [row["variant"] for row in result.rows]
        and frame.attrs["kind"] == result.head["kind"]
    )
    assert frame.n.eq(SIZE).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n": 0}, ValueError, "n: expected 1 or more"),
        ({"n": 2.5}, TypeError, "n: expected int"),
        ({"n": True}, TypeError, "n: expected int"),
        ({"n": []}, ValueError, "n: nothing"),
        ({"variants": "v77"}, ValueError, "unknown variant 'v77'"),
        ({"variants": "auto", "device": "sim"}, ValueError, "'auto' has no counts on the simulator"),
        ({"variants": []}, ValueError, "variants: nothing"),
        (
            {"variants": ["v0", "cub_block"], "ops": "prod"},
            ValueError,
            "cub_block cannot run prod of float32",
        ),
        ({"ops": "mean"}, ValueError, "none can run mean"),
        ({"dtypes": "float16"}, ValueError, "none can run sum of float16"),
        ({"dtypes": "nonsense"}, TypeError, "dtypes: 'nonsense'"),
        ({"repeats": 0}, ValueError, "repeats: expected 1 or more"),
        ({"device": "moon"}, ValueError, "device: unknown device"),
        ({"block_size": 77}, ValueError, "block_size: 77"),
    ],
)
def test_wrong_arguments(options, error, message, device):
    with pytest.raises(error, match=message):
        gpureduce.bench(**{"n": 100, "device": device, "progress": False, **options})


PRODUCTS = [
    v.name
    for v in gpureduce.variants("matmul")
    if "float32" in v.dtypes and runs_on(v, "sim") and v.role != "study"
]


@pytest.mark.usefixtures("full")
def test_products_are_counted_as_by_a_profile():
    found = gpureduce.bench((64, 32, 48), ops="matmul", device="sim", progress=False)
    assert [row["variant"] for row in found.rows] == PRODUCTS and found.products and found.simulated
    for row in found.rows:
        profile = gpureduce.profile((64, 32, 48), row["variant"])
        assert row["warp_instructions"] == profile.totals.warp_instructions
        assert row["bytes_a_flop"] == profile.totals.global_bytes / (2 * 64 * 32 * 48)
        # One lost product of 48 would show as 0.1; tensor cores round their inputs.
        assert 0 < row["error"] < (1e-6 if row["variant"].startswith("m") else 2e-3)
    assert {record["size"] for record in found.records()} == {"64 x 32 x 48"}
    table = found.table()
    assert "bytes per FLOP" in table and "GB/s" not in table and "M x N x K" not in table
    assert "matmul of 64 x 32 x 48 float32" in str(found)
    assert gpureduce.BenchResult.from_json(found.to_json()).rows == found.rows


def test_a_wrong_product_is_measured_where_it_is_asked_for():
    found = gpureduce.bench((64, 32, 40), ["m2_published"], device="sim", progress=False)
    (row,) = found.rows
    assert row["error"] > 0.1  # 8 of 40 products are lost


def test_sizes_and_dtypes_of_products():
    found = gpureduce.bench(
        [8, (16, 8, 4)], ["m1", "m3"], dtypes=["int32", "float64"], device="sim", progress=False
    )
    given = [(row["dtype"], row["m"], row["n"], row["k"], row["variant"]) for row in found.rows]
    assert given == [
        (dtype, *size, name)
        for dtype in ("int32", "float64")
        for size in ((8, 8, 8), (16, 8, 4))
        for name in ("m1", "m3")
    ]
    assert all(row["error"] == 0 for row in found.rows if row["dtype"] == "int32")
    assert gpureduce.bench(variants="m4", device="sim").rows[0]["k"] == 64  # what is measured unasked


def test_times_of_products():
    def row(name, us):
        spread = {"median": us, "min": us * 0.9, "max": us * 1.1}
        rest = {"precision": "ieee", "tflop_per_s": 8589.9 / us, "of_cublas": us / 170, "error": 5e-7}
        return {"variant": name, "dtype": "float32", "m": 2048, "n": 2048, "k": 1024, "us": spread, **rest}

    rows = [row("m0", 17000.0), row("m1", 1700.0), row("m2", 850.0), row("cublas", 170.0)]
    found = gpureduce.BenchResult.from_json(json.dumps({"schema": 1, **HEAD, "rows": rows}))
    records = {record["variant"]: record for record in found.records()}
    assert records["m2"]["over_first"] == 20 and records["m2"]["over_previous"] == 2
    assert records["cublas"]["over_first"] == 100 and records["cublas"]["over_previous"] is None
    assert (records["m1"]["us"], records["m1"]["us_min"]) == (1700.0, 1530.0)
    assert "TFLOP/s" in found.table() and "GB/s" not in found.table()
    assert "matmul of 2,048 x 2,048 x 1,024 float32" in str(found)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n": (8, 8, 0)}, ValueError, "n: expected 1 or more"),
        ({"n": [(8, 8)]}, ValueError, "n: a matrix product has three sizes"),
        ({"n": 2.5}, TypeError, "n: expected int"),
        ({"variants": ["m0", "v0"]}, ValueError, "v0 belongs to the ladder 'reduction'"),
        ({"variants": ["m0", "auto"]}, ValueError, "'auto' has no counts on the simulator"),
        ({"variants": ["m0", "cublas"]}, ValueError, "cublas is always measured"),
        ({"variants": "m0", "ops": "sum"}, ValueError, "m0 is a matrix product"),
        ({"variants": "c0", "ops": "sum"}, ValueError, "c0 is a convolution"),
        ({"ops": ["matmul", "sum"]}, ValueError, "ops: 'matmul' cannot be combined"),
        ({"dtypes": "int8"}, ValueError, "none can run matrix products of int8"),
        ({"variants": "m0", "dtypes": "int8"}, ValueError, "m0 cannot run matrix products of int8"),
        ({"block_size": 128}, ValueError, "block_size: matrix products"),
    ],
)
def test_wrong_arguments_of_products(options, error, message):
    given = {"n": 8, "device": "sim", "progress": False, **options}
    with pytest.raises(error, match=message):
        gpureduce.bench(**{"ops": None if "variants" in options else "matmul", **given})


def test_precisions_are_measured_apart():
    names = [variant.name for variant in gpureduce.variants("matmul") if variant.role == "rung"]
    found = products._by_precision([*names, "auto"], False)
    assert found["ieee"][:2] == ["m0", "m1"] and found["ieee"][-1] == "auto" and "t1" in found["tf32"]
    assert sorted(name for group in found.values() for name in group) == sorted([*names, "auto"])
    assert list(products._by_precision(["t0", "t3", "auto"], True)) == ["ieee"]
    row = {"variant": "t1", "dtype": "float32", "precision": "tf32", "m": 8, "n": 8, "k": 8}
    row |= {"us": {"median": 2.0}, "tflop_per_s": 1.0, "of_cublas": 1.0, "error": 1e-4}
    plain = {**row, "variant": "m0", "precision": "ieee", "us": {"median": 8.0}}
    found = gpureduce.BenchResult.from_json(json.dumps({"schema": 1, **HEAD, "rows": [plain, row]}))
    assert "| precision |" in found.table()
    assert [record["over_first"] for record in found.records()] == [1.0, None]
    alone = gpureduce.BenchResult.from_json(json.dumps({"schema": 1, **HEAD, "rows": [plain]}))
    assert "precision" not in alone.table()


def test_times_come_from_the_program(monkeypatch):
    """Each precision by itself, with PyTorch set to the same; here without a GPU or PyTorch."""
    cuda = types.SimpleNamespace(matmul=types.SimpleNamespace(allow_tf32=None))
    torch = types.SimpleNamespace(backends=types.SimpleNamespace(cuda=cuda))
    asked = []

    def measure(sets, names, precision, repeats):
        asked.append((sets, names, precision, cuda.matmul.allow_tf32, repeats))
        yield from ({"variant": name, "precision": precision} for name in [*names, "cublas"])

    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(matmul_timing, "MatmulInputs", lambda *what: what[1:])
    monkeypatch.setattr(matmul_timing, "measure", measure)
    begun = []
    rows = list(products._timed((8, 8, 8), "float32", ["m1", "t0", "auto"], begun.append, 3))
    sets = ((8, 8, 8), "float32")
    assert asked == [(sets, ["m1", "auto"], "ieee", False, 3), (sets, ["t0"], "tf32", True, 3)]
    assert [row["variant"] for row in rows] == ["m1", "auto", "cublas", "t0", "cublas"]
    assert sorted(begun) == ["auto", "m1", "t0"]


def test_times_of_products_need_torch(device, on_gpu, monkeypatch):
    if not on_gpu:
        pytest.skip("times are those of a GPU")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="needs PyTorch, which is not installed"):
        gpureduce.bench(256, "m3", device=device, progress=False)


def test_bench_is_a_plain_function():
    assert inspect.isfunction(gpureduce.bench) and repr(gpureduce.bench).startswith("<function bench at")
    assert list(inspect.signature(gpureduce.bench).parameters)[:2] == ["n", "variants"]
    assert "Parameters" in gpureduce.bench.__doc__
    assert importlib.util.find_spec("gpureduce.bench") is None


def test_a_bar_is_for_terminals(monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    for progress in (False, True):
        gpureduce.bench(100, ["v0", "v7"], device="sim", progress=progress)
        shown = screen.getvalue()
        assert ("] 1/2 v7: sum of 100 float32" in shown) == progress
    assert shown.rsplit("\r", 2)[1].strip() == "" and capsys.readouterr().out == ""


@pytest.mark.gpu
def test_times_on_a_gpu_are_plausible(device):
    found = gpureduce.bench(1 << 24, ["v0", "v8", "auto"], device=device, repeats=5, progress=False)
    assert 0.2 < found.head["read_gb_per_s"] / found.head["peak_gb_per_s"] < 1
    slow, fast, default = found.records()
    assert slow["all_passes_us"] > fast["all_passes_us"] > fast["first_pass_us"] > 0
    assert fast["end_to_end_us"] > fast["all_passes_us"] and 1 < fast["over_first"] < 100
    assert 0 < fast["percent_of_peak"] < 100
    assert default["first_pass_us"] == default["all_passes_us"] < slow["all_passes_us"]
    assert default["relative_error"] < 1e-7


# Charts

needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed"
)


@pytest.mark.usefixtures("full")
@needs_matplotlib
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("ending", ["svg", "png"])
def test_plots_are_saved(dark, ending, tmp_path):
    for kind in ("speedup", "bandwidth"):
        path = tmp_path / f"{kind}.{ending}"
        plotting.save(TIMED.plot(kind, dark=dark), path)
        assert path.stat().st_size > 5000
    if ending == "svg":
        assert "GB/s" in path.read_text() and "atomic" in path.read_text()
        assert path.read_text().count(chart.DARK.background) > 0 if dark else True


@needs_matplotlib
def test_bars_are_as_long_as_the_speed_ups():
    ax = TIMED.plot("speedup")
    assert [bar.get_width() for bar in ax.containers[0]] == [1.0, 4.0, 5.0]
    assert "speed-up" in ax.get_xlabel()
    # What v3 has more than v0, and what the atomics, which come after v7, have more than v3.
    added = [(bar.get_x(), bar.get_width()) for container in ax.containers[1:] for bar in container]
    assert added == [(1.0, 3.0), (4.0, 1.0)]
    assert [text.get_text() for text in ax.texts] == ["1.00x", "4.00x   4.00 x v0", "5.00x   1.25 x v3"]
    ticks = [tick.get_text() for tick in ax.get_yticklabels()]
    assert [tick.split()[-1] for tick in ticks] == ["ladder", "v0", "v3", "alternatives", "atomic"]
    colours = {bar.get_facecolor() for container in ax.containers[1:] for bar in container}
    assert len(colours) == 2  # a group each
    some = TIMED.plot("speedup", variants=["atomic", "v0"])
    assert [bar.get_width() for bar in some.containers[0]] == [1.0, 5.0]
    with pytest.raises(ValueError, match="variants: the results have no 'v7'; they have v0, v3, atomic"):
        TIMED.plot("speedup", variants="v7")


@needs_matplotlib
def test_lines_are_few_and_named_at_their_ends():
    found = ladder.result("sizes_h200.json")
    names = ["v0", "v1", "v3", "v6", "v12", "auto"]  # the first, the largest steps, the last, the default
    ax = found.plot("bandwidth")
    drawn = [line for line in ax.lines if not line.get_label().startswith("_")]
    assert [line.get_label() for line in drawn] == names and "6 of 19 variants" in ax.get_title(loc="left")
    written = {text.get_text(): text for text in ax.texts if text.get_text() in names}
    assert sorted(written) == sorted(names) and ax.get_legend() is None
    for line in drawn:
        assert written[line.get_label()].xy == (line.get_xdata()[-1], line.get_ydata()[-1])
        assert written[line.get_label()].get_color() == line.get_color()
    heights = sorted(np.log([text.xyann[1] for text in written.values()]))
    assert np.diff(heights).min() > 0.1  # apart, though two of the lines end close to one another
    everything = found.plot("bandwidth", variants="all")
    assert sum(not line.get_label().startswith("_") for line in everything.lines) == 19


@needs_matplotlib
def test_a_plot_of_counts_says_so():
    found = gpureduce.bench(SIZE, ["v0", "v2"], device="sim")
    ax = found.plot()
    assert "not a time" in ax.get_xlabel()
    each = [row["warp_instructions"] / SIZE for row in found.rows]
    assert [bar.get_width() for bar in ax.containers[0]] == each
    (saved,) = ax.containers[1]
    assert saved.get_x() == each[1] and saved.get_width() == pytest.approx(each[0] - each[1])
    assert saved.get_fill() is False
    with pytest.raises(ValueError, match="kind: 'speedup' cannot be drawn of counts"):
        found.plot("speedup")
    with pytest.raises(ValueError, match="kind: unknown kind 'pie'"):
        found.plot("pie")


def test_the_chart_of_the_readme():
    rows = [("v0", "naive", [1.0, 1.0]), ("v9", "a < b", [12.5, None])]
    drawn = chart.speedup_svg("Title", rows, ["here", "there"], chart.LIGHT)
    widths = [float(part.split('"')[0]) for part in drawn.split('width="')[1:]]
    bars = [width for width in widths if width not in (chart.WIDTH, 12.0)]
    assert math.isclose(bars[2] / bars[0], 12.5, rel_tol=0.01) and len(bars) == 3
    assert "a &lt; b" in drawn and "12.50x" in drawn
    marked = chart.speedup_svg("Title", rows, ["here", "there"], chart.LIGHT, after={"v9": "v0"})
    pale = plotting.blend(chart.LIGHT.series[0], chart.LIGHT.background)
    (had,) = re.findall(rf'<rect x="([\d.]+)"[^>]* width="([\d.]+)"[^>]* fill="{pale}"', marked)
    (left, more) = re.findall(
        rf'<rect x="([\d.]+)"[^>]* width="([\d.]+)"[^>]* fill="{chart.LIGHT.series[0]}"', marked
    )[-1]
    assert float(more) / float(had[1]) == pytest.approx(11.5, rel=0.01)
    assert float(left) == pytest.approx(float(had[0]) + float(had[1]), abs=0.2)
    assert "pale" in marked and "pale" not in drawn


def test_the_default_stands_below_the_variants():
    published = {
        "device": "NVIDIA B1-X", "source": "https://example.org",
        "rows": [{"variant": "v0", "first_pass_us": 90.0}, {"variant": "v3", "first_pass_us": 30.0}],
    }  # fmt: skip
    rows = (timed("auto", 5.0, block_size=None), *(timed(*row, block_size=256) for row in TIMES_OF_THREE))
    found = gpureduce.BenchResult(HEAD, rows)
    lines = ladder.ladder_table(found, published).splitlines()
    assert [line.split("`")[1] for line in lines[4:]] == ["v0", "v3", "atomic", "auto"]
    assert "| 5.0 | 839 | 41.9 | 8.00x |  |" in lines[-1]
    by_technique = ladder.technique_table(found).splitlines()
    assert [line.split("`")[1] for line in by_technique[4:]] == ["v0", "v3", "atomic", "auto"]
    drawn = ladder.ladder_chart(found, published, chart.LIGHT)
    assert "8.00x" in drawn and drawn.index(">v3<") < drawn.index(">auto<")


def test_trees_of_additions():
    from gpureduce._bench.tree import additions_of

    neighbours, halves = (additions_of(name, 64, 64) for name in ("v0", "v2"))
    assert (neighbours.left.first, neighbours.right.first) == (0, 32)  # the last addition spans the widest
    assert (halves.left.first, halves.right.first) == (0, 1)
    assert [tree.height for tree in (neighbours, halves)] == [6, 6]
    assert all(len(tree.additions()) == 63 for tree in (neighbours, halves))
    with pytest.raises(ValueError, match="not a tree of plain additions"):
        additions_of("auto", 2000)  # few are added in float64, which loses what is chosen here
    with pytest.raises(ValueError, match="n: expected 2"):
        additions_of("v0", 1)


@pytest.mark.parametrize(
    ("name", "tile", "warp", "thread", "step"),
    [
        ("m0", (32, 32), (32, 1), [(13, 2)], 32),
        ("m1", (32, 32), (1, 32), [(2, 13)], 32),
        ("m2", (32, 32), (1, 32), [(2, 13)], 32),
        ("m3", (64, 64), (8, 32), [(8 + i, 13) for i in range(8)], 8),
        ("m4", (128, 128), (16, 128), [(32 + i, 13 + 16 * j) for i in range(8) for j in range(8)], 8),
        ("m6", (128, 128), (64, 32), None, 16),
    ],
)
def test_tiles_as_the_sources_say(name, tile, warp, thread, step):
    """Of block 0; warp 2 and its lane 13, that is thread 77."""
    found = tiles.tiles_of(name)
    of_block = np.argwhere(found.makes >= 0)
    assert len(of_block) == tile[0] * tile[1] and (of_block.max(axis=0) + 1 == tile).all()
    assert (found.rows, found.columns) == tile
    of_warp = np.argwhere(found.makes // 32 == 2)
    assert len(of_warp) == warp[0] * warp[1] and (np.ptp(of_warp, axis=0) + 1 == warp).all()
    of_thread = np.argwhere(found.makes == 77)
    assert len(of_thread) * 32 == len(of_warp)
    assert thread is None or sorted(map(tuple, of_thread.tolist())) == sorted(thread)
    a, b = found.loads(0, first=True), found.loads(1, first=True)
    assert a[: tile[0], :step].all() and b[:step, : tile[1]].all()
    assert a.sum() == tile[0] * step and b.sum() == step * tile[1]
    assert found.loads(0).sum() == tile[0] * 32 and found.loads(1).sum() == 32 * tile[1]
    if name in ("m2", "m3", "m4"):  # no two threads bring one element of a step
        assert np.sum([found.loads(0, True, range(t, t + 1)) for t in range(32)], axis=0).max() == 1


def test_a_tile_of_another_block():
    left, right = tiles.tiles_of("m3"), tiles.tiles_of("m3", block=1)
    assert (np.roll(left.makes, 64, axis=1) == right.makes).all()
    assert (left.loads(0) == right.loads(0)).all() and not (left.loads(1) & right.loads(1)).any()
    with pytest.raises(ValueError, match="block"):
        tiles.tiles_of("m3", block=16)


def test_bytes_that_flow():
    """Of m2 by hand: an element is loaded for 32 uses; a multiply-add takes two from shared memory."""
    m2, m4, m1 = (tiles.flow_of(gpureduce.profile((128, 128, 64), name)) for name in ("m2", "m4", "m1"))
    assert m2.global_to_registers == m2.registers_to_shared == 2 * 4 / 32
    assert m2.registers_to_global == 4 / 64 and m2.global_to_shared == 0
    assert m2.shared_to_registers == 2 * 4 and m2.shared_wavefronts == 8 + 2 * 4 / 32
    assert m4.shared_to_registers == 2 * 8 * 4 / 64 and m4.global_to_registers == 2 * 4 / 128
    assert m1.global_to_registers == 8 and m1.shared_wavefronts == m1.shared_to_registers == 0
    assert m1.global_sectors == 5 * 32 / 32 + 4 / 64
    assert tiles._kind("cp.async.cg.shared.global [%r1], [%rd2], 16;", True) == ("global_to_shared", 16)
    assert tiles._kind("@%p1 ld.shared.v2.f64 {%fd1, %fd2}, [%r3];", False) == ("shared_to_registers", 16)


def some_products():
    times = {"m0": 17000.0, "m1": 1400.0, "m2": 950.0, "m4": 300.0, "cublas": 173.0, "auto": 180.0}
    rows = []
    for name, us in times.items():
        spread = {"median": us, "min": us, "max": us}
        size = {"m": 2048, "n": 2048, "k": 1024, "tflop_per_s": 2**33 / us / 1e6, "of_cublas": us / 173}
        rows.append({"variant": name, "dtype": "float32", **size, "us": spread, "error": 5e-7})
    return {**HEAD, "ffma_tflop_per_s": 64.7, "rows": rows}


@pytest.mark.usefixtures("full")
def test_roofline():
    found = roofline.roofline({**some_products(), "l1_gb_per_s": 30000.0}, 4600.0)
    assert [point.variant for point in found.points] == ["m0", "m1", "m2", "m4"]
    assert found.bandwidths == (("memory", 4.6), ("L1", 30.0)) and found.peak == 64.7
    assert found.vendor == pytest.approx(2**33 / 173e6)
    assert roofline.intensity("m9", 128) > roofline.intensity("m3", 128)  # its loads are asynchronous copies
    # Whole tiles ask for as many bytes per FLOP in a large product as in a small one.
    large = gpureduce.profile((256, 256, 1024), "m2", races=False)
    assert found.points[2].flop_per_byte == 1 / large.bytes_a_flop == pytest.approx(7.877, rel=1e-3)
    assert roofline.intensity("m4", 64) == 1 / gpureduce.profile((128, 128, 64), "m4").bytes_a_flop


@pytest.mark.usefixtures("full")
@pytest.mark.committed
def test_pictures_of_the_documents(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    seen = []

    def look(ax, path):
        ax.figure.canvas.draw()
        seen.extend(each.get_window_extent() for each in ax.figure.axes)

    with monkeypatch.context() as patched:
        patched.setattr(figures, "save", look)
        for dark, phone in itertools.product((False, True), (False, True)):
            figures.draw_tiles(tmp_path / "tiles.svg", dark, phone)
    # Of 1200 by 950, and 575 by 1100 on phones; fonts differ.
    assert len(seen) == 24 and min(min(box.width, box.height) for box in seen) > 140
    monkeypatch.setattr(figures, "load_matmul", some_products)
    names = {path.name for path in figures.draw_figures(tmp_path)}
    assert names == {path.name for path in tmp_path.iterdir()} and len(names) == 12
    assert {"matmul-tiles-dark.svg", "matmul-roofline-phone-light.svg", "exact-dark.svg"} <= names
    roofs = [(tmp_path / f"matmul-roofline-{name}.svg").read_text() for name in ("light", "dark")]
    assert all("m4  2-D tile per thread" in text for text in roofs) and roofs[0] != roofs[1]
    for path in tmp_path.glob("*-dark.svg"):
        figure = path.read_text().split('id="patch_1"')[1].partition("</g>")[0]
        assert f"fill: {chart.DARK.background}" in figure, path


def test_names_beside_points_keep_apart():
    for highest in (2.0, 1.02):
        places = groups.spread_labels([1.0, 0.0, 1.01, 0.99], 0.1, highest)
        assert places[1] == 0 and places[3] < places[0] < places[2] <= highest
        assert np.diff(sorted(places)).min() > 0.099


def test_tables_of_products():
    results = {**some_products(), "method": "Some method."}
    published = load("published_matmul.json")
    table = matmul_table.ladder(results, published).splitlines()
    rows = {
        line.split("|")[1].strip(" `"): [cell.strip() for cell in line.split("|")[2:-1]]
        for line in table[11:]
    }
    assert list(rows) == ["m0", "m1", "m2", "m4", "auto", "cuBLAS"]
    assert rows["m4"] == ["2-D tile per thread", "300.0", "28.63", "58%", "4.67x", "0.9", "5.78x"]
    assert rows["m0"][3:] == ["1%", "0.08x", "", ""] and rows["cuBLAS"][3] == "100%"
    tf32 = {**results["rows"][-1], "precision": "tf32"}
    tf32["us"] = {"median": 90.0}
    of_t1 = {**tf32, "variant": "t1"}
    both = matmul_table.ladder({**results, "rows": [tf32, of_t1, *results["rows"]]}, published).splitlines()
    assert both[11].startswith("| `m0`") and "(tf32) | 90.0" in both[-1] and both[-1].endswith("|  |  |  |")
    others = [
        {**tf32, "variant": name, "dtype": dtype, "precision": precision}
        for name, dtype, precision in (
            ("m1", "float64", "ieee"),  # no new rung
            ("cublas", "float64", "ieee"),
            ("t2", "float32", "tf32x3"),
            ("cublas", "float32", "tf32x3"),  # there is no such thing
            ("t3", "bfloat16", "ieee"),
            ("cublas", "bfloat16", "ieee"),
        )
    ]
    shown = matmul_table.ladder_rows({**results, "rows": [*others, *results["rows"]]})
    assert [(row["variant"], row["dtype"]) for row in shown[6:]] == [
        ("t2", "float32"), ("t3", "bfloat16"), ("cublas", "bfloat16"),
    ]  # fmt: skip
    wrong = {**results, "rows": [{**results["rows"][0], "error": math.nan}]}
    for table in (lambda: matmul_table.ladder(wrong, published), lambda: matmul_table.shapes(wrong)):
        with pytest.raises(ValueError, match=r"m0 of 2048 x 2048 x 1024 float32: its error is nan"):
            table()
    drawn = matmul_table.ladder_chart(results, published, chart.DARK)
    assert "speed-up over m1" in drawn and "4.67x" in drawn and "5.78x" in drawn and ">cuBLAS<" in drawn
    (line,) = (line for line in matmul_table.shapes(results).splitlines() if line.startswith("| 2,048"))
    assert line == "| 2,048 x 2,048 x 1,024 | 180.00 | 47.72 | 173.00 | 1.040 | 5.0e-07 | 5.0e-07 |"


@pytest.mark.usefixtures("full")
@pytest.mark.committed
def test_the_counts_in_the_documents_are_those_of_now():
    """Of rungs whose loads and stores are as plain as can be."""
    record = load("matmul_counts.json")
    rows = {row["variant"]: row for row in record["rows"]}
    for name in ("m1", "m2", "m3", "m4"):
        now = gpureduce.profile((256, 256, 1024), name, races=False).totals
        assert rows[name]["global_sectors"] == now.global_sectors and rows[name]["barriers"] == now.barriers
        assert rows[name]["shared_wavefronts"] == now.shared_wavefronts
    assert "`m3`" in matmul_table.counts(record)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.usefixtures("full")
@pytest.mark.committed
def test_pictures_of_products(dark):
    pytest.importorskip("matplotlib")
    results = some_products()
    drawn = matmul_pictures.plot_roofline(roofline.roofline(results, 4600.0), dark=dark)
    said = {text.get_text() for text in drawn.texts}
    assert {"m0", "m2  Tiles in shared memory", "memory: 4.6 TB/s", "cuBLAS: 49.7 TFLOP/s"} <= said
    panels = matmul_pictures.plot_tiles(tiles.tiles_of("m3"), dark=dark)
    panels.figure.canvas.draw()
    assert panels.get_window_extent().height > panels.figure.bbox.height / 2  # it is not squeezed
    assert len(panels.images) == 3 and "64 x 64, 8 per thread" in panels.get_title()
    c = np.asarray(panels.images[2].get_array())
    assert c.shape == (128, 128) and np.bincount(c.ravel()).tolist() == [3 * 4096, 0, 4096 - 256, 248, 8]
    flow = matmul_pictures.plot_flow(tiles.flow_of(gpureduce.profile((64, 64, 32), "m2")), dark=dark)
    assert {"0.25 B", "8 B"} <= {text.get_text() for text in flow.texts}
    found = gpureduce.BenchResult.from_json(json.dumps({"schema": 1, **results}))
    bars = found.plot(dark=dark)
    assert [round(patch.get_width(), 1) for patch in bars.containers[0]] == [0.5, 6.1, 9.0, 28.6, 49.7, 47.7]
    assert bars.get_xlabel().startswith("TFLOP/s\nsolid: gain")
    counted = gpureduce.bench(64, ["m1", "m2"], device="sim", progress=False).plot(dark=dark)
    assert "multiply-adds" in counted.get_xlabel()
    with pytest.raises(ValueError, match="unknown kind 'bandwidth' of products"):
        found.plot("bandwidth")
    with pytest.raises(ValueError, match="cannot be drawn of times"):
        found.plot("counts")
    for ax in (drawn, panels, flow, bars):
        importlib.import_module("matplotlib.pyplot").close(ax.figure)


# The committed results


@pytest.mark.parametrize("name", ["ladder_h200.json", "techniques_h200.json", "sizes_h200.json"])
@pytest.mark.committed
def test_committed_results_say_where_they_are_from(name):
    found = gpureduce.BenchResult.from_json(path_of(name))
    assert found.head["device"] == "NVIDIA H200" and not found.simulated
    assert all(found.head[key] for key in ("driver_cuda", "toolkit", "date", "method", "peak_gb_per_s"))
    assert {f"v{i}" for i in range(9)} <= {row["variant"] for row in found.rows}
    adding_up = {
        variant.name for variant in gpureduce.variants("reduction") if variant.float_atomics
    }  # one after another
    errors = {row["variant"]: row["relative_error"] for row in found.rows}
    assert all(error < (1e-5 if name in adding_up else 1e-6) for name, error in errors.items())
    assert json.loads(found.to_json()) == json.loads((path_of(name)).read_text())
