"""Asks a GPU what its tensor cores make of tests/ptxsim/tensor_cases.h: tensor_cores.py FOLDER [--found]

Writes tests/ptxsim/tensor_results.def, to which test_matrix holds the simulator. FOLDER gets all that the
probe found, with the results of some cases as they are; --found takes what it found before.
"""

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


def main():
    folder = Path(sys.argv[1])
    found = json.loads((folder / "tensor_cores.json").read_text()) if "--found" in sys.argv else probe(folder)
    (TESTS / "tensor_results.def").write_text(table(found))


if __name__ == "__main__":
    main()
