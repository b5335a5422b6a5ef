"""Roofline of the rungs: their distance to the limits of memory and multiply-add units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpureduce._bench.matmul_timing import PUBLISHED, VENDOR
from gpureduce._device.variants import variants
from gpureduce._profiles.counts import SECTOR_BYTES
from gpureduce._profiles.variant import profile

TILE = (
    128  # rows and columns of C that the tiles of all rungs divide: larger sizes have the same bytes per FLOP
)


@dataclass(frozen=True)
class Point:
    """A rung: its FLOP per byte, and its speed."""

    variant: str
    flop_per_byte: float
    tflop_per_s: float


@dataclass(frozen=True)
class Roofline:
    """Rungs and roofs.

    Attributes
    ----------
    title : str
        Title: measurement and device.
    bandwidths : tuple of (str, float)
        Names and TB/s of memory, as read by the package's fastest kernel, and of caches, if measured.
    peak : float
        TFLOP/s of float32 multiply-adds.
    vendor : float or None
        TFLOP/s of cuBLAS.
    points : tuple of Point
        The rungs in ladder order.
    """

    title: str
    bandwidths: tuple[tuple[str, float], ...]
    peak: float
    vendor: float | None
    points: tuple[Point, ...]


def intensity(variant: str, k: int) -> float | None:
    """Return FLOP per byte of global sectors, of whole tiles; None of rungs that other roofs hold for.

    These are the rungs on tensor cores, which execute no multiply-adds, and rungs that load by bulk copies,
    which are not counted as sectors.
    """
    profiled = profile((TILE, TILE, k), variant, races=False)
    if profiled.kernels[0].name != f"{variant}_f32":  # one of several, with tiles that grow with the product
        profiled = profile((8 * TILE, 8 * TILE, k), variant, races=False)
    if (
        not profiled.totals.multiply_adds
        or profiled.totals.global_load_sectors * SECTOR_BYTES < 2 * TILE * k * 4
    ):
        return None
    return 1 / profiled.bytes_a_flop


def roofline(results: dict[str, Any], bandwidth: float) -> Roofline:
    """Return the rungs at the published size.

    Parameters
    ----------
    results : dict
        What `benchmarks/run.py matmul` wrote; its head has ``ffma_tflop_per_s``, and may have ``l2_gb_per_s``
        and ``l1_gb_per_s``.
    bandwidth : float
        GB/s of memory, measured.
    """
    rows = {
        row["variant"]: row
        for row in results["rows"]
        if row["dtype"] == "float32"
        and row.get("precision") in (None, "ieee")
        and (row["m"], row["n"], row["k"]) == PUBLISHED
    }
    rungs = [record.name for record in variants("matmul") if record.role == "rung"]
    points = []
    for name in rungs:
        per_byte = intensity(name, PUBLISHED[2]) if name in rows else None
        if per_byte is not None:
            points.append(Point(name, per_byte, rows[name]["tflop_per_s"]))
    m, n, k = PUBLISHED
    title = f"matrix multiplication of {m:,} x {n:,} x {k:,} float32\n{results['device']}, {results['date']}"
    vendor = rows[VENDOR]["tflop_per_s"] if VENDOR in rows else None
    measured = (
        ("memory", bandwidth),
        *((name, results.get(f"{name.lower()}_gb_per_s")) for name in ("L2", "L1")),
    )
    bandwidths = tuple((name, value / 1e3) for name, value in measured if value)
    return Roofline(title, bandwidths, results["ffma_tflop_per_s"], vendor, tuple(points))
