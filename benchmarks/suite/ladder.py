"""Times every variant, for the committed results: ``python benchmarks/run.py ladder --out FILE``.

What is timed, and how, `gpureduce.bench` says.
"""

from __future__ import annotations

import argparse

from gpureduce._bench import files
from gpureduce._bench.runner import bench


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/run.py ladder", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--n", type=int, nargs="+", default=[1 << 25], help="elements (default 2^25)")
    parser.add_argument("--dtypes", nargs="+", default=["float32"])
    parser.add_argument("--block-size", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--out", type=files.writable_path, help="results file to write")
    options = parser.parse_args(argv)

    result = bench(
        options.n,
        dtypes=options.dtypes,
        device=options.device,
        repeats=options.repeats,
        block_size=options.block_size,
    )
    print(result)
    files.write_result(options.out, {**result.head, "rows": list(result.rows)})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
