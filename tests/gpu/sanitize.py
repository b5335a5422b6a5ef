"""Runs every variant under the four tools of compute-sanitizer: ``python tests/gpu/sanitize.py --out FILE``.

With ``--ladder matmul`` those that multiply, with ``--ladder conv`` those that convolve, with
``--ladder exact`` those that sum exactly, with ``--ladder groups`` those that sum groups, with
``--ladder scan`` those that scan, and `auto`, in ``--jobs`` processes side by side; with ``--ladder calls``
what has no ladder.

Expects no finding, except that racecheck must report the studies that race on purpose: a run in which it does
not see them proves nothing about the others.
"""

import argparse
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from exercise_calls import GROUPS

import gpureduce
from gpureduce._bench import environment, files

# Not for leaks, for which test_leaks.py looks: a device has a byte as long as the process lives.
TOOLS = {
    "memcheck": [],
    "racecheck": ["--racecheck-report", "all"],
    "initcheck": [],
    "synccheck": [],
}
PROGRAMS = {
    "reduction": "exercise.py",
    "matmul": "exercise_products.py",
    "conv": "exercise_convolutions.py",
    "exact": "exercise_exact.py",
    "groups": "exercise_groups.py",
    "scan": "exercise_scans.py",
    "calls": "exercise_calls.py",
}
# initcheck does not see what the copy engine stores.
OPTIONS = {(ladder, "initcheck"): ["--by-threads"] for ladder in ("matmul", "conv", "calls")}
TOGETHER = 5  # variants of one process, but of racecheck, which is slow
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)")


def findings(ladder: str, tool: str, variants: list[str], *options: str) -> dict:
    """Run one tool over some variants; return its number of findings and the exit code of the program."""
    options = [*OPTIONS.get((ladder, tool), []), *options]
    program = [sys.executable, str(Path(__file__).with_name(PROGRAMS[ladder])), *variants, *options]
    command = ["compute-sanitizer", "--tool", tool, *TOOLS[tool], "--print-limit", "10", *program]
    done = subprocess.run(command, capture_output=True, text=True)
    counts = [int(count) for count in SUMMARY.findall(done.stdout + done.stderr)]
    row = {"tool": tool, "variants": variants, "findings": sum(counts), "wrong_sums": done.returncode}
    text = done.stdout + done.stderr
    if not counts:
        row["findings"] = None
        print(f"{tool} printed no summary:\n{text[-2000:]}")
    elif (sum(counts) and not set(variants) & set(names_of(ladder)[0])) or done.returncode:
        print(text[:3000])
    print(json.dumps(row), flush=True)
    return row


def groups(tool: str, names: list[str], jobs: int) -> list[list[str]]:
    """Return the variants of each process."""
    if jobs == 1:
        return [names]
    step = 1 if tool == "racecheck" else TOGETHER
    return [names[i : i + step] for i in range(0, len(names), step)]


def names_of(ladder: str) -> tuple[list[str], list[str]]:
    """Return what races on purpose, and what must not."""
    if ladder == "calls":
        return [], list(GROUPS)
    own = [v for v in gpureduce.variants(ladder) if v.block_sizes]  # not a library's
    racy = [variant.name for variant in own if "racy" in variant.title]
    clean = [variant.name for variant in own if variant.role != "study"]
    return racy, clean + (["auto"] if ladder != "reduction" else [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", help="results file to write")
    parser.add_argument("--ladder", choices=PROGRAMS, default="reduction")
    parser.add_argument("--variants", nargs="+", help="only these (default: all)")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=[*TOOLS], help="only these")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--short", action="store_true", help="few dtypes and sizes only")
    options = parser.parse_args()
    racy, clean = names_of(options.ladder)
    if options.variants:
        racy, clean = ([name for name in names if name in options.variants] for names in (racy, clean))
    short = ["--short"] if options.short else []
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = [
            # racecheck would take minutes for all dtypes of the default.
            pool.submit(findings, options.ladder, tool, group, *(["--short"] if group == ["auto"] else short))
            for tool in sorted(options.tools, key="racecheck".__ne__)  # the slow one first
            for group in groups(tool, clean, options.jobs)
        ]
        jobs += [
            # One launch alone has thousands of hazards.
            pool.submit(findings, options.ladder, "racecheck", [name], "--short")
            for name in racy
        ]
        rows = [job.result() for job in jobs]
    failed = any(
        row["findings"] == 0 if row["variants"][0] in racy else row["findings"] != 0 or row["wrong_sums"]
        for row in rows
    )
    version = subprocess.run(["compute-sanitizer", "--version"], capture_output=True, text=True).stdout
    record = environment.header(environment.find_device("cuda:0"))
    record["compute_sanitizer"] = version.strip().splitlines()[-1]
    record["rows"] = rows
    files.write_result(options.out, record)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
