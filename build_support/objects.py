"""Object files of earlier builds.

setuptools compiles all files of an extension where one has changed, and always in an editable install.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

FOLDER = Path("build/objects")


def common_key(compiler: list[str], options: Iterable[str], headers: Iterable[str]) -> str:
    """Return a digest of what all files of a build depend on: compiler, options and headers."""
    version = subprocess.run([*compiler, "--version"], capture_output=True, check=False).stdout
    whole = hashlib.sha256(version)
    whole.update("\0".join([*compiler, *options]).encode())
    for path in sorted(headers):
        whole.update(f"\0{path}\0".encode() + Path(path).read_bytes())
    return whole.hexdigest()


class Objects:
    """The object files of the builds with one common key."""

    def __init__(self, key: str):
        self._key = key

    def _place(self, source: str) -> Path:
        """Return where the object of a source is kept: the name is a digest of all that goes into it."""
        text = Path(source).read_bytes()
        digest = hashlib.sha256(f"{self._key}\0{source}\0".encode() + text).hexdigest()
        return FOLDER / f"{Path(source).stem}-{digest[:16]}.o"

    def take(self, source: str, target: str) -> bool:
        """Copy the object of a source to its place; return whether there is one."""
        kept = self._place(source)
        if kept.exists():
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(kept, target)
            return True
        return False

    def make(self, source: str, target: str, compile_source: Callable[[], object]) -> None:
        """Compile a source to its place, and keep the object."""
        kept = self._place(source)  # before, or a change meanwhile would belong to the old object
        compile_source()
        FOLDER.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}")
        shutil.copyfile(target, part)
        os.replace(part, kept)
