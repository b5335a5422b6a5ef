"""NumPy reductions on NVIDIA GPUs, in readable CUDA kernels.

The same compiled kernels run on an NVIDIA GPU or, without one, on a PTX simulator.

>>> import numpy as np, gpureduce
>>> gpureduce.sum(np.arange(1000.0), variant="v7", device="sim")
np.float64(499500.0)
"""

try:
    from gpureduce._core import DeviceError, SimulationError
except ModuleNotFoundError as error:
    if error.name != "gpureduce._core":
        raise
    raise ImportError(
        "gpureduce is not built here: this is its source folder. Install it (pip install -e .), or change to "
        "another directory if it is installed already"
    ) from error

import importlib
from typing import TYPE_CHECKING, Any

from gpureduce import _methods  # noqa: F401
from gpureduce._arrays.device_array import DeviceArray
from gpureduce._arrays.transfer import to_device
from gpureduce._device import low_memory  # noqa: F401
from gpureduce._device.devices import (
    Device,
    SimulatorWarning,
    device,
    devices,
    free_memory,
    set_default_device,
)
from gpureduce._functions import (
    all,
    any,
    argmax,
    argmin,
    argsort,
    average,
    bincount,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    conv2d,
    count_nonzero,
    cummax,
    cummin,
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    dot,
    fmax,
    fmin,
    fsum,
    group_reduce,
    inner,
    layer_norm,
    log_softmax,
    logical_xor,
    logsumexp,
    matmul,
    max,
    mean,
    median,
    min,
    moments,
    nanargmax,
    nanargmin,
    nancumprod,
    nancumsum,
    nanmax,
    nanmean,
    nanmedian,
    nanmin,
    nanpercentile,
    nanprod,
    nanquantile,
    nanstd,
    nansum,
    nanvar,
    norm,
    percentile,
    prod,
    ptp,
    quantile,
    reduce,
    reduceat,
    rms_norm,
    segment_reduce,
    softmax,
    softmax_denominator,
    sort,
    std,
    sum,
    topk,
    trace,
    unique_counts,
    var,
    vecdot,
)
from gpureduce._reduce.multi_device import register_multi_device_module
from gpureduce._version import __version__

if TYPE_CHECKING:
    from gpureduce import course, kernels, multi, numpy_like, testing
    from gpureduce._bench.result import BenchResult
    from gpureduce._bench.runner import bench
    from gpureduce._config import show_config
    from gpureduce._course.magic import load_ipython_extension  # noqa: F401
    from gpureduce._custom.kernel import ReductionKernel
    from gpureduce._custom.nvrtc import CompileError
    from gpureduce._device.variants import Variant, source, variants
    from gpureduce._order.topk import TopK
    from gpureduce._order.unique import UniqueCounts
    from gpureduce._profiles.profile import Profile
    from gpureduce._profiles.simulate import simulate
    from gpureduce._profiles.variant import profile
    from gpureduce._reduce.moments import Moments
    from gpureduce._states.build import partial
    from gpureduce._states.distributed import allreduce
    from gpureduce._states.sharded import Sharded
    from gpureduce._states.state import State

# Attributes that are loaded at their first use (PEP 562); type checkers see the imports above.
_LAZY = {
    "BenchResult": "_bench.result",
    "CompileError": "_custom.nvrtc",
    "Moments": "_reduce.moments",
    "Profile": "_profiles.profile",
    "ReductionKernel": "_custom.kernel",
    "Sharded": "_states.sharded",
    "State": "_states.state",
    "TopK": "_order.topk",
    "UniqueCounts": "_order.unique",
    "Variant": "_device.variants",
    "allreduce": "_states.distributed",
    "bench": "_bench.runner",
    "course": "course",
    "kernels": "kernels",
    "load_ipython_extension": "_course.magic",
    "multi": "multi",
    "numpy_like": "numpy_like",
    "partial": "_states.build",
    "profile": "_profiles.variant",
    "show_config": "_config",
    "simulate": "_profiles.simulate",
    "source": "_device.variants",
    "testing": "testing",
    "variants": "_device.variants",
}

register_multi_device_module("gpureduce._states.sharded")

__all__ = [
    "BenchResult",
    "CompileError",
    "Device",
    "DeviceArray",
    "DeviceError",
    "Moments",
    "Profile",
    "ReductionKernel",
    "Sharded",
    "SimulationError",
    "SimulatorWarning",
    "State",
    "TopK",
    "UniqueCounts",
    "Variant",
    "__version__",
    "all",
    "allreduce",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "average",
    "bench",
    "bincount",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "conv2d",
    "count_nonzero",
    "course",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "device",
    "devices",
    "dot",
    "fmax",
    "fmin",
    "free_memory",
    "fsum",
    "group_reduce",
    "inner",
    "kernels",
    "layer_norm",
    "log_softmax",
    "logical_xor",
    "logsumexp",
    "matmul",
    "max",
    "mean",
    "median",
    "min",
    "moments",
    "multi",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "norm",
    "numpy_like",
    "partial",
    "percentile",
    "prod",
    "profile",
    "ptp",
    "quantile",
    "reduce",
    "reduceat",
    "rms_norm",
    "segment_reduce",
    "set_default_device",
    "show_config",
    "simulate",
    "softmax",
    "softmax_denominator",
    "sort",
    "source",
    "std",
    "sum",
    "testing",
    "to_device",
    "topk",
    "trace",
    "unique_counts",
    "var",
    "variants",
    "vecdot",
]


if not TYPE_CHECKING:  # where any name would be taken

    def __getattr__(name: str) -> Any:
        module = _LAZY.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        loaded = importlib.import_module(f"{__name__}.{module}")
        value = loaded if module == name else getattr(loaded, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
