"""Why drawn cases take longer than in PyTorch, or longer than before: the first rule that applies."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

Parts = dict[str, Any]
SHORT_US = 5.0  # of calls that are launches, and little else
FEW_ELEMENTS = 32  # per result
TILE = 4096  # elements of a scan that a block adds up at once
BLOCK_BYTES = 65536  # of a row that a block selects from
LONG_SEGMENT = 4096  # rows, on average
FEW_ROWS = 4096  # of groups that one launch adds up
FEW_COLUMNS = 8  # of a product
LONG_K, SHORT_K = 1024, 64
FEW_FILTERS, FEW_CHANNELS = 16, 32
ITEM_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "int32": 4, "float64": 8}
ORDERED = ("sum", "mean", "var", "norm", "logsumexp")


class Reason(NamedTuple):
    """A reason, for cases of a family, given their parts and microseconds."""

    family: str
    text: str
    applies: Callable[[Parts, float], bool]


def _across(parts: Parts) -> bool:
    """Whether the results of a reduction are in another order than the elements in memory."""
    kept = [
        (stride, n)
        for axis, (stride, n) in enumerate(zip(parts["strides"], parts["shape"], strict=True))
        if axis not in parts["axes"] and n > 1
    ]
    return kept != sorted(kept, reverse=True)


def _dtype(parts: Parts) -> str:
    return str(parts["kind"][0])


def _is_apart(parts: Parts) -> bool:
    """Return whether the elements of a result are not neighbours in memory."""
    return all(parts["strides"][axis] != 1 for axis in parts["axes"])


def _depthwise(parts: Parts) -> bool:
    return 1 < parts["groups"] == parts["c"] == parts["f"]


def _reduced(parts: Parts) -> int:
    return math.prod(parts["shape"][axis] for axis in parts["axes"])


_LANES = "the order of columns follows from their length alone: lanes are combined by a tree"
_LAUNCH = "one or two launches, and few elements"
_ACROSS = "results are in another order than the elements in memory"

REASONS = (
    Reason("axes", _LANES, lambda p, us: p["op"] in ORDERED and _is_apart(p)),
    Reason("axes", _ACROSS, lambda p, us: _across(p)),
    Reason("axes", _LAUNCH, lambda p, us: us < SHORT_US),
    Reason(
        "axes",
        "variances of float64 along few rows: much arithmetic per element, and few threads",
        lambda p, us: p["dtype"] == "float64" and p["op"] == "var",
    ),
    Reason("axes", "results of few elements each", lambda p, us: _reduced(p) < FEW_ELEMENTS),
    Reason("axes", "rows or columns of few vectors", lambda p, us: True),
    Reason("positions", _ACROSS, lambda p, us: _across(p)),
    Reason("positions", _LAUNCH, lambda p, us: us < SHORT_US),
    Reason("positions", "results of few elements each", lambda p, us: _reduced(p) < FEW_ELEMENTS),
    Reason("positions", "a comparison of values and indices per element", lambda p, us: True),
    Reason("whole", _LAUNCH, lambda p, us: True),
    Reason("scans", _LAUNCH, lambda p, us: us < SHORT_US),
    Reason("scans", "an axis of one element: a copy", lambda p, us: p["shape"][p["axis"]] == 1),
    Reason(
        "scans",
        "short lines, of which a block has several",
        lambda p, us: p["shape"][p["axis"]] < TILE,
    ),
    Reason("scans", "blocks wait for the sums of blocks before them", lambda p, us: True),
    Reason(
        "order",
        "a block reads its row once for every digit in which elements differ",
        lambda p, us: p["length"] * ITEM_BYTES[p["dtype"]] <= BLOCK_BYTES,
    ),
    Reason(
        "order",
        "a sample, one reading of the row, and a selection from what that leaves",
        lambda p, us: p["what"] == "topk",
    ),
    Reason("order", "a launch for every 11 bits of the elements", lambda p, us: True),
    Reason("segments", f"{_LAUNCH}, whose sums are exact", lambda p, us: us < SHORT_US),
    Reason(
        "segments",
        "long segments, which one block adds up, or all blocks with a second launch",
        lambda p, us: p["n"] // p["segments"] >= LONG_SEGMENT,
    ),
    Reason(
        "segments",
        "exact sums, with a second launch for sums that registers do not hold",
        lambda p, us: True,
    ),
    Reason(
        "groups",
        "few rows: every block reads all labels before the rows of its group",
        lambda p, us: p["rows"] <= (1 << 14 if p["columns"] == 1 else FEW_ROWS),
    ),
    Reason(
        "groups",
        "many groups: additions of integers to device memory, and two launches to round",
        lambda p, us: p["rows"] < 2 * p["groups"] or p["columns"] > 1,
    ),
    Reason("groups", "exact sums in three launches", lambda p, us: True),
    Reason("exact", "additions in several doubles, and rounding", lambda p, us: True),
    Reason(
        "products",
        "few columns are multiplied in float32, not by tensor cores",
        lambda p, us: p["n"] <= FEW_COLUMNS and tuple(p["kind"]) == ("float32", "tf32") and p["m"] > 10_000,
    ),
    Reason(
        "products",
        "up to eight columns: rows that begin at any element are loaded by elements",
        lambda p, us: p["n"] <= FEW_COLUMNS,
    ),
    Reason(
        "products",
        "long sums of few results: the last block adds up all parts of a tile",
        lambda p, us: p["k"] >= LONG_K and p["m"] * p["n"] <= 1 << 14,
    ),
    Reason("products", "short sums: plain arithmetic", lambda p, us: p["k"] <= SHORT_K),
    Reason(
        "products",
        "float64: threads wait for panels of both matrices in each step along k",
        lambda p, us: _dtype(p) == "float64",
    ),
    Reason(
        "products",
        "rows that are no multiple of 16 bytes are copied, or loaded by elements",
        lambda p, us: any(size * ITEM_BYTES[_dtype(p)] % 16 for size in (p["k"], p["n"])),
    ),
    Reason(
        "products", "few rows or columns: tiles are partly empty", lambda p, us: min(p["m"], p["n"]) <= 64
    ),
    Reason("products", "tiles do not fill the last wave of blocks", lambda p, us: True),
    Reason("convolutions", "depthwise: few outputs reuse an element", lambda p, us: _depthwise(p)),
    Reason(
        "convolutions",
        "few filters: tiles of the product are partly empty",
        lambda p, us: p["f"] // p["groups"] < FEW_FILTERS,
    ),
    Reason(
        "convolutions", "few channels: short sums per tap", lambda p, us: p["c"] // p["groups"] < FEW_CHANNELS
    ),
    Reason(
        "convolutions",
        "channels that are no multiple of 16 bytes are padded or copied",
        lambda p, us: p["c"] // p["groups"] * ITEM_BYTES[_dtype(p)] % 16 != 0,
    ),
    Reason(
        "convolutions",
        "NCHW: channels of a pixel are far from each other",
        lambda p, us: p["layout"] == "NCHW",
    ),
    Reason("convolutions", "tiles do not fill the last wave of blocks", lambda p, us: True),
)

_ORDER = "the order of additions follows from the length alone"
_UNKNOWN = "cause not found"
SLOWER = (
    Reason("axes", _ORDER, lambda p, us: p["op"] in ORDERED),
    Reason("whole", _ORDER, lambda p, us: p["op"] in ORDERED),
    Reason("scans", _ORDER, lambda p, us: p["dtype"] != "int32"),
    Reason(
        "groups",
        "two windows, so that values far apart take as long as near ones",
        lambda p, us: p["columns"] == 1 and p["rows"] > FEW_ROWS,
    ),
    Reason("groups", "every block reads all labels", lambda p, us: p["rows"] <= FEW_ROWS),
    Reason("exact", "three doubles per thread, which wide data need", lambda p, us: True),
    Reason(
        "products",
        "few columns are multiplied in float32, not by tensor cores",
        lambda p, us: p["n"] <= FEW_COLUMNS and tuple(p["kind"]) == ("float32", "tf32"),
    ),
    Reason("products", "the kernel for short sums", lambda p, us: p["k"] <= SHORT_K),
    Reason("products", "bits of a row do not depend on the number of rows", lambda p, us: True),
    Reason(
        "convolutions",
        "the order of additions follows from the layer alone, or an estimate of time is too low",
        lambda p, us: True,
    ),
)


def _first(reasons: tuple[Reason, ...], family: str, parts: Parts, us: float) -> str:
    texts = (each.text for each in reasons if each.family == family and each.applies(parts, us))
    return next(texts, _UNKNOWN)


def reason_of(family: str, parts: Parts, us: float) -> str:
    """Return why a case takes longer than in PyTorch, if it does."""
    return _first(REASONS, family, parts, us)


def slower_reason_of(family: str, parts: Parts, us: float) -> str:
    """Return why a case takes longer than before."""
    return _first(SLOWER, family, parts, us)
