"""Tensor maps on a GPU: what copies of tiles bring, and which maps the driver refuses.

``python tests/gpu/tensor_maps.py`` on a GPU of compute capability 9.0 with nvcc writes
tests/ptxsim/tensor_h200.def, which tests/ptxsim/test_tensor.c holds the simulator against. Cases that end in
an error of the device are told of and left out.
"""

import argparse
import concurrent.futures
import random
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROWS = HERE.parent / "ptxsim" / "tensor_h200.def"
# Bytes of an element, by the driver's number of the type.
SIZE = {0: 1, 1: 2, 2: 4, 3: 4, 4: 8, 5: 8, 6: 2, 7: 4, 8: 8, 9: 2, 10: 4, 11: 4, 12: 4}
SOURCE, REGION = 1 << 20, 1 << 15  # bytes of the tensor's memory, and of shared memory
LOAD, STORE, ENCODE, ROUND = 0, 1, 2, 4  # ROUND: a load of numbers that are hard to round
SPANS = {0: 512, 1: 32, 2: 64, 3: 128}  # by swizzle


def pad(values, count, filler):
    """Lengthen a list."""
    return [*values, *[filler] * (count - len(values))]


def case(kind, type_, dims, strides, box, **others):
    """Return the columns of one case, but for its number."""
    rank = others.get("rank", len(dims))
    steps, at = others.get("steps", [1] * len(dims)), others.get("at", [0] * len(dims))
    count = SIZE[type_]
    for i, (length, step) in enumerate(zip(box, steps, strict=True)):
        count *= length if i == 0 else -(-length // max(step, 1))
    columns = [kind, type_, rank, others.get("address", 0), *pad(dims, 5, 1), *pad(strides, 4, 16)]
    columns += [*pad(box, 5, 1), *pad(steps, 5, 1), others.get("interleave", 0), others.get("swizzle", 0)]
    return [*columns, others.get("fill", 0), *pad(at, 5, 0), others.get("offset", 0) | count << 16]


def random_case(rng, kind):
    """Return a copy by a map that is valid, at coordinates that may lie outside."""
    while True:
        type_, swizzle = rng.choice([0, 1, 2, 6, 7, 8, 9, 4]), rng.choice([0, 1, 2, 3])
        size, rank = SIZE[type_], rng.choice([1, 2, 2, 2, 3, 4, 5])
        inner = rng.randrange(16, SPANS[swizzle] + 1, 16) // size
        box = [inner, *(rng.choice([1, 2, 3, 5, 8, 16, 33]) for _ in range(rank - 1))]
        steps = [1] * rank
        if kind == LOAD and rng.random() < 0.25:
            steps = [1, *(rng.choice([1, 2, 3]) for _ in range(rank - 1))]
        dims = [rng.choice([inner, inner + 3, max(inner - 5, 1), 100])]
        dims += [rng.choice([length, length + 4, max(length - 2, 1), 40]) for length in box[1:]]
        strides, stretch = [], -(-dims[0] * size // 16) * 16
        for i in range(1, rank):
            stretch += 16 * rng.choice([0, 0, 1, 3])
            strides.append(stretch)
            stretch *= dims[i]
        address, offset = 16 * rng.choice([0, 0, 1, 5]), rng.choice([0, 0, 1024, 128, 384, 896])
        at = [rng.choice([0, 0, rng.randrange(-b, d + 3)]) for b, d in zip(box, dims, strict=True)]
        fill = rng.choice([0, 1]) if kind == LOAD and type_ in (6, 7, 8, 9) else 0
        columns = case(kind, type_, dims, strides, box, steps=steps, at=at, swizzle=swizzle, fill=fill,
                       address=address, offset=offset)  # fmt: skip
        count = columns[-1] >> 16
        if inner <= 256 and stretch + address <= SOURCE and count + offset <= REGION and count < 1 << 15:
            return columns


def maps():
    """Return maps that keep the driver's rules and maps that break one."""
    good = {"type_": 7, "dims": [64, 64], "strides": [256], "box": [32, 8]}
    large = 1 << 32
    changes = [{}, *({"rank": rank} for rank in (0, 6)), *({"address": a} for a in (8, 4, 16))]
    changes += [{"strides": [s]} for s in (264, 240, 16, 0, 1 << 40, (1 << 40) - 16)]
    changes += [{"box": box} for box in ([257, 8], [256, 256], [256, 257], [32, 0], [0, 8], [3, 8], [6, 8])]
    changes += [
        {"box": [b, 8], "swizzle": s} for b, s in ((36, 3), (32, 3), (32, 2), (16, 2), (16, 1), (8, 1))
    ]
    changes += [{"steps": steps} for steps in ([0, 1], [1, 0], [1, 8], [1, 9], [9, 1], [8, 1])]
    changes += [{"dims": [64, 0]}, {"dims": [0, 64]}, {"dims": [64, large]}, {"dims": [64, large + 1]}]
    changes += [{"dims": [d, 64], "strides": [1 << 35]} for d in (large, large + 1)]
    changes += [{"fill": 1, "type_": type_} for type_ in (7, 2, 3, 11)] + [{"swizzle": 4}]
    changes += [{"dims": [60], "strides": [], "box": [64]}, {"dims": [61, 3], "box": [64, 1]}]
    return [case(ENCODE, **{**good, **change}) for change in changes]


def cases():
    """Return all cases, numbered."""
    rng = random.Random(18)
    rows = [case(LOAD, type_, [256, 8], [1024], [256, 8]) for type_ in (7, 10, 11, 12)]
    rows += [case(ROUND, type_, [64, 8], [256], [64, 4]) for type_ in (7, 10, 11, 12)]
    rows += [case(LOAD, 7, [64, 64], [256], [32, 8], swizzle=s, offset=128) for s in (0, 3)]
    rows += [case(LOAD, 7, [64, 64], [256], [32, 8], at=[1000, 1000])]
    rows += [case(LOAD, 7, [64, 64], [256], [32, 8], at=[-1000, -1000], fill=1)]
    for type_ in (6, 7, 8, 9, 11):
        box = [128 // SIZE[type_], 8]
        rows.append(case(LOAD, type_, [100, 8], [1024], box, at=[90, 3], fill=1, swizzle=3))
    rows += [case(LOAD, 7, [256, 8], [1024], [64, 4], steps=[step, 1]) for step in (2, 3)]
    rows += [random_case(rng, LOAD) for _ in range(150)] + [random_case(rng, STORE) for _ in range(60)]
    return [[number, *columns] for number, columns in enumerate([*rows, *maps()])]


def run(probe, lines):
    """Return an answer for each line; the probe ends at an error, and another goes on behind it."""
    answers, left = [], list(lines)
    while left:
        done = subprocess.run(
            [probe], input="\n".join(left) + "\n", capture_output=True, text=True, timeout=60
        )
        got = done.stdout.splitlines() or [left[0].split()[0] + " error nothing came"]
        answers += got
        left = left[len(got) :]
    return answers


def main():
    """Run all cases, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROWS)
    out = parser.parse_args().out
    lines = [" ".join(map(str, columns)) for columns in cases()]
    with tempfile.TemporaryDirectory() as folder:
        probe = str(Path(folder) / "probe")
        build = ["nvcc", "-gencode=arch=compute_90a,code=sm_90a", "-std=c++17", "-O1"]
        subprocess.run([*build, str(HERE / "tensor_maps.cu"), "-o", probe], check=True)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            parts = pool.map(lambda k: run(probe, lines[k::8]), range(8))
            answers = sorted((answer.split() for part in parts for answer in part), key=lambda a: int(a[0]))
    rows = []
    for words in answers:
        columns = ", ".join(lines[int(words[0])].split())
        if words[1] == "ran" and words[3] == "0":
            rows.append(f"ROW(0, 0x{words[5]}, 0x{words[7]}, {columns})")
        elif words[1] == "encode":
            rows.append(f"ROW({words[2]}, 0, 0, {columns})")
        else:
            print("left out:", *words[:6], "of", columns)
    out.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
