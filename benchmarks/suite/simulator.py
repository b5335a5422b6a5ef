"""How fast the simulator runs the rungs, and the default: ``python benchmarks/run.py simulator``.

Wall-clock time on the CPU. It says nothing about the speed of a GPU.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time

import numpy as np

from gpureduce._device.variants import AUTO, variants
from gpureduce._reduce import functions


def elements_per_second(variant: str, data: np.ndarray, repeats: int) -> float:
    """Return the median elements a second of one variant, end to end."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        functions.sum(data, variant=variant, device="sim")
        times.append(time.perf_counter() - start)
    return data.size / statistics.median(times)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py simulator", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--n", type=int, default=1 << 22, help="elements (default 2^22)")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of the simulator (default 1)")
    options = parser.parse_args(argv)
    os.environ["GPUREDUCE_SIM_THREADS"] = str(options.threads)
    data = (np.random.default_rng(1).random(options.n) * 1000).astype(options.dtype)
    for name in (*(record.name for record in variants("reduction") if "sim" in record.backends), AUTO):
        rate = elements_per_second(name, data, options.repeats)
        print(f"{name:13} {rate / 1e6:9.1f} million elements/s", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
