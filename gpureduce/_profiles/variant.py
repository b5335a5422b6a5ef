"""Profiles of variants."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpureduce import _core
from gpureduce._conv.geometry import Geometry, geometry
from gpureduce._device.variants import Variant, find
from gpureduce._profiles.arguments import elements_of
from gpureduce._profiles.from_core import kernel_profiles, observe, race_scope, stopped
from gpureduce._profiles.profile import Profile
from gpureduce._profiles.program import SUFFIXES
from gpureduce._profiles.records import KernelProfile
from gpureduce._profiles.user_kernel import UserKernel, user_kernel
from gpureduce._segments.group_rungs import host_labels

_GROUPS = 100  # of a group sum of n random elements


def _matrices(arr_or_n: Any, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrices to multiply; n, or (m, n, k), means random ones of these sizes."""
    sizes = arr_or_n if isinstance(arr_or_n, tuple) and len(arr_or_n) == 3 else (arr_or_n,) * 3
    if all(isinstance(each, (int, np.integer)) and not isinstance(each, bool) for each in sizes):
        m, n, k = map(int, sizes)
        return elements_of(m * k, dtype).reshape(m, k), elements_of(k * n, dtype).reshape(k, n)
    if not isinstance(arr_or_n, tuple) or len(arr_or_n) != 2:
        raise TypeError(
            "a: a product takes two arrays (a, b), the sizes (m, n, k), or one for all three, got "
            f"{type(arr_or_n).__name__}"
        )
    a, b = (elements_of(each, dtype) for each in arr_or_n)
    if a.dtype != b.dtype:
        raise TypeError(f"a: expected two arrays of one dtype, got {a.dtype} and {b.dtype}")
    return a, b


def _observed(
    variant: Variant,
    folder: str,
    call: Callable[[object], Any],
    describe: Callable[[tuple[KernelProfile, ...]], str],
    size: int,
    rerun: Callable[..., Profile],
    races: int,
    drawn: int,
    watched: int,
) -> Profile:
    """Run a variant of a folder of cuda_kernels/ on the simulator, and return its profile.

    `call` runs the variant on a device. `describe` returns the rest of the title. `size` is the number of
    elements or products. The last three arguments are those of `observe`.
    """
    result, launches, problem = observe(call, races, drawn, watched)
    file = f"cuda_kernels/{folder}/{variant.file}"
    kernels = kernel_profiles(launches, file, drawn)
    title = f"{variant.name}: {describe(kernels)}"
    profile = Profile(title, kernels, file, variant.name, size, result, rerun)
    if problem is not None:
        raise stopped(problem, profile)
    return profile


def _run_product(
    a: np.ndarray, b: np.ndarray, variant: Variant, races: int, drawn: int = 0, watched: int = 0
) -> Profile:
    shapes = " by ".join("x".join(map(str, each.shape)) for each in (a, b))
    return _observed(
        variant,
        "matmul",
        lambda device: _core.matmul(a, b, variant.name, None, False, (None, device, 0, 0)),
        lambda _: f"matmul of {shapes} {a.dtype.name}, {variant.default_block_size} threads per block",
        a.size * (b.shape[-1] if b.ndim > 1 else 1),
        partial(_run_product, a, b, variant, False),
        races,
        drawn,
        watched,
    )


def _pictures(arguments_or_n: Any, dtype: Any) -> tuple[np.ndarray, np.ndarray, Geometry]:
    """Return x, w and the geometry from (x, w), or (x, w, arguments).

    A shape instead of x or w means random elements.
    """
    arguments: dict[str, Any] = {}
    if isinstance(arguments_or_n, tuple) and len(arguments_or_n) == 3 and isinstance(arguments_or_n[2], dict):
        *arguments_or_n, arguments = arguments_or_n
    if not isinstance(arguments_or_n, tuple | list) or len(arguments_or_n) != 2:
        raise TypeError(
            "a: a convolution takes two arrays or shapes, (x, w) or (x, w, arguments), got "
            f"{type(arguments_or_n).__name__}"
        )

    def array(each: Any) -> np.ndarray:
        shape = each if isinstance(each, tuple) else None
        return (
            elements_of(each, dtype) if shape is None else elements_of(math.prod(shape), dtype).reshape(shape)
        )

    x, w = map(array, arguments_or_n)
    if x.dtype != w.dtype:
        raise TypeError(f"a: expected two arrays of one dtype, got {x.dtype} and {w.dtype}")
    return x, w, geometry(x.shape, w.shape, **arguments)


def _run_convolution(
    x: np.ndarray,
    w: np.ndarray,
    asked: Geometry,
    variant: Variant,
    races: int,
    drawn: int = 0,
    watched: int = 0,
) -> Profile:
    shapes = " with ".join("x".join(map(str, each.shape)) for each in (x, w))

    def describe(kernels: tuple[KernelProfile, ...]) -> str:
        threads = kernels[-1].block[0] if kernels else 0
        return f"conv2d of {shapes} {x.dtype.name}, {asked.layout}, {threads} threads per block"

    return _observed(
        variant,
        "conv",
        lambda device: _core.conv2d(
            x=x,
            w=w,
            **asked.arguments,
            variant=variant.name,
            precision=None,
            destination=(None, device, 0, 0),
        ),
        describe,
        math.prod(asked.shape) * math.prod(w.shape[1:]),
        partial(_run_convolution, x, w, asked, variant, False),
        races,
        drawn,
        watched,
    )


def _run_exact(data: np.ndarray, variant: Variant, races: int, drawn: int = 0, watched: int = 0) -> Profile:
    return _observed(
        variant,
        "exact",
        lambda device: _core.exact_rung(data, variant.name, device, 0),
        lambda _: f"exact sum of {data.size:,} {data.dtype.name}, 256 threads per block",
        data.size,
        partial(_run_exact, data, variant, False),
        races,
        drawn,
        watched,
    )


def _groups(arguments_or_n: Any, dtype: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Return elements, labels and the number of groups; numbers instead of arrays mean random ones."""
    pair = arguments_or_n if isinstance(arguments_or_n, tuple) else (arguments_or_n, _GROUPS)
    if len(pair) != 2:
        raise TypeError(
            "a: a group sum takes two arrays (values, labels), the numbers (n, groups), or n, got "
            f"{type(arguments_or_n).__name__}"
        )
    values, labels = elements_of(pair[0], dtype), pair[1]
    if isinstance(labels, (int, np.integer)) and not isinstance(labels, bool):
        if labels < 1:
            raise ValueError(f"a: expected at least one group, got {labels}")
        groups = int(labels)
        return values, np.random.default_rng(1).integers(0, groups, values.size, np.int32), groups
    labels = elements_of(labels, None)
    if labels.dtype.kind not in "iu" or labels.shape != values.shape or labels.ndim != 1:
        raise ValueError("a: expected one integer label for each element of a vector")
    groups = max(int(labels.max()) + 1, 0) if labels.size else 0
    return values, host_labels(labels), groups


def _run_groups(
    values: np.ndarray,
    labels: np.ndarray,
    groups: int,
    variant: Variant,
    races: int,
    drawn: int = 0,
    watched: int = 0,
) -> Profile:
    return _observed(
        variant,
        "groups",
        lambda device: _core.group_rung(values, labels, groups, variant.name, (None, device, 0, 0)),
        lambda _: (
            f"sums of {groups:,} groups of {values.size:,} {values.dtype.name}, "
            f"{variant.default_block_size} threads per block"
        ),
        values.size,
        partial(_run_groups, values, labels, groups, variant, False),
        races,
        drawn,
        watched,
    )


def _run_scan(data: np.ndarray, variant: Variant, races: int, drawn: int = 0, watched: int = 0) -> Profile:
    return _observed(
        variant,
        "scan",
        lambda device: _core.scan_rung(data, variant.name, (None, device, 0, 0)),
        lambda _: (
            f"cumulative sum of {data.size:,} {data.dtype.name}, "
            f"{variant.default_block_size} threads per block"
        ),
        data.size,
        partial(_run_scan, data, variant, False),
        races,
        drawn,
        watched,
    )


def _run(
    data: np.ndarray,
    variant: Variant,
    op: str,
    block_size: Any,
    grid_size: Any,
    races: int,
    drawn: int = 0,
    watched: int = 0,
) -> Profile:
    def describe(kernels: tuple[KernelProfile, ...]) -> str:
        threads = kernels[0].block[0] if kernels else 0
        return f"{op} of {data.size:,} {data.dtype.name}, {threads} threads per block"

    return _observed(
        variant,
        "reduce",
        lambda device: _core.reduce(data, op, variant.name, block_size, grid_size, device, 0),
        describe,
        data.size,
        partial(_run, data, variant, op, block_size, grid_size, False),
        races,
        drawn,
        watched,
    )


def is_source(text: str) -> bool:
    """Return whether a text is a user's kernel, or its path, and not a name."""
    return "__global__" in text or os.sep in text or text.lower().endswith(SUFFIXES)


def profile(
    a: Any,
    variant: str | os.PathLike[str] | UserKernel,
    op: str = "sum",
    *,
    block_size: int | None = None,
    grid_size: int | None = None,
    dtype: Any = None,
    races: bool | str = True,
) -> Profile:
    """Run a variant on the simulator, with counters for each source line.

    No GPU is needed or used. The simulator also checks for data races in shared memory.

    Parameters
    ----------
    a : array_like or int
        Array to reduce, as for `reduce`; an integer n stands for n random elements. For a matrix product, the
        pair ``(a, b)``, or the sizes ``(m, n, k)`` of random matrices, or one size for all three. For a
        convolution, ``(x, w)``, or ``(x, w, arguments)`` with a dict of further arguments of `conv2d`; a
        shape instead of `x` or `w` stands for random elements. For a group sum, ``(values, labels)``, or the
        numbers ``(n, groups)`` of random elements and groups.
    variant : str, path_like or OwnRung
        Name of a variant, as in `variants`; or your own reduction kernel: CUDA C++ source, the path of a
        ``.cu`` file, or the result of `gpureduce.course.ladder`.
    op : str
        Operator of a reduction.
    block_size, grid_size : int, optional
        Threads per block, and blocks of the first pass, for a reduction.
    dtype : dtype_like, optional
        Dtype of the random elements, if `a` is an integer. Default: float32.
    races : bool or "global"
        Whether to look for races in shared memory; ``"global"`` also looks for races between blocks in global
        memory.

    Returns
    -------
    Profile

    Raises
    ------
    TypeError, ValueError
        If the variant does not support an argument; the message names the argument.
    SimulationError
        If the simulator stops a kernel; the ``profile`` of the exception has the counters until then.

    Notes
    -----
    Counters count PTX instructions. Bank conflicts and sectors follow the rules of NVIDIA GPUs since Volta;
    docs/reference/counters.md compares them with hardware counters.

    Examples
    --------
    >>> import gpureduce
    >>> found = gpureduce.profile(4096, "v1")
    >>> found.totals.bank_conflicts
    1785
    >>> [race.kind for race in found.races]
    []
    """
    scope = race_scope(races)
    if isinstance(variant, os.PathLike) or (isinstance(variant, str) and is_source(variant)):
        variant = user_kernel(variant)
    if isinstance(variant, UserKernel):
        if op != "sum" or grid_size is not None or dtype is not None:
            raise ValueError("variant: a kernel of your own has its operator, grid and dtype")
        return variant.profile(a, block_size=block_size, races=races)
    entry = find(variant)
    if entry.ladder != "reduction":
        for name, size in (("block_size", block_size), ("grid_size", grid_size)):
            if size is not None:
                raise ValueError(f"{name}: {variant} chooses its own; leave it None")
        if entry.ladder == "exact":
            return _run_exact(elements_of(a, dtype), entry, scope)
        if entry.ladder == "groups":
            return _run_groups(*_groups(a, dtype), entry, scope)
        if entry.ladder == "scan":
            return _run_scan(elements_of(a, dtype), entry, scope)
        if entry.ladder == "conv":
            return _run_convolution(*_pictures(a, dtype), entry, scope)
        return _run_product(*_matrices(a, dtype), entry, scope)
    return _run(elements_of(a, dtype), entry, op, block_size, grid_size, scope)
