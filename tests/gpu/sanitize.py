"""Runs every variant under the four tools of compute-sanitizer: ``python tests/gpu/sanitize.py --out FILE``.

Expects no finding, except that racecheck must report the study rungs: they race on purpose, and a run in
which it does not see them proves nothing about the others.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import gpureduce
from gpureduce.bench import environment

TOOLS = {
    "memcheck": ["--leak-check", "full"],
    "racecheck": ["--racecheck-report", "all"],
    "initcheck": [],
    "synccheck": [],
}
SUMMARY = re.compile(r"(?:ERROR|RACECHECK|LEAK) SUMMARY: (\d+)")


def findings(tool: str, variants: list[str], *options: str) -> dict:
    """Run one tool over some variants; return its number of findings and the exit code of the program."""
    program = [sys.executable, str(Path(__file__).with_name("exercise.py")), *variants, *options]
    command = ["compute-sanitizer", "--tool", tool, *TOOLS[tool], "--print-limit", "10", *program]
    done = subprocess.run(command, capture_output=True, text=True)
    counts = [int(count) for count in SUMMARY.findall(done.stdout + done.stderr)]
    if not counts:
        sys.exit(f"{tool} printed no summary:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    if sum(counts) and tool != "racecheck":
        print(done.stdout[:3000])
    return {"tool": tool, "variants": variants, "findings": sum(counts), "wrong_sums": done.returncode}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", help="results file to write")
    parser.add_argument("--variants", nargs="+", help="only these (default: all)")
    parser.add_argument("--short", action="store_true", help="one dtype, block size and length only")
    options = parser.parse_args()
    own = [variant for variant in gpureduce.variants("reduction") if variant.block_sizes]  # not a library's
    chosen = [v for v in own if not options.variants or v.name in options.variants]
    clean = [variant.name for variant in chosen if variant.role != "study"]
    study = [variant.name for variant in chosen if variant.role == "study"]
    short = ["--short"] if options.short else []
    rows, failed = [], False
    for tool in TOOLS:
        row = findings(tool, clean, *short)
        failed |= row["findings"] > 0 or row["wrong_sums"] != 0
        rows.append(row)
        print(json.dumps(row), flush=True)
    for name in study:
        row = findings("racecheck", [name], "--short")  # one launch alone has thousands of hazards
        failed |= row["findings"] == 0
        rows.append(row)
        print(json.dumps(row), flush=True)
    version = subprocess.run(["compute-sanitizer", "--version"], capture_output=True, text=True).stdout
    record = environment.header(environment.find_device("cuda:0"))
    record["compute_sanitizer"] = version.strip().splitlines()[-1]
    record["rows"] = rows
    environment.write(options.out, record)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
