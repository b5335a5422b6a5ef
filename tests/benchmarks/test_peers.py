"""What the comparison with the peers makes of its figures; it measures on a GPU only."""

import json

from benchmarks.baselines import cub, runners
from benchmarks.harness import command
from benchmarks.report import peers as table
from benchmarks.suite import interleaved, peers
from gpureduce._bench import timing


def row(op, dtype, n, us, offset=0, **others):
    return {
        "op": op,
        "dtype": dtype,
        "n": n,
        "offset": offset,
        "us": {name: {"median": value} for name, value in {"gpureduce": us, **others}.items()},
        "gb_per_s": n * 4 / us / 1e3,
        "ratio": {name: us / value for name, value in others.items()},
    }


RECORD = {
    "device": "A GPU",
    "toolkit": "13.0",
    "driver_cuda": "13.0",
    "torch": "2.0",
    "date": "2026-11-21",
    "method": "graphs",
    "floors": {"empty_us": 0.5, "read_gb_per_s": 4000.0, "copy_gb_per_s": 2500.0},
    "rows": [
        row("sum", "float32", 1 << 20, 3.0, cub=4.0, torch=8.0),
        row("sum", "float32", 1 << 20, 3.3, offset=1, cub=4.0),
        row("sum", "int8", 1 << 20, 2.0, cub=4.0),
        row("max", "float32", 1 << 24, 16.0, cub=20.0),
    ],
}


def test_the_page():
    page = table.tables(RECORD)
    assert "| 2^20 | 3.00 | 1,398 | 33.3% | 0.75 | 0.38 |" in page  # of 4,194 GB/s, the max of 2^24
    assert "| int8 | 0.50 |" in page
    assert "| float32 | 0.80 |" in page
    assert "takes at most 10 % longer than an aligned one, in 1 cases of 2^20 to 2^20 elements" in page


def test_it_prints_a_results_file(tmp_path, capsys):
    path = tmp_path / "peers.json"
    path.write_text(json.dumps({"schema": 1, **RECORD}))
    assert command.run("peers", ["--table", str(path)]) == 0
    assert capsys.readouterr().out.strip() == table.tables(RECORD).strip()


def test_every_size_of_float32_sums_is_measured():
    cases = list(peers.cases(("sum", "max"), ("float32", "int8")))
    assert [e for op, dtype, e, offset in cases if (op, dtype, offset) == ("sum", "float32", 0)] == [
        *range(31)
    ]
    assert len(cases) == len(set(cases))
    assert {(op, dtype) for op, dtype, *_ in cases} == {
        (o, d) for o in ("sum", "max") for d in ("float32", "int8")
    }


def test_graphs_hold_enough_reductions():
    assert peers.launches_of(4) == 256
    assert peers.launches_of(1 << 32) == 16


def test_the_source_of_cub_has_every_dtype():
    assert cub.SCANS.is_file()
    text = cub.REDUCTIONS.read_text(encoding="utf-8")
    assert all(f'OF("{dtype}", ' in text for dtype in peers.DTYPES)


def interleaved_row(op, dtype, n, us, **others):
    return {key: value for key, value in row(op, dtype, n, us, **others).items() if key != "offset"}


def test_the_page_of_interleaved_reductions():
    record = {key: value for key, value in RECORD.items() if key != "floors"}
    record["rows"] = [
        interleaved_row("sum", "float32", 1 << 20, 3.0, cub=4.0, torch=8.0),
        interleaved_row("max", "float32", 1 << 24, 16.0, cub=20.0, torch=32.0),
    ]
    page = table.interleaved_tables(record)
    assert "| elements | us | GB/s | CUB, us | PyTorch, us | time / CUB's | time / PyTorch's |" in page
    assert "| 2^20 | 3.00 | 1,398 | 4.00 | 8.00 | 0.75 | 0.38 |" in page
    assert "|  | 2^20 | 2^24 |" in page and "| max float32 |  | 0.80 |" in page


def test_what_is_measured_interleaved():
    dtypes = ("float32", "float64", "float16", "int32")
    found = [(op, dtype) for dtype in dtypes for op, _ in interleaved.cases(dtype)]
    assert set(found) == set(interleaved.CASES) and len(found) == len(interleaved.CASES) * len(
        interleaved.EXPONENTS
    )
    assert interleaved.launches_of(4) == 96 and interleaved.launches_of(4 << 30) == 4


class Ticks:
    """PyTorch without a GPU: a graph is the time its kernels take, as the calls that were captured."""

    def __init__(self, monkeypatch, took):
        monkeypatch.setattr(timing, "capture", self.capture)
        monkeypatch.setattr(timing, "replay_times", lambda torch, graph, launches, repeats: [graph])
        monkeypatch.setattr(runners, "results", lambda torch, case: [self])
        self.took, self.names, self.itemsize = took, [], 4

    def capture(self, torch, call, inputs, launches, stream=None):
        self.names.clear()
        call(0)
        return sum(self.took[name] for name in self.names)

    def empty_like(self, _):
        return self

    def neg(self, _, out):
        self.names.append("reads")

    def neg_(self):
        self.names.append("writes")


def test_a_figure_is_the_time_that_the_reduction_adds(monkeypatch):
    ticks = Ticks(monkeypatch, {"writes": 5.0, "reads": 2.0, "gpureduce": 3.0, "cub": 4.0})

    class Runner:
        def __init__(self, name):
            self.name = name

        def calls(self, case):
            return lambda i: ticks.names.append(self.name)

    class Case:
        op, dtype, n, itemsize, launches, firsts = "sum", "float32", 1 << 23, 4, 8, [ticks]

        def __len__(self):
            return 1

    benchmark = interleaved.Interleaved.__new__(interleaved.Interleaved)
    benchmark.torch, benchmark.options = ticks, command.parse("interleaved", ["--repeats", "3"])
    benchmark.runners = [Runner("gpureduce"), Runner("cub")]
    monkeypatch.setattr(interleaved.Interleaved, "inputs", lambda self, case: Case())
    (found,) = benchmark.run_case(("sum", "float32", 23))
    assert found["around_us"] == 7.0
    assert found["us"]["gpureduce"] == {"median": 3.0, "min": 3.0, "max": 3.0}
    assert found["ratio"] == {"cub": 0.75} and found["gb_per_s"] == round(4 * 2**23 / 3e3, 1)


def test_few_sizes_have_a_table_each_and_a_chart():
    rows = [row("sum", "float32", 1 << k, 2.0, torch=4.0, numpy=9.0) for k in (10, 20)]
    record = {key: value for key, value in RECORD.items() if key != "floors"} | {"rows": rows}
    page = peers.Peers.table(record)
    assert "An empty kernel" not in page and "PyTorch 2.0" in page
    assert "| elements | us | GB/s | of the best GB/s | time / PyTorch's | time / NumPy's |" in page
    assert "| 2^10 | 2.00 |" in page
    drawn = peers.Peers.chart(record)
    assert "PyTorch</text>" in drawn and "CUB</text>" not in drawn
    assert "NumPy</text>" in peers.Peers.chart({**record, "rows": [row("sum", "float32", 8, 2.0, numpy=9.0)]})
    assert peers.Peers.chart({**record, "rows": [row("sum", "float32", 8, 2.0)]}) is None
