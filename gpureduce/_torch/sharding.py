"""Sharding strategies of the operators for `torch.distributed.tensor.DTensor`.

Lines along the axes of an operator stay on one device: shards of the other axes are computed where they are.
Sums of shards along a reduced axis are partial sums, which PyTorch adds when they are needed. Other shards
of a reduced axis are gathered first, so that results have the bits of a tensor that is not sharded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gpureduce._rules import arguments as rules
from gpureduce._torch import torch
from gpureduce._torch.kernels import axes_of, is_whole
from gpureduce._torch.when_imported import when_imported

LAYOUTS = {"NCHW": (-4, -3), "NHWC": (-4, -1)}  # the axes of the batch and of the channels


class Call(NamedTuple):
    """Arguments of a call by name, in which a tensor is its DTensorSpec, and how to describe placements."""

    values: dict[str, Any]
    tensor: Any  # the module torch.distributed.tensor
    results: int

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of the whole tensor."""
        return tuple(self.values[name].shape)

    def placed(self, result: Any, **operands: Any) -> tuple[list[Any], list[Any]]:
        """Describe placements along one dimension of the mesh; an axis is one that is sharded.

        Operands that are not named are replicated.
        """
        names = [name for name, value in self.values.items() if hasattr(value, "placements")]
        return (
            [self.placement(result)] * self.results,
            [self.placement(operands.get(name)) for name in names],
        )

    def placement(self, of: Any) -> Any:
        """Return the placement that an axis, the name of a reduction, or None describes."""
        if of is None:
            return self.tensor.Replicate()
        return self.tensor.Partial(of) if isinstance(of, str) else self.tensor.Shard(of)

    def divides(self, name: str, axis: int) -> bool:
        """Return whether all shards of an axis have the same length, which is not 0."""
        length = self.shape(name)[axis]
        return length > 0 and length % self.values[name].mesh.size() == 0


Rule = Callable[[Call], Iterator[tuple[list[Any], list[Any]]]]


def _partial_of(name: str, dtype: torch.dtype) -> str | None:
    """Return the reduction that merges an operator's results of shards.

    Maxima of floats have none, as reductions of a process group may drop NaNs.
    """
    if name in ("sum", "masked_sum", "nansum", "count_nonzero"):
        return "sum"
    if name == "mean" and not is_whole(dtype):
        return "avg"
    whole = is_whole(dtype) and dtype != torch.bool
    return {"max": "max", "min": "min", "nanmax": "max", "nanmin": "min"}.get(name) if whole else None


def _reduction(name: str) -> Rule:
    """Return the rule of an operator that reduces the axes `axis` of `a`, and of a mask `where`."""

    def placements(call: Call) -> Iterator[tuple[list[Any], list[Any]]]:
        values, ndim = call.values, len(call.shape("a"))
        axes = axes_of(values["axis"], ndim)
        partial = _partial_of(name, values["a"].tensor_meta.dtype)
        first = 1 if "q" in values else 0
        for axis in range(ndim):
            if axis not in axes:
                removed = 0 if values["keepdims"] else len([each for each in axes if each < axis])
                yield call.placed(axis - removed + first, a=axis, where=axis)
            elif partial and call.divides("a", axis):
                yield call.placed(partial, a=axis, where=axis)
        if name in ("sum", "masked_sum") and values["a"].tensor_meta.dtype.is_floating_point:
            yield call.placed("sum", a="sum")  # the sum of partial sums

    return placements


def _lines(call: Call) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield placements of an operator whose results are as `a`, except along `axis`."""
    ndim = len(call.shape("a"))
    (along,) = rules.reduced_axes(call.values["axis"], ndim) or (0,)
    for axis in range(ndim):
        if axis != along:
            yield call.placed(axis, a=axis)


def _rows(call: Call) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield placements of an operator on the last axis of `a`, with weights."""
    for axis in range(len(call.shape("a")) - 1):
        yield call.placed(axis, a=axis)


def _dot(call: Call) -> Iterator[tuple[list[Any], list[Any]]]:
    if call.divides("a", 0):
        yield call.placed("sum", a=0, b=0)


def _matmul(call: Call) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield placements of a product of two matrices, or of stacks of matrices."""
    a, b = call.shape("a"), call.shape("b")
    ndim = max(len(a), len(b))
    yield call.placed(ndim - 2, a=len(a) - 2)
    yield call.placed(ndim - 1, b=len(b) - 1)
    if call.divides("a", len(a) - 1):
        yield call.placed("sum", a=len(a) - 1, b=len(b) - 2)
    stack = torch.broadcast_shapes(a[:-2], b[:-2])
    for axis, length in enumerate(stack):
        at = {name: axis - ndim + len(shape) for name, shape in (("a", a), ("b", b))}
        whole = {name: i for name, i in at.items() if i >= 0 and call.shape(name)[i] == length}
        yield call.placed(axis, **whole)


def _conv2d(call: Call) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield placements of a convolution: shards of the batch, or of the filters."""
    ndim = len(call.shape("x"))
    batch, channels = (axis + ndim for axis in LAYOUTS[call.values["layout"]])
    if ndim == 4:
        yield call.placed(batch, x=batch)
    if call.values["groups"] == 1:
        yield call.placed(channels, w=0, bias=0)


_OTHERS: dict[str, Rule] = {
    **dict.fromkeys(("cumsum", "cumprod", "nancumsum", "nancumprod", "cummax", "cummin"), _lines),
    **dict.fromkeys(("sort", "argsort", "topk", "softmax", "log_softmax"), _lines),
    **dict.fromkeys(("group_reduce", "segment_reduce", "gather_rows"), _lines),
    **dict.fromkeys(("rms_norm", "layer_norm"), _rows),
    "dot": _dot,
    "matmul": _matmul,
    "conv2d": _conv2d,
}
_operators: dict[str, Any] = {}  # by name
registered = False  # whether the strategies are registered with PyTorch


def rule_of(name: str) -> Rule | None:
    """Return the rule of an operator; None: its operands are gathered."""
    if name == "exact_dot":
        return None
    return _OTHERS.get(name) or _reduction(name)


def _strategy(name: str, operator: Any, tensor: Any) -> Callable[..., Any]:
    """Return the function of arguments that PyTorch asks for acceptable placements."""
    parameters, rule = operator._schema.arguments, rule_of(name)
    results = len(operator._schema.returns)

    def acceptable(*args: Any) -> list[tuple[list[Any], list[Any]]]:
        names = [parameter.name for parameter in parameters]
        defaults = [parameter.default_value for parameter in parameters[len(args) :]]
        call = Call(dict(zip(names, [*args, *defaults], strict=True)), tensor, results)
        return [call.placed(None), *(() if rule is None else rule(call))]

    return acceptable


def _register() -> None:
    """Register the strategies of all operators, unless this PyTorch has no public function for it."""
    global registered
    try:
        from torch.distributed import tensor
        from torch.distributed.tensor.experimental import register_sharding

        infos = tensor.DTensor._op_dispatcher.sharding_propagator.op_to_schema_info
        for name, operator in _operators.items():
            register_sharding(operator)(_strategy(name, operator, tensor))
            # Placements are cached by all arguments; by itself PyTorch compares integers, but no lists.
            infos[operator] = type(infos[operator])(1, needs_pytree=True)
    except (ImportError, AttributeError, TypeError):  # PyTorch 2.5 has it
        return
    registered = True


def add(name: str, operator: Any) -> None:
    """Register an operator that has a strategy, unless it writes to an argument."""
    if not operator._schema.is_mutable:
        _operators[name] = operator


def register() -> None:
    """Register the strategies when a program imports PyTorch's module of DTensors."""
    when_imported("torch.distributed.tensor", _register)
