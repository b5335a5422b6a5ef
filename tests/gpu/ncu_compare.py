"""The simulator's counters compared with ncu's.

On a GPU machine ``python tests/gpu/ncu_compare.py measure FOLDER`` runs the rungs and the patterns of
tests/support/shared_patterns.py under ncu and writes FOLDER/ncu_raw.json. Anywhere,
``python tests/gpu/ncu_compare.py simulate ncu_raw.json --out tests/data/ncu_h200.json --patterns
tests/data/shared_wavefronts_h200.json`` adds the simulator's column, and
``python tests/gpu/ncu_compare.py table tests/data/ncu_h200.json`` prints the table of
docs/reference/counters.md.
"""

import argparse
import array
import datetime
import glob
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1]))
from tests.support import shared_patterns  # noqa: E402

RUNGS = [f"v{i}" for i in range(9)]
DTYPES = ["float32", "float64"]
SIZES = [20, 25]

# Of the whole kernel, by the hardware's counters.
KERNEL_METRICS = [
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
]
AGAIN_METRICS = [f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum" for op in ("ld", "st")]
# Of each machine instruction, in the section SourceCounters.
SOURCE_METRICS = [
    "inst_executed",
    "thread_inst_executed",
    "thread_inst_executed_true",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "memory_l1_tag_requests_global",
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
]

# What the two sides are held against each other for.
COMPARED = [
    "shared wavefronts",
    "ideal shared wavefronts",
    "global load requests",
    "global store requests",
    "global load sectors",
    "global store sectors",
    "ideal global sectors",
    "barriers",
    "shared loads",
]

# ---- on the GPU ----


def known(metrics: list[str]) -> list[str]:
    """Return those of the metrics that ncu has for this device."""
    listed = subprocess.run(
        ["ncu", "--query-metrics", "--query-metrics-mode", "base"], capture_output=True, text=True
    )
    names = {line.split()[0] for line in listed.stdout.splitlines() if line.split()}
    return [metric for metric in metrics if metric.split(".")[0] in names] if names else metrics


def collect(report: Path, command: list[str], *options: str, limit: int = 100) -> str:
    """Run a program under ncu."""
    whole = [
        "ncu",
        "--force-overwrite",
        "--export",
        str(report),
        "--target-processes",
        "all",
        "--clock-control",
        "none",
        *options,
        *command,
    ]
    done = subprocess.run(whole, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit)
    return done.stdout[-1500:]


def ncu_module():
    """Import NVIDIA's reader of ncu's reports."""
    for pattern in ("/usr/local/cuda*/nsight-compute*", "/opt/nvidia/nsight-compute/*"):
        for folder in sorted(glob.glob(f"{pattern}/extras/python"), reverse=True):
            sys.path.insert(0, folder)
    import ncu_report

    return ncu_report


def per_instruction(action, name: str) -> dict[int, int]:
    """Return the values of a source metric by address of the machine instruction."""
    metric = action.metric_by_name(name)
    if metric is None or metric.num_instances() == 0:
        return {}
    places = metric.correlation_ids()
    return {places.as_uint64(i): metric.as_uint64(i) for i in range(metric.num_instances())}


def read(report: Path) -> list[dict]:
    """Return what a report says of each kernel: metrics, and a row for each machine instruction."""
    context = ncu_module().load_report(str(report))
    kernels = []
    for r in range(context.num_ranges()):
        for a in range(context.range_by_idx(r).num_actions()):
            action = context.range_by_idx(r).action_by_idx(a)
            metrics = {}
            for name in [*KERNEL_METRICS, "launch__grid_size", "launch__block_size"]:
                metric = action.metric_by_name(name)
                if metric is not None:
                    metrics[name] = metric.as_double()
            columns = {name: per_instruction(action, name) for name in SOURCE_METRICS}
            places = sorted({place for column in columns.values() for place in column})
            sass = [
                [action.sass_by_pc(place).strip(), *(columns[name].get(place, 0) for name in SOURCE_METRICS)]
                for place in places
            ]
            kernels.append({"name": action.name(), "metrics": metrics, "sass": sass})
    return kernels


def measure(folder: Path, patterns_only: bool) -> None:
    """Run everything under ncu; each part is written as soon as it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    version = (
        subprocess.run(["ncu", "--version"], capture_output=True, text=True).stdout.strip().splitlines()[-1]
    )
    device = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
    ).stdout.strip()
    raw = {
        "ncu": version,
        "device": device,
        "date": datetime.date.today().isoformat(),
        "log": {},
        "kernels": {},
    }
    offsets = array.array("i")
    for width in shared_patterns.WIDTHS:
        for row in shared_patterns.patterns(width):
            offsets.extend(-1 if address is None else address for address in row)
    (folder / "patterns.bin").write_bytes(offsets.tobytes())
    program = folder / "shared_patterns"
    subprocess.run(
        ["nvcc", "-O3", "-std=c++17", "-arch=sm_90", str(HERE / "shared_patterns.cu"), "-o", str(program)],
        check=True,
    )
    source = ["--section", "SourceCounters", "--metrics", ",".join(known(KERNEL_METRICS))]
    again = ["--kernel-name", "regex:_again$", "--metrics", ",".join(AGAIN_METRICS)]
    patterns = [str(program), str(folder / "patterns.bin")]
    parts = [
        ("patterns", patterns, ["--kernel-name", "regex:^(loads|stores)$", *source]),
        ("again", patterns, again),
        *(
            (f"rungs_{log}", [sys.executable, str(HERE / "ncu_program.py"), str(log)], source)
            for log in SIZES
        ),
    ]
    for name, command, options in parts[: 2 if patterns_only else None]:
        try:
            raw["log"][name] = collect(folder / name, command, *options)
            raw["kernels"][name] = read(folder / f"{name}.ncu-rep")
        except Exception as error:  # the other parts are worth having
            raw["log"][name] = f"{raw['log'].get(name, '')}\n{type(error).__name__}: {error}"
        (folder / "ncu_raw.json").write_text(json.dumps(raw))


# ---- anywhere ----


def sass_sum(kernel: dict, column: str, opcode: str = "") -> int:
    """Return the sum of a source metric over the machine instructions that hold `opcode`."""
    index = 1 + SOURCE_METRICS.index(column)
    return sum(row[index] for row in kernel["sass"] if opcode in row[0])


def hardware(kernels: list[dict]) -> dict:
    """Return ncu's side of the table for the launches of one reduction."""

    def metric(name: str) -> int:
        return int(sum(kernel["metrics"].get(name, 0) for kernel in kernels))

    def sass(column: str, opcode: str = "") -> int:
        return sum(sass_sum(kernel, column, opcode) for kernel in kernels)

    return {
        "shared wavefronts": sass("memory_l1_wavefronts_shared"),
        "ideal shared wavefronts": sass("memory_l1_wavefronts_shared_ideal"),
        "global load requests": metric("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
        "global store requests": metric("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
        "global load sectors": metric("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
        "global store sectors": metric("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
        "ideal global sectors": sass("memory_l2_theoretical_sectors_global_ideal"),
        "barriers": sass("inst_executed", "BAR."),
        "shared loads": metric("smsp__inst_executed_op_shared_ld.sum"),
        "warp instructions": metric("smsp__inst_executed.sum"),
    }


def simulated(variant: str, dtype: str, n: int) -> dict:
    """Return the simulator's side."""
    import gpureduce

    data = np.random.default_rng(1).random(n).astype(dtype)
    found = gpureduce.profile(data, variant, races=False)
    totals = found.totals
    shared_loads = [
        each.counts
        for kernel in found.kernels
        for each in kernel.instructions
        if each.effect == "load" and "shared" in each.text
    ]
    return {
        "shared wavefronts": totals.shared_wavefronts,
        "ideal shared wavefronts": totals.shared_ideal,
        "global load requests": totals.global_load_requests,
        "global store requests": totals.global_store_requests,
        "global load sectors": totals.global_load_sectors,
        "global store sectors": totals.global_store_sectors,
        "ideal global sectors": totals.global_ideal,
        "barriers": totals.barriers,
        "shared loads": sum(counts.warp_instructions_predicated for counts in shared_loads),
        "shared loads, as branched": sum(counts.warp_instructions for counts in shared_loads),
        "warp instructions": totals.warp_instructions_predicated,
        "warp instructions, as branched": totals.warp_instructions,
    }


def launches_of(kernels: list[dict]) -> dict[tuple[str, str], list[dict]]:
    """Return the launches by rung and dtype: in the order of ncu_program.py, told apart by kernel name."""
    short = {"f32": "float32", "f64": "float64"}
    found: dict[tuple[str, str], list[dict]] = {}
    for kernel in kernels:
        parts = kernel["name"].split("_")
        if parts[0] in RUNGS:
            dtype = next(short[part] for part in parts if part in short)
            found.setdefault((parts[0], dtype), []).append(kernel)
    return found


def wavefront_rows(raw: dict) -> list[dict]:
    """Return the wavefronts of every pattern: counted, as ncu computes them, and ideal, of load and store."""
    again = iter(raw["kernels"]["again"])
    by_width = {width: {} for width in shared_patterns.WIDTHS}
    for kernel in raw["kernels"]["patterns"]:
        opcode = "LDS" if kernel["name"].startswith("loads") else "STS"
        of_patterns = [row for row in kernel["sass"] if opcode in row[0]]
        width = next(w for w, tag in ((16, ".128"), (8, ".64"), (4, "")) if tag in of_patterns[0][0])
        by_width[width][opcode] = of_patterns
    actual, ideal = (1 + SOURCE_METRICS.index(f"memory_l1_wavefronts_shared{end}") for end in ("", "_ideal"))
    rows = []
    for width in shared_patterns.WIDTHS:
        for k in range(64):
            row = {"width": width, "pattern": k}
            for name, opcode, metric in zip(("load", "store"), ("LDS", "STS"), AGAIN_METRICS, strict=True):
                of_pattern = by_width[width][opcode][k]
                row[name] = next(again)["metrics"][metric] / 256
                row[f"{name}_ncu"], row[f"{name}_ideal"] = of_pattern[actual], of_pattern[ideal]
            rows.append(row)
    return rows


def write(path: str, head: dict, rows: list[dict]) -> None:
    """Write a results file, one row a line."""
    lines = ",\n".join("    " + json.dumps(row) for row in rows)
    text = json.dumps({**head, "rows": []}, indent=2).replace('"rows": []', '"rows": [\n' + lines + "\n  ]")
    Path(path).write_text(text + "\n")


def table(results: dict) -> str:
    """Return the figures as a table: one where both sides agree exactly, else hardware / simulator."""

    def cell(row: dict, name: str) -> str:
        both = row["hardware"][name], row["simulator"][name]
        return f"{both[0]:,}" if both[0] == both[1] else f"{both[0]:,} / {both[1]:,}"

    lines = [
        f"| rung | dtype | n | {' | '.join(COMPARED)} |",
        f"|---|---|--:|{'--:|' * len(COMPARED)}",
    ]
    for row in results["rows"]:
        cells = " | ".join(cell(row, name) for name in COMPARED)
        lines.append(f"| {row['variant']} | {row['dtype']} | 2^{row['n'].bit_length() - 1} | {cells} |")
    return "\n".join(lines)


def simulate(raw: dict, out: str, patterns: str) -> None:
    """Put both sides into the results files."""
    head = {key: raw[key] for key in ("device", "ncu", "date")}
    write(patterns, head, wavefront_rows(raw))
    rows = []
    for log in SIZES:
        for (variant, dtype), kernels in launches_of(raw["kernels"].get(f"rungs_{log}", [])).items():
            ours = simulated(variant, dtype, 1 << log)
            row = {"variant": variant, "dtype": dtype, "n": 1 << log, "launches": len(kernels)}
            rows.append({**row, "hardware": hardware(kernels), "simulator": ours})
            print(json.dumps(rows[-1]), flush=True)
    write(out, head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=["measure", "simulate", "table"])
    parser.add_argument("path")
    parser.add_argument("--patterns-only", action="store_true", help="with measure: leave the rungs out")
    parser.add_argument("--out")
    parser.add_argument("--patterns")
    options = parser.parse_args()
    if options.mode == "measure":
        measure(Path(options.path), options.patterns_only)
    elif options.mode == "table":
        print(table(json.loads(Path(options.path).read_text())))
    else:
        simulate(json.loads(Path(options.path).read_text()), options.out, options.patterns)


if __name__ == "__main__":
    main()
