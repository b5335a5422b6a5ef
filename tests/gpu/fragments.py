"""Fragments of wmma: where a GPU has the elements of a matrix, and the products that it computes.

``python tests/gpu/fragments.py FOLDER`` on a GPU of compute capability 9.0 writes what the GPU found to
fragments_gpu.npz in FOLDER; with --simulator the simulator finds it, in fragments_sim.npz, and the program
compares the two if both are there. The PTX is the same for both.
"""

import argparse
import ctypes
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CASES = 96  # products of each form
HEAD = ".version 7.8\n.target sm_90\n.address_size 64\n"


@dataclass(frozen=True)
class Fragment:
    """A fragment: its letter, type, shape and the registers of a lane."""

    letter: str
    type: str
    shape: tuple[int, int, int]
    registers: int

    @property
    def rows_columns(self) -> tuple[int, int]:
        """Rows and columns of its matrix."""
        m, n, k = self.shape
        return {"a": (m, k), "b": (k, n), "c": (m, n), "d": (m, n)}[self.letter]

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return {"tf32": 32, "bf16": 16}.get(self.type) or int(self.type[1:])

    @property
    def register(self) -> str:
        """Type of a register, and its letter in names."""
        return {"f64": "f64", "f32": "f32", "s32": "b32"}.get(self.type, "b32")


def shape_name(shape: tuple[int, int, int]) -> str:
    """Name a shape as PTX does."""
    return "m{}n{}k{}".format(*shape)


@dataclass(frozen=True)
class Product:
    """A product: types of D, A (and B) and C, shape, and registers of A, B, C and D."""

    d: str
    a: str
    c: str
    shape: tuple[int, int, int]
    registers: tuple[int, int, int, int]
    end: str = ""

    @property
    def name(self) -> str:
        """The end of the opcode."""
        types = f"{self.d}.{self.c}" if self.a == "f16" else f"{self.d}.{self.a}.{self.a}.{self.c}"
        return f"{shape_name(self.shape)}.{types}{self.end}"

    def fragment(self, letter: str) -> Fragment:
        """Return the fragment of an operand."""
        index = "abcd".index(letter)
        type_ = (self.a, self.a, self.c, self.d)[index]
        return Fragment(letter, type_, self.shape, self.registers[index])


WIDE, TALL, FLAT = (16, 16, 16), (32, 8, 16), (8, 32, 16)


def products() -> list[Product]:
    """Return all products that are simulated."""
    found = []
    for shape in (WIDE, TALL, FLAT):
        for d in ("f32", "f16"):
            for c in ("f32", "f16"):
                counts = (8, 8, 8 if c == "f32" else 4, 8 if d == "f32" else 4)
                found.append(Product(d, "f16", c, shape, counts))
        a, b = {WIDE: (2, 2), TALL: (4, 1), FLAT: (1, 4)}[shape]
        found.append(Product("f32", "bf16", "f32", shape, (2 * a, 2 * b, 8, 8)))
        for type_ in ("u8", "s8"):
            found += [Product("s32", type_, "s32", shape, (a, b, 8, 8), end) for end in ("", ".satfinite")]
    found.append(Product("f32", "tf32", "f32", (16, 16, 8), (4, 4, 8, 8)))
    found.append(Product("f64", "f64", "f64", (8, 8, 4), (1, 1, 2, 2)))
    return found


def names(prefix: str, count: int) -> str:
    """Return a vector of registers."""
    return "{" + ", ".join(f"%{prefix}{i}" for i in range(count)) + "}"


def stride(fragment: Fragment, layout: str) -> int:
    """Return the distance of rows, or of columns, in elements."""
    rows, columns = fragment.rows_columns
    return columns if layout == "row" else rows


def moved(direction: str, fragment: Fragment, layout: str, prefix: str, address: str) -> str:
    """Return a load or a store of a fragment."""
    opcode = f"wmma.{direction}.{fragment.letter}.sync.aligned.{layout}.{shape_name(fragment.shape)}"
    registers = names(prefix, fragment.registers)
    place, last = f"[{address}]", stride(fragment, layout)
    operands = f"{registers}, {place}" if direction == "load" else f"{place}, {registers}"
    return f"{opcode}.global.{fragment.type} {operands}, {last};"


def layout_kernel(fragment: Fragment, layout: str) -> str:
    """Return a kernel that loads a matrix, and stores the registers of each lane."""
    register = fragment.register
    size = 8 if register == "f64" else 4
    stores = "\n".join(f"st.global.{register} [%rd3+{size * i}], %x{i};" for i in range(fragment.registers))
    return f"""{HEAD}.visible .entry k(.param .u64 in, .param .u64 out)
{{
.reg .{register} %x<16>; .reg .b64 %rd<8>; .reg .b32 %r<4>;
ld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [out];
{moved("load", fragment, layout, "x", "%rd0")}
mov.u32 %r0, %tid.x; mad.wide.u32 %rd3, %r0, {size * fragment.registers}, %rd1;
{stores}
ret;
}}
"""


def product_kernel(product: Product) -> str:
    """Return a kernel whose block i computes product i."""
    parts = {letter: product.fragment(letter) for letter in "abcd"}
    layouts = {"a": "row", "b": "col", "c": "row", "d": "row"}
    lines = ["mov.u32 %r0, %ctaid.x;"]
    for i, (letter, part) in enumerate(parts.items()):
        rows, columns = part.rows_columns
        lines.append(f"ld.param.u64 %rd{i}, [{letter}];")
        lines.append(f"mad.wide.u32 %rd{i}, %r0, {rows * columns * part.bits // 8}, %rd{i};")
    lines += [moved("load", parts[each], layouts[each], each, f"%rd{i}") for i, each in enumerate("abc")]
    vectors = ", ".join(names(each, parts[each].registers) for each in "dabc")
    end = ".rn" if product.d == "f64" else ""
    lines.append(f"wmma.mma.sync.aligned.row.col.{product.name}{end} {vectors};")
    lines.append(moved("store", parts["d"], "row", "d", "%rd3"))
    declared = " ".join(f".reg .{part.register} %{letter}<16>;" for letter, part in parts.items())
    body = "\n".join(lines)
    return f"""{HEAD}.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)
{{
{declared} .reg .b64 %rd<8>; .reg .b32 %r<4>;
{body}
ret;
}}
"""


def near(rng: np.random.Generator, type_: str, shape: tuple[int, ...], spread: int) -> np.ndarray:
    """Return the bits of numbers of both signs whose exponents are within `spread` of 0."""
    values = rng.standard_normal(shape) * np.exp2(rng.integers(-spread, spread + 1, shape))
    if type_ == "f64":
        return values.view(np.uint64)
    if type_ == "f16":
        return values.astype(np.float16).view(np.uint16)
    bits = values.astype(np.float32).view(np.uint32)
    return (bits >> 16).astype(np.uint16) if type_ == "bf16" else bits


def elements(rng: np.random.Generator, part: Fragment) -> np.ndarray:
    """Return bits of the elements of CASES matrices."""
    rows, columns = part.rows_columns
    shape = (CASES, rows, columns)
    if part.type in ("u8", "s8", "s32"):
        unsigned = np.dtype(f"u{part.bits // 8}")
        return rng.integers(0, 2**part.bits, shape, dtype=unsigned, endpoint=False)
    unsigned = np.dtype(f"u{part.bits // 8}")
    any_ = rng.integers(0, 2**part.bits - 1, shape, dtype=unsigned, endpoint=True)
    chosen = np.arange(CASES)[:, None, None] % 3
    close, far = (near(rng, part.type, shape, spread) for spread in (1, 6))
    return np.where(chosen == 0, close, np.where(chosen == 1, far, any_)).astype(unsigned)


# ---- where kernels run ----


def check(status: int) -> None:
    """Raise an error of the driver."""
    if status:
        raise RuntimeError(f"the driver returned {status}")


class Driver:
    """Runs kernels on the GPU by the driver's API."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        check(self.cuda.cuInit(0))
        check(self.cuda.cuDeviceGet(ctypes.byref(device), 0))
        check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        check(self.cuda.cuCtxSetCurrent(context))

    def __call__(self, ptx: str, grid: int, arrays: list[np.ndarray]) -> None:
        """Run kernel k with blocks of 32 threads; arrays get what it wrote."""
        cuda, module, function = self.cuda, ctypes.c_void_p(), ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(module), ptx.encode()))
        check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k"))
        places = [ctypes.c_uint64() for _ in arrays]
        host = [(ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)) for array in arrays]
        for place, (data, size) in zip(places, host, strict=True):
            check(cuda.cuMemAlloc_v2(ctypes.byref(place), size))
            check(cuda.cuMemcpyHtoD_v2(place, data, size))
        pointers = (ctypes.c_void_p * len(places))(*(ctypes.addressof(place) for place in places))
        check(cuda.cuLaunchKernel(function, grid, 1, 1, 32, 1, 1, 0, None, pointers, None))
        check(cuda.cuCtxSynchronize())
        for place, (data, size) in zip(places, host, strict=True):
            check(cuda.cuMemcpyDtoH_v2(data, place, size))
            check(cuda.cuMemFree_v2(place))
        check(cuda.cuModuleUnload(module))


def simulate(ptx: str, grid: int, arrays: list[np.ndarray]) -> None:
    """Run kernel k on the simulator."""
    import gpureduce

    gpureduce.simulate(ptx, "k", grid, 32, arrays)


# ---- what is found ----


def found_layout(run, fragment: Fragment, layout: str) -> np.ndarray:
    """Return, by lane and register, the index of its first element in the matrix, row-major; -1: none.

    An element of a register has its index in the array's last dimension.
    """
    rows, columns = fragment.rows_columns
    size, per = fragment.bits // 8, max(1, 32 // fragment.bits)
    indices = np.arange(rows * columns, dtype=np.int64).reshape(rows, columns)
    if layout == "col":
        indices = indices.T
    got = np.zeros((32, fragment.registers, per), np.int64)
    for part in range(2 if size == 1 else 1):
        memory = np.ascontiguousarray(indices >> 8 * part).astype(f"u{size}").ravel()
        out = np.zeros(32 * fragment.registers, np.uint64 if size == 8 else np.uint32)
        run(layout_kernel(fragment, layout), 1, [memory, out])
        got += out.view(f"u{size}").reshape(got.shape).astype(np.int64) << 8 * part
    return got


def found_products(run, product: Product, seed: int) -> np.ndarray:
    """Return the bits of CASES products, of matrices that the seed determines."""
    rng = np.random.default_rng([7, seed])
    parts = {letter: product.fragment(letter) for letter in "abcd"}
    arrays = [np.ascontiguousarray(elements(rng, parts[each])) for each in "abc"]
    out = np.zeros((CASES, *parts["d"].rows_columns), f"u{parts['d'].bits // 8}")
    run(product_kernel(product), CASES, [*arrays, out])
    return out


def find(run) -> dict[str, np.ndarray]:
    """Return everything that is to be found, by name."""
    results: dict[str, np.ndarray] = {}
    for seed, product in enumerate(products()):
        for letter in "abc":
            part = product.fragment(letter)
            for layout in ("row", "col"):
                name = f"{letter}.{layout}.{shape_name(part.shape)}.{part.type}"
                if name not in results:
                    results[name] = found_layout(run, part, layout)
        results[product.name] = found_products(run, product, seed)
        print(product.name, flush=True)
    return results


def main() -> int:
    """Find it, and compare if there are two results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--simulator", action="store_true")
    arguments = parser.parse_args()
    files = [arguments.folder / f"fragments_{each}.npz" for each in ("gpu", "sim")]
    np.savez_compressed(files[arguments.simulator], **find(simulate if arguments.simulator else Driver()))
    if not all(path.exists() for path in files):
        return 0
    gpu, sim = (np.load(path) for path in files)
    wrong = [name for name in gpu if not np.array_equal(gpu[name], sim[name])]
    for name in wrong:
        print(f"{name}: {np.sum(gpu[name] != sim[name])} of {gpu[name].size} differ")
    print(f"{len(gpu.files)} compared, {len(wrong)} differ")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
