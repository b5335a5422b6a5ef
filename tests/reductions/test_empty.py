"""Arrays without elements, on a device: no result is memory that nothing was written to.

Where a shape has a zero, plans may have no launch. Results are compared with those on the host. The memory
that the next calls get on the device was filled with a pattern before.
"""

import warnings

import numpy as np
import pytest

import gpureduce

SHAPES = [(), (0,), (1,), (0, 3), (3, 0), (2, 0, 3), (0, 0)]
PATTERN = 0xAB


def poison(device):
    """Fill memory that is free on the device; blocks are kept by size."""
    held = [
        gpureduce.to_device(np.full(size, PATTERN, np.uint8), device)
        for size in (1, 8, 24, 64, 256, 1024)
        for _ in range(4)
    ]
    del held


def numbers(result):
    """What a result holds, as host arrays."""
    if isinstance(result, gpureduce.Moments):
        return [numbers(getattr(result, name))[0] for name in ("count", "mean", "var", "kurtosis")]
    if isinstance(result, tuple):
        return [one for each in result for one in numbers(each)]
    return [result.numpy() if isinstance(result, gpureduce.DeviceArray) else np.asarray(result)]


def outcome(function, *args, **kwargs):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return numbers(function(*args, **kwargs))
        except (ValueError, TypeError, ZeroDivisionError, np.exceptions.AxisError) as error:
            return type(error)


def axes_of(shape):
    return [None, *range(len(shape))]


REDUCTIONS = [
    "sum", "prod", "min", "max", "mean", "var", "std", "any", "all", "argmin", "argmax",
    "count_nonzero", "ptp", "nansum", "nanprod", "nanmean", "nanmin", "nanmax", "nanvar", "nanstd",
    "nanargmin", "norm", "logsumexp", "logical_xor", "median", "nanmedian", "average",
    "cumulative_sum", "cumulative_prod", "fmin", "fsum", "moments", "softmax_denominator",
]  # fmt: skip


def compare(name, shape, call, device):
    a = np.ones(shape)
    expected = outcome(call, a, device=device)
    poison(device)
    found = outcome(call, a, device=device, as_device=True)
    poison(device)
    placed = outcome(call, gpureduce.to_device(a, device))
    for each in (found, placed):
        if isinstance(expected, type) or isinstance(each, type):
            # What a device cannot tell of is NaN or -1 there.
            assert isinstance(each, list) or isinstance(expected, type), (name, shape, expected, each)
            continue
        for one, other in zip(each, expected, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=f"{name} of {shape}")


@pytest.mark.parametrize("name", REDUCTIONS)
def test_results_are_written(name, device):
    function = getattr(gpureduce, name)
    for shape in SHAPES:
        for axis in axes_of(shape):
            kwargs = {"order": 4} if name == "moments" else {}
            compare(
                name,
                shape,
                lambda a, axis=axis, kwargs=kwargs, **k: function(a, axis=axis, **kwargs, **k),
                device,
            )


def test_results_of_more_arguments_are_written(device):
    for shape in SHAPES:
        for k in (0, 1):
            compare("topk", shape, lambda a, k=k, **o: gpureduce.topk(a, k, **o), device)
        compare("quantile", shape, lambda a, **o: gpureduce.quantile(a, [0.2, 0.7], axis=0, **o), device)
        compare("quantile of none", shape, lambda a, **o: gpureduce.quantile(a, [], axis=0, **o), device)
        for op in ("sum", "max", "var", "argmax", "bitwise_or"):
            offsets = np.array([0, 0, 0])
            compare(
                "segments",
                shape,
                lambda a, op=op, at=offsets, **o: gpureduce.segment_reduce(a, at, op, **o),
                device,
            )
            compare("trace", (*shape, 2), lambda a, **o: gpureduce.trace(a, **o), device)
        compare("inner", shape, lambda a, **o: gpureduce.inner(a, a, **o), device)
        compare("vecdot", shape, lambda a, **o: gpureduce.vecdot(a, a, **o), device)
    for m, n, k in ((0, 3, 2), (3, 0, 2), (3, 2, 0), (0, 0, 0)):
        other = np.ones((k, n))

        def product(a, b=other, **options):
            return gpureduce.matmul(a, b if options else gpureduce.to_device(b, device), **options)

        compare("matmul", (m, k), product, device)


def test_topk_of_a_number(device):
    assert [float(each) for each in gpureduce.topk(5.0, 1, device=device)] == [5.0, 0.0]
    with pytest.raises(ValueError, match="k: expected 1"):
        gpureduce.topk(5.0, 0, device=device)
    with pytest.raises(TypeError, match="k: expected an integer"):
        gpureduce.topk([5.0], 1.0, device=device)
