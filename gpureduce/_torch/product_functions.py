"""The public functions of tensors: products of vectors and matrices, and convolutions."""

from __future__ import annotations

from gpureduce._rules import arguments as rules
from gpureduce._torch import catalogue, operators, torch
from gpureduce._torch.arguments import check_text, integers
from gpureduce._torch.direct import shortcut
from gpureduce._torch.kernels import BY_NAME, is_whole
from gpureduce._torch.scatter import check_tensor


@shortcut("dot", BY_NAME)
def dot(a: torch.Tensor, b: torch.Tensor, *, exact: bool = False) -> torch.Tensor:
    """Return the dot product of two vectors.

    Parameters
    ----------
    a, b : torch.Tensor
        Vectors of the same length and dtype, on one device. Complex numbers are not conjugated.
    exact : bool
        True returns the correctly rounded result, whatever the order of the elements is, of real floats.

    Returns
    -------
    torch.Tensor

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> gpureduce.torch.dot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """
    check_tensor(a, "a", sharded=True)
    check_tensor(b, "b", sharded=True)
    if rules.flag(exact, "exact") and not is_whole(a.dtype):
        return catalogue.exact_dot(a, b)
    return operators.dot(a, b)


@shortcut("matmul", BY_NAME)
def matmul(a: torch.Tensor, b: torch.Tensor, precision: str | None = None) -> torch.Tensor:
    """Return the matrix product of two tensors.

    Parameters
    ----------
    a, b : torch.Tensor
        Tensors of shapes ``(..., m, k)`` and ``(..., k, n)``, of the same dtype, on one device. Leading
        dimensions are broadcast. A vector is treated as one row or one column, and that axis is removed from
        the result.
    precision : str, optional
        Arithmetic of float32, in gradients too, as for `gpureduce.matmul`.

    Returns
    -------
    torch.Tensor
        As by `gpureduce.matmul` with ``batch_invariant=True``, the bits of a row do not depend on other rows.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    >>> gpureduce.torch.matmul(x, x)
    tensor([[11.,  8.],
            [16., 27.]])
    """
    check_tensor(a, "a", sharded=True)
    check_tensor(b, "b", sharded=True)
    check_text(precision, "precision", True)
    row, column = a.ndim == 1, b.ndim == 1
    result = operators.matmul(a.unsqueeze(0) if row else a, b.unsqueeze(1) if column else b, precision)
    result = result.squeeze(-1) if column else result
    return result.squeeze(-1 if column else -2) if row else result


@shortcut("conv2d", BY_NAME)
def conv2d(
    x: torch.Tensor,
    w: torch.Tensor,
    *,
    bias: torch.Tensor | None = None,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] | str = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
    layout: str = "NCHW",
    precision: str | None = None,
) -> torch.Tensor:
    """Return the 2-D convolution (cross-correlation) of images with filters, as `torch.nn.functional.conv2d`.

    Parameters
    ----------
    x, w : torch.Tensor
        Images and filters of the same dtype, on one device, with shapes as for `gpureduce.conv2d`.
    bias : torch.Tensor, optional
        Tensor of shape ``(f,)``, one element per filter, with the dtype and device of `x`.
    stride, padding, dilation, groups, layout
        As for `gpureduce.conv2d`.
    precision : str, optional
        Arithmetic of float32, as for `gpureduce.matmul`. Gradients use PyTorch's operators and settings.

    Returns
    -------
    torch.Tensor
        Tensor that is contiguous in `layout`.

    Notes
    -----
    The bias is added as in `gpureduce.conv2d`: for float16 and bfloat16 to the rounded results, as in PyTorch
    on a GPU. PyTorch's own operators compute the gradients.

    Examples
    --------
    >>> import torch, gpureduce.torch
    >>> x, w = torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2)
    >>> gpureduce.torch.conv2d(x, w, bias=torch.tensor([0.5]))[0, 0]
    tensor([[4.5000, 4.5000],
            [4.5000, 4.5000]])
    """
    check_tensor(x, "x", sharded=True)
    check_tensor(w, "w", sharded=True)
    if bias is not None:
        check_tensor(bias, "bias", sharded=True)
    check_text(layout, "layout")
    check_text(precision, "precision", True)
    stride, dilation = integers(stride, "stride"), integers(dilation, "dilation")
    groups = integers(groups, "groups")
    same = isinstance(padding, str) and padding == "same"
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"padding: expected 'same', 'valid' or numbers, got {padding!r}")
        padding = 0
    padding = integers(padding, "padding")
    return operators.conv2d(x, w, bias, stride, padding, dilation, groups, layout, same, precision)
