"""How busy the parts of the memory are in the first pass of each rung, by ncu's counters.

On a GPU machine: ``python tests/gpu/ncu_pipes.py --out benchmarks/results/pipes_h200.json``
"""

import argparse
import datetime
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from ncu_compare import collect, known, ncu_module

import gpureduce
from gpureduce._bench import environment, files

N = 1 << 25
ENDING = ".avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput"
PERCENT = [
    MEMORY,
    "dram__throughput",
    "lts__throughput",
    "l1tex__throughput",
    "sm__throughput",
    "sm__inst_issued",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared",
    "l1tex__data_pipe_lsu_wavefronts",
    "l1tex__lsuin_requests",
    "sm__inst_executed_pipe_lsu",
    "smsp__inst_executed_pipe_lsu",
]
AMOUNTS = [
    "gpu__time_duration.sum",
    "dram__bytes_read.sum",
    "smsp__inst_executed.sum",
    "sm__cycles_elapsed.avg",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts.sum",
]


def rungs():
    """Return the rungs that have kernels of their own."""
    return [
        variant.name
        for variant in gpureduce.variants("reduction")
        if variant.role == "rung" and variant.block_sizes
    ]


def watched():
    """Sum with every rung, for ncu to watch."""
    data = np.random.default_rng(1).random(N).astype(np.float32)
    for name in rungs():
        gpureduce.sum(data, variant=name, device="cuda")


def percentages(action):
    """Return every metric of a kernel that is a share of a peak, its parts included."""
    found = {}
    for name in action.metric_names():
        if name.endswith((ENDING, ENDING.replace("elapsed", "active"))):
            value = action.metric_by_name(name).as_double()
            if value is not None and np.isfinite(value):
                key = name.removesuffix(ENDING)
                found[key] = round(value, 2)
    return found


def rows_of(report):
    """Return a row for the first launch of each rung."""
    context = ncu_module().load_report(str(report))
    actions = [
        context.range_by_idx(r).action_by_idx(a)
        for r in range(context.num_ranges())
        for a in range(context.range_by_idx(r).num_actions())
    ]
    rows = {}
    for action in actions:
        name = next((rung for rung in rungs() if action.name().startswith(f"{rung}_sum")), None)
        if name is None or name in rows:
            continue
        amounts = {metric: action.metric_by_name(metric) for metric in AMOUNTS}
        rows[name] = {
            "variant": name,
            "kernel": action.name(),
            "n": N,
            **{metric: amount.as_double() for metric, amount in amounts.items() if amount is not None},
            "percent": percentages(action),
        }
    return [rows[name] for name in rungs() if name in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out")
    parser.add_argument("--watched", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.watched:
        watched()
        return
    metrics = [name + ENDING for name in known(PERCENT)] + known(AMOUNTS)
    child = [sys.executable, str(Path(__file__).resolve()), "--watched"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "pipes")
        wanted = ",".join([*metrics, f"breakdown:{MEMORY}{ENDING}"])
        log = collect(report, child, "--section", "SpeedOfLight", "--metrics", wanted, limit=300)
        rows = rows_of(report.with_suffix(".ncu-rep"))
    if len(rows) != len(rungs()):
        raise SystemExit(f"ncu saw {len(rows)} of {len(rungs())} rungs:\n{log}")
    version = subprocess.run(["ncu", "--version"], capture_output=True, text=True).stdout.strip()
    record = environment.header(environment.find_device("cuda"))
    record["ncu"] = version.splitlines()[-1]
    record["date"] = datetime.date.today().isoformat()
    record["method"] = (
        "first pass of a float32 sum, caches flushed, clocks as they are; percent: of the peak rate, over "
        "the whole time of the kernel unless a name ends in sustained_active"
    )
    record["rows"] = rows
    files.write_result(options.out, record)
    for row in rows:
        shares = {name: row["percent"].get(name) for name in PERCENT[:7]}
        print(row["variant"], row.get("gpu__time_duration.sum"), shares)


if __name__ == "__main__":
    main()
