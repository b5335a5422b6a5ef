#!/usr/bin/env python3
"""Compares the PTX of all kernels of two builds: tests/tools/same_ptx.py OLD NEW.

OLD and NEW are folders of kernels, such as gpureduce/_ptx, or files of digests, which keep the state
before a change of the sources: tests/tools/same_ptx.py --write FILE FOLDER writes one. Names of functions and
variables, line numbers, comments and debug sections are ignored. The build makes instructions for
programmatic dependent launch of comments in some kernels; these are compared in both forms. With --any-layout
inline assembly may have other line breaks and other names for the registers that it declares. Exits with 1
and names the kernels that differ.
"""

import argparse
import hashlib
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "build_support"))
from kernels import REMARK, with_instructions  # noqa: E402
from packing import unpack  # noqa: E402

DEBUG_SECTION = re.compile(r"^\s*\.section\s+\.debug\w*\s*\{.*?^\s*\}", re.MULTILINE | re.DOTALL)
LINE_NUMBERS = re.compile(r"^\s*\.(?:loc|file)\b.*$", re.MULTILINE)
COMMENT = re.compile(r"//.*$", re.MULTILINE)
# A name of C++, or one that a declaration gives to a variable or a function that is not a kernel.
MANGLED = r"_Z\w+"
DECLARED = re.compile(
    r"^\.(?:extern |visible |weak )?\.?(?:shared|global|const|func)\b[^\n]*?(\w+)(?:\[\d*\])?\s*[;({=]",
    re.MULTILINE,
)


# A function or a kernel at the top level, with its body if it has one there.
FUNCTION = re.compile(r"^\.(?:\w+ )*\.?(?:func|entry)\b.*?^(?:\}|;)$", re.MULTILINE | re.DOTALL)
NUMBERED = re.compile(r"(?<=\$L__BB)\d+(?=_)|(?<=__local_depot)\d+")  # by the place of its function


def normalized(text: str) -> str:
    """Return PTX without comments and debug information, its symbols numbered in order of appearance.

    The compiler orders functions by their names, so they are sorted by what they do.
    """
    text = COMMENT.sub("", LINE_NUMBERS.sub("", DEBUG_SECTION.sub("", text)))
    text = "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
    declared = {name for name in DECLARED.findall(text) if not name.startswith("_Z")}
    names = "|".join([MANGLED, *map(re.escape, sorted(declared, key=len, reverse=True))])
    symbols = re.compile(rf"(?<![\w$%.:])(?:{names})(?![\w$])")
    head = "\n".join(filter(None, FUNCTION.sub("", text).splitlines()))
    bodies = (NUMBERED.sub("", found[0]) for found in FUNCTION.finditer(text) if found[0].endswith("}"))
    functions = sorted(bodies, key=lambda body: numbered(symbols, body))
    return numbered(symbols, "\n".join([head, *functions]))


def numbered(symbols: re.Pattern[str], text: str) -> str:
    """Return text with its symbols numbered in order of appearance."""
    numbers: dict[str, int] = {}
    return symbols.sub(lambda found: f"symbol_{numbers.setdefault(found[0], len(numbers))}", text)


# The head of inline assembly with registers of its own; those of the compiler begin with %.
OWN_REGISTERS = re.compile(r"\{ (?:\.reg \.\w+ [A-Za-z_]\w*; )+")


def laid_out(text: str) -> str:
    """Return normalized PTX on one line, the registers that inline assembly declares for itself numbered."""
    text = " ".join(text.split())
    text = re.sub(r" ?([{}\[\],;]) ?", r"\1 ", text)
    parts, end = [], 0
    for head in OWN_REGISTERS.finditer(text):
        close, depth = head.start() + 1, 1
        while depth:
            depth += {"{": 1, "}": -1}.get(text[close], 0)
            close += 1
        block = text[head.start() : close]
        for number, name in enumerate(re.findall(r"\.reg \.\w+ (\w+);", head[0])):
            block = re.sub(rf"(?<![\w$%.]){name}(?![\w$])", f"own_{number}", block)
        parts += [text[end : head.start()], block]
        end = close
    return "".join([*parts, text[end:]])


def forms(text: bytes) -> dict[str, bytes]:
    """Return the PTX as compiled, and with the instructions that the build makes of its comments, if any."""
    both = {"": text}
    if REMARK.search(text):
        both[" with instructions of comments"] = with_instructions(text)
    return both


def digests(place: Path, any_layout: bool = False) -> dict[str, str]:
    """Return a digest of each form of each kernel file in a folder, or those that a file holds."""
    if place.is_file():
        return json.loads(place.read_text())
    found = {}
    for path in sorted(place.glob("*.ptx.xz")):
        for form, text in forms(unpack(path.read_bytes())).items():
            words = normalized(text.decode())
            digest = hashlib.sha256((laid_out(words) if any_layout else words).encode()).hexdigest()
            found[path.name.removesuffix(".ptx.xz") + form] = digest
    if not found:
        raise SystemExit(f"{place}: no file of digests, and no folder with *.ptx.xz")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="write the digests of NEW to a file, compare nothing"
    )
    parser.add_argument(
        "--any-layout", action="store_true", help="of inline assembly; for files of digests, too"
    )
    parser.add_argument("old", type=Path, nargs="?")
    parser.add_argument("new", type=Path)
    args = parser.parse_args()
    if args.write:
        args.write.write_text(json.dumps(digests(args.new, args.any_layout), indent=0))
        return 0
    if args.old is None:
        parser.error("OLD is missing")
    old, new = digests(args.old, args.any_layout), digests(args.new, args.any_layout)
    different = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    for name in different:
        print(f"{name}: " + ("differs" if name in old and name in new else "in one build only"))
    print(f"{len(old)} kernel files before, {len(new)} now, {len(different)} differ")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
