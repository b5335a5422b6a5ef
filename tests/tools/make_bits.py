"""Measures the bits that `test_bits` compares with; run it on a GPU whenever a rung is new or changed.

python tests/tools/make_bits.py --device=cuda --out tests/data/gpu_bits.json
"""

import argparse
import datetime
import json
import sys
from pathlib import Path

import gpureduce
from gpureduce._bench import environment

sys.path.append(str(Path(__file__).resolve().parents[2]))
from tests.support import bit_patterns


def header(device):
    record = environment.find_device(device)
    return {
        "made_by": "tests/tools/make_bits.py",
        "date": datetime.date.today().isoformat(),
        "package": gpureduce.__version__,
        "device_kind": record.kind,
        "device": record.name,
        "compute_capability": list(record.compute_capability),
        "driver": record.driver_version,
        "toolkit": environment.toolkit_version(),
        "sizes": list(bit_patterns.SIZES),
    }


def measure(device):
    entries = {}
    for variant, dtype, block, grid in bit_patterns.combinations():
        launches = entries.setdefault(variant.name, {}).setdefault(dtype, {})
        launches[bit_patterns.launch_name(block, grid)] = bit_patterns.bits(
            variant, dtype, block, grid, device
        )
    return entries


def measure_operators(device):
    entries = {}
    for variant, op, dtype in bit_patterns.operator_combinations():
        ops = entries.setdefault(variant.name, {})
        ops.setdefault(op, {})[dtype] = bit_patterns.bits(variant, dtype, None, None, device, op)
    return entries


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "data" / "gpu_bits.json")
    args = parser.parse_args()
    record = header(args.device)
    if record["device_kind"] != "cuda":
        print("note: these are no GPU bits; test_bits refuses the file", file=sys.stderr)
    measured = {
        "header": record,
        "bits": measure(args.device),
        "operators": measure_operators(args.device),
    }
    args.out.write_text(json.dumps(measured, indent=1) + "\n")
    print(f"{args.out}: {record['device']}, {record['toolkit']}")


if __name__ == "__main__":
    main()
