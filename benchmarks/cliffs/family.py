"""What all families of drawn cases share: a case, its calls, and how sizes and arrays are drawn."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

Call = Callable[[int], Any]

POOL_BYTES = 512 << 20  # of one dtype, in which the inputs lie: more than eight L2 caches of an H200
MAX_OFFSET = 7  # elements before the first one of an input
MAX_INPUTS = 32
# Relative errors of sums against float64, for numbers whose sums do not cancel.
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 3e-5, "float64": 1e-12}


class Case(NamedTuple):
    """A drawn call.

    Attributes
    ----------
    family : str
        The name of its family.
    seed, number : int
        What it was drawn from.
    parts : dict
        What was drawn, by names that only the family knows.
    """

    family: str
    seed: int
    number: int
    parts: dict[str, Any]

    def command(self) -> str:
        """Return the command that measures this case alone."""
        return (
            f"python benchmarks/run.py cliffs --family {self.family} --seed {self.seed} --only {self.number}"
        )


@dataclass(frozen=True)
class Prepared:
    """A case with its inputs, over which calls rotate; its length is their number.

    Attributes
    ----------
    calls : dict of callables
        What is timed, by contender; each takes the index of an input. "gpureduce" and "torch" are among them.
    inputs : int
        The number of inputs.
    error : callable
        Returns the error of gpureduce's result, divided by what is allowed: above 1 is wrong.
    """

    calls: dict[str, Call]
    inputs: int
    error: Callable[[], float]

    def __len__(self) -> int:
        return self.inputs


class Family:
    """A family of cases; subclasses draw and prepare them."""

    name: str

    def draw(self, draw: random.Random, most: int) -> dict[str, Any]:
        """Return the parts of a case of about `most` elements or fewer."""
        raise NotImplementedError

    def text(self, parts: dict[str, Any]) -> str:
        """Return the parts as a few words."""
        raise NotImplementedError

    def prepare(self, pool: Pool, parts: dict[str, Any]) -> Prepared:
        """Return the calls of a case on inputs from a pool."""
        raise NotImplementedError

    def case(self, seed: int, number: int, most: int = 1 << 26) -> Case:
        """Return the case of a number: the same one whatever else is drawn."""
        return Case(
            self.name, seed, number, self.draw(random.Random(f"{self.name} {seed} {number} {most}"), most)
        )


class Pool:
    """Memory filled with numbers, a piece for each dtype, from which tensors of any strides are cut."""

    def __init__(self, torch: Any, device: str = "cuda", nbytes: int = POOL_BYTES) -> None:
        self.torch, self.device, self.nbytes = torch, device, nbytes
        self._memory: dict[str, Any] = {}

    def memory(self, dtype: str) -> Any:
        """Return the numbers of a dtype: from 0.5 to 1.5 with signs, three quarters of them positive."""
        if dtype not in self._memory:
            torch = self.torch
            kind = getattr(torch, dtype)
            made = torch.empty(self.nbytes // kind.itemsize + MAX_OFFSET, dtype=kind, device=self.device)
            generator = torch.Generator(device=self.device).manual_seed(len(dtype))
            for piece in made.split(1 << 24):
                options = {"device": self.device, "generator": generator}
                if kind.is_floating_point:
                    drawn = torch.rand(piece.shape, **options) + 0.5
                    drawn *= torch.where(torch.rand(piece.shape, **options) < 0.25, -1.0, 1.0)
                else:
                    low, high = (0, 2) if dtype == "bool" else (0 if dtype == "uint8" else -100, 100)
                    drawn = torch.randint(low, high, piece.shape, dtype=torch.int32, **options)
                piece.copy_(drawn)
            self._memory[dtype] = made
        return self._memory[dtype]

    def cut(
        self, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...] | None = None, offset: int = 0
    ) -> list[Any]:
        """Return up to MAX_INPUTS tensors of a form, which fit in the memory and have one alignment."""
        memory = self.memory(dtype)
        if strides is None:
            strides = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
        pairs = zip(shape, strides, strict=True)
        span = offset + 1 + sum((n - 1) * stride for n, stride in pairs) if math.prod(shape) else 1
        per_line = max(1, 256 // memory.element_size())
        apart = -(-span // per_line) * per_line
        count = max(1, min(MAX_INPUTS, memory.numel() // apart))
        apart = memory.numel() // count // per_line * per_line
        return [self.torch.as_strided(memory, shape, strides, i * apart + offset) for i in range(count)]

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return memory for a result, filled with bytes that are no result."""
        made = self.torch.empty(shape, dtype=dtype, device=self.device)
        made.view(self.torch.uint8 if made.dim() else made.dtype).fill_(77)
        return made


def extent(draw: random.Random, most: float) -> int:
    """Draw an extent log-uniformly from 1 to `most`: any, odd, prime, a power of two, or next to one."""
    n = max(1, round(math.exp(draw.uniform(0, math.log(max(1.0, most))))))
    kind = draw.random()
    if kind < 0.25:
        return 1 << round(math.log2(n))
    if kind < 0.4:
        return max(1, (1 << round(math.log2(n))) + draw.choice((-1, 1)))
    if kind < 0.55:
        return n | 1
    if kind < 0.65:
        while n > 2 and any(n % d == 0 for d in range(2, math.isqrt(n) + 1)):
            n += 1
    return n


def relative_error(torch: Any, got: Any, want: Any, allowed: float, scale: Any = None) -> float:
    """Return the largest error of `got`, of `scale` or the value wanted, divided by what is allowed."""
    if got.numel() == 0:
        return 0.0
    got, want = got.double(), want.to(got.dtype).double()  # infinite where the dtype ends
    size = (want if scale is None else scale.double()).abs().clamp(min=1e-30)
    errors = torch.where(got == want, torch.zeros_like(got), (got - want).abs() / size)
    return float(torch.nan_to_num(errors, nan=math.inf).max()) / max(allowed, 1e-300)
