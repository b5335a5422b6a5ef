"""Registers the operators in PyTorch as `torch.ops.gpureduce`.

An operator has a kernel for GPU tensors, one for CPU tensors, and a fake kernel, which returns only shape,
dtype and device for `torch.compile`; and functions for its gradient, if any.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any, NamedTuple

from gpureduce._torch import (
    autocast,
    batching,
    gradients,
    groups,
    kernels,
    normalize,
    sharding,
    tangents,
    torch,
)
from gpureduce._torch.direct import Recording, core_call, direct, recorder, recordings

forward_ad = torch.autograd.forward_ad
_set_forward_ad_enabled = forward_ad._set_fwd_grad_enabled
_single_level_functions = torch._functorch.utils.enable_single_level_autograd_function

_library = torch.library.Library("gpureduce", "FRAGMENT")  # the operators last as long as it


class Gradient(NamedTuple):
    """Functions that save tensors of a call and compute derivatives by the first parameters, `tensors`.

    `of` returns the gradients, and `tangent` the derivative of the result along tangents of the parameters.
    """

    keep: Callable
    of: Callable
    tangent: Callable | None = tangents.of_reduction
    defaults: tuple = (None, None, False)  # of all parameters
    tensors: int = 1
    optional: int = 0  # how many of the parameters after the tensors are tensors or None


_GRADIENTS = {
    "sum": Gradient(gradients.keep_shape, gradients.of_sum),
    "mean": Gradient(gradients.keep_shape, gradients.of_mean),
    "prod": Gradient(gradients.keep_input, gradients.of_prod),
    "min": Gradient(gradients.keep_both, gradients.of_extreme),
    "max": Gradient(gradients.keep_both, gradients.of_extreme),
    "dot": Gradient(gradients.keep_pair, gradients.of_dot, tangents.of_dot, (None, None), 2),
    "matmul": Gradient(gradients.keep_pair, gradients.of_matmul, tangents.of_matmul, (None, None, None), 2),
    "conv2d": Gradient(
        gradients.keep_conv2d,
        gradients.of_conv2d,
        tangents.of_conv2d,
        (None, None, *kernels.CONVOLUTION),
        2,
        1,
    ),
    "exact_sum": Gradient(gradients.keep_shape, gradients.of_sum),
    "softmax": Gradient(normalize.keep_softmax, normalize.of_softmax, tangents.of_softmax, (None, -1)),
    "log_softmax": Gradient(
        normalize.keep_softmax, normalize.of_log_softmax, tangents.of_log_softmax, (None, -1)
    ),
    "rms_norm": Gradient(
        normalize.keep_rms_norm, normalize.of_rms_norm, tangents.of_rms_norm, (None, None, 1e-6), 1, 1
    ),
    "layer_norm": Gradient(
        normalize.keep_layer_norm,
        normalize.of_layer_norm,
        tangents.of_layer_norm,
        (None, None, None, 1e-5),
        1,
        2,
    ),
    "group_reduce": Gradient(
        groups.keep_groups, groups.of_groups, tangents.of_groups, (None, None, None, None, 0)
    ),
    "gather_rows": Gradient(groups.keep_gather, groups.of_gather, tangents.of_gather, (None, None, 0)),
    "segment_reduce": Gradient(
        groups.keep_segments, groups.of_segments, tangents.of_groups, (None, None, None, 0)
    ),
}


_NOTES: dict[Callable, tuple[Callable, dict[str, Callable]]] = {
    **gradients.NOTES,
    normalize.keep_softmax: (normalize.note_softmax, {}),
}
_SLOTS = ("axes", "axis", "kept", "shape")


# Identifies a dispatch key set; old versions of PyTorch have no raw representation.
_told_apart = getattr(torch._C.DispatchKeySet, "raw_repr", repr)


def _plain(key: str) -> Any:
    """Return the dispatch keys of a call with plain tensors of a backend, without modes and wrappers."""
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
    return _told_apart(keys | torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, f"Autograd{key}")))


def _like(tensor: torch.Tensor) -> tuple[Any, dict[str, Any]]:
    return tensor.shape, {"dtype": tensor.dtype, "device": tensor.device}


def _forward_mode(gradient: Gradient) -> Callable:
    """Return the forward-mode derivative of a function."""

    def jvp(ctx, *tangents):
        if gradient.tangent is None:
            raise NotImplementedError("the operator has no derivative in forward mode")
        functorch = torch._C._functorch
        levels = functorch.get_interpreter_stack() or ()
        if len([level for level in levels if level.key() == functorch.TransformType.Jvp]) > 1:
            raise NotImplementedError(
                "forward mode within forward mode is not implemented; torch.func.hessian is jacfwd of jacrev"
            )
        with torch.enable_grad():  # for the transforms outside of this one
            return gradient.tangent(ctx, gradient.of, *tangents[:-1])

    return jvp


def _noting(name: str, gradient: Gradient) -> type[Any]:
    """Return the function by which autograd notes a result that a call without autograd has made."""

    def forward(ctx, *inputs):
        output = inputs[-1][0]
        gradient.keep(ctx, inputs[:-1], output)
        return output

    note, computed = _NOTES.get(gradient.keep, (forward, {}))
    members = {
        "forward": staticmethod(note),
        "backward": staticmethod(lambda ctx, *grads: (*gradient.of(ctx, *grads), None)),
    }
    function: Any = type(f"gpureduce_{name}", (torch.autograd.function._SingleLevelFunction,), members)
    # Attributes in slots take less time than the first entry of a dict.
    node = function._backward_cls
    slots = tuple([each for each in _SLOTS if each not in computed])
    properties = {each: property(of) for each, of in computed.items()}
    function._backward_cls = type(node.__name__, (node,), {"__slots__": slots, **properties})
    return function


def _differentiable(operator: Any, gradient: Gradient, kernels: dict[str, Callable]) -> Callable:
    """Return the autograd kernel of an operator.

    The one of `torch.library.register_autograd` takes 5 us more for a call that needs no gradient.
    """
    at_once = {_plain(key): kernel for key, kernel in kernels.items()}
    last, count = gradient.tensors - 1, gradient.tensors + gradient.optional

    def below(*inputs):
        with torch._C._AutoDispatchBelowAutograd():
            return operator(*inputs)

    def below_transforms(*inputs):
        with torch.enable_grad(), _set_forward_ad_enabled(True):  # for the transforms outside of this one
            return below(*inputs)

    def forward(ctx, *inputs):
        *inputs, kernel = inputs
        output = kernel(*inputs)
        gradient.keep(ctx, inputs, output)
        if forward_ad._current_level >= 0 or kernel is below_transforms:
            ctx.save_for_forward(*(ctx.to_save or ()))
            outputs = output if isinstance(output, tuple) else (output,)
            ctx.results = [
                _like(each) if each.is_floating_point() or each.is_complex() else None for each in outputs
            ]
        return output

    def backward(ctx, *grads):
        return *gradient.of(ctx, *grads), None

    members = {
        "forward": staticmethod(forward),
        "backward": staticmethod(backward),
        "jvp": staticmethod(_forward_mode(gradient)),
    }
    # The transforms of torch.func dispatch one level at a time, and so the function is one of a single level.
    noting = type(f"gpureduce_{operator._opname}", (torch.autograd.function._SingleLevelFunction,), members)

    def dispatched(keys, *inputs):
        if torch._C._are_functorch_transforms_active():
            with _single_level_functions():
                return noting.apply(*inputs, *gradient.defaults[len(inputs) :], below_transforms)
        kernel = at_once.get(_told_apart(keys), below)
        needed = inputs[0].requires_grad or inputs[last].requires_grad
        for value in inputs[last + 1 : count]:
            needed = needed or (value is not None and value.requires_grad)
        if (needed and torch.is_grad_enabled()) or forward_ad._current_level >= 0:
            return noting.apply(*inputs, *gradient.defaults[len(inputs) :], kernel)
        return kernel(*inputs)

    return dispatched


class Core(NamedTuple):
    """How the core takes an operator's calls without PyTorch's dispatcher."""

    op: str
    parameters: tuple[str, ...]
    dtypes: dict[str, torch.dtype]  # dtypes of results, by the core's names
    exact: bool = False
    # Makes the operator's arguments those of the core; None: the operator has to be called.
    adapt: Callable[..., tuple | None] | None = None
    is_prefix: bool = True  # the core's arguments are the first ones of the operator


def _direct(operator: Callable, core: Core, recording: Recording | None) -> Callable:
    """Return a function that calls the core where it can, else the operator."""
    record = None
    if recording is not None and core.is_prefix:
        record = recorder(recording, core.parameters)
    function = core_call(core.op, core.parameters, core.dtypes, record, core.exact)
    if function is None or core.adapt is None:
        return direct(operator, function)
    adapt = core.adapt

    def adapted(*inputs):
        core_inputs = adapt(*inputs)
        return NotImplemented if core_inputs is None else function(*core_inputs)

    return direct(operator, adapted)


def define(
    name: str,
    parameters: str,
    cuda: Callable,
    host: Callable,
    fake: Callable,
    core: Core | None = None,
    batched: Callable[[Callable], batching.Rule] | None = batching.element_by_element,
    gradient: Gradient | None = None,
    results: str = "Tensor",
) -> Callable:
    """Define an operator, whose result aliases no argument, and its batching rule for `torch.vmap`."""
    _library.define(f"{name}({parameters}) -> {results}", tags=(torch.Tag.pt2_compliant_tag,))
    operator = getattr(torch.ops.gpureduce, name).default
    kernels = {"CUDA": cuda, "CPU": host}
    for key, kernel in kernels.items():
        _library.impl(name, kernel, key)
    torch.library.register_fake(f"gpureduce::{name}", fake, lib=_library)
    autocast.register(_library, name, operator)
    sharding.add(name, operator)
    if batched is not None and hasattr(torch.library, "register_vmap"):  # PyTorch 2.5
        torch.library.register_vmap(f"gpureduce::{name}", batched(operator), lib=_library)
    gradient = gradient or _GRADIENTS.get(name)
    if gradient is not None:
        first = _differentiable(operator, gradient, kernels)
        _library.impl(name, first, "Autograd", with_keyset=True)
        if core is None or core.is_prefix:
            names = tuple([part.split("=")[0].split()[-1] for part in parameters.split(", ")])
            recordings[name] = Recording(names, _noting(name, gradient).apply, gradient.defaults)
    else:
        recordings[name] = None
    return operator if core is None else _direct(operator, core, recordings.get(name))


REDUCTION = ("a", "axis", "keepdims")
OF_LABELS = ("a", "labels", "op", "num_groups", "axis")
OF_OFFSETS = ("a", "offsets", "op", "axis")
# Results of uint64 are left to the operator: sums of unsigned integers are int64, and minima uint64.
OF_GROUPS = {name: dtype for name, dtype in kernels.BY_NAME.items() if name != "uint64"}
SUMS = kernels.BY_NAME | {"uint64": torch.int64}  # PyTorch's sums of unsigned integers are int64


def along(at: int, default: Any = None, outer: int = 0) -> Callable:
    """Return the batching rule of an operator whose argument number `at` is its axis or axes."""
    return lambda operator: batching.along_axes(operator, at, default, outer)


_of_axes = along(1)


def _reduction(name: str, axis: str = "int[1]?") -> Callable:
    return define(
        name,
        f"Tensor a, {axis} axis=None, bool keepdims=False",
        kernels.reduction_on_cuda(name),
        kernels.reduction_on_host(name),
        kernels.fake_reduction(name),
        Core(name, REDUCTION, SUMS if name in ("sum", "prod") else kernels.BY_NAME),
        batched=batching.of_flattened if axis == "int?" else _of_axes,
    )


all = _reduction("all")
any = _reduction("any")
argmax = _reduction("argmax", "int?")
argmin = _reduction("argmin", "int?")
bitwise_and = _reduction("bitwise_and")
bitwise_or = _reduction("bitwise_or")
bitwise_xor = _reduction("bitwise_xor")
count_nonzero = _reduction("count_nonzero")
max = _reduction("max")
mean = _reduction("mean")
min = _reduction("min")
prod = _reduction("prod")
sum = _reduction("sum")
dot = define(
    "dot",
    "Tensor a, Tensor b",
    kernels.dot_on_cuda,
    kernels.dot_on_host,
    kernels.fake_dot,
    Core("dot", ("a", "b"), kernels.BY_NAME),
)
matmul = define(
    "matmul",
    "Tensor a, Tensor b, str? precision=None",
    kernels.matmul_on_cuda,
    kernels.matmul_on_host,
    kernels.fake_matmul,
    Core("matmul", ("a", "b", "precision"), kernels.BY_NAME),
    batched=batching.of_matmul,
)


def _conv2d_inputs(x, w, *rest):
    """Return the core's arguments of a convolution, whose padding may be a text."""
    options: typing.Any = (*rest, *kernels.CONVOLUTION[len(rest) :])
    bias, stride, padding, dilation, groups, layout, same, precision = options
    return x, w, bias, stride, "same" if same else padding, dilation, groups, layout, precision


conv2d = define(
    "conv2d",
    "Tensor x, Tensor w, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] dilation=1, "
    "int groups=1, str layout='NCHW', bool same=False, str? precision=None",
    kernels.conv2d_on_cuda,
    kernels.conv2d_on_host,
    kernels.fake_conv2d,
    Core(
        "conv2d",
        ("x", "w", "bias", "stride", "padding", "dilation", "groups", "layout", "precision"),
        kernels.BY_NAME,
        adapt=_conv2d_inputs,
        is_prefix=False,
    ),
)
group_reduce = define(
    "group_reduce",
    "Tensor a, Tensor labels, str op, SymInt num_groups, int axis=0",
    groups.groups_on_cuda,
    groups.groups_on_host,
    groups.fake_groups,
    Core("group_reduce", OF_LABELS, OF_GROUPS),
    batched=along(4, 0),
)
segment_reduce = define(
    "segment_reduce",
    "Tensor a, Tensor offsets, str op, int axis=0",
    groups.segments_on_cuda,
    groups.segments_on_host,
    groups.fake_segments,
    Core("segment_reduce", OF_OFFSETS, OF_GROUPS),
    batched=along(3, 0),
)
gather_rows = define(
    "gather_rows",
    "Tensor a, Tensor labels, int axis=0",
    groups.gather_rows,
    groups.gather_rows,
    groups.fake_gather,
    batched=along(2, 0),
)
exact_sum = define(
    "exact_sum",
    "Tensor a, int[1]? axis=None, bool keepdims=False",
    normalize.exact_sum_on_cuda,
    normalize.exact_sum_on_host,
    normalize.fake_exact_sum,
    Core("sum", REDUCTION, SUMS, exact=True),
    batched=along(1, None),
)
softmax = define(
    "softmax",
    "Tensor a, int axis=-1",
    normalize.softmax_on_cuda,
    normalize.softmax_on_host,
    normalize.fake_softmax,
    Core("softmax", ("a", "axis"), kernels.BY_NAME),
    batched=along(1, -1),
)
log_softmax = define(
    "log_softmax",
    "Tensor a, int axis=-1",
    normalize.log_softmax_on_cuda,
    normalize.log_softmax_on_host,
    normalize.fake_log_softmax,
    Core("log_softmax", ("a", "axis"), kernels.BY_NAME),
    batched=along(1, -1),
)
rms_norm = define(
    "rms_norm",
    "Tensor a, Tensor? weight=None, float eps=1e-6",
    normalize.rms_norm_on_cuda,
    normalize.rms_norm_on_host,
    normalize.fake_rms_norm,
    Core("rms_norm", ("a", "weight", "eps"), kernels.BY_NAME),
    batched=batching.of_rows,
)
layer_norm = define(
    "layer_norm",
    "Tensor a, Tensor? weight=None, Tensor? bias=None, float eps=1e-5",
    normalize.layer_norm_on_cuda,
    normalize.layer_norm_on_host,
    normalize.fake_layer_norm,
    Core("layer_norm", ("a", "weight", "bias", "eps"), kernels.BY_NAME),
    batched=batching.of_rows,
)
add_rms_norm = define(
    "add_rms_norm",
    "Tensor a, Tensor(a!) residual, Tensor? weight=None, float eps=1e-6",
    normalize.add_rms_norm_on_cuda,
    normalize.add_rms_norm_on_host,
    normalize.fake_add_rms_norm,
    Core("rms_norm", ("a", "residual", "weight", "eps"), kernels.BY_NAME),
    batched=None,  # it writes to an argument
)
