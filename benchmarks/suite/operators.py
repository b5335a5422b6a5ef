"""Times PyTorch's operators of this package beside PyTorch's: ``python benchmarks/run.py operators``.

What a call costs the host, from Python to enqueued, as `benchmarks.suite.calls` measures it: eagerly,
compiled by `torch.compile`, and compiled into a CUDA graph (``mode="reduce-overhead"``).
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from benchmarks.suite import calls
from gpureduce._bench import environment, files
from gpureduce._reduce import functions

TITLES = {
    "eager": "called",
    "compiled": "compiled",
    "graph": "compiled into a graph",
}
MODES = {"compiled": "default", "graph": "reduce-overhead"}
KITS = ("torch", "gpureduce.torch")


class Case(NamedTuple):
    """What is called: with operators (max, sum, mean) and a tensor."""

    shape: tuple[int, ...]
    function: Callable[[Any, Any], Any]


def _model(kit: Any, x: Any) -> Any:
    return kit.mean((x - kit.max(x, 1)) * kit.sum(x, 1))


CASES = {
    "sum(x)": Case(calls.FEW, lambda kit, x: kit.sum(x, None)),
    "sum(X, axis=1)": Case(calls.MATRIX, lambda kit, x: kit.sum(x, 1)),
    "mean((X - max(X, axis=1)) * sum(X, axis=1))": Case(calls.MATRIX, _model),
}


def kits(torch: Any, ours: Any) -> dict[str, Any]:
    """Return the operators of both, called alike: of a matrix reduced axes stay."""

    class Theirs:
        sum = staticmethod(lambda x, axis: torch.sum(x) if axis is None else torch.sum(x, axis, keepdim=True))
        max = staticmethod(lambda x, axis: torch.amax(x, axis, keepdim=True))
        mean = staticmethod(torch.mean)

    class Ours:
        sum = staticmethod(lambda x, axis: ours.sum(x, axis, keepdims=axis is not None))
        max = staticmethod(lambda x, axis: ours.max(x, axis, keepdims=True))
        mean = staticmethod(ours.mean)

    return {"torch": Theirs, "gpureduce.torch": Ours}


def contenders(torch: Any, ours: Any, case: Case) -> dict[str, Callable[[], Any]]:
    """Return what is to be timed, by its place in a row."""
    x = torch.randn(case.shape, device="cuda")
    found: dict[str, Callable[[], Any]] = {}
    for name, kit in kits(torch, ours).items():

        def step(x: Any, kit: Any = kit) -> Any:
            return case.function(kit, x)

        for way in TITLES:
            run = torch.compile(step, fullgraph=True, mode=MODES[way]) if way in MODES else step
            found[f"{name} {way}"] = partial(run, x)
    if case.function is CASES["sum(x)"].function:
        found["gpureduce eager"] = lambda: functions.sum(x, as_device=True)
    if case.function is CASES["sum(X, axis=1)"].function:
        found["gpureduce eager"] = lambda: functions.sum(x, 1, keepdims=True)
    return found


def check(torch: Any, found: dict[str, Callable[[], Any]], text: str) -> None:
    """Raise unless all give the same."""
    wanted = found["torch eager"]()
    for name, call in found.items():
        for _ in range(4):  # that a graph is there, too
            got = call()
        if name != "gpureduce eager":
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-3, msg=f"{name} is wrong in {text}")


def measure(torch: Any, ours: Any, text: str) -> dict:
    """Return the row of one call, in microseconds."""
    torch._dynamo.reset()
    found = contenders(torch, ours, CASES[text])
    check(torch, found, text)
    us = calls.times(found, torch.cuda.synchronize)
    return {"call": text, "us": {name: calls.rounded(values) for name, values in us.items()}}


def table(record: dict) -> str:
    """Return a results file as Markdown."""
    heads = [f"{title}, {kit}" for title in TITLES.values() for kit in ("PyTorch", "`gpureduce.torch`")]
    lines = [
        f"{record['device']}, {record['cpu']}, CUDA {record['toolkit']}, driver for CUDA"
        f" {record['driver_cuda']}, PyTorch {record['torch']}, {record['date']}: {record['method']}.",
        "",
        f"| a call, in us | {' | '.join(heads)} | `gpureduce`, called |",
        "|---|" + "--:|" * (len(heads) + 1),
    ]
    for row in record["rows"]:
        names = [f"{kit} {way}" for way in TITLES for kit in KITS] + ["gpureduce eager"]
        cells = [f"{row['us'][name]['median']:.1f}" if name in row["us"] else "" for name in names]
        lines.append(f"| `{row['call']}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py operators", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    options = parser.parse_args(argv)
    import torch

    import gpureduce.torch as ours

    record = environment.header(environment.find_device("cuda:0"))
    record |= {"cpu": environment.cpu_name(), "torch": torch.__version__}
    record["method"] = (
        f"from the call to its return, medians of {calls.TURNS - 1} turns of {calls.BATCH} calls;"
        " X is 4096 x 1024 float32, x 2^10"
    )
    record["rows"] = []
    for text in CASES:
        gc.collect()
        gc.disable()
        record["rows"].append(measure(torch, ours, text))
        gc.enable()
        us = record["rows"][-1]["us"]
        print(text, {name: spread["median"] for name, spread in us.items()}, flush=True)
        files.write_result(options.out, record)
    print(table(record))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
