"""The simulator's counters of matrix multiplications compared with ncu's, as ncu_compare.py has reductions.

On a GPU machine ``python tests/gpu/ncu_products.py measure FOLDER`` runs every rung under ncu and writes
FOLDER/ncu_products_raw.json. Anywhere, ``python tests/gpu/ncu_products.py simulate ncu_products_raw.json
--out tests/data/ncu_products.json`` adds the simulator's column, and ``python tests/gpu/ncu_products.py table
tests/data/ncu_products.json`` prints the table of docs/reference/counters.md.
"""

import argparse
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import ncu_compare as ncu
import numpy as np

M, N, K = 512, 384, 128
SHAPE = (M, N, K)

# Of a kernel; sources have those of ncu_compare.SOURCE_METRICS, added up over instructions of one name.
METRICS = [
    *ncu.KERNEL_METRICS,
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum",
    "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum",
    "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_self.sum",
    "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_multicast.sum",
    "l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum",
]

# What the two sides are held against each other for, and the rungs of which machine code counts otherwise.
COMPARED = [
    "shared load wavefronts",
    "shared store wavefronts",
    "global load requests",
    "global load sectors",
    "ideal global sectors",
    "global store requests",
    "global store sectors",
    "barriers",
    "asynchronous copies",
    "copies by tensor map",
    "bytes by tensor map",
    "multiply-adds",
    "tensor multiply-adds",
]

# ---- on the GPU ----


def combinations() -> list[tuple[str, str]]:
    """Return every rung and dtype that is looked at: of each kind of elements one."""
    import gpureduce

    every = gpureduce.variants("matmul")
    own = [variant for variant in every if variant.role != "study" and "sim" in variant.backends]
    seen = [(variant.name, variant.dtypes[0]) for variant in own]
    return seen + [(v.name, d) for v in own for d in ("float64", "float16") if d in v.dtypes[1:]]


def operands(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the factors; the counters do not depend on them."""
    rng = np.random.default_rng(1)
    return rng.random((M, K)).astype(dtype), rng.random((K, N)).astype(dtype)


def program() -> None:
    """Multiply with every rung, for ncu to watch."""
    import gpureduce

    for variant, dtype in combinations():
        gpureduce.matmul(*operands(dtype), variant=variant, device="cuda")


def by_opcode(kernel: dict) -> dict[str, list[int]]:
    """Return the sums of the source metrics over the machine instructions of each name."""
    found: dict[str, list[int]] = {}
    for text, *values in kernel["sass"]:
        name = re.sub(r"^@!?U?P\w+\s+", "", text).split()[0].rstrip(";")
        found[name] = [a + b for a, b in zip(found.get(name, [0] * len(values)), values, strict=True)]
    return found


def measure(folder: Path) -> None:
    """Run the program under ncu."""
    folder.mkdir(parents=True, exist_ok=True)
    smi = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    version = subprocess.run(["ncu", "--version"], capture_output=True, text=True).stdout.strip()
    raw = {
        "device": subprocess.run(smi, capture_output=True, text=True).stdout.strip(),
        "ncu": version.splitlines()[-1],
        "date": ncu.datetime.date.today().isoformat(),
        "shape": SHAPE,
        "columns": ncu.SOURCE_METRICS,
    }
    source = ["--section", "SourceCounters", "--metrics", ",".join(ncu.known(METRICS))]
    raw["log"] = ncu.collect(folder / "products", [sys.executable, __file__, "program", "-"], *source)
    ncu.KERNEL_METRICS[:] = METRICS
    kernels = ncu.read(folder / "products.ncu-rep")
    raw["kernels"] = [{**kernel, "sass": by_opcode(kernel)} for kernel in kernels]
    (folder / "ncu_products_raw.json").write_text(json.dumps(raw))
    for kernel in kernels:
        print(kernel["name"], kernel["metrics"])


# ---- anywhere ----


def sass(kernels: list[dict], column: str, opcodes: str) -> int:
    """Return the sum of a source metric over the machine instructions whose names begin so."""
    place = ncu.SOURCE_METRICS.index(column)
    return sum(
        values[place] for each in kernels for name, values in each["sass"].items() if re.match(opcodes, name)
    )


def tensor_multiply_adds(kernels: list[dict]) -> int:
    """Return those of all instructions of tensor cores, by the shapes in their names."""
    total = 0
    for kernel in kernels:
        for name, (executed, *_) in kernel["sass"].items():
            found = re.match(r"(HG|H|D)MMA\.(?:(\d+)x(\d+)x|(16)(8))(\d+)\.?", name)
            if found:
                kind, *sizes = (each for each in found.groups() if each is not None)
                # HGMMA is issued by each of four warps.
                total += executed * math.prod(map(int, sizes)) // (4 if kind == "HG" else 1)
    return total


def hardware(kernels: list[dict]) -> dict:
    """Return ncu's side of the table for the launches of one product."""

    def metric(name: str) -> int:
        return int(sum(kernel["metrics"].get(name, 0) for kernel in kernels))

    engine = "l1tex__m_{}_bytes_mem_global_op_tma_{}.sum"
    fused = "smsp__sass_thread_inst_executed_op_{}fma_pred_on.sum"
    return {
        "shared load wavefronts": sass(kernels, "memory_l1_wavefronts_shared", "LDS"),
        "shared store wavefronts": sass(kernels, "memory_l1_wavefronts_shared", "STS"),
        "global load requests": metric("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
        "global load sectors": metric("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
        "ideal global sectors": sass(kernels, "memory_l2_theoretical_sectors_global_ideal", ""),
        "global store requests": metric("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
        "global store sectors": metric("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
        "barriers": sass(kernels, "inst_executed", r"BAR\."),
        "asynchronous copies": sass(kernels, "inst_executed", "LDGSTS"),
        "copies by tensor map": sass(kernels, "inst_executed", "UTMALDG|UTMASTG"),
        # What is sent to the two blocks of a cluster, both receive.
        "bytes by tensor map": metric(engine.format("xbar2l1tex_read", "ld_dest_self"))
        + metric(engine.format("xbar2l1tex_read", "ld_dest_multicast")) // 2
        + metric(engine.format("l1tex2xbar_write", "st")),
        "multiply-adds": metric(fused.format("f")) + metric(fused.format("d")),
        "tensor multiply-adds": tensor_multiply_adds(kernels),
    }


def simulated(variant: str, dtype: str) -> dict:
    """Return the simulator's side."""
    import gpureduce

    found = gpureduce.profile(operands(dtype), variant, races=False)
    totals = found.totals
    every = [each for kernel in found.kernels for each in kernel.instructions]

    def count(name: str, counter: str = "warp_instructions_predicated") -> int:
        return sum(getattr(each.counts, counter) for each in every if re.search(name, each.text))

    copies = r"cp\.async\.c[ag]\."
    return {
        "shared load wavefronts": totals.shared_load_wavefronts,
        "shared store wavefronts": totals.shared_store_wavefronts - count(copies, "shared_store_wavefronts"),
        "global load requests": totals.global_load_requests,
        "global load sectors": totals.global_load_sectors,
        "ideal global sectors": totals.global_ideal,
        "global store requests": totals.global_store_requests,
        "global store sectors": totals.global_store_sectors,
        "barriers": totals.barriers,
        "asynchronous copies": count(copies),
        "copies by tensor map": count(r"cp\.async\.bulk\.tensor"),
        "bytes by tensor map": totals.copied_bytes,
        "multiply-adds": totals.multiply_adds,
        "tensor multiply-adds": totals.tensor_multiply_adds,
    }


def chosen(variant: str, dtype: str) -> list[str]:
    """Return the names of the kernels of a product."""
    import gpureduce

    found = gpureduce.profile(operands(dtype), variant, races=False)
    return [kernel.name for kernel in found.kernels]


def launches_of(kernels: list[dict]) -> dict[tuple[str, str], list[dict]]:
    """Return the launches by rung and dtype, which are in the order of `combinations`."""
    found: dict[tuple[str, str], list[dict]] = {}
    wanted = iter(combinations())
    key = next(wanted)
    for kernel in kernels:
        while not belongs(kernel["name"], *key):
            key = next(wanted)
        found.setdefault(key, []).append(kernel)
    return found


def belongs(name: str, variant: str, dtype: str) -> bool:
    """Return whether a kernel is one of a product by this rung."""
    short = {"float32": "f32", "float64": "f64", "float16": "f16"}[dtype]
    parts = name.split("_")
    return parts[0] == variant and (short in parts or not {"f32", "f64", "f16"} & set(parts))


def table(results: dict) -> str:
    """Return the figures as a table: one where both sides agree exactly, else hardware / simulator."""

    def cell(row: dict, name: str) -> str:
        both = row["hardware"][name], row["simulator"][name]
        return f"{both[0]:,}" if both[0] == both[1] else f"{both[0]:,} / {both[1]:,}"

    lines = [f"| rung | dtype | {' | '.join(COMPARED)} |", f"|---|---|{'--:|' * len(COMPARED)}"]
    for row in results["rows"]:
        cells = " | ".join(cell(row, name) for name in COMPARED)
        lines.append(f"| {row['variant']} | {row['dtype']} | {cells} |")
    return "\n".join(lines)


def simulate(raw: dict, out: str) -> None:
    """Put both sides into the results file."""
    head = {key: raw[key] for key in ("device", "ncu", "date", "shape")}
    rows = []
    for (variant, dtype), kernels in launches_of(raw["kernels"]).items():
        row = {"variant": variant, "dtype": dtype, "kernels": [kernel["name"] for kernel in kernels]}
        rows.append({**row, "hardware": hardware(kernels), "simulator": simulated(variant, dtype)})
    ncu.write(out, head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=["measure", "program", "simulate", "table"])
    parser.add_argument("path")
    parser.add_argument("--out")
    options = parser.parse_args()
    if options.mode == "program":
        program()
    elif options.mode == "measure":
        measure(Path(options.path))
    elif options.mode == "table":
        print(table(json.loads(Path(options.path).read_text())))
    else:
        simulate(json.loads(Path(options.path).read_text()), options.out)


if __name__ == "__main__":
    main()
