"""What counters and the race check cost the simulator: ``python benchmarks/run.py instrument``.

Plain runs and profiles take turns, on one CPU thread, and the fastest of each counts. CPU time of the process
is measured, so that other work on the machine disturbs little.
"""

from __future__ import annotations

import argparse
import datetime
import os
import time

import numpy as np

from gpureduce._bench import environment, files
from gpureduce._profiles.variant import profile
from gpureduce._reduce import functions
from gpureduce._version import __version__


def seconds(function) -> float:
    """Return the CPU time of one call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def slow_down(variant: str, data: np.ndarray, repeats: int) -> dict:
    """Return the best times of a plain sum, of counters alone and of counters with the race check."""
    runs = {
        "plain": lambda: functions.sum(data, variant=variant, device="sim"),
        "counters": lambda: profile(data, variant, races=False),
        "counters and races": lambda: profile(data, variant),
    }
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(repeats):
        for name, run in runs.items():
            best[name] = min(best[name], seconds(run))
    return best


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py instrument", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--n", type=int, default=1 << 20, help="elements (default 2^20)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--variants", nargs="+", default=["v0", "v2", "v7", "v8"])
    parser.add_argument("--output", type=files.writable_path, help="results file to write (default: none)")
    options = parser.parse_args(argv)
    os.environ["GPUREDUCE_SIM_THREADS"] = "1"
    data = np.random.default_rng(1).random(options.n).astype(np.float32)
    rows = []
    for variant in options.variants:
        best = slow_down(variant, data, options.repeats)
        ratios = {name: round(best[name] / best["plain"], 2) for name in best}
        ms = {name: round(1e3 * best[name], 2) for name in best}
        rows.append({"variant": variant, "dtype": "float32", "n": options.n, "ms": ms, "ratio": ratios})
        print(
            f"{variant:13} plain {ms['plain']:8.1f} ms; counters {ratios['counters']:.2f}x; "
            f"with race check {ratios['counters and races']:.2f}x"
        )
    record = {
        "cpu": environment.cpu_name(),
        "gpureduce": __version__,
        "date": datetime.date.today().isoformat(),
        "method": f"CPU time of the process, one thread, best of {options.repeats}, runs taking turns",
        "rows": rows,
    }
    files.write_result(options.output, record)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
