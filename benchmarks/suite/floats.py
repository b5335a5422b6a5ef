"""Times NaN forms, norms and logsumexp on a CUDA device: ``python benchmarks/run.py floats --out FILE``.

Each beside the plain operator of gpureduce's, and beside PyTorch's and CuPy's function for the same, in one
run, as `benchmarks.suite.moments` does it.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import time as clock
from collections.abc import Callable
from typing import Any

from benchmarks.suite import moments
from gpureduce._bench import environment, files
from gpureduce._reduce import functions

DTYPES = ("float32", "float64", "float16")
EXPONENTS = (10, 14, 20, 24, 26, 28)
# Ours, beside what it is compared with: the plain operator, and the functions of PyTorch and CuPy.
OURS: dict[str, tuple[str, str, str]] = {
    "nansum": ("sum", "nansum", "nansum"),
    "nanmean": ("mean", "nanmean", "nanmean"),
    "nanprod": ("prod", "", "nanprod"),
    "nanmin": ("min", "", ""),
    "nanmax": ("max", "", ""),
    "nanargmin": ("argmin", "", "nanargmin"),
    "norm": ("", "linalg.vector_norm", "linalg.norm"),
    "logsumexp": ("", "logsumexp", ""),
}
LIMITS = {"float32": 1e-5, "float64": 1e-12, "float16": 2e-2}


def cases(dtypes: tuple[str, ...], most: int) -> list[moments.Case]:
    """Return flat arrays, and the square of 2^24 over both axes."""
    found = []
    for dtype in dtypes:
        found += [moments.Case(dtype, (1 << exponent,), None) for exponent in EXPONENTS if exponent <= most]
        found += [moments.Case(dtype, (1 << 12, 1 << 12), axis) for axis in (0, 1)]
    return found


def _named(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


def contenders(
    torch: Any, cupy: Any, case: moments.Case, inputs: list, names: list[str]
) -> dict[str, Callable[[int], Any]]:
    """Return, by name, what enqueues the reduction of one input into PyTorch's current stream."""
    axis, found = case.axis, {}
    arrays = [] if cupy is None else [cupy.from_dlpack(tensor) for tensor in inputs]

    def ours(name: str) -> Callable[[int], Any]:
        function = getattr(functions, name)
        like = torch.from_dlpack(function(inputs[0], axis=axis, as_device=True))
        outs = [torch.empty_like(like) for _ in inputs]
        return lambda i: function(inputs[i], axis=axis, out=outs[i])

    def torchs(name: str) -> Callable[[int], Any]:
        function, dim = _named(torch, name), tuple(range(inputs[0].ndim)) if axis is None else axis
        return lambda i: function(inputs[i], dim=dim)

    def cupys(name: str) -> Callable[[int], Any]:
        function = _named(cupy, name)

        def call(i: int) -> None:
            with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
                function(arrays[i], axis=axis)

        return call

    for name in names:
        plain, in_torch, in_cupy = OURS[name]
        found[name] = ours(name)
        if plain:
            found[plain] = ours(plain)
        if in_torch:
            found[f"torch.{in_torch}"] = torchs(in_torch)
        if in_cupy and cupy is not None:
            found[f"cupy.{in_cupy}"] = cupys(in_cupy)
    return found


def check(torch: Any, case: moments.Case, tensor: Any) -> None:
    """Stop if an answer is wrong."""
    axis = tuple(range(tensor.ndim)) if case.axis is None else case.axis
    wide = tensor.double()
    wanted = {
        "nansum": wide.sum(axis), "nanmean": wide.mean(axis), "nanmin": wide.amin(axis),
        "nanmax": wide.amax(axis),
        "norm": torch.linalg.vector_norm(wide, dim=axis), "logsumexp": torch.logsumexp(wide, axis),
        "nanargmin": torch.argmin(wide, case.axis),
    }  # fmt: skip
    for name, right in wanted.items():
        got = torch.from_dlpack(getattr(functions, name)(tensor, axis=case.axis, as_device=True)).double()
        off = float(((got - right).abs() / right.abs()).max()) if name != "nanargmin" else 0.0
        overflows = case.dtype == "float16" and not bool(got.isfinite().all())
        if not (off <= LIMITS[case.dtype] or overflows):
            raise SystemExit(f"{case}: {name} is {off} off")


def measure(torch: Any, cupy: Any, case: moments.Case, inputs: list, names: list[str], repeats: int) -> dict:
    """Return a row: figures of all contenders, and the time of each of ours over those beside it."""
    us: dict[str, dict] = {}
    for name, call in contenders(torch, cupy, case, inputs, names).items():
        try:
            us[name] = moments.time(torch, call, inputs, repeats)
        except Exception as error:
            if "." not in name:
                raise
            print(f"{name}: {case}: {error!r}", flush=True)
    ratio = {}
    for name in names:
        plain, in_torch, in_cupy = OURS[name]
        beside = (plain, f"torch.{in_torch}", f"cupy.{in_cupy}")
        ratio[name] = {
            each: round(us[name]["median"] / us[each]["median"], 3) for each in beside if each in us
        }
    return {**case._asdict(), "us": us, "ratio": ratio}


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py floats", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--most", type=int, default=28, help="largest exponent of two (default 28)")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--operators", default=",".join(OURS), help="which of ours to time")
    parser.add_argument("--seconds", type=float, default=600, help="after which no further case is begun")
    parser.add_argument("--no-cupy", action="store_true")
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    options = parser.parse_args(argv)
    import torch

    cupy: Any = None if options.no_cupy else importlib.import_module("cupy")
    gc.freeze()  # PyTorch collects garbage before each capture
    record = environment.header(environment.find_device("cuda:0"))
    record |= {"torch": torch.__version__, "cupy": getattr(cupy, "__version__", None)}
    record["method"] = "graph replays over rotated inputs; microseconds a reduction"
    record["rows"] = []
    memory: dict[str, moments.Inputs] = {}
    began = clock.monotonic()
    for case in cases(tuple(options.dtypes.split(",")), options.most):
        if clock.monotonic() - began > options.seconds:
            break
        if case.dtype not in memory:
            memory.clear()
            torch.cuda.empty_cache()
            memory[case.dtype] = moments.Inputs(torch, case.dtype, options.most)
        inputs = memory[case.dtype].of(case.shape)
        check(torch, case, inputs[0])
        row = measure(torch, cupy, case, inputs, options.operators.split(","), options.repeats)
        record["rows"].append(row)
        figures = "  ".join(f"{name} {us['median']:.2f}" for name, us in row["us"].items())
        shape = "x".join(map(str, case.shape))
        print(f"{case.dtype:8} {shape:>11} {case.axis!s:>4}  {figures}", flush=True)
        files.write_result(options.out, record)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
