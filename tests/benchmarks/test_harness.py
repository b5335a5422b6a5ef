"""The harness of benchmarks: its command line, its turns, its tables, and all that runs without a GPU."""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.harness import command, libraries, markdown, wall_clock
from benchmarks.harness.benchmark import Benchmark, WrongResultError
from benchmarks.suite import exact_sums
from gpureduce._bench import files, stats, timing

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
NAMES = command.names()
# What a benchmark runs on the simulator with, in a few seconds.
SIMULATED = {
    "accuracy": ["--quick", "--n", "1000", "--kinds", "uniform"],
    "exact_sums": ["--quick", "--check", "40", "--max-exponent", "8", "--repeats", "1"],
    "host": ["--quick", "--powers", "4", "6"],
    "instrument": ["--quick", "--n", "4096"],
    "ladder": ["--quick", "--n", "3000"],
    "multi_device": ["--quick", "--sizes", "3", "--host-size", "8"],
    "simulator": ["--quick", "--n", "3000"],
}


def script(*arguments, **environment):
    run = [sys.executable, str(ROOT / "benchmarks" / "run.py"), *arguments]
    return subprocess.run(run, capture_output=True, text=True, timeout=300, cwd=ROOT, env=environment or None)


def test_list_has_each_benchmark_with_a_line(capsys):
    assert command.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == NAMES and len(NAMES) >= 29
    assert all(len(line) > 30 for line in lines)


def test_no_name_and_unknown_names_exit_with_2(capsys):
    assert command.main([]) == 2
    assert "--list" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        command.main(["nope"])
    assert stop.value.code == 2


def test_script_runs_from_the_checkout():
    done = script("--list")
    assert done.returncode == 0 and "peers " in done.stdout and done.stderr == ""


@pytest.mark.parametrize("name", [name for name in NAMES if command.find(name).device != "sim"])
def test_without_a_gpu_the_exit_code_is_2(name, capsys, on_gpu):
    if on_gpu:
        pytest.skip("here is a GPU")
    assert command.run(name, ["--quick"]) == 2
    assert re.search(rf"run\.py {name}: it needs a CUDA device: cuda", capsys.readouterr().err)


@pytest.mark.parametrize("name", NAMES)
def test_outputs_that_cannot_be_written_are_refused_before_measuring(name, capsys, tmp_path):
    for path in (tmp_path / "absent" / "results.json", tmp_path):
        with pytest.raises(SystemExit) as stop:
            command.run(name, ["--out", str(path)])
        assert stop.value.code == 2 and f"argument --out: {path}: " in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_quick_changes_only_defaults_of_options(name):
    whole, quick = (vars(command.parse(name, arguments)) for arguments in ([], ["--quick"]))
    assert set(command.find(name).quick) <= set(whole) == set(quick)
    assert command.parse(name, ["--quick", "--repeats", "77"]).repeats == 77


def test_repeats_below_1_are_refused(capsys):
    with pytest.raises(SystemExit):
        command.parse("peers", ["--repeats", "0"])
    assert "argument --repeats: expected 1 or more, got 0" in capsys.readouterr().err


@pytest.mark.usefixtures("full")
@pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning", "ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("name", SIMULATED)
def test_quick_form_on_the_simulator_writes_a_result_and_prints_its_table(
    name, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(wall_clock, "SECONDS", 0.0)
    monkeypatch.setenv("GPUREDUCE_SIM_THREADS", "1")
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "result.json"
    assert command.run(name, ["--device", "sim", *SIMULATED[name], "--out", str(out)]) == 0
    record = files.read_result(out)
    assert record["rows"] and record["device"] == "PTX simulator" and record["method"]
    printed = capsys.readouterr().out
    assert command.find(name).table(record) in printed
    assert command.run(name, ["--table", str(out)]) == 0
    assert capsys.readouterr().out.strip() == command.find(name).table(record).strip()


@pytest.fixture(scope="module")
def fake_driver(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fake_cuda")
    make = ["make", "-s", "-C", str(TESTS / "fake_cuda"), "library", f"BUILD={folder}"]
    subprocess.run(make, check=True, timeout=300)
    return folder / "libcuda_fake.so"


@pytest.mark.usefixtures("full")
def test_peers_quick_on_a_fake_device_leaves_out_libraries_and_draws(fake_driver, tmp_path):
    import os

    out, chart = tmp_path / "peers.json", tmp_path / "peers.svg"
    plan = ["--dtypes", "int32", "--ops", "sum", "--exponents", "4", "10", "--repeats", "2"]
    arguments = ["peers", "--quick", *plan, "--out", str(out), "--chart", str(chart)]
    environment = {**os.environ, "GPUREDUCE_LIBCUDA": str(fake_driver), "FAKE_CUDA_DEVICES": "1"}
    done = script(*arguments, "--without", "torch", "cupy", "jax", "cub", **environment)
    assert done.returncode == 0, done.stderr
    for label in ("PyTorch", "CuPy", "JAX", "CUB"):
        assert f"{label} is left out: left out by --without" in done.stdout
    rows = files.read_result(out)["rows"]
    assert [(row["op"], row["dtype"], row["n"]) for row in rows] == [
        ("sum", "int32", 16),
        ("sum", "int32", 1024),
    ]
    assert all(set(row["us"]) == {"gpureduce", "numpy"} and set(row["ratio"]) == {"numpy"} for row in rows)
    assert "### sum, int32" in done.stdout and "| 2^10 |" in done.stdout
    assert "no chart: peers has nothing to draw" in done.stdout  # it draws float32


def test_libraries_that_lack_are_named_and_required_ones_refused(monkeypatch):
    monkeypatch.setattr(libraries.shutil, "which", lambda path: None)
    found = libraries.load((), ("json", "no_such_library", "cub"), ("json",), None)
    assert found.modules == {} and found.get("json") is None
    assert found.missing == {
        "json": "left out by --without",
        "no_such_library": "not installed",
        "cub": "no nvcc in the PATH; --nvcc names one",
    }
    with pytest.raises(libraries.MissingLibraryError, match="it needs no_such_library: not installed"):
        libraries.load(("no_such_library",), (), (), None)
    assert libraries.load(("json",), (), (), None).get("json") is json


class Counting(Benchmark):
    """A benchmark of two cases, of which the second gives wrong results if it is told so."""

    summary = "for tests"
    method = "counts"
    device = "sim"
    wrong = False
    optional = ("json",)

    def cases(self):
        return [1, 2]

    def inputs(self, case):
        return [case] * 3

    def contenders(self, case, inputs):
        return {"gpureduce": lambda i: inputs[i]}

    def check(self, case, inputs, contenders):
        if self.wrong and case == 2:
            raise WrongResultError("2 is not 2")

    def measure(self, case, inputs, contenders):
        return {name: [float(call(0))] * self.options.repeats for name, call in contenders.items()}

    def rows(self, case, inputs, times):
        return [{"case": case, "us": {name: stats.summarize_times(each) for name, each in times.items()}}]

    @staticmethod
    def line(row):
        return f"case {row['case']}"

    @staticmethod
    def table(record):
        return "\n".join(markdown.table(["case"], "r", ([str(row["case"])] for row in record["rows"])))

    @staticmethod
    def chart(record, dark=False):
        return "<svg/>"


@pytest.fixture
def counting(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "find", lambda name: Counting)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "counting.json"


def test_run_prints_rows_table_and_chart_and_names_what_is_left_out(counting, capsys):
    assert command.run("counting", ["--out", str(counting), "--quick"]) == 0
    printed = capsys.readouterr().out
    assert "json is left out: it needs a CUDA device" in printed
    assert printed.index("case 1") < printed.index("case 2") < printed.index("| case |")
    assert Path("counting.svg").read_text() == "<svg/>" and "chart: counting.svg" in printed
    record = files.read_result(counting)
    assert [row["case"] for row in record["rows"]] == [1, 2] and record["method"] == "counts"


def test_wrong_results_exit_with_1_and_keep_the_rows_before(counting, capsys, monkeypatch):
    monkeypatch.setattr(Counting, "wrong", True)
    assert command.run("counting", ["--out", str(counting)]) == 1
    assert "wrong result: 2 is not 2" in capsys.readouterr().err
    assert [row["case"] for row in files.read_result(counting)["rows"]] == [1]


class Torch:
    """PyTorch as far as graphs need it: a graph is the list of calls that were captured."""

    def __init__(self):
        self.cuda, self.replayed, self.captured = self, [], None

    def Stream(self):
        return None

    def stream(self, stream):
        return self

    def graph(self, graph, stream):
        self.captured = graph.calls
        return self

    def CUDAGraph(self):
        torch = self

        class Graph:
            def __init__(self):
                self.calls = []

            def replay(self):
                torch.replayed.append(self.calls[0][0])

        return Graph()

    def Event(self, enable_timing):
        torch = self

        class Event:
            def record(self):
                self.at = len(torch.replayed)

            def synchronize(self):
                pass

            def elapsed_time(self, other):
                return 1e-3 * 24 * (other.at - self.at)

        return Event()

    def synchronize(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.captured = None


def test_graph_times_rotate_over_inputs_and_take_turns():
    torch, loose = Torch(), []

    def call(name):
        return lambda i: (loose if torch.captured is None else torch.captured).append((name, i))

    launches = {"a": 6, "b": 4}
    times = timing.graph_times(torch, {"a": call("a"), "b": call("b")}, 3, launches, [2, 1])
    assert loose == [("a", 0), ("b", 0)]  # one call of each before its capture
    # Each turn warms up by one replay; 24 microseconds of a replay are 4 per call of "a" and 6 of "b".
    assert "".join(torch.replayed) == "aaa" + "bbb" + "aa" + "bb"
    assert times == {"a": pytest.approx([4.0] * 3), "b": pytest.approx([6.0] * 3)}


def test_loop_times_and_batch_times_call_each_contender(monkeypatch):
    monkeypatch.setattr(wall_clock, "SECONDS", 0.0)
    numbers = []
    times = wall_clock.loop_times({"a": numbers.append})
    assert numbers == [*range(wall_clock.WARM_UP), *range(wall_clock.MIN_CALLS)]
    assert len(times["a"]) == wall_clock.MIN_CALLS and min(times["a"]) >= 0
    order = []
    calls = {name: lambda name=name: order.append(name) for name in "ab"}
    found = wall_clock.batch_times(calls, lambda: order.append("."), 2, 3, 1)
    assert "".join(order) == "a.aa.b.bb." * 3 and all(len(each) == 2 for each in found.values())


def test_markdown_tables_and_sources():
    lines = markdown.table(["a", "b", "c"], "lr", [["x", "1", "2"], ["y", "", "3"]])
    assert lines == ["| a | b | c |", "|---|--:|--:|", "| x | 1 | 2 |", "| y |  | 3 |"]
    record = {"device": "GPU", "toolkit": "13.0", "driver_cuda": "13.1", "torch": "2.9", "date": "today"}
    assert markdown.source(record, "torch", "cupy") == (
        "GPU, CUDA 13.0, driver for CUDA 13.1, PyTorch 2.9, today"
    )
    assert markdown.source({**record, "cpu": "CPU", "cores": 4}).startswith("GPU, CPU with 4 cores, CUDA")
    row = {"us": {"a": {"median": 1234.567}}}
    assert (markdown.median_us(row, "a"), markdown.median_us(row, "b")) == ("1,235", "")
    assert (markdown.power(1 << 20), markdown.power(1000)) == ("2^20", "1,000")


def test_statistics_of_times():
    us = {"gpureduce": stats.summarize_times([3.0, 1.0, 2.0004], 3), "cub": {"median": 4.0}}
    assert us["gpureduce"] == {"median": 2.0, "min": 1.0, "max": 3.0}
    assert stats.ratios(us, "gpureduce") == {"cub": 0.5}


def test_options_of_all_benchmarks_have_one_parser():
    common = {"out", "quick", "device", "repeats", "without", "nvcc", "table", "chart"}
    for name in NAMES:
        options = command.parse(name, [])
        assert isinstance(options, argparse.Namespace) and common <= set(vars(options))


@pytest.mark.parametrize("dtype", exact_sums.FORMATS)
@pytest.mark.parametrize("kind", exact_sums.CHECKED_KINDS)
def test_data_of_exact_sums_are_finite(kind, dtype):
    for n in (1, 2, 1000):
        array = exact_sums.data(kind, n, np.dtype(dtype), np.random.default_rng(n))
        assert array.dtype == dtype
        assert np.isfinite(array).all()
