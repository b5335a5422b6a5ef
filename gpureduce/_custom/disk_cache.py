"""Disk cache of compiled kernels."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_folder() -> Path | None:
    """Return the folder of the disk cache; None if there is none."""
    if named := os.environ.get("GPUREDUCE_CACHE_DIR"):
        return Path(named)
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():  # the specification has others ignored
        return base / "gpureduce"
    try:
        return Path.home() / ".cache" / "gpureduce"
    except RuntimeError:
        return None


def digest(*parts: str | bytes) -> str:
    """Return a digest of texts that depends on their boundaries."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "little") + data)
    return whole.hexdigest()


def _read(path: Path) -> str | None:
    """Return what `_write` wrote; None if it is missing or incomplete."""
    try:
        head, _, text = path.read_text("utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return text if head == f"// {digest(text)}" else None


def _write(path: Path, text: str) -> None:
    """Replace the file atomically; if that fails, the kernel is compiled again next time."""
    part = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            part = file.name
            file.write(f"// {digest(text)}\n{text}")
        os.replace(part, path)
    except OSError:
        if part is not None:
            with contextlib.suppress(OSError):
                os.unlink(part)


def kept(key: str | None, make: Callable[[], str]) -> tuple[str, bool]:
    """Return the cached text of a digest, created if missing, and whether it was in the cache.

    Without a key, nothing is cached.
    """
    folder = cache_folder()
    if folder is None or key is None:
        return make(), False
    path = folder / f"{key}.ptx"
    text = _read(path)
    if text is not None:
        return text, True
    text = make()
    _write(path, text)
    return text, False
