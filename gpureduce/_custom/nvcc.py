"""Compiles files with nvcc that NVRTC cannot compile."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator

from gpureduce._rules.files import reject_exhausted

_MOST_SECONDS = 1800.0
_NVRTC_ONLY = ("-device-int128", "--device-int128", "-default-device", "--device-as-default-execution-space")


class Refused(Exception):
    """nvcc rejected a source; the text is its output."""


def _candidates() -> Iterator[str]:
    if named := os.environ.get("NVCC"):
        yield shutil.which(named) or named
        return
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if root := os.environ.get(variable):
            yield os.path.join(root, "bin", "nvcc")
    for folder in os.get_exec_path():
        yield os.path.join(folder, "nvcc")
    yield "/usr/local/cuda/bin/nvcc"
    for folder in sys.path:
        yield os.path.join(folder, "nvidia", "cu13", "bin", "nvcc")


@functools.cache
def find() -> str | None:
    """Return the path of nvcc, from a toolkit or wheels; None without it or a host compiler."""
    if not (os.environ.get("NVCC_CCBIN") or shutil.which("g++")):
        return None
    return next((path for path in _candidates() if os.path.isfile(path) and os.access(path, os.X_OK)), None)


@functools.cache
def version(nvcc: str) -> str:
    """Return the release, such as ``13.0.88``; empty if unknown."""
    try:
        said = _run([nvcc, "--version"])
    except (Refused, OSError) as error:
        reject_exhausted(error)
        return ""
    match = re.search(r"\bV(\d+(?:\.\d+)+)", said)
    return match[1] if match else ""


def _run(command: list[str]) -> str:
    """Return the output of a program; an interrupt ends it and its children."""
    import subprocess

    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            said = process.communicate(timeout=_MOST_SECONDS)[0].decode(errors="replace")
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise Refused(f"nvcc takes longer than {_MOST_SECONDS:g} s") from None
            raise
    if process.returncode:
        raise Refused(said.strip())
    return said


def compile(nvcc: str, file: str, source: bytes, kernel: str, options: tuple[str, ...]) -> str:
    """Return the PTX of a source with a kernel; headers are searched next to `file`."""
    name = os.path.basename(file)
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    text = f'#line 1 "{quoted}"\n'.encode(errors="surrogateescape") + source
    if "<" in kernel:  # of a template only what is used is compiled
        text += f'\n#line 1 "kernel"\nstatic const auto gr_kernel_of_the_user = {kernel};\n'.encode()
    flags = [
        re.sub(r"^-I[= ]\s*", "-I", re.sub(r"^--?pre-include(?==)", "-include", option))
        for option in options
        if option not in _NVRTC_ONLY
    ]
    with tempfile.TemporaryDirectory(prefix="gpureduce-") as folder:
        path, ptx_path = os.path.join(folder, "source.cu"), os.path.join(folder, "made.ptx")
        with open(path, "wb") as out:
            out.write(text)
        command = [nvcc, "-ptx", *flags, f"-I{os.path.dirname(file)}", path, "-o", ptx_path]
        try:
            _run([*command, "-Wno-deprecated-gpu-targets"])
        except Refused as error:
            raise Refused(str(error).replace(path, name)) from None
        with open(ptx_path, encoding="utf-8", errors="replace") as result:
            return result.read()
