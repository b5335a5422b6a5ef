"""The fuzzers' first inputs: each kernel of the given PTX files by itself, without what only debuggers read.

python3 tests/fuzz/seeds.py <folder> <file.ptx> ...
"""

import re
import sys
from pathlib import Path

# What the mutator writes. %r15 is an address in shared memory, %rd15 one of an array.
REGISTERS = {"b16": ("%rs", 16), "b32": ("%r", 16), "b64": ("%rd", 16), "pred": ("%p", 8), "b128": ("%rq", 4)}
HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
LARGEST = 8000  # as the Makefile's -max_len


def declarations(body: str) -> str:
    """Return the .reg lines of a kernel, widened to what the mutator writes."""
    lines = []
    for kind, (name, least) in REGISTERS.items():
        declared = re.search(rf"\.reg \.{kind}\s+{name}<(\d+)>", body)
        lines.append(f".reg .{kind} {name}<{max(least, int(declared[1]) if declared else 0)}>;")
    return "\n".join(lines) + "\n"


def seeds(text: str):
    """Yield the name and the text of each kernel."""
    text = re.sub(r"//.*|^\s*\.(loc|file|pragma)\b.*", "", text, flags=re.M)
    shared = re.findall(r"^\.(?:extern )?\.?shared [^;]+;", text, flags=re.M)
    for entry in re.split(r"(?=^\.(?:visible|weak|entry)\b)", text, flags=re.M)[1:]:
        name = re.search(r"\.entry\s+(\w+)", entry)
        if not name:
            continue
        body = entry[: entry.rindex("\n}") + 3]
        wide = declarations(body)
        body = re.sub(r"\.reg \.\w+\s+%(rs|r|rd|p|rq)<\d+>;\s*", "", body)
        body = body.replace("{", "{\n" + wide, 1)
        body = "\n".join(line.strip() for line in body.splitlines() if line.strip())
        used = [line for line in shared if line.split("[")[0].split()[-1] in body]
        for launch in ("2 64 1 1024", "2 40 2 256"):
            yield (
                f"{name[1]}.{launch.split()[2]}",
                "\n".join([f"// {launch}", HEAD + "\n".join(used), body, ""]),
            )


def main() -> None:
    """Write them."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for path in map(Path, sys.argv[2:]):
        for name, seed in seeds(path.read_text()):
            if len(seed) < LARGEST:
                (folder / f"{path.stem.split('-')[0]}.{name}").write_text(seed)


if __name__ == "__main__":
    main()
