"""``gpureduce``, the command: what it prints, in which form, and how it fails."""

import csv
import io
import itertools
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from gpureduce import __main__ as command
from gpureduce import _demo
from gpureduce._bench.exact_sum import float_sum
from gpureduce._device import devices

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
        assert err.startswith("gpureduce: ") and err.count("\n") == 1 and "pickle" not in err, name


def test_of_other_files_it_is_said_which_are_read(run, tmp_path):
    (tmp_path / "t.txt").write_text("1\n2\n")
    _, _, err = run("sum", tmp_path / "t.txt", "--device=sim")
    assert "t.txt: not a .npy file; convert a text file" in err and "numpy.loadtxt" in err
    read, write = os.pipe()
    _, _, err = run("sum", f"/dev/fd/{read}")
    assert "not a regular file; pipes and devices are not supported" in err
    os.close(read)
    os.close(write)
    _, _, err = run("sum", tmp_path / "absent.npy")
    assert (
        err == f"gpureduce: {tmp_path / 'absent.npy'}: No such file or directory\n"
    )  # and no warning before


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
        (["profile", "g2", "-n", "8x8x8"], 2),
        (["bench", "--variants", "g2"], 2),
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


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e6", 10**6), ("2.5e3", 2500), ("1_000", 1000), ("2^20", 2**20), ("2**3", 8), ("2^62", 2**62)],
)
def test_numbers_of_elements(text, number):
    assert command._count(text) == number
    assert command._size(f"{text}x1E1x3") == (number, 10, 3)


@pytest.mark.parametrize("text", ["2.5", "1e-3", "-1", "nan", "1e999999999", "2^63", "2^-1", "2^1e9", "k"])
def test_what_is_no_number_of_elements(text, run):
    code, _, err = run("bench", f"-n={text}")
    assert code == 2 and f"invalid element count {text!r}: write 1000000, 1e6 or 2^20" in err


def test_sizes_say_how_they_are_written(run):
    for text in ("1e3x", "8x8", ""):
        error = run("bench", f"-n={text}")[2]
        assert f"invalid size {text!r}: write an element count, MxNxK for a matrix" in error


def test_lists_have_commas_or_blanks(run):
    arguments = ["bench", "--device=sim", "-n=100", "--ops", "sum,max", "min", "--variants", "v0", "v1,v7"]
    rows = json.loads(run(*arguments, "--dtypes=int32,float32", "--json")[1])["rows"]
    cases = [(row["op"], row["dtype"], row["variant"]) for row in rows]
    assert cases == list(itertools.product(["sum", "max", "min"], ["int32", "float32"], ["v0", "v1", "v7"]))


def test_arguments_are_called_as_on_the_command_line(run, numbers, monkeypatch, on_gpu):
    _, _, err = run("profile", "v0", "--block-size=77")
    assert err.startswith("gpureduce: --block-size: ")
    _, _, err = run("bench", "-n", "0", "--device=sim")
    assert err.startswith("gpureduce: -n: ")
    _, _, err = run("profile", "v77", "--device=sim")
    assert err.startswith("gpureduce: variant: ")
    _, _, err = run("bench", "--variants=v77", "--device=sim")
    assert err.startswith("gpureduce: --variants: ")
    _, _, err = run("profile", "v0", "--dtype=int8")
    assert err.startswith("gpureduce: --dtype: ")
    _, _, err = run("profile", "v0", "-n=2^60")
    assert err.startswith("gpureduce: -n: ")
    _, _, err = run("demo", "--device=gpu")
    assert "argument --device: unknown device 'gpu'" in err
    np.save(numbers[0].parent / "texts.npy", np.array(["a"]))
    _, _, err = run("sum", numbers[0].parent / "texts.npy", "--device=sim")
    assert err.startswith(f"gpureduce: {numbers[0].parent / 'texts.npy'}: ")
    if not on_gpu and len(gpureduce.devices()) == 1:
        gpureduce.set_default_device(None)
        monkeypatch.setattr(devices, "_not_warned", [True])
        code, _, err = run("sum", numbers[0])
        assert code == 0 and "Pass --device sim, or set GPUREDUCE_DEVICE=sim." in err


def measured(*_, **__):
    raise AssertionError("it was measured")


@pytest.mark.parametrize(
    "arguments",
    [
        ["bench", "--device=sim", "-o", "absent/out.json"],
        ["bench", "--device=sim", "-o", "."],
        ["bench", "--device=sim", "-o", "chart.svg"],
        ["profile", "v0", "-o", "absent/out.svg"],
        ["profile", "v0", "-o", "chart.docx"],
        ["profile", "v0", "--compare=v77"],
        ["profile", "v0", "--compare=v1", "--ptx"],
        ["profile", "v0", "--compare=v1", "--timeline"],
        ["profile", "v0", "--compare=m0"],
        ["profile", "c0", "--compare=m0"],
    ],
)
def test_places_are_looked_at_before_anything_is_measured(arguments, run, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gpureduce, "bench", measured)
    monkeypatch.setattr(gpureduce, "profile", measured)
    code, out, err = run(*arguments)
    assert (code, out) == (2, "") and err.startswith("gpureduce: ")
    assert not list(tmp_path.iterdir())


def test_a_failure_leaves_files_as_they_were(run, tmp_path):
    kept = tmp_path / "kept.json"
    kept.write_text("mine")
    for path in (kept, tmp_path / "new.json"):
        assert run("bench", "--variants=v77", "--device=sim", "-o", path)[0] == 2
    assert kept.read_text() == "mine" and list(tmp_path.iterdir()) == [kept]


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("columns", [100, 80])
def test_output_fits_a_terminal(columns, run, monkeypatch, device):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for arguments in (
        ["info"],
        ["variants"],
        ["profile", "v4_published"],
        ["profile", "v1", "--timeline", "--block-size=512"],
        ["profile", "v1", "--source"],
        ["profile", "v4_published", "--ptx", "-n=1000"],
        ["profile", "m0", "--compare=m3"],
        ["bench", "-n=1e4", "--variants", "v0", "v7", f"--device={device}", "--repeats=1"],
        ["sum", "no such file " * 10],
        *([name, "--help"] for name in ("info", "variants", "sum", "bench", "profile", "plot", "demo")),
    ):
        _, out, err = run(*arguments)
        for line in re.split("[\r\n]", out + err):
            assert len(line) <= columns or re.fullmatch(r" *\S*/\S*", line), line  # paths stay whole
    for dtype in _demo.DTYPES:
        _, out, _ = run("demo", "-n=1e4", f"--dtype={dtype}", f"--device={device}")
        assert max(map(len, out.splitlines())) <= 100
    assert run("bench", "-n=1e4", "--variants", "v0", "--device=sim")[1].count("| variant |") >= 2


def test_info_and_variants(run):
    code, out, _ = run("info", "--json")
    record = json.loads(out)
    assert code == 0 and [each["device"] for each in record["devices"]] == [
        str(d) for d in gpureduce.devices()
    ]
    assert record["packages"]["numpy"] == np.__version__
    assert record == json.loads(json.dumps(gpureduce.show_config("dicts")))
    code, out, _ = run("info")
    assert code == 0 and f"gpureduce {gpureduce.__version__}, " in out and "default device: " in out
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
    few = ("-n", "4096")
    code, out, _ = run("profile", "v1", *few)
    assert code == 0 and out == f"{gpureduce.profile(4096, 'v1')}\n"
    assert "v1_interleaved_strided.cu" in run("profile", "v1", *few, "--source")[1]
    assert "bar.sync" in run("profile", "v1", *few, "--ptx")[1]
    assert "round    0 |####" in run("profile", "v1", *few, "--timeline")[1]
    assert "hazards" in run("profile", "v1", *few, "--compare=v2")[1]
    compared = run("profile", "v1", *few, "--compare=v2", "--source")[1]
    assert compared == f"{gpureduce.profile(4096, 'v1').compare(gpureduce.profile(4096, 'v2')).sources()}\n"
    assert "hazards" in run("profile", "v1", *few, "--compare=e0")[1]  # of another ladder, and sums, too
    record = json.loads(run("profile", "v1", "-n", "2^12", "--json")[1])
    assert (record["variant"], record["bank conflicts"], record["hazards"]) == ("v1", 1785, 0)
    rows = list(csv.DictReader(io.StringIO(run("profile", "v1", *few, "--compare=v2", "--csv")[1])))
    assert [(row["variant"], row["bank conflicts"]) for row in rows] == [("v1", "1785"), ("v2", "0")]


def test_a_profile_is_of_as_many_elements_as_show_what_a_rung_is_for(run):
    """Of few v6 needs as much as v5, as a thread has two elements in both."""
    rows = list(csv.DictReader(io.StringIO(run("profile", "v6", "--compare=v5", "--csv")[1])))
    passes = {row["variant"]: int(row["shared-memory wavefronts"]) for row in rows}
    assert rows[0]["n"] == str(1 << 20) and passes["v6"] < 0.51 * passes["v5"]


def test_a_block_is_played(run, tmp_path):
    path = tmp_path / "v7.html"
    assert run("profile", "v7", "-n", "256", "--block-size=64", "--player", path)[0] == 0
    found = gpureduce.profile(256, "v7", block_size=64)
    assert path.read_text("utf-8") == found.player().html
    code, _, err = run("profile", "v7", "--player", tmp_path / "none" / "v7.html")
    assert code != 0 and "none" in err
    assert run("profile", "v7", "-n", "1024", "--block-size=512", "--player", path)[0] == 0
    assert "as in ptxas" in run("profile", "v7", "--source", "--predicated")[1]


def test_products_are_profiled_and_measured(run):
    code, out, _ = run("profile", "m3", "-n", "128x64x32")
    assert code == 0 and out == f"{gpureduce.profile((128, 64, 32), 'm3')}\n"
    assert json.loads(run("profile", "m3", "--json")[1])["n"] == 256 * 256 * 64
    assert "m3_thread_column.cu" in run("profile", "m3", "-n", "2^6", "--source")[1]
    compared = run("profile", "m2", "-n", "64", "--compare=m3")[1]
    assert "bytes of global memory per FLOP" in compared and "warp instructions per multiply-add" in compared
    code, out, _ = run("bench", "-n", "64x32x16", "16", "--variants", "m0", "m3", "--device=sim", "--json")
    rows = json.loads(out)["rows"]
    assert code == 0 and [(row["variant"], row["m"], row["n"], row["k"]) for row in rows] == [
        ("m0", 64, 32, 16), ("m3", 64, 32, 16), ("m0", 16, 16, 16), ("m3", 16, 16, 16),
    ]  # fmt: skip


@pytest.mark.usefixtures("full")
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


def test_a_bar_for_those_who_look_on(run, numbers, monkeypatch):
    asked = []
    monkeypatch.setattr(gpureduce, "sum", lambda *_, progress, **__: asked.append(progress) or np.float32(1))
    for looked_at, variant in ((True, "auto"), (True, "v7"), (False, "auto")):
        monkeypatch.setattr(sys.stderr, "isatty", lambda looked_at=looked_at: looked_at)
        assert run("sum", numbers[0], "--device=sim", f"--variant={variant}")[0] == 0
    assert asked == [True, False, False]
    monkeypatch.undo()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for variant in ("auto", "v7"):
        assert float(run("sum", numbers[0], "--device=sim", f"--variant={variant}")[1]) == numbers[1]


def test_ctrl_c(run, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(gpureduce, "profile", interrupted)
    assert run("profile", "v0") == (130, "", "gpureduce: interrupted\n")


def test_ctrl_c_while_the_demo_draws_its_numbers():
    program = """if True:
        import signal, sys
        from gpureduce.__main__ import main
        signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
        print("imported", flush=True)
        sys.exit(main(["demo", "--device=sim", "-n=2^28"]))
    """
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(gpureduce.__file__).parent.parent,
    )
    assert process.stdout.readline() == "imported\n"
    time.sleep(0.5)  # to draw them takes ten times as long
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "gpureduce: interrupted\n")
    assert time.monotonic() - start < 2


def test_ctrl_c_while_a_sum_is_made_exactly():
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            float_sum(np.broadcast_to(np.float32(0.1), (2**34,)))
        assert time.monotonic() - start < 2
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exact_sums_of_any_floats(dtype):
    rng = np.random.default_rng(5)
    size = 2**20 + 1001  # more than one part
    kind = np.uint32 if dtype == "float32" else np.uint64
    bits = rng.integers(0, np.iinfo(kind).max, size, dtype=kind, endpoint=True).view(dtype)
    many = bits[np.isfinite(bits) & (np.abs(bits) < np.finfo(dtype).max / size)]
    for array in (many, rng.standard_normal(size).astype(dtype), many[:1], many[:0], -np.abs(many[:999])):
        assert float_sum(array) == math.fsum(array.tolist())
    tiny = np.full(1000, np.finfo(dtype).smallest_subnormal)
    assert float_sum(tiny) == math.fsum(tiny.tolist()) > 0


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("dtype", _demo.DTYPES)
def test_the_demo_draws_the_same_numbers_in_parts(dtype):
    rng = np.random.default_rng(2026)
    size = 2**20 + 77
    if dtype.startswith("float"):
        whole = rng.lognormal(0.0, 1.0, size).astype(dtype)
    else:
        whole = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, size, dtype, endpoint=True)
    array = _demo.demo_array(dtype, size)
    assert array.dtype == whole.dtype and np.array_equal(array, whole)
    exact = math.fsum(whole.tolist()) if dtype.startswith("float") else sum(whole.tolist())
    assert _demo._exact_sum(array) == exact or np.int64(exact % 2**64 - 2**64 * (exact % 2**64 >= 2**63)) == (
        _demo._exact_sum(array)
    )


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


def numbers_of(shape):
    return f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}"


HOSTILE_HEADERS = {
    "parentheses": "(" * 5000 + ")" * 5000,
    "nested": "{'descr': '<f8', 'fortran_order': False, 'shape': " + "(" * 4000 + ")" * 4000 + "}",
    "signs": "-" * 5000 + "1",
    "not a C long": numbers_of(f"({2**70},)"),
    "too many bytes": numbers_of(f"({2**62},)"),
    "product wraps": numbers_of(f"({2**40}, {2**40}, 0)"),
    "bool": "{'descr': '<f8', 'fortran_order': False, 'shape': (True,)}",
    "two bools": "{'descr': '<f8', 'fortran_order': False, 'shape': (True, 3)}",
    "keys": "{1: 2, 'descr': 3}",
    "unhashable": "{[]: 1}",
}


@pytest.mark.parametrize("header", HOSTILE_HEADERS.values(), ids=HOSTILE_HEADERS)
def test_hostile_headers_are_one_line(header, run, tmp_path, device):
    text = header.encode()
    text += b" " * (-(11 + len(text)) % 64) + b"\n"
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text + bytes(64))
    code, out, err = run("sum", path, f"--device={device}")
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith(f"gpureduce: {path}: not an array of numbers (")


def test_nested_json_is_one_line(run, tmp_path):
    path = tmp_path / "nested.json"
    path.write_text("[" * 100_000)
    code, out, err = run("plot", path, "-o", tmp_path / "a.svg")
    assert (code, out) == (2, "") and "is not a result of gpureduce.bench" in err and err.count("\n") == 1


OF_A_PIPE = [
    ["sum", "PIPE"],
    ["plot", "PIPE"],
    ["profile", "PIPE.cu"],
    ["profile", "v0", "-n", "64", "--compare", "PIPE.cu"],
    ["ladder", "PIPE"],
    ["exercise", "check", "1", "PIPE"],
    ["exercise", "start", "1", "PIPE"],
    ["export", "v1", "-o", "PIPE"],
    ["bench", "--variants", "v0", "-n", "64", "--repeats", "1", "--device", "sim", "-o", "PIPE"],
    ["profile", "v0", "-n", "64", "--player", "PIPE.html"],
]


@pytest.mark.parametrize("words", OF_A_PIPE, ids=lambda words: f"{words[0]}-{words[-1]}")
def test_no_command_waits_for_the_other_end_of_a_pipe(words, run, tmp_path):
    for suffix in ("", ".cu", ".html"):
        os.mkfifo(tmp_path / f"PIPE{suffix}")
    code, out, err = run(*(word.replace("PIPE", f"{tmp_path}/PIPE") for word in words))
    assert (code, out) == (2, "") and err.startswith("gpureduce: ") and f"{tmp_path}/PIPE" in err


def test_a_picture_does_not_wait_for_a_reader(run, tmp_path):
    pytest.importorskip("matplotlib")
    os.mkfifo(tmp_path / "a.svg")
    code, out, err = run("plot", "-o", tmp_path / "a.svg")
    assert (code, out) == (2, "") and f"{tmp_path}/a.svg" in err


def test_a_text_goes_to_a_pipe_that_has_a_reader(run, tmp_path):
    read, write = os.pipe()
    assert run("export", "v1", "-o", f"/dev/fd/{write}")[0] == 0
    os.close(write)
    with open(read, encoding="utf-8") as file:
        assert file.read() == gpureduce.kernels.export("v1")


TO_A_FULL_DISK = [
    "--help",
    "--version",
    "sum --help",
    "info",
    "info --csv",
    "variants --json",
    "sum A.npy --device sim",
    "profile v0 -n 64",
    "export v1",
    "exercise list",
    "exercise hint 1",
    "demo -n 64 --device sim",
    "bench --variants v0 -n 64 --repeats 1 --json --device sim",
]
# Runs a command in each of many children, and prints the exit code and the standard error of each as JSON.
IN_CHILDREN = """if True:
    import json, os, sys
    from gpureduce.__main__ import main

    def child(words, out, err):
        sys.stdout = None if out is None else open(os.open(out, os.O_WRONLY), "w")
        sys.stderr = None if err is None else open(os.open(err, os.O_WRONLY | os.O_CREAT), "w")
        sys.exit(main(words.split()))

    codes = []
    for number, (words, out, err) in enumerate(json.loads(sys.argv[1])):
        name = f"{number}.txt" if err else None
        pid = os.fork()
        if pid == 0:
            child(words, out, name)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        codes.append((code, name and open(name).read()))
    print(json.dumps(codes))
"""


def test_a_full_or_closed_standard_output(tmp_path):
    np.save(tmp_path / "A.npy", np.arange(64.0))
    cases = [(words, "/dev/full", True) for words in TO_A_FULL_DISK]
    cases += [("info", None, True), ("info", "/dev/full", False), ("sum absent.npy", "/dev/null", False)]
    done = subprocess.run(
        [sys.executable, "-c", IN_CHILDREN, json.dumps(cases)],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    codes = json.loads(done.stdout)
    full = "gpureduce: standard output: No space left on device\n"
    for words, found in zip(TO_A_FULL_DISK, codes, strict=False):
        assert found == [1, full], words
    assert codes[len(TO_A_FULL_DISK) :] == [
        [2, "gpureduce: standard output is closed\n"],
        [1, None],
        [2, None],
    ]


def test_the_demo_compares_without_rounding():
    value, exact = np.float32(0.1), 0.1
    assert _demo._relative_error(value, exact) == abs(float(value) - exact) / exact > 1e-8
    assert _demo._relative_error(np.float64(exact), exact) == 0
