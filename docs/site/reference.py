"""The pages of the reference: one for each public name, of its docstring."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import inspect
import sys
from unittest.mock import MagicMock

MODULES = (
    *("gpureduce", "gpureduce.course", "gpureduce.kernels", "gpureduce.multi"),
    *("gpureduce.numpy_like", "gpureduce.testing"),
    *("gpureduce.torch", "gpureduce.jax", "gpureduce.dask", "gpureduce.flox"),
)
ARRAY = "gpureduce.DeviceArray"

# The public names by subject, each in one: the first page of the reference.
SUBJECTS = {
    "Reductions": (
        *("sum", "fsum", "prod", "mean", "average", "max", "min", "ptp", "argmax", "argmin", "all", "any"),
        *("count_nonzero", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "reduce"),
    ),
    "NaN-aware reductions": (
        *("nansum", "nanprod", "nanmean", "nanmax", "nanmin", "fmax", "fmin", "nanargmax", "nanargmin"),
        *("nanvar", "nanstd"),
    ),
    "Statistics": ("var", "std", "moments", "Moments", "logsumexp", "softmax_denominator"),
    "Softmax and normalization": ("softmax", "log_softmax", "rms_norm", "layer_norm"),
    "Order statistics": (
        *("median", "quantile", "percentile", "nanmedian", "nanquantile", "nanpercentile", "topk", "TopK"),
        *("sort", "argsort", "unique_counts", "UniqueCounts"),
    ),
    "Cumulative sums, segments and groups": (
        *("cumulative_sum", "cumulative_prod", "cumsum", "cumprod", "nancumsum", "nancumprod"),
        *("cummax", "cummin"),
        *("segment_reduce", "group_reduce", "reduceat", "bincount"),
    ),
    "Linear algebra and convolution": (*("matmul", "dot", "inner", "vecdot", "trace", "norm", "conv2d"),),
    "Device arrays": ("DeviceArray", "to_device"),
    "Devices and memory": (
        *("Device", "devices", "device", "set_default_device", "free_memory", "show_config"),
        *("DeviceError", "SimulatorWarning"),
    ),
    "Partial results and several devices": ("partial", "State", "allreduce", "Sharded"),
    "Many arrays at once": ("multi",),
    "Kernels: variants, profiles, benchmarks": (
        *("variants", "Variant", "source", "profile", "Profile", "simulate", "SimulationError"),
        *("bench", "BenchResult", "kernels"),
    ),
    "Your own reductions and courses": ("ReductionKernel", "CompileError", "course"),
    "Other libraries and tests": ("numpy_like", "torch", "jax", "dask", "flox", "testing"),
}
SUBJECT_PAGE = "reference/subjects"


def stand_in() -> None:
    """Let gpureduce.torch, .jax, .dask and .flox be imported without what they are for."""
    if importlib.util.find_spec("jax") is None:
        sys.modules["jax"] = MagicMock(name="jax")
    if importlib.util.find_spec("dask") is None:
        sys.modules["dask"] = sys.modules["dask.array"] = MagicMock(name="dask")
    if importlib.util.find_spec("flox") is None:
        for name in ("flox", "flox.aggregations", "flox.core"):
            # Others look for it before they take it: xarray.
            sys.modules[name] = MagicMock(name=name, __spec__=importlib.machinery.ModuleSpec(name, None))
    if importlib.util.find_spec("torch") is None:
        sys.modules["torch"] = MagicMock(name="torch")
        function = type("Function", (), {"apply": None, "_backward_cls": type("Node", (), {})})
        sys.modules["torch"].autograd.function._SingleLevelFunction = function


def _directives(name: str, value: object) -> list[str]:
    """Return what documents a value, and of an object that is no class what can be called of it."""
    if inspect.isclass(value):
        lines = [f".. autoclass:: {name}", "   :members:"]
        # What it has of classes that are not public, but for the functions that are methods, too.
        return [*lines, "   :inherited-members: Reductions, Array"] if name == ARRAY else lines
    if inspect.isroutine(value):
        return [f".. autofunction:: {name}"]
    own = [each for each in vars(type(value)) if not each.startswith("_")]
    return [f".. autodata:: {name}", "   :no-value:", *(f"\n.. autofunction:: {name}.{each}" for each in own)]


def _titled(title: str, lines: list[str]) -> str:
    return "\n".join([title, "=" * len(title), "", *lines, ""])


def _module_page(name: str, names: list[str]) -> str:
    head = [f".. automodule:: {name}", "", f".. currentmodule:: {name}", "", ".. autosummary::", ""]
    return _titled(name, [*head, *(f"   {each}" for each in names)])


def _subject_page() -> str:
    lines = ["Every public name, by subject.", ""]
    for subject, names in SUBJECTS.items():
        lines += [subject, "-" * len(subject), "", ".. autosummary::", ""]
        lines += [f"   {name}" for name in names]
        lines.append("")
    return _titled("API by subject", [".. currentmodule:: gpureduce", "", *lines])


def reference_pages() -> dict[str, str]:
    """Return the pages by the name of the file."""
    stand_in()
    pages = {f"{SUBJECT_PAGE}.rst": _subject_page()}
    for name in MODULES:
        module = importlib.import_module(name)
        names = [each for each in module.__all__ if not each.startswith("__")]
        pages[f"reference/{name}.rst"] = _module_page(name, names)
        for each in names:
            value = getattr(module, each)
            if not inspect.ismodule(value):
                body = _titled(f"{name}.{each}", _directives(f"{name}.{each}", value))
                pages[f"reference/{name}.{each}.rst"] = f":orphan:\n\n{body}"  # the module's page leads to it
    return pages
