"""Checks random calls of group sums in several processes, and counts their groups and results.

    python tests/gpu/random_groups.py --calls 20000 --jobs 8 --device cuda --out groups.json

The calls are those of tests/segments/test_group_sums.py: twelve kinds of data, sums and means, compared with
integers and fractions, and once more with the rows in another order. `--first` is the number of the first.
"""

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gpureduce._bench import environment, files
from tests.segments.test_group_sums import check_call, drawn_call

CALLS = 100  # of a job


def checked(first: int, calls: int, device: str, end: float) -> Counter:
    """Check calls until a time; return the numbers of calls, of groups, of results and of wrong calls."""
    found: Counter = Counter()
    for number in range(first, first + calls):
        if time.time() > end:
            break
        groups = drawn_call(number)[4]
        try:
            found["results"] += check_call(number, device)
        except AssertionError as error:
            print(error, flush=True)
            found["wrong"] += 1
        found["calls"] += 1
        found["groups"] += groups
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3600, help="no call begins later")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="sim")
    parser.add_argument("--out", help="results file to write")
    options = parser.parse_args()
    end, total = time.time() + options.seconds, Counter(wrong=0)
    last = options.first + options.calls
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        jobs = [
            pool.submit(checked, first, min(CALLS, last - first), options.device, end)
            for first in range(options.first, last, CALLS)
        ]
        for number, job in enumerate(jobs):
            total += job.result()
            if number % 10 == 9:
                print(json.dumps(total), flush=True)
    row = {"first": options.first, **total, "wrong": total["wrong"]}
    print(json.dumps(row))
    if options.out:
        header = environment.header(environment.find_device(options.device))
        files.write_result(options.out, {**header, "rows": [row]})
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
