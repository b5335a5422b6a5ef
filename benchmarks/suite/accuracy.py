"""How exact float32 sums are beside NumPy's: ``python benchmarks/run.py accuracy --out FILE``.

Relative errors against the exact sum (math.fsum), the largest over a few random draws. They depend on the
launch plan and not on the device, so that the simulator gives the same figures.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator

import numpy as np

from gpureduce._bench import environment, files
from gpureduce._device.variants import variants as all_variants
from gpureduce._reduce import functions

CASES = ("uniform", "lognormal", "alternating", "ones", "ascending", "descending")


def draw(case: str, n: int, seed: int) -> np.ndarray:
    """Return `n` float32 of a named kind; "ones" is always 2^25 of them, more than float32 can count."""
    rng = np.random.default_rng(seed)
    if case == "ones":
        return np.ones(1 << 25, np.float32)
    if case == "lognormal":
        return rng.lognormal(0.0, 4.0, n).astype(np.float32)
    values = rng.random(n, dtype=np.float32)
    if case == "alternating":  # neighbours cancel but for a thousandth
        values[1::2] = -values[0 : 2 * (n // 2) : 2] * np.float32(0.999)
    elif case == "ascending":
        values.sort()
    elif case == "descending":
        values = np.sort(values)[::-1].copy()
    return values


def measure(n: int, draws: int, variants: list[str], device: str) -> Iterator[dict]:
    """Yield a row for each kind of data: the error of numpy.sum and of each variant."""
    for case in CASES:
        errors = dict.fromkeys(["numpy", *variants], 0.0)
        for seed in range(1 if case == "ones" else draws):
            array = draw(case, n, seed)
            exact = math.fsum(array)
            sums = {name: functions.sum(array, variant=name, device=device) for name in variants}
            for name, value in {"numpy": np.sum(array), **sums}.items():
                errors[name] = max(errors[name], abs(float(value) - exact) / abs(exact))
        yield {"case": case, "n": array.size, "relative_error": errors}


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py accuracy", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--n", type=int, default=(1 << 24) + 7, help="elements (default 2^24 + 7)")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    options = parser.parse_args(argv)
    device = environment.find_device(options.device)
    names = ["auto"] + [
        variant.name
        for variant in all_variants("reduction")
        if variant.role != "study" and not variant.float_atomics and variant.runs_on(device)
    ]
    record = environment.header(device)
    record["method"] = "largest relative error of a float32 sum over the draws; numpy.sum beside it"
    record["rows"] = []
    for row in measure(options.n, options.draws, names, options.device):
        record["rows"].append(row)
        print(f"{row['case']:12}", *(f"{name} {error:.1e}" for name, error in row["relative_error"].items()))
    files.write_result(options.out, record)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
