"""The operators under `torch.autocast`: arguments are cast as for PyTorch's own functions of the same names.

`POLICIES` has PyTorch's lists (aten/src/ATen/autocast_mode.h), which differ between GPUs and CPUs. Operators
that are on no list compute in the dtype of their arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpureduce._torch import torch

LOWER, FLOAT32, WIDEST = "lower", "float32", "widest"
_PRODUCTS = dict.fromkeys(("matmul", "conv2d"), LOWER)
# By dispatch key: what the floating-point arguments of an operator are cast to.
POLICIES = {
    "AutocastCUDA": {
        **_PRODUCTS,
        **dict.fromkeys(("sum", "masked_sum", "exact_sum", "nansum"), FLOAT32),
        **dict.fromkeys(("prod", "masked_prod", "nanprod"), FLOAT32),
        **dict.fromkeys(("cumsum", "cumprod", "nancumsum", "nancumprod"), FLOAT32),
        **dict.fromkeys(("norm", "logsumexp", "softmax", "log_softmax", "layer_norm"), FLOAT32),
        "dot": WIDEST,
    },
    "AutocastCPU": {
        **_PRODUCTS,
        **dict.fromkeys(("prod", "masked_prod", "nanprod", "quantile", "nanquantile"), FLOAT32),
    },
}
_DEVICES = {"AutocastCUDA": "cuda", "AutocastCPU": "cpu"}
_HALVES = (torch.float16, torch.bfloat16)


def _dtype_of(policy: str, device: str, args: tuple) -> torch.dtype:
    """Return the dtype to which a call's arguments are cast."""
    if policy == LOWER:
        return torch.get_autocast_dtype(device)
    if policy == WIDEST:
        halves = [a.dtype in _HALVES for a in args if isinstance(a, torch.Tensor)]
        if all(halves) and halves:
            return torch.get_autocast_dtype(device)
    return torch.float32


def _cast(value: Any, device: str, dtype: torch.dtype) -> Any:
    """Cast a tensor of 16 or 32 bits on the device; other values are returned as they are."""
    if not isinstance(value, torch.Tensor) or value.device.type != device:
        return value
    return value.to(dtype) if value.dtype in (*_HALVES, torch.float32) else value


def kernel(operator: Callable, key: str, policy: str) -> Callable:
    """Return the kernel of an operator for a dispatch key of autocast."""
    device = _DEVICES[key]
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))

    def cast_and_call(*args):
        with torch._C._ExcludeDispatchKeyGuard(keys):
            dtype = _dtype_of(policy, device, args)
            return operator(*[_cast(arg, device, dtype) for arg in args])

    return cast_and_call


def register(library: Any, name: str, operator: Callable) -> None:
    """Register the kernels of an operator that is on PyTorch's lists."""
    for key, policies in POLICIES.items():
        if name in policies:
            library.impl(name, kernel(operator, key, policies[name]), key)
