"""Users' reduction kernels as rungs of the ladder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gpureduce import _core
from gpureduce._bench import runner
from gpureduce._bench.result import BenchResult
from gpureduce._bench.stats import summarize_times
from gpureduce._course import checks
from gpureduce._device import devices
from gpureduce._device.devices import Device
from gpureduce._profiles.itanium_demangle import demangled
from gpureduce._profiles.program import Program, is_ptx, program, read
from gpureduce._profiles.user_kernel import UserKernel, user_kernel
from gpureduce._rules.arguments import integer

if TYPE_CHECKING:
    import os

_COMPILED_FOR = (9, 0)  # unless the device is older


@dataclass(frozen=True)
class OwnRung(UserKernel):
    """Your own reduction kernel, as a rung of the ladder; `ladder` creates one.

    Attributes
    ----------
    name : str
        Name in tables and charts.
    kernel : str
        Name of the kernel in the source.
    dtype : numpy.dtype
        Dtype of the elements and of the result.
    block_sizes : tuple of int
        Numbers of threads per block to check; the first one is the default.
    elements : int
        Elements per thread, which determine the number of blocks.
    takes_n : bool
        Whether the kernel has a parameter n. A kernel without one supports whole blocks only.

    Examples
    --------
    >>> import gpureduce
    >>> source = '''
    ... __global__ void mine(const float *in, float *out, unsigned n) {
    ...     float x = 0;
    ...     for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
    ...         x += in[i];
    ...     out[0] = x;
    ... }
    ... '''
    >>> rung = gpureduce.course.ladder(source, block_size=32, grid=1)
    >>> report = rung.check([1, 2, 40])
    >>> report.passed
    False
    >>> print(report.findings[0])
    wrong: 1 element, 32 threads per block: the result is 0, numpy.sum returns 8; element 0 is left out
      also at 2, 40 elements
    """

    _compiled: Callable[[str], Program] | None = field(repr=False, default=None)  # with an additional option

    def _for_capability(self, has: tuple[int, int]) -> Program:
        """Return the program for a device; PTX, and a program compiled with -arch, are unchanged."""
        if self._compiled is None or has >= _COMPILED_FOR:
            return self._program
        return self._compiled(f"-arch=compute_{has[0]}{has[1]}")

    def _launches(self, n: int, block_size: int) -> tuple[tuple[int, int], ...]:
        """Return elements and blocks of each pass."""
        launches = [(n, self.blocks(n, block_size))]
        while launches[-1][1] > 1:
            n, last = launches[-1][1], launches[-1][0]
            if last <= n and len(launches) > 1:
                raise ValueError(f"grid: {n} blocks for {last:,} elements; the passes would never end")
            n = self.padded(n, block_size)
            launches.append((n, self.blocks(n, block_size, first=False)))
        return tuple(launches)

    def _call(self, data: np.ndarray, block_size: int, device: Device) -> dict[str, Any]:
        """Return the description of the kernel that the core takes."""
        major, minor = device.compute_capability
        of = self._program if device.kind == "sim" else self._for_capability((major, minor))
        kernels = _run(_loaded, self.name, of.ptx, *devices.resolve(device))
        count_bytes = _core.kernel_params(of.module, of.entry)[0][2][2] if self.takes_n else 0
        return {
            "kernels": kernels,
            "entry": of.entry,
            "data": data,
            "passes": self._launches(len(data), block_size),
            "block": block_size,
            "shared_bytes": self._shared_bytes(block_size),
            "count_bytes": count_bytes,
        }

    def sum(
        self, a: Any, *, block_size: int | None = None, device: str | Device | None = "sim"
    ) -> np.generic:
        """Reduce an array with the kernel.

        Parameters
        ----------
        a : array_like
            Host array of the kernel's dtype.
        block_size : int, optional
            Threads per block. Default: the first of `block_sizes`.
        device : str, Device or None
            Device: ``"cuda"``, or ``"sim"``, which stops a kernel at an invalid access. Default: the first
            GPU, else the simulator.

        Returns
        -------
        numpy.generic
            Result of the kernel, right or wrong.

        Raises
        ------
        TypeError
            If the array has another dtype.
        ValueError
            If the kernel takes no n, and the elements do not fill whole blocks.
        SimulationError
            If the simulator stops the kernel.
        DeviceError
            If the device does not exist or fails.
        """
        data, threads, where = self._data(a), self._size(block_size), devices.device_info(device)
        self.check_size(data.size, threads, "a")
        if where.kind == "sim":
            *_, last = self.passes(data, threads)
            return last.left[0]
        out = np.empty(1, self.dtype)
        _run(_core.user_rung_run, self._call(data, threads, where), out)
        return out[0]

    def check(self, sizes: Iterable[int] | None = None) -> checks.Report:
        """Compare the kernel with ``numpy.sum`` at sizes at which kernels often fail, and look for races.

        Parameters
        ----------
        sizes : iterable of int, optional
            Numbers of elements. Default: multiples of the block size, their neighbours, and others, up to
            slightly more than 2**18. A kernel that takes no n is checked with whole blocks only.

        Returns
        -------
        Report
            The first fault of each kind. ``print`` shows them; ``passed`` is True if there are none.

        Notes
        -----
        The elements are small integers, whose sum is exact in any order, so that an element that is lost or
        counted twice is detected. `out` is filled with 0xff bytes (NaN for floats) before the kernel runs. If
        the result is wrong, further runs determine which elements are missing.
        """
        if sizes is None:
            return checks.check(self, None)
        if not isinstance(sizes, Iterable) or isinstance(sizes, str) or getattr(sizes, "shape", None) == ():
            raise TypeError(f"sizes: expected an iterable of int, got {type(sizes).__name__}")
        numbers = [integer(size, "sizes") for size in sizes]
        if min(numbers, default=0) < 0:
            raise ValueError(f"sizes: negative numbers of elements are not allowed: {numbers}")
        return checks.check(self, numbers)

    def bench(
        self,
        n: int | Sequence[int] = 4096,
        variants: str | Sequence[str] | None = None,
        *,
        device: str | Device | None = None,
        repeats: int = 20,
        block_size: int | None = None,
        progress: bool = False,
    ) -> BenchResult:
        """Measure the kernel and the rungs of this package, as `gpureduce.bench` does.

        Parameters
        ----------
        n : int or sequence of int
            Number or numbers of elements; whole blocks for a kernel that takes no n.
        variants : str or sequence of str, optional
            Rungs to compare with. Default: all.
        device : str, Device or None
            Device: times on a GPU, counts on the simulator. Default: the first GPU, else the simulator.
        repeats : int
            Number of timed repetitions; the median is reported.
        block_size : int, optional
            Threads per block. Default: chosen by each kernel.
        progress : bool
            Whether to show a progress bar.

        Returns
        -------
        BenchResult
            The table and the chart have a row for this kernel.

        Raises
        ------
        DeviceError
            If the device does not exist or fails.
        """
        where = devices.device_info(device)
        threads = self._size(block_size)
        for count in n if isinstance(n, Sequence) else (n,):
            if isinstance(count, (int, np.integer)):
                self.check_size(int(count), threads, "n")
        comparison = runner.bench(
            n, variants, "sum", self.dtype, where, repeats, progress, block_size=block_size
        )
        rows: list[dict[str, Any]] = []
        for count in dict.fromkeys(row["n"] for row in comparison.rows):
            rows += [row for row in comparison.rows if row["n"] == count]
            data = runner.draw("sum", self.dtype.name, count)
            measured = self._measured(data, threads, where, repeats)
            exact = rows[-1]["exact"]
            error = runner.relative_error(measured["result"], exact)
            what = {"variant": self.name, "op": "sum", "dtype": self.dtype.name, "n": count}
            rows.append({**what, **measured, "exact": exact, "relative_error": error})
        return BenchResult(comparison.head, tuple(rows))

    def _measured(self, data: np.ndarray, block_size: int, where: Device, repeats: int) -> dict[str, Any]:
        """Return the measured values of this kernel for a row."""
        if where.kind == "sim":
            return runner.counts_of(self.profile(data, block_size=block_size, races=False))
        timing = (*runner.rotation(data), repeats)
        times = _run(_core.user_rung_time, self._call(data, block_size, where), timing)
        whole = runner.wall_times(lambda: self.sum(data, block_size=block_size, device=where), repeats)
        names = ("first_pass_us", "all_passes_us", "end_to_end_us")
        summaries = map(summarize_times, (*times, whole))
        result = self.sum(data, block_size=block_size, device=where)
        return {
            "block_size": block_size,
            **dict(zip(names, summaries, strict=True)),
            "result": result.item(),
        }


def _run(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function of the core; errors show demangled kernel names."""
    try:
        return function(*args)
    except (ValueError, MemoryError, _core.DeviceError) as error:
        error.args = tuple(demangled(each) if isinstance(each, str) else each for each in error.args)
        raise


@lru_cache(maxsize=16)
def _loaded(name: str, ptx: str, kind: int, index: int) -> object:
    """Load the kernels of PTX on a device."""
    return _core.custom_load(name, ptx, kind, index)


def _compiled(
    source: str | os.PathLike[str], kernel: str | None, options: tuple[str, ...], option: str
) -> Program:
    """Compile a kernel with an additional option."""
    return program(source, kernel, (*options, option))


def ladder(
    source: str | os.PathLike[str],
    kernel: str | None = None,
    *,
    name: str = "mine",
    block_size: int | Sequence[int] = 256,
    elements: int = 1,
    grid: int | Callable[[int, int], int] | None = None,
    shared_bytes: int | None = None,
    dtype: Any = None,
    options: Iterable[str] = (),
) -> OwnRung:
    """Make your own reduction kernel a rung of the ladder, to check, profile and time it.

    The kernel has the parameters of the rungs, ``(const float *in, float *out, uint64_t n)``: block b stores
    the sum of its elements in ``out[b]``. The kernel is launched again on these results until one is left.

    A kernel ``(const float *in, float *out)`` without a parameter n supports whole blocks only: it is checked
    and timed with such numbers of elements, and results of a pass are padded with zeros to a whole block.

    Parameters
    ----------
    source : str or path_like
        CUDA C++, or the path of a ``.cu`` file, as for `simulate`.
    kernel : str, optional
        Name of the kernel; for a template with its arguments. Default: the only kernel in the source.
    name : str
        Name in tables and charts.
    block_size : int or sequence of int
        Threads per block. If there are several, `check` tries each of them; the first one is used otherwise.
    elements : int
        Minimum number of elements per thread: the grid has ``ceil(n / (block_size * elements))`` blocks.
    grid : int or callable, optional
        Maximum number of blocks, for a kernel with a grid-stride loop; or a function of the number of
        elements and the block size that returns the number of blocks. Not for a kernel that takes no n.
    shared_bytes : int, optional
        Bytes of dynamic shared memory per block. Default: one element for each thread.
    dtype : dtype_like, optional
        Dtype of the elements, for an ``extern "C"`` kernel, whose name does not encode it. Default: float32.
    options : iterable of str
        Additional NVRTC options, as for `simulate`.

    Returns
    -------
    OwnRung
        ``check()`` compares it with ``numpy.sum`` and looks for races; ``profile(n)`` shows counters next to
        each source line; ``bench(n)`` compares it with the other rungs.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid, or the kernel has other parameters.
    CompileError
        If NVRTC rejects the source.
    ImportError
        If NVRTC is not installed.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import gpureduce
    >>> source = '''
    ... __global__ void mine(const float *in, float *out, unsigned n) {
    ...     extern __shared__ float slots[];
    ...     unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    ...     slots[t] = i < n ? in[i] : 0;
    ...     __syncthreads();
    ...     for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    ...         if (t < stride)
    ...             slots[t] += slots[t + stride];
    ...     }
    ...     if (t == 0)
    ...         out[blockIdx.x] = slots[0];
    ... }
    ... '''
    >>> report = gpureduce.course.ladder(source).check([1000])
    >>> report.passed, [finding.race.missing for finding in report.findings if finding.kind == "race"]
    (False, ['__syncthreads'])
    """
    if not isinstance(options, Iterable) or isinstance(options, str) or getattr(options, "shape", None) == ():
        raise TypeError(f"options: expected a tuple of str, got {type(options).__name__}")
    options = tuple(options)
    own = user_kernel(
        source,
        kernel,
        name=name,
        block_size=block_size,
        elements=elements,
        grid=grid,
        shared_bytes=shared_bytes,
        dtype=dtype,
        options=options,
    )

    compiled = partial(_compiled, source, kernel, options)
    chosen = is_ptx(read(source).text) or any("-arch" in option for option in options)
    return OwnRung(**vars(own), _compiled=None if chosen else compiled)


def check(
    source: str | os.PathLike[str],
    kernel: str | None = None,
    *,
    sizes: Iterable[int] | None = None,
    block_size: int | Sequence[int] = 256,
    elements: int = 1,
    grid: int | Callable[[int, int], int] | None = None,
    shared_bytes: int | None = None,
    dtype: Any = None,
    options: Iterable[str] = (),
) -> checks.Report:
    """Check your own reduction kernel: short for ``ladder(...).check(sizes)``.

    Parameters
    ----------
    source : str or path_like
        CUDA C++, or the path of a ``.cu`` file, as for `simulate`.
    kernel : str, optional
        Name of the kernel; for a template with its arguments. Default: the only kernel in the source.
    sizes : iterable of int, optional
        Numbers of elements. Default: as for `OwnRung.check`.
    block_size, elements, grid, shared_bytes, dtype, options
        As for `ladder`.

    Returns
    -------
    Report
        Whether all sums are correct and there are no races, and the faults with their numbers of elements.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid, or the kernel has other parameters.
    CompileError
        If NVRTC rejects the source.
    ImportError
        If NVRTC is not installed.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import gpureduce
    >>> first_element = "__global__ void mine(const float *in, float *out, unsigned n) { *out = *in; }"
    >>> gpureduce.kernels.check(first_element, sizes=[1, 33], block_size=32).passed
    False
    """
    rung = ladder(
        source,
        kernel,
        block_size=block_size,
        elements=elements,
        grid=grid,
        shared_bytes=shared_bytes,
        dtype=dtype,
        options=options,
    )
    return rung.check(sizes)
