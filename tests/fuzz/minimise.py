"""Keeps of a fuzzer's inputs those that cover most for their size.

python3 tests/fuzz/minimise.py <libFuzzer's merge control file> <target folder> <most bytes>
"""

import shutil
import sys
from pathlib import Path


def read_control(path: Path) -> dict[Path, set[str]]:
    """Return the edges that each input covers."""
    lines = path.read_text(errors="replace").splitlines()
    files = [Path(line) for line in lines[2 : 2 + int(lines[0])]]
    covered: dict[Path, set[str]] = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "FT":  # without counters, a feature is an edge
            index, *edges = rest.split()
            covered[files[int(index)]] = set(edges)
    return covered


def main() -> None:
    """Choose greedily, by new edges a byte."""
    covered, target, left = read_control(Path(sys.argv[1])), Path(sys.argv[2]), int(sys.argv[3])
    sizes = {path: path.stat().st_size + 64 for path in covered if path.exists()}
    seen: set[str] = set()
    chosen: list[Path] = []
    while fresh := {path: len(covered[path] - seen) / sizes[path] for path in sizes if sizes[path] <= left}:
        best = max(fresh, key=fresh.__getitem__)
        if not fresh[best]:
            break
        seen |= covered[best]
        left -= sizes.pop(best)
        chosen.append(best)
    texts = {path.read_bytes() for path in chosen}
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for number, text in enumerate(sorted(texts)):
        (target / f"{number:03}.ptx").write_bytes(text)
    everything = set().union(*covered.values())
    print(f"{target}: {len(texts)} of {len(covered)} files, {len(seen)} of {len(everything)} edges")


if __name__ == "__main__":
    main()
