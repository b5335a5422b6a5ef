"""Opening files that a user names: opening never waits for the other end of a pipe."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import IO, Any

# ENFILE first: the text of EMFILE is the beginning of the text of ENFILE.
_EXHAUSTED = (errno.ENFILE, errno.EMFILE, errno.ENOMEM)


def reject_exhausted(error: Exception) -> None:
    """Raise an OSError where no file descriptor or memory is left, so that what is missing may exist.

    Of what the loader of libraries says only the text is known.
    """
    number = error.errno if isinstance(error, OSError) else None
    if number in _EXHAUSTED:
        raise error
    for each in _EXHAUSTED:
        if os.strerror(each) in str(error):
            raise OSError(each, str(error).splitlines()[0]) from error


def _without_waiting(path: Any, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK, 0o666)


def open_file(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a regular file for reading; OSError for a pipe or a device, and as `open` raises it."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(
            errno.EINVAL, "not a regular file; pipes and devices are not supported", os.fspath(path)
        )
    return file


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a regular file, which is UTF-8."""
    with open_file(path) as file:
        return file.read().decode("utf-8")


@contextlib.contextmanager
def create_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing; each OSError names the file, and a pipe without a reader raises one."""
    try:
        with open(path, "wb", opener=_without_waiting) as file:
            os.set_blocking(file.fileno(), True)
            yield file
    except OSError as error:
        if error.filename is None:
            error.filename = os.fspath(path)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as UTF-8, as `create_file` opens the file."""
    with create_file(path) as file:
        file.write(text.encode("utf-8"))
