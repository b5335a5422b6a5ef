"""``gpureduce``, the command: what it prints, in which form, and how it fails."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from gpureduce import __main__ as command

NAMES = [variant.name for variant in gpureduce.variants()]


@pytest.fixture
def run(capsys):
    """Runs the command in this process; returns its exit code, output and errors."""

    def call(*arguments):
        try:
            code = command.main([str(argument) for argument in arguments])
        except SystemExit as stop:  # argparse's
            code = stop.code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture
def numbers(tmp_path):
    """A file of the numbers 0.5, 1.5, ..., and its sum."""
    path = tmp_path / "numbers.npy"
    np.save(path, np.arange(2003, dtype=np.float32) + 0.5)
    return path, 2003**2 / 2


def test_sum(run, numbers, device):
    path, total = numbers
    for variant in ("auto", "v0", "v7"):
        code, out, err = run("sum", path, f"--device={device}", f"--variant={variant}")
        assert (code, float(out), err) == (0, total, "")
    code, out, _ = run("sum", path, f"--device={device}", "--json")
    record = json.loads(out)
    assert (code, record["result"], record["shape"], record["dtype"]) == (0, total, [2003], "float32")
    _, out, _ = run("sum", path, f"--device={device}", "--csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert (float(row["result"]), row["variant"]) == (total, "auto")


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
        np.asfortranarray(np.arange(12, dtype=">i4").reshape(3, 4)),
        np.float64(2.5),
        np.zeros((0, 3)),
        np.array([True, False, True]),
        np.array([np.inf, 1.0]),
    ],
    ids=["transposed", "byte-swapped", "scalar", "empty", "bool", "inf"],
)
def test_sum_of_all_kinds_of_files(array, run, tmp_path, device):
    np.save(tmp_path / "a.npy", array)
    for form in ([], ["--json"]):
        code, out, _ = run("sum", tmp_path / "a.npy", f"--device={device}", *form)
        value = json.loads(out)["result"] if form else out
        assert code == 0 and float(value) == np.sum(array)


def test_a_file_is_mapped_and_not_read(run, tmp_path, monkeypatch, device):
    np.save(tmp_path / "a.npy", np.arange(1000))
    modes = []
    load = np.load
    monkeypatch.setattr(np, "load", lambda *args, **kw: modes.append(kw["mmap_mode"]) or load(*args, **kw))
    assert run("sum", tmp_path / "a.npy", f"--device={device}")[0] == 0 and modes == ["r"]


def broken_files(folder):
    np.save(folder / "objects.npy", np.array([{}, 1], object))
    np.save(folder / "texts.npy", np.array(["a", "b"]))
    np.savez(folder / "several.npz", a=np.ones(3), b=np.ones(2))
    (folder / "text.npy").write_text("hello")
    (folder / "nothing.npy").write_bytes(b"")
    whole = (folder / "objects.npy").read_bytes()
    (folder / "cut.npy").write_bytes(whole[:20])
    return [
        "objects.npy",
        "texts.npy",
        "several.npz",
        "text.npy",
        "nothing.npy",
        "cut.npy",
        "absent.npy",
        ".",
    ]


def test_files_that_hold_no_array(run, tmp_path, device):
    for name in broken_files(tmp_path):
        code, out, err = run("sum", tmp_path / name, f"--device={device}")
        assert (code, out) == (2, ""), name
        assert err.startswith("gpureduce: ") and err.count("\n") == 1, name


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["sum", "FILE", "--variant=v77"], 2),
        (["sum", "FILE", "--variant=v3", "--block-size=77"], 2),
        (["sum", "FILE", "--device=cuda:15"], 1),
        (["bench", "--variants", "v77"], 2),
        (["bench", "-n", "100", "--ops", "mean"], 2),
        (["bench", "-n", "0"], 2),
        (["profile", "v77"], 2),
        (["profile", "v0", "--dtype", "float16"], 2),
        (["profile", "v0", "--block-size", "77"], 2),
        (["profile", "v0", "-n", "8x8x8"], 2),
        (["profile", "m0", "--block-size", "64"], 2),
        (["bench", "-n", "8x8x8"], 2),
        (["bench", "--variants", "v0", "m0"], 2),
        (["bench", "--ops", "sum", "matmul"], 2),
        (["plot", "absent.json"], 2),
        (["plot", "FILE"], 2),
        (["plot", "-o", "chart.docx"], 2),
    ],
)
def test_errors_are_one_line(arguments, code, run, numbers, device):
    if arguments[0] == "bench":
        arguments = [*arguments, f"--device={device}"]
    found, out, err = run(*(numbers[0] if word == "FILE" else word for word in arguments))
    assert (found, out) == (code, "")
    lines = [line for line in err.splitlines() if "no CUDA device" not in line]
    assert len(lines) == 1 and lines[0].startswith("gpureduce: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["bench", "-n", "2^x"],
        ["bench", "-n", "-3"],
        ["bench", "-n", "8x8"],
        ["profile", "m0", "-n", "8x8x8x8"],
        ["sum"],
        ["plot", "--kind=pie"],
    ],
)
def test_wrong_usage_shows_the_usage(arguments, run):
    code, _, err = run(*arguments)
    assert code == 2 and err.startswith("usage: gpureduce")


def test_info_and_variants(run):
    code, out, _ = run("info", "--json")
    record = json.loads(out)
    assert code == 0 and [each["device"] for each in record["devices"]] == [
        str(d) for d in gpureduce.devices()
    ]
    assert record["numpy"] == np.__version__
    _, out, _ = run("info", "--csv")
    assert [row["device"] for row in csv.DictReader(io.StringIO(out))][-1] == "sim"
    code, out, _ = run("variants")
    assert code == 0 and [line.split()[0] for line in out.splitlines()] == NAMES
    assert [each["variant"] for each in json.loads(run("variants", "--json")[1])] == NAMES
    rows = list(csv.DictReader(io.StringIO(run("variants", "--csv")[1])))
    assert [row["variant"] for row in rows] == NAMES and "float32" in rows[0]["dtypes"].split()


def test_bench_in_every_form(run, tmp_path, device):
    arguments = [
        "bench",
        "-n",
        "2^10",
        "1_000",
        "--variants",
        "v0",
        "v7",
        f"--device={device}",
        "--repeats=1",
    ]
    path = tmp_path / "out.json"
    code, out, _ = run(*arguments, "--out", path)
    assert code == 0 and out.count("| v7 ") == 2
    found = gpureduce.BenchResult.from_json(path)
    assert [(row["variant"], row["n"]) for row in found.rows] == [
        ("v0", 1024), ("v7", 1024), ("v0", 1000), ("v7", 1000),
    ]  # fmt: skip
    _, out, _ = run(*arguments, "--json")
    assert [row["n"] for row in json.loads(out)["rows"]] == [1024, 1024, 1000, 1000]
    _, out, _ = run(*arguments, "--csv")
    assert [row["variant"] for row in csv.DictReader(io.StringIO(out))] == ["v0", "v7"] * 2


def test_profile_in_every_form(run):
    code, out, _ = run("profile", "v1")
    assert code == 0 and out == f"{gpureduce.profile(4096, 'v1')}\n"
    assert "v1_interleaved_strided.cu" in run("profile", "v1", "--source")[1]
    assert "bar.sync" in run("profile", "v1", "--ptx")[1]
    assert "round    0 |####" in run("profile", "v1", "--timeline")[1]
    assert "hazards" in run("profile", "v1", "--compare=v2")[1]
    record = json.loads(run("profile", "v1", "-n", "2^12", "--json")[1])
    assert (record["variant"], record["bank conflicts"], record["hazards"]) == ("v1", 1785, 0)
    rows = list(csv.DictReader(io.StringIO(run("profile", "v1", "--compare=v2", "--csv")[1])))
    assert [(row["variant"], row["bank conflicts"]) for row in rows] == [("v1", "1785"), ("v2", "0")]


def test_products_are_profiled_and_measured(run):
    code, out, _ = run("profile", "m3", "-n", "128x64x32")
    assert code == 0 and out == f"{gpureduce.profile((128, 64, 32), 'm3')}\n"
    assert json.loads(run("profile", "m3", "--json")[1])["n"] == 256 * 256 * 64
    assert "m3_thread_column.cu" in run("profile", "m3", "-n", "2^6", "--source")[1]
    compared = run("profile", "m2", "-n", "64", "--compare=m3")[1]
    assert "bytes of global sectors a FLOP" in compared and "warp instructions a multiply-add" in compared
    code, out, _ = run("bench", "-n", "64x32x16", "16", "--variants", "m0", "m3", "--device=sim", "--json")
    rows = json.loads(out)["rows"]
    assert code == 0 and [(row["variant"], row["m"], row["n"], row["k"]) for row in rows] == [
        ("m0", 64, 32, 16), ("m3", 64, 32, 16), ("m0", 16, 16, 16), ("m3", 16, 16, 16),
    ]  # fmt: skip


def test_charts_are_written(run, tmp_path):
    pytest.importorskip("matplotlib")
    for ending in ("svg", "png"):
        path = tmp_path / f"chart.{ending}"
        assert run("plot", "-o", path)[0] == 0 and path.stat().st_size > 10_000
        path = tmp_path / f"timeline.{ending}"
        assert run("profile", "v1", "-o", path, "--dark")[0] == 0 and path.stat().st_size > 3_000
    assert "speed-up over v0" in (tmp_path / "chart.svg").read_text()


def test_without_matplotlib(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = run("plot", "-o", tmp_path / "chart.svg")
    assert code == 1 and "pip install 'gpureduce[plot]'" in err


def test_ctrl_c(run, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(gpureduce, "profile", interrupted)
    assert run("profile", "v0") == (130, "", "gpureduce: interrupted\n")


def test_help_names_every_command(run):
    code, out, _ = run("--help")
    assert code == 0
    for name in ("info", "variants", "sum", "bench", "profile", "plot", "demo"):
        assert f"\n    {name} " in out and run(name, "--help")[0] == 0
    assert "exit codes" in out


def test_a_pipe_that_closes_early():
    script = Path(gpureduce.__file__).parent.parent
    program = f"{sys.executable} -m gpureduce variants --json | head -n 1"
    done = subprocess.run(["bash", "-c", program], cwd=script, capture_output=True, text=True, timeout=120)
    assert done.stdout == "[\n" and done.stderr == ""
