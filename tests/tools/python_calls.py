"""Python calls, files and time per public function on the simulator: `python tests/tools/python_calls.py`."""

from __future__ import annotations

import sys
import time

import numpy as np

import gpureduce as gr


def calls_of(call):
    """Return the number of Python functions that a second call enters, and of the files that hold them."""
    call()
    files = []

    def look(frame, event, _):
        if event == "call":
            files.append(frame.f_code.co_filename)

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(files) - 1, len(set(files[1:]))  # less the lambda


def microseconds(call, calls=200, repeats=5):
    """Return the best mean of the repeats."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        found.append((time.perf_counter() - start) / calls * 1e6)
    return min(found)


def cases():
    """Return calls on small arrays, of the host and on the device, by name."""
    rng = np.random.default_rng(5)
    host = rng.standard_normal((8, 6)).astype(np.float32)
    labels = rng.integers(0, 3, 8)
    offsets = np.array([0, 3, 8])
    with_nans = np.where(host > 1, np.float32(np.nan), host)
    there = gr.to_device(host, "sim")
    with_nans_there = gr.to_device(with_nans, "sim")
    found = {}
    for where, a, nans, sim in (
        ("host", host, with_nans, {"device": "sim"}),
        ("device", there, with_nans_there, {}),
    ):
        found |= {
            f"{name}, {where}": call
            for name, call in {
                "sum": lambda a=a, sim=sim: gr.sum(a, axis=1, **sim),
                "matmul": lambda a=a, sim=sim: gr.matmul(a, a.T, **sim),
                "cumulative_sum": lambda a=a, sim=sim: gr.cumulative_sum(a, axis=1, **sim),
                "cumulative_prod": lambda a=a, sim=sim: gr.cumulative_prod(a, axis=1, **sim),
                "segment_reduce": lambda a=a, sim=sim: gr.segment_reduce(a, offsets, **sim),
                "reduceat": lambda a=a, sim=sim: gr.reduceat(a, offsets[:2], **sim),
                "group_reduce": lambda a=a, sim=sim: gr.group_reduce(a, labels, **sim),
                "median": lambda a=a, sim=sim: gr.median(a, axis=1, **sim),
                "quantile": lambda a=a, sim=sim: gr.quantile(a, 0.25, axis=1, **sim),
                "percentile": lambda a=a, sim=sim: gr.percentile(a, 25.0, axis=1, **sim),
                "nanmedian": lambda a=nans, sim=sim: gr.nanmedian(a, axis=1, **sim),
                "topk": lambda a=a, sim=sim: gr.topk(a, 3, **sim),
                "norm": lambda a=a, sim=sim: gr.norm(a, axis=1, **sim),
                "norm 3": lambda a=a, sim=sim: gr.norm(a, 3, axis=1, **sim),
                "norm inf": lambda a=a, sim=sim: gr.norm(a, np.inf, axis=1, **sim),
                "nansum": lambda a=nans, sim=sim: gr.nansum(a, axis=1, **sim),
                "nanmean": lambda a=nans, sim=sim: gr.nanmean(a, axis=1, **sim),
                "nanmax": lambda a=nans, sim=sim: gr.nanmax(a, axis=1, **sim),
                "nanvar": lambda a=nans, sim=sim: gr.nanvar(a, axis=1, **sim),
                "nanargmax": lambda a=nans, sim=sim: gr.nanargmax(a, axis=1, **sim),
                "average": lambda a=a, sim=sim: gr.average(a, axis=1, **sim),
                "average, weights": lambda a=a, sim=sim: gr.average(a, axis=1, weights=a, **sim),
                "moments": lambda a=a, sim=sim: gr.moments(a, axis=1, **sim),
                "ptp": lambda a=a, sim=sim: gr.ptp(a, axis=1, **sim),
                "partial": lambda a=a, sim=sim: gr.partial(a, "var", **sim),
            }.items()
        }
    return found


def main():
    """Print a row per call."""
    print(f"{'call':28} {'Python calls':>12} {'files':>6} {'us':>8}")
    for name, call in cases().items():
        calls, files = calls_of(call)
        print(f"{name:28} {calls:12} {files:6} {microseconds(call):8.1f}")


if __name__ == "__main__":
    main()
