#!/usr/bin/env python3
"""Installs PyTorch without NVIDIA's large libraries: python tests/tools/install_torch.py [PACKAGES].

The wheel of PyTorch on PyPI is linked with cuBLAS, cuDNN, NCCL and others, which take 3 GB, and requires
Triton, which takes 1 GB. Without a GPU nothing calls them, but the loader needs each library and each symbol.
In place of each missing library, this script writes a stub into the folder of PyTorch's own libraries. A call
of a function of a stub ends the process. Where PyTorch cannot be imported with stubs, its requirements are
installed instead. PACKAGES are installed, too.
"""

import importlib.metadata
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement

TOOLKIT = "cuda-toolkit"
KEPT = {"cudart", "cupti", "nvrtc"}  # of the toolkit: PyTorch asks cudart for devices
LEFT_OUT = re.compile("nvidia-|cuda-bindings|triton")
# The driver's library is opened by name where it is needed.
NVIDIA = re.compile(r"lib(?!cuda\.)(cu|nv|nccl)\w*\.so")
STUB = """
#include <stdio.h>
#include <stdlib.h>
#define STUB(name) void name(void) { fputs(#name " of the stub " LIBRARY " is called\\n", stderr); abort(); }
"""


def output(*command: str | Path) -> str:
    """Return what a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def pip_install(*options: str) -> None:
    """Install packages into this environment."""
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-compile", *options], check=True)


def kept(requirements: Iterable[str]) -> list[str]:
    """Return the requirements of PyTorch less Triton and NVIDIA's large libraries."""
    found = []
    for text in requirements:
        requirement = Requirement(text)
        if LEFT_OUT.match(requirement.name) or not (
            requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        ):
            continue
        if requirement.name == TOOLKIT:
            requirement.extras &= KEPT
        requirement.marker = None
        found.append(str(requirement))
    return found


def missing_symbols(site_packages: Path) -> dict[str, dict[str, set[str]]]:
    """Return the symbols that PyTorch's libraries import, by missing library and version ("": none)."""
    libraries = sorted((site_packages / "torch" / "lib").glob("lib*.so*"))
    present = {path.name for path in [*libraries, *(site_packages / "nvidia").rglob("lib*.so*")]}
    missing: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in libraries:
        headers = output("objdump", "-p", path)
        needed = [
            name
            for name in re.findall(r"NEEDED +(\S+)", headers)
            if NVIDIA.match(name) and name not in present
        ]
        library_of = {
            version: library
            for library, lines in re.findall(r"required from (\S+):\n((?:    0x.*\n)+)", headers)
            for version in re.findall(r"(\S+)\n", lines)
        }
        for library in needed:
            missing[library][""] |= set()
        for line in output("nm", "-Du", path).splitlines():
            symbol, _, version = line.split()[-1].partition("@")
            for library in needed:
                # The name of an unversioned symbol begins like the name of its library.
                stem = library.removeprefix("lib").partition(".")[0].lower()
                if library_of.get(version) == library or (not version and symbol.lower().startswith(stem)):
                    missing[library][version].add(symbol)
    return missing


def write_stub(library: Path, symbols: dict[str, set[str]]) -> None:
    """Compile a library that exports symbols, by version."""
    with tempfile.TemporaryDirectory() as folder:
        source, versions = Path(folder, "stub.c"), Path(folder, "versions")
        names = sorted(set().union(*symbols.values()))
        source.write_text(STUB + "".join(f"STUB({name})\n" for name in names))
        versions.write_text("".join(f"{v} {{ {'; '.join(sorted(n))}; }};\n" for v, n in symbols.items() if v))
        options = ["-shared", "-fPIC", f'-DLIBRARY="{library.name}"', f"-Wl,-soname,{library.name}"]
        options += [f"-Wl,--version-script={versions}"] if any(symbols) else []
        subprocess.run(["gcc", *options, source, "-o", library], check=True)


def can_import() -> bool:
    """Return whether a process imports PyTorch."""
    return subprocess.run([sys.executable, "-c", "import torch"], check=False).returncode == 0


def main() -> None:
    """Install PyTorch, then what it requires, then the stubs."""
    pip_install("--no-deps", "torch")
    pip_install(*kept(importlib.metadata.requires("torch") or ()), *sys.argv[1:])
    site_packages = Path(sysconfig.get_path("platlib"))
    stubs = []
    for name, symbols in missing_symbols(site_packages).items():
        stubs.append(site_packages / "torch" / "lib" / name)
        write_stub(stubs[-1], symbols)
        print(f"{name}: a stub of {sum(map(len, symbols.values()))} symbols")
    if not can_import():
        print("PyTorch cannot be imported with stubs: its requirements are installed")
        for stub in stubs:
            stub.unlink()
        pip_install("torch")


if __name__ == "__main__":
    main()
