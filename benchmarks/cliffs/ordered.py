"""Scans, order statistics, segments, groups and exact sums of any sizes."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.cliffs.axes import draw_form
from benchmarks.cliffs.family import TOLERANCE, Family, Pool, Prepared, extent, relative_error
from gpureduce import _functions as gpureduce

WIDE = 12  # powers of ten to each side, of data spread over exponents


class Scans(Family):
    """Running sums along an axis."""

    name = "scans"

    def draw(self, draw: random.Random, most: int) -> dict[str, Any]:
        """Draw a dtype, a dense shape and an axis."""
        ndim = draw.choice((1, 2, 2, 3))
        shape = draw_form(draw, most // 2, ndim)["shape"]
        return {"dtype": draw.choice(("float32", "float64", "float16", "int32")), "shape": shape,
                "axis": draw.randrange(ndim)}  # fmt: skip

    def text(self, parts: dict[str, Any]) -> str:
        """Return dtype, shape and axis."""
        return f"cumulative_sum {parts['dtype']} ({','.join(map(str, parts['shape']))}) along {parts['axis']}"

    def prepare(self, pool: Pool, parts: dict[str, Any]) -> Prepared:
        """Return the two calls."""
        torch, axis = pool.torch, parts["axis"]
        tensors = pool.cut(parts["dtype"], tuple(parts["shape"]))
        like = torch.cumsum(tensors[0], axis)
        out, theirs = pool.empty(like.shape, like.dtype), torch.empty_like(like)

        def ours(i: int) -> Any:
            return gpureduce.cumulative_sum(tensors[i], axis=axis, out=out)

        def error() -> float:
            ours(0)
            if not out.dtype.is_floating_point:
                return 0.0 if torch.equal(out, like) else 2.0
            wide = tensors[0].double()
            scale = torch.cumsum(wide.abs(), axis)
            return relative_error(torch, out, torch.cumsum(wide, axis), 4 * TOLERANCE[parts["dtype"]], scale)

        return Prepared(
            {"gpureduce": ours, "torch": lambda i: torch.cumsum(tensors[i], axis, out=theirs)},
            len(tensors),
            error,
        )


class Order(Family):
    """Medians and the largest elements along the last axis."""

    name = "order"

    def draw(self, draw: random.Random, most: int) -> dict[str, Any]:
        """Draw a function, a dtype and a shape."""
        length = extent(draw, most // 4)
        rows = extent(draw, max(1, most // 4 // length))
        what = draw.choice(("median", "topk"))
        k = min(length, extent(draw, 1000))
        return {"what": what, "dtype": draw.choice(("float32", "float64", "int32")), "rows": rows,
                "length": length, "k": k}  # fmt: skip

    def text(self, parts: dict[str, Any]) -> str:
        """Return function, dtype and shape."""
        k = f" of {parts['k']}" if parts["what"] == "topk" else ""
        return f"{parts['what']}{k} {parts['dtype']} ({parts['rows']},{parts['length']})"

    def prepare(self, pool: Pool, parts: dict[str, Any]) -> Prepared:
        """Return the two calls; PyTorch's median is the lower one of two in the middle."""
        torch, k = pool.torch, parts["k"]
        tensors = pool.cut(parts["dtype"], (parts["rows"], parts["length"]))
        if parts["what"] == "topk":

            def ours(i: int) -> Any:
                return gpureduce.topk(tensors[i], k)

            def theirs(i: int) -> Any:
                return torch.topk(tensors[i], k)

            def error() -> float:
                got = torch.as_tensor(ours(0).values, device=pool.device)
                return 0.0 if torch.equal(got, theirs(0).values) else 2.0

            return Prepared({"gpureduce": ours, "torch": theirs}, len(tensors), error)
        floating = tensors[0].dtype.is_floating_point
        out = pool.empty((parts["rows"],), tensors[0].dtype if floating else torch.float64)

        def median(i: int) -> Any:
            return gpureduce.median(tensors[i], axis=-1, out=out)

        def median_error() -> float:
            median(0)
            ranked = torch.sort(tensors[0], dim=-1)[0].double()
            middle = parts["length"] // 2
            want = (ranked[:, middle] + ranked[:, (parts["length"] - 1) // 2]) / 2
            return relative_error(torch, out, want, 1e-6)

        return Prepared(
            {"gpureduce": median, "torch": lambda i: torch.median(tensors[i], dim=-1)},
            len(tensors),
            median_error,
        )


class Segments(Family):
    """Sums of segments that are cut at random."""

    name = "segments"

    def draw(self, draw: random.Random, most: int) -> dict[str, Any]:
        """Draw the number of elements and of segments."""
        n = extent(draw, most // 2)
        return {"dtype": draw.choice(("float32", "float64")), "n": n, "segments": extent(draw, n)}

    def text(self, parts: dict[str, Any]) -> str:
        """Return dtype and numbers."""
        return f"segment_reduce {parts['dtype']} {parts['n']} elements in {parts['segments']} segments"

    def prepare(self, pool: Pool, parts: dict[str, Any]) -> Prepared:
        """Return the two calls."""
        torch, n = pool.torch, parts["n"]
        tensors = pool.cut(parts["dtype"], (n,))
        generator = torch.Generator(device=pool.device).manual_seed(n)
        cuts = torch.randint(n + 1, (parts["segments"] - 1,), device=pool.device, generator=generator)
        ends = [torch.tensor([each], device=pool.device) for each in (0, n)]
        offsets = torch.cat([ends[0], cuts.sort()[0], ends[1]])
        out = pool.empty((parts["segments"],), tensors[0].dtype)

        def ours(i: int) -> Any:
            return gpureduce.segment_reduce(tensors[i], offsets, "sum", out=out)

        def theirs(i: int) -> Any:
            return torch.segment_reduce(tensors[i], "sum", offsets=offsets, axis=0, unsafe=True)

        def error() -> float:
            ours(0)
            sums = [torch.cumsum(each, 0) for each in (tensors[0].double(), tensors[0].double().abs())]
            sums = [torch.cat([ends[0].double(), each]) for each in sums]
            want, scale = (each[offsets[1:]] - each[offsets[:-1]] for each in sums)
            return relative_error(torch, out, want, 1e-6, scale + sums[1][-1] * 1e-9)

        return Prepared({"gpureduce": ours, "torch": theirs}, len(tensors), error)


class Groups(Family):
    """Sums of groups by label, labels in any order."""

    name = "groups"

    def draw(self, draw: random.Random, most: int) -> dict[str, Any]:
        """Draw the number of rows, their width, the number of groups, and how labels are spread."""
        rows = extent(draw, most // 4)
        columns = extent(draw, 1024) if draw.random() < 0.3 else 1
        rows = max(1, rows // columns)
        spread = draw.choice(("uniform", "uniform", "sorted", "skewed"))
        return {"dtype": draw.choice(("float32", "float32", "float64", "float16")), "rows": rows,
                "columns": columns, "groups": extent(draw, 2 * rows), "spread": spread}  # fmt: skip

    def text(self, parts: dict[str, Any]) -> str:
        """Return dtype and numbers."""
        return (
            f"group_reduce {parts['dtype']} ({parts['rows']},{parts['columns']}) in {parts['groups']}"
            f" groups, {parts['spread']} labels"
        )

    def prepare(self, pool: Pool, parts: dict[str, Any]) -> Prepared:
        """Return the two calls."""
        torch, groups = pool.torch, parts["groups"]
        shape = (parts["rows"], parts["columns"]) if parts["columns"] > 1 else (parts["rows"],)
        tensors = pool.cut(parts["dtype"], shape)
        generator = torch.Generator(device=pool.device).manual_seed(groups)
        uniform = torch.rand(parts["rows"], device=pool.device, generator=generator, dtype=torch.float64)
        share = uniform**4 if parts["spread"] == "skewed" else uniform
        labels = (share * groups).long().clamp(0, groups - 1)
        labels = labels.sort()[0] if parts["spread"] == "sorted" else labels
        out = pool.empty((groups, *shape[1:]), tensors[0].dtype)

        def ours(i: int) -> Any:
            return gpureduce.group_reduce(tensors[i], labels, "sum", groups, out=out)

        def theirs(i: int) -> Any:
            zeros = torch.zeros((groups, *shape[1:]), dtype=tensors[i].dtype, device=pool.device)
            return zeros.index_add_(0, labels, tensors[i])

        def error() -> float:
            ours(0)
            zeros = torch.zeros(out.shape, dtype=torch.float64, device=pool.device)
            want = zeros.index_add(0, labels, tensors[0].double())
            scale = zeros.index_add(0, labels, tensors[0].double().abs())
            return relative_error(torch, out, want, 1e-3 if parts["dtype"] == "float16" else 1e-6, scale)

        return Prepared({"gpureduce": ours, "torch": theirs}, len(tensors), error)


class Exact(Family):
    """Exact sums of whole arrays; "plain" is our sum without ``exact=True``."""

    name = "exact"

    def draw(self, draw: random.Random, most: int) -> dict[str, Any]:
        """Draw a dtype, a length and a kind of data."""
        kind = draw.choice(("narrow", "wide", "wide", "cancelling", "one large"))
        return {"dtype": draw.choice(("float32", "float64")), "n": extent(draw, most), "data": kind}

    def text(self, parts: dict[str, Any]) -> str:
        """Return dtype, length and data."""
        return f"sum exact {parts['dtype']} {parts['n']} elements, {parts['data']} data"

    def prepare(self, pool: Pool, parts: dict[str, Any]) -> Prepared:
        """Return the three calls."""
        torch, n = pool.torch, parts["n"]
        tensors = pool.cut(parts["dtype"], (n,))[:8]
        if parts["data"] != "narrow":
            tensors = [self._data(torch, each.clone(), parts["data"]) for each in tensors]
        out = pool.empty((), tensors[0].dtype)

        def ours(i: int) -> Any:
            return gpureduce.sum(tensors[i], exact=True, out=out)

        def error() -> float:
            ours(0)
            got = float(out)
            want = float(tensors[0].double().sum())
            scale = float(tensors[0].double().abs().sum()) or 1.0
            return abs(got - want) / scale / 1e-7

        calls = {
            "gpureduce": ours,
            "torch": lambda i: torch.sum(tensors[i]),
            "plain": lambda i: gpureduce.sum(tensors[i], out=out),
        }
        return Prepared(calls, len(tensors), error)

    @staticmethod
    def _data(torch: Any, tensor: Any, kind: str) -> Any:
        if kind == "one large":
            tensor[tensor.numel() // 2] = 1e30
        elif kind == "cancelling":
            half = tensor.numel() // 2
            tensor[:half] = -tensor[half : 2 * half]
        else:
            tensor *= 10 ** ((torch.rand(tensor.shape, device=tensor.device) * 2 - 1) * WIDE)
        return tensor
