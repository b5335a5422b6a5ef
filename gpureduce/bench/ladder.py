"""Times every variant on a CUDA device: ``python -m gpureduce.bench.ladder --out FILE``.

Device time of the first pass alone and of all passes, in microseconds a reduction. Launches are replayed as a
graph that rotates over copies of the input, together larger than the L2 cache, so that no launch finds its
input cached. The figure is the median over the replays.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import gpureduce
from gpureduce import _core
from gpureduce._devices import resolve
from gpureduce.bench import environment

ROTATION_BYTES = 512 << 20  # 8 times the 60 MB L2 of an H200


def measure(
    variant: gpureduce.Variant, data: np.ndarray, exact: float, device: str, block_size: int, repeats: int
) -> dict:
    """Return one row: times, bandwidth and the error of the result. A library has no block size to choose."""
    block_size = block_size if variant.block_sizes else None
    buffers = max(2, math.ceil(ROTATION_BYTES / data.nbytes))
    rounds = max(1, 8 // buffers)
    arguments = (data, "sum", variant.name, block_size, None, *resolve(device))
    first, whole = _core.time(*arguments, buffers, rounds, repeats)
    result = gpureduce.sum(data, variant=variant.name, device=device, block_size=block_size)
    first_spread, whole_spread = environment.spread(first), environment.spread(whole)
    return {
        "variant": variant.name,
        "n": data.size,
        "dtype": str(data.dtype),
        "block_size": block_size,
        "first_pass_us": first_spread,
        "all_passes_us": whole_spread,
        "first_pass_gb_per_s": data.nbytes / first_spread["median"] / 1e3,
        "all_passes_gb_per_s": data.nbytes / whole_spread["median"] / 1e3,
        "relative_error": abs(float(result) - exact) / abs(exact),
    }


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m gpureduce.bench.ladder", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--n", type=int, default=1 << 25, help="elements (default 2^25)")
    parser.add_argument("--dtypes", nargs="+", default=["float32"])
    parser.add_argument("--block-size", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--out", help="results file to write")
    options = parser.parse_args(argv)

    record = environment.header(environment.find_device(options.device))
    record["method"] = "graph replays over rotated input copies; microseconds a reduction"
    record["rows"] = []
    random = np.random.default_rng(20261121)
    for dtype in options.dtypes:
        data = random.integers(1, 1 << 20, options.n) if dtype[0] == "i" else random.random(options.n)
        data = data.astype(dtype)
        exact = int(data.sum(dtype=np.int64)) if data.dtype.kind == "i" else math.fsum(data)
        for variant in gpureduce.variants():
            if not variant.runs_on(options.device):
                print(f"{variant.name:13} is not installed or not for this device")
                continue
            row = measure(variant, data, exact, options.device, options.block_size, options.repeats)
            record["rows"].append(row)
            print(
                f"{row['variant']:13} {row['dtype']:8} first pass {row['first_pass_us']['median']:8.2f} us"
                f"  all {row['all_passes_us']['median']:8.2f} us  {row['all_passes_gb_per_s']:7.1f} GB/s"
                f"  relative error {row['relative_error']:.1e}",
                flush=True,
            )
    environment.write(options.out, record)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
