"""Write tests/data/states.json: elements, and the bytes and results of the states that `partial` builds.

The bytes are version 1 of the format in docs/reference/state-format.md, which never changes: a test
compares each row with `State.to_bytes`. A run adds operators and dtypes that the file lacks, and leaves the
rows of the file unchanged.

    python tests/tools/make_state_bytes.py
"""

import json
from pathlib import Path

import numpy as np

import gpureduce

PATH = Path(__file__).parents[1] / "data" / "states.json"
FLOATS = ("float16", "float32", "float64", "complex64", "complex128")
INTEGERS = ("int8", "uint64", "int64")
DTYPES = {
    **dict.fromkeys(("sum", "mean", "prod"), (*FLOATS, *INTEGERS)),
    **dict.fromkeys(("dot", "var", "std"), FLOATS),
    **dict.fromkeys(("min", "max", "argmin", "argmax"), ("float16", "float64", *INTEGERS)),
    **dict.fromkeys(("any", "all", "count_nonzero"), ("bool", "float32", "int64")),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), ("bool", *INTEGERS)),
}


def draw(rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Return elements of many magnitudes, of which some cancel and some are 0."""
    if dtype.kind in "biu":
        info = np.iinfo("u1" if dtype.kind == "b" else dtype)
        elements = rng.integers(info.min, info.max, shape, info.dtype, endpoint=True)
        if dtype.kind == "b":
            return elements > 100
        return elements >> 7 * dtype.itemsize if dtype.itemsize > 1 else elements  # products of 7 fit, mostly
    elements = rng.standard_normal(shape) * 2.0 ** rng.integers(-9, 9, shape)
    if dtype.kind == "c":
        elements = elements + 1j * rng.standard_normal(shape)
    elements[..., 1] = -elements[..., 0]
    elements[..., 2] = 0
    return elements.astype(dtype)


def describe(op: str, dtype: str, axis: int | None, arrays: list[np.ndarray]) -> dict[str, object]:
    """Return a row of the file."""
    state = gpureduce.partial(arrays[0], op, axis, b=arrays[1] if op == "dot" else None, device="sim")
    return {
        "op": op,
        "dtype": dtype,
        "axis": axis,
        "shape": arrays[0].shape,
        "elements": [array.astype(array.dtype.newbyteorder("<")).tobytes().hex() for array in arrays],
        "state": state.to_bytes().hex(),
        "result": np.asarray(state.result()).tobytes().hex(),
    }


def main() -> None:
    """Add what is missing."""
    rows = json.loads(PATH.read_text())["states"] if PATH.exists() else []
    known = {(row["op"], row["dtype"], row["axis"]) for row in rows}
    for op, dtypes in DTYPES.items():
        for dtype in dtypes:
            for axis in (None, 1):
                if (op, dtype, axis) in known or (op == "dot" and axis is not None):
                    continue
                rng = np.random.default_rng([len(rows), 39])
                shape = (7,) if axis is None else (2, 7)
                arrays = [draw(rng, np.dtype(dtype), shape) for _ in range(1 + (op == "dot"))]
                rows.append(describe(op, dtype, axis, arrays))
    lines = ",\n".join(json.dumps(row) for row in rows)
    PATH.write_text('{"version": 1, "states": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
