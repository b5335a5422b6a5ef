"""Asks a GPU what its tensor cores make of tests/ptxsim/tensor_cases.h: tensor_cores.py FOLDER [--found]

Writes tensor_results.def and tensor_layouts.def of tests/ptxsim, to which the simulator is held. FOLDER gets
all that the probe found, with the results of some cases as they are; --found takes what it found before.
"""

import array
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
TESTS = HERE.parent / "ptxsim"
CHUNKS = {"mma": 16, "wgmma": 8}


def probe(folder):
    program = folder / "tensor_cores"
    flags = ["-gencode", "arch=compute_90a,code=sm_90a", "-std=c++17", "-O2", "-I", str(TESTS)]
    nvcc = os.environ.get("NVCC", "nvcc")
    subprocess.run([nvcc, *flags, str(HERE / "tensor_cores.cu"), "-o", str(program)], check=True)
    subprocess.run([str(program), str(folder)], check=True)
    return json.loads((folder / "tensor_cores.json").read_text())


def table(found):
    """Rows of a form's name and the hashes of its first chunks of cases."""
    lines = [
        f"/* Hashes of what an {found['device']} made of tensor_cases.h, by tests/gpu/tensor_cores.py. */"
    ]
    for form in found["forms"]:
        kept = CHUNKS[form["form"].partition(".")[0]]
        hashes = [f"0x{one}" for one in form["hashes"][:kept]]
        lines += [f'FORM("{form["form"]}",']
        lines += [f"     {', '.join(hashes[i : i + 4])}," for i in range(0, kept, 4)]
        lines[-1] = lines[-1][:-1] + ")"
    return "\n".join(lines) + "\n"


def hashed(values):
    """tc_hash of tensor_cases.h, of one value after the other."""
    total = 0
    for value in values:
        total = ((total ^ value) * 0x100000001B3 + (total >> 47)) & 0xFFFFFFFFFFFFFFFF
    return total


def layouts(found, folder):
    """Rows of a layout and the hash of the numbers that test_wgmma has where the GPU found them."""
    places = array.array("I", (folder / "tensor_cores_layouts.bin").read_bytes())
    lines = [f"/* Where an {found['device']} finds operands of wgmma, by tests/gpu/tensor_cores.py. */"]
    at = 0
    for probe in found["layouts"]:
        count = probe["rows"] * probe["columns"]
        for layout in probe["layouts"]:
            numbers = (8 + ((place * 2654435761 & 0xFFFFFFFF) >> 29) for place in places[at : at + count])
            values = ", ".join(str(value) for value in layout)
            lines.append(f'LAYOUT("{probe["operand"]}", {values}, 0x{hashed(numbers):016x})')
            at += count
    return "\n".join(lines) + "\n"


def main():
    folder = Path(sys.argv[1])
    found = json.loads((folder / "tensor_cores.json").read_text()) if "--found" in sys.argv else probe(folder)
    (TESTS / "tensor_results.def").write_text(table(found))
    (TESTS / "tensor_layouts.def").write_text(layouts(found, folder))


if __name__ == "__main__":
    main()
