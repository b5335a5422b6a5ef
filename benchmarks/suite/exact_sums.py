"""Checks exact sums and times them, compared with plain ones and CUB.

Sums, and as many means, are checked against sums of Python integers: random arrays of many kinds, in several
orders, grids, and numbers of additions between folds; ``--jobs`` processes compute the references. On a GPU
graphs of PyTorch rotate over inputs, exact sums and plain ones taking turns, and the figure is the median
over the replays, in microseconds per sum; data are repeated every `PERIOD` elements, so that large arrays
need no large copy. On the simulator the fastest of whole calls counts. With ``--errors`` it prints the errors
of the rungs under cancellation, and does nothing else.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import math
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from benchmarks.baselines import runners
from benchmarks.baselines.runners import ReductionCase
from benchmarks.harness import markdown
from benchmarks.harness.benchmark import Benchmark, Times, WrongResultError
from benchmarks.harness.inputs import ALIGNMENT, InputPool
from benchmarks.suite.peers import launches_of
from gpureduce import _core
from gpureduce._bench.exact_sum import float_sum
from gpureduce._bench.timing import ROTATION_BYTES
from gpureduce._device.devices import resolve
from gpureduce._device.variants import variants
from gpureduce._reduce import arithmetic

# Bits of a significand, and the exponent of the last bit of the smallest numbers.
FORMATS = {"float32": (24, -149), "float64": (53, -1074), "float16": (11, -24)}
CHECKED_KINDS = ("normal", "lognormal", "wide", "any", "cancelling", "largest", "subnormal", "constant")
BATCH = 1000  # sums that a process prepares at a time
DEEPEST = 1127  # every float64 is whole in units of 2^-1127


def data(kind: str, n: int, dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """Return finite numbers of a kind."""
    if kind == "normal":
        return rng.standard_normal(n).astype(dtype)
    if kind == "lognormal":
        return np.minimum(np.exp(rng.normal(0, 2, n)), np.finfo(dtype).max).astype(dtype)
    if kind == "wide":
        most = np.finfo(dtype).max
        return np.clip(rng.standard_normal(n) * 10.0 ** rng.uniform(-12, 12, n), -most, most).astype(dtype)
    if kind == "largest":
        return (rng.choice([-1.0, 1.0], n) * np.finfo(dtype).max).astype(dtype)
    if kind == "constant":
        return np.full(n, 1.1, dtype)
    bits = rng.integers(0, 1 << 8 * dtype.itemsize, n, dtype=f"u{dtype.itemsize}")
    if kind == "subnormal":
        bits &= np.array((1 << FORMATS[dtype.name][0]) - 1, bits.dtype)
    numbers = bits.view(dtype)
    numbers = np.where(np.isfinite(numbers), numbers, dtype.type(0))
    if kind == "cancelling":
        half = numbers[: n // 2]
        numbers = np.concatenate([half, -half, half[: n % 2] * dtype.type(0.5)])
        numbers[: n // 50] = 0
        rng.shuffle(numbers)
    return numbers


def whole(array: np.ndarray) -> int:
    """Return the sum of finite numbers in units of 2^-DEEPEST."""
    fractions, exponents = np.frexp(array.astype(np.float64))
    integers = (fractions * 2.0**53).astype(np.int64)
    low, high = integers & 0x3FFFFFF, integers >> 26
    unique, index = np.unique(exponents, return_inverse=True)
    total = 0
    for parts, shift in ((low, 0), (high, 26)):
        sums = np.zeros(len(unique), np.int64)
        np.add.at(sums, index.ravel(), parts)
        for exponent, partial in zip(unique.tolist(), sums.tolist(), strict=True):
            total += partial << (exponent - 53 + shift + DEEPEST)
    return total


def rounded(total: int, dtype: np.dtype, divisor: int = 1) -> np.generic:
    """Return such a sum, or the mean of `divisor` numbers, rounded once."""
    if total == 0:
        return dtype.type(0)
    precision, smallest = FORMATS[dtype.name]
    size = Fraction(abs(total), divisor << DEEPEST)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()  # of its first bit, or one more
    exponent -= size < Fraction(2) ** exponent
    unit = max(exponent + 1 - precision, smallest)
    steps = round(size / Fraction(2) ** unit)
    try:
        result = math.ldexp(steps, unit)
    except OverflowError:
        result = math.inf
    with np.errstate(over="ignore"):
        return dtype.type(-result if total < 0 else result)


def cases(count: int, seed: int) -> list[tuple]:
    """Return random arrays in several orders, and the sum or mean of each; with how it is to be made."""
    rng = np.random.default_rng(seed)
    found: list[tuple] = []
    while len(found) < count:
        dtype = np.dtype(rng.choice(list(FORMATS)))
        name = str(rng.choice(CHECKED_KINDS))
        n = int(2.0 ** rng.uniform(0, 12 if rng.random() < 0.95 else 18))
        array = data(name, n, dtype, rng)
        op = str(rng.choice(["sum", "mean"])) if len(array) else "sum"
        want = rounded(whole(array), dtype, len(array) if op == "mean" else 1)
        for _ in range(5):
            fold, blocks, step = (
                int(rng.choice([0, 0, 1, 33])),
                int(rng.choice([0, 0, 1, 7])),
                rng.choice([-1, 1]),
            )
            found.append((name, array, op, want, fold, blocks, int(step)))
            array = rng.permutation(array)
    return found


def check(count: int, device: str, seed: int, jobs: int = 1) -> tuple[int, list[str]]:
    """Compare `count` random sums and means; return how many, and those that differ.

    `jobs` processes prepare them.
    """
    kind, index = resolve(device)
    wrong, done = [], 0
    with contextlib.ExitStack() as stack:
        batches: Iterator[list[tuple]] = map(_batch, _seeds(count, seed))
        if jobs > 1:
            pool = stack.enter_context(multiprocessing.get_context("spawn").Pool(jobs))
            batches = pool.imap_unordered(_batch, _seeds(count, seed))
        for name, array, op, want, fold, blocks, step in itertools.chain.from_iterable(batches):
            got = _core.exact(array[::step], op, (0,), None, None, None, kind, index, 0, fold, blocks)[()]
            if got.tobytes() != want.tobytes():
                what = f"{op} of {array.dtype} {name} n={len(array)} fold={fold} blocks={blocks}"
                wrong.append(f"{what}: {got!r}, not {want!r}")
            done += 1
    return done, wrong


def _seeds(count: int, seed: int) -> Iterator[tuple[int, int]]:
    """Yield the number of sums in a batch, and its seed."""
    for first in range(0, count, BATCH):
        yield min(BATCH, count - first), 10**6 * seed + first


def _batch(job: tuple[int, int]) -> list[tuple]:
    with np.errstate(all="ignore"):
        return cases(*job)


def cancelling(n: int, condition: float, rng: np.random.Generator) -> np.ndarray:
    """Return float32 numbers whose magnitudes sum to `condition` times their sum."""
    half = rng.lognormal(0, 3, n // 2 - 1).astype(np.float32)
    rest = np.full(2, half.sum(dtype=np.float64) / condition, np.float32)
    numbers = np.concatenate([half, -half, rest])
    rng.shuffle(numbers)
    return numbers


def errors(n: int, device: str, draws: int = 5) -> Iterator[tuple[float, dict[str, float]]]:
    """Yield condition numbers, and the largest relative error of a plain sum and of each rung."""
    for exponent in range(0, 21, 4):
        rng = np.random.default_rng(exponent)
        worst: dict[str, float] = {}
        for _ in range(draws):
            array = cancelling(n, 10.0**exponent, rng)
            right = float_sum(array)
            sums = {"v8": arithmetic.sum(array, variant="v8", device=device)}
            for rung in variants("exact"):
                sums[rung.name] = arithmetic.sum(array, variant=rung.name, exact=True, device=device)
            for name, value in sums.items():
                worst[name] = max(worst.get(name, 0.0), abs(float(value) - right) / right)
        yield 10.0**exponent, worst


def errors_table(n: int, device: str) -> str:
    """Return these errors as a Markdown table."""
    rows = list(errors(n, device))
    names = list(rows[0][1])
    cells = (
        [f"{condition:.0e}", *(f"{worst[name]:.0e}".replace("0e+00", "0") for name in names)]
        for condition, worst in rows
    )
    return "\n".join(markdown.table(["condition", *(f"`{name}`" for name in names)], "r", cells))


PERIOD = 1 << 22
EXPONENTS = (0, 4, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
DTYPES = ("float32", "float64", "float16", "bfloat16")
KINDS = ("normal", "lognormal", "any", "cancelling", "largest", "constant")
KIND_EXPONENTS = (24, 28)  # of the kinds behind the first
DOT_EXPONENTS = (10, 16, 20, 24, 26, 28)
WIDE_DTYPES, WIDE_EXPONENTS = ("float32", "float64"), (4, 8, 10, 12, 14, 16, 18, 20)  # over 24 powers of ten


class Case(NamedTuple):
    """An operator over 2^exponent numbers of a kind."""

    op: str
    dtype: str
    kind: str
    exponent: int


def numbers_of(kind: str, dtype: str, seed: int) -> np.ndarray:
    """Return a period of numbers; those of bfloat16 as 16-bit patterns."""
    rng = np.random.default_rng(seed)
    if dtype != "bfloat16":
        return data(kind, PERIOD, np.dtype(dtype), rng)
    bits = data(kind, PERIOD, np.dtype("float32"), rng).view("u4")
    return (bits >> 16).astype("u2")


def repeated(torch: Any, numbers: np.ndarray, dtype: str, nbytes: int) -> InputPool:
    """Return device memory full of repeated numbers."""
    length = max(2 * nbytes, ROTATION_BYTES) // numbers.itemsize + ALIGNMENT
    base = torch.from_numpy(numbers.view(f"i{numbers.itemsize}")).cuda()
    periods = torch.empty(-(-length // PERIOD), PERIOD, dtype=base.dtype, device="cuda")
    memory = periods.copy_(base.expand_as(periods)).view(-1).view(getattr(torch, dtype))
    return InputPool(torch, memory)


class ExactSums(Benchmark):
    """Exact sums and dot products, of many kinds of data."""

    summary = "exact sums: random checks, and times compared with plain sums and CUB"
    method = "graph replays over rotated inputs; microseconds per reduction, exact and plain in turns"
    optional = ("torch", "cub")
    repeats = 9
    quick: ClassVar[Mapping[str, Any]] = {
        "check": 2000,
        "max_exponent": 20,
        "dtypes": ["float32"],
        "repeats": 3,
    }

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Add the options of this benchmark."""
        parser.add_argument("--check", type=int, default=100_000, help="sums to compare (default 100000)")
        parser.add_argument("--jobs", type=int, default=1, help="processes that make references (default 1)")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--max-exponent", type=int, default=28, help="of two, for elements (default 28)")
        parser.add_argument("--dtypes", nargs="+", default=list(DTYPES), choices=DTYPES)
        parser.add_argument("--wide", action="store_true", help="time sums of normal and of wide data alone")
        parser.add_argument("--errors", action="store_true", help="print errors of the rungs alone")

    def head(self) -> dict[str, Any]:
        """Check random sums; return how many were compared, and how many differ."""
        options = self.options
        self.compared, self.different = check(options.check, str(self.where), options.seed, options.jobs)
        print(f"{self.compared} sums compared, {len(self.different)} differ", *self.different[:20], sep="\n")
        return {"compared": self.compared, "different": len(self.different)}

    def instead(self) -> str | None:
        """Return the errors of the rungs with ``--errors``."""
        return errors_table(1 << 16, str(self.where)) if self.options.errors else None

    def finish(self, record: dict[str, Any]) -> None:
        """Raise WrongResultError if a sum that was checked differs."""
        if self.different:
            raise WrongResultError(f"{len(self.different)} of {self.compared} sums differ")

    def run(self) -> Iterator[dict[str, Any]]:
        """Yield the rows."""
        if self.where.kind == "cuda" and self.torch is not None:
            yield from super().run()
        else:
            yield from self._whole_calls()

    def _whole_calls(self) -> Iterator[dict[str, Any]]:
        """Yield the fastest of whole calls, exact and plain in turns, where there is no graph."""
        rng = np.random.default_rng(1)
        for dtype in (np.dtype(name) for name in self.options.dtypes if name != "bfloat16"):
            for kind in ("normal", "any"):
                for exponent in range(8, self.options.max_exponent + 1, 4):
                    array = np.resize(data(kind, 1 << min(exponent, 24), dtype, rng), 1 << exponent)
                    best = {"gpureduce": math.inf, "exact": math.inf}
                    for _ in range(self.options.repeats):
                        for name in best:
                            start = time.perf_counter()
                            arithmetic.sum(array, device=str(self.where), exact=name == "exact")
                            best[name] = min(best[name], 1e6 * (time.perf_counter() - start))
                    us = {name: round(value, 3) for name, value in best.items()}
                    row = {"op": "sum", "dtype": dtype.name, "data": kind, "n": 1 << exponent, "us": us}
                    yield {**row, "ratio": round(us["exact"] / us["gpureduce"], 3)}

    def cases(self) -> Iterator[Case]:
        """Yield sums and dot products, one dtype and kind of data after the other."""
        nvcc = self.libraries.get("cub")
        self.runners = [runners.GpureduceRunner(self.torch), runners.ExactRunner(self.torch)]
        self.cub = None if nvcc is None else runners.CubRunner(nvcc)

        def up_to_largest(exponents: tuple[int, ...]) -> list[int]:
            return [exponent for exponent in exponents if exponent <= self.options.max_exponent]

        only_wide = self.options.wide
        kinds = (KINDS[0], "wide") if only_wide else (*KINDS, "wide")
        for dtype, kind in itertools.product(self.options.dtypes, kinds):
            if (only_wide or kind == "wide") and dtype not in WIDE_DTYPES:
                continue
            item = getattr(self.torch, dtype).itemsize
            normal = WIDE_EXPONENTS if only_wide else EXPONENTS
            exponents = {KINDS[0]: normal, "wide": WIDE_EXPONENTS}.get(kind, KIND_EXPONENTS)
            sums = up_to_largest(exponents)
            with_dots = kind == KINDS[0] and item >= 4 and not only_wide
            dots = up_to_largest(DOT_EXPONENTS) if with_dots else []
            self.pools = [
                repeated(self.torch, numbers_of(kind, dtype, seed), dtype, item << max(exponents))
                for seed, exponents in enumerate((sums, dots))
                if exponents
            ]
            yield from (Case("sum", dtype, kind, exponent) for exponent in sums)
            yield from (Case("dot", dtype, kind, exponent) for exponent in dots)
            self.pools = []
            self.torch.cuda.empty_cache()

    def inputs(self, case: Case) -> ReductionCase:
        """Return inputs and outputs."""
        n = 1 << case.exponent
        firsts = self.pools[0].inputs(n)
        seconds = self.pools[1].inputs(n) if case.op == "dot" else []
        if seconds:
            count = min(len(firsts), len(seconds))
            firsts, seconds = firsts[:count], seconds[:count]
        launches = launches_of(firsts[0].element_size() << case.exponent)
        return ReductionCase(case.op, case.dtype, firsts, seconds, launches)

    def contenders(self, case: Case, inputs: ReductionCase) -> dict[str, Callable[[int], list[float]]]:
        """Return what times a plain sum, an exact one, and of normal data CUB."""
        with_cub = self.cub is not None and case.kind == KINDS[0] and case.op == "sum"

        def timed(runner: Any) -> Callable[[int], list[float]]:
            return lambda repeats: runner.time(inputs, repeats)

        taking_part: list[Any] = [*self.runners, *([self.cub] if with_cub else [])]
        return {runner.name: timed(runner) for runner in taking_part}

    def measure(
        self, case: Case, inputs: ReductionCase, contenders: Mapping[str, Callable[..., Any]]
    ) -> Times:
        """Return microseconds per reduction, in three turns."""
        times: Times = {name: [] for name in contenders}
        for _ in range(3):
            for name, call in contenders.items():
                times[name] += call(-(-self.options.repeats // 3))
        return times

    def rows(self, case: Case, inputs: ReductionCase, times: Times) -> list[dict[str, Any]]:
        """Return a row with medians."""
        us = {name: round(float(np.median(taken)), 3) for name, taken in times.items()}
        row = {"op": case.op, "dtype": case.dtype, "data": case.kind, "n": inputs.n, "us": us}
        return [{**row, "ratio": round(us["exact"] / us["gpureduce"], 3)}]

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a row as a line."""
        head = f"{row['op']:3} {row['dtype']:8} {row['data']:10} n={row['n']:<10}"
        return f"{head} {row['us']} {row['ratio']}"

    @staticmethod
    def table(record: dict[str, Any]) -> str:
        """Return times of plain and exact sums, of CUB's, and of dot products."""
        head = (
            f"{markdown.source(record)}: {record['method']}."
            " Normally distributed data: plain sum / exact sum (CUB's plain sum)."
        )
        rows = {(row["op"], row["dtype"], row["data"], row["n"]): row for row in record["rows"]}
        pairs = dict.fromkeys((op, dtype) for op, dtype, kind, _ in rows if kind == KINDS[0])
        columns = sorted(pairs, key=lambda pair: (pair[0] != "sum", DTYPES.index(pair[1])))
        exponents = sorted({n.bit_length() - 1 for _, _, kind, n in rows if kind == KINDS[0]})
        cells = (
            [f"2^{k}", *(_cell(rows.get((*column, KINDS[0], 1 << k))) for column in columns)]
            for k in exponents
        )
        heads = ["elements", *(dtype if op == "sum" else f"dot {dtype}" for op, dtype in columns)]
        lines = [head, "", *markdown.table(heads, "r", cells)]
        n = 1 << KIND_EXPONENTS[-1]
        sums = [dtype for op, dtype in columns if op == "sum" and ("sum", dtype, KINDS[-1], n) in rows]
        if sums:
            kinds = ", ".join(f"{dtype} {slowest_over_fastest(record, dtype, n):.2f}" for dtype in sums)
            what = f"Slowest of six kinds of data over the fastest, for {markdown.power(n)} elements"
            lines += ["", f"{what}: {kinds}."]
        return "\n".join(lines)


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    us = row["us"]
    cub = f" ({us['cub']:.4g})" if "cub" in us else ""
    return f"{us['gpureduce']:.4g} / {us['exact']:.4g}{cub}"


def wide_table(record: dict[str, Any]) -> str:
    """Return times of plain sums, and of exact ones of narrow and of wide data, and the ratios."""
    us = {(row["dtype"], row["n"], row["data"]): row["us"] for row in record["rows"] if row["op"] == "sum"}
    dtypes = [dtype for dtype in WIDE_DTYPES if any(key[0] == dtype and key[2] == "wide" for key in us)]
    columns = ("plain", "narrow", "wide", "wide / narrow", "wide / plain")

    def cells(dtype: str, n: int) -> list[str]:
        if (dtype, n, "wide") not in us:
            return [""] * len(columns)
        normal, wide = us[dtype, n, KINDS[0]], us[dtype, n, "wide"]["exact"]
        plain, narrow = normal["gpureduce"], normal["exact"]
        return [
            *(f"{value:.4g}" for value in (plain, narrow, wide)),
            f"{wide / narrow:.2f}",
            f"{wide / plain:.2f}",
        ]

    head = (
        f"{markdown.source(record)}: {record['method']}. Plain sums, exact sums of normally distributed"
        " numbers (narrow), and exact sums of such numbers times powers of ten from -12 to 12 (wide)."
    )
    sizes = sorted({n for _, n, data in us if data == "wide"})
    lines = [[markdown.power(n), *itertools.chain(*(cells(dtype, n) for dtype in dtypes))] for n in sizes]
    heads = ["elements", *(f"{dtype} {column}" for dtype in dtypes for column in columns)]
    return "\n".join([head, "", *markdown.table(heads, "r", lines)])


def slowest_over_fastest(record: dict[str, Any], dtype: str, n: int) -> float:
    """Return how many times longer the slowest kind of data took than the fastest."""
    times = [
        row["us"]["exact"]
        for row in record["rows"]
        if (row["op"], row["dtype"], row["n"]) == ("sum", dtype, n) and row["data"] in KINDS
    ]
    return max(times) / min(times)


BENCHMARK = ExactSums
