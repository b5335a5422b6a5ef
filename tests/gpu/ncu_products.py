"""The simulator's counters of products of matrices beside those of ncu, as ncu_compare.py has reductions.

On a GPU machine ``python tests/gpu/ncu_products.py measure FOLDER`` runs every rung under ncu and writes
FOLDER/ncu_products_raw.json. Anywhere, ``python tests/gpu/ncu_products.py simulate ncu_products_raw.json
--out tests/data/ncu_products.json`` adds the simulator's column, and ``python tests/gpu/ncu_products.py table
tests/data/ncu_products.json`` prints the table of docs/instrument.md.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import ncu_compare as ncu
import numpy as np

M, N, K = 512, 384, 128
SHAPE = (M, N, K)

METRICS = [
    *ncu.KERNEL_METRICS,
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
    "smsp__inst_executed_op_ldgsts.sum",
    "smsp__inst_executed_op_ldsm.sum",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum",
    "sm__inst_executed_pipe_tensor.sum",
    "sm__ops_path_tensor_src_tf32_dst_fp32.sum",
    "sm__ops_path_tensor_src_fp16_dst_fp32.sum",
    "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
    "sm__ops_path_tensor_src_fp64.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum",
    "lts__t_sectors_srcunit_tex_op_write.sum",
    "l1tex__m_xbar2l1tex_read_sectors_mem_lg_op_ld.sum",
    "l1tex__m_xbar2l1tex_read_bytes.sum",
    "l1tex__m_l1tex2xbar_write_bytes.sum",
    "smsp__inst_executed_op_tma.sum",
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=["measure", "program"])
    parser.add_argument("path")
    options = parser.parse_args()
    if options.mode == "program":
        program()
    else:
        measure(Path(options.path))


if __name__ == "__main__":
    main()
