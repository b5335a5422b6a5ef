"""Pack the PTX of kernels by xz. Releases are packed after names are renumbered by differences.

nvcc numbers the registers and labels of a file in order. Two kernels with the same instructions then have
other numbers on each line, and xz packs the lines badly. The differences of neighbouring numbers are often
the same. In the text of a release, HEAD and the length of the PTX come first. The number of a register is
written as the difference from the register of its type that most recently stood first on a line. The numbers
of a label are written as the differences from the label before. csrc/device/ptx_text.c restores the PTX.
"""

import lzma
import re
from collections.abc import Callable

# The filter of xz that packs PTX as fast as gzip does, in half of its bytes.
PACKED = {
    "id": lzma.FILTER_LZMA2,
    "dict_size": 1 << 23,
    "pb": 0,
    "mode": lzma.MODE_FAST,
    "mf": lzma.MF_HC4,
    "nice_len": 128,
    "depth": 24,
}
# For releases: a quarter less, in eight times as long.
SMALLEST_PACKED = {**PACKED, "mode": lzma.MODE_NORMAL, "mf": lzma.MF_BT4, "nice_len": 273, "depth": 48}

HEAD = b"register differences "
# A line's end, or a register and its number, or a label and its two numbers.
NAMES = r"\n|(%%(?:fd?|p|r[ds]?))(%(number)s)|(\$L__BB)(%(number)s)_(%(number)s)"
NUMBERED = re.compile((NAMES % {"number": r"\d+"}).encode())
DIFFERENT = re.compile((NAMES % {"number": r"[+-]\d+"}).encode())


def pack(text: bytes, dense: bool = False) -> bytes:
    """Return PTX packed; `dense` for a release."""
    if dense:
        text = with_differences(text)
    filters = [SMALLEST_PACKED if dense else PACKED]
    return lzma.compress(text, lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=filters)


def unpack(data: bytes) -> bytes:
    """Return PTX that was packed."""
    text = lzma.decompress(data)
    return without_differences(text) if text.startswith(HEAD) else text


def with_differences(text: bytes) -> bytes:
    """Return PTX with differences of numbers."""
    differences = HEAD + b"%d\n" % len(text) + _renumbered(NUMBERED, text, _difference)
    if without_differences(differences) != text:
        raise ValueError("PTX has names that are read as differences of registers")
    return differences


def without_differences(text: bytes) -> bytes:
    """Return the PTX of which `with_differences` made a text."""
    return _renumbered(DIFFERENT, text.partition(b"\n")[2], _sum)


def _difference(number: int, reference: int) -> tuple[bytes, int]:
    return b"%+d" % (number - reference), number


def _sum(difference: int, reference: int) -> tuple[bytes, int]:
    number = reference + difference
    return b"%d" % (number % 2**32), number % 2**32  # as csrc/device/ptx_text.c counts


def _renumbered(
    names: re.Pattern[bytes], text: bytes, renumber: Callable[[int, int], tuple[bytes, int]]
) -> bytes:
    """Return a text with other numbers in its names.

    `renumber` takes a number and the reference, and returns what is written and the number in the PTX.
    """
    references: dict[bytes, int] = {}
    is_first = True  # among the registers of its line

    def replaced(match: re.Match[bytes]) -> bytes:
        nonlocal is_first
        register, number, label, function, block = match.groups()
        if register:
            written, value = renumber(int(number), references.get(register, 0))
            if is_first:
                references[register] = value
                is_first = False
            return register + written
        if label:
            of_function, references[b"function"] = renumber(int(function), references.get(b"function", 0))
            of_block, references[b"block"] = renumber(int(block), references.get(b"block", 0))
            return label + of_function + b"_" + of_block
        is_first = True
        return b"\n"

    return names.sub(replaced, text)
