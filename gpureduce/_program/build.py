"""Compiles CUDA programs, with the library of the simulator in the place of CUDA's runtime."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from gpureduce._custom import nvcc
from gpureduce._custom.nvrtc import CompileError

RUNTIME = Path(__file__).resolve().with_name("libcudart.so.13")
# PTX alone, of the simulator's compute capability; a device linker needs machine code, too.
_TARGET = ("-gencode", "arch=compute_90,code=compute_90")
_LINKED_TARGET = ("-gencode", "arch=compute_90,code=[compute_90,sm_90]")
SUFFIXES = (".cu", ".cpp", ".cc", ".cxx", ".c")
_MISSING = (
    "nvcc and g++ are needed to compile a program, and {what}; install the CUDA toolkit 13, or: "
    "pip install 'gpureduce[nvcc]'"
)


def compiler() -> str:
    """Return the path of nvcc; ImportError if it, or the host's compiler, is missing."""
    found = nvcc.find()
    if found is None:
        raise ImportError(_MISSING.format(what="one or both are missing"))
    return found


def compile_program(source: str, program: str, options: Sequence[str], simulated: bool) -> str:
    """Compile a source file to a program; return what the compiler says besides.

    A simulated program is linked with the simulator's library alone, so that NVIDIA's is not needed.
    """
    chosen = any(re.match(r"-(arch|gencode|-gpu-architecture|-generate-code)", each) for each in options)
    linked = any(
        re.match(r"-?-(rdc|relocatable-device-code)=true|-?-(dc|device-c)$", each) for each in options
    )
    target = () if chosen or not simulated else _LINKED_TARGET if linked else _TARGET
    quiet = ("-lineinfo", "-Wno-deprecated-gpu-targets")
    command = [compiler(), *quiet, *target, *options, source, "-o", program]
    if simulated:
        kind = "shared" if linked else "none"  # nvcc links device code only if it links a runtime
        libraries = ["-cudart", kind, "-Xlinker", "--no-as-needed", "-Xlinker", str(RUNTIME)]
        command += ["-Xfatbin=-compress=false", *libraries]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    said = (done.stdout + done.stderr).strip()
    if done.returncode:
        raise CompileError(f"{os.path.basename(source)}: nvcc rejects it\n{said}")
    return said


def search_path(environment: dict[str, str]) -> str:
    """Return the LD_LIBRARY_PATH by which the dynamic linker finds the simulator's library first."""
    before = environment.get("LD_LIBRARY_PATH")
    return os.pathsep.join([str(RUNTIME.parent), *([before] if before else [])])
