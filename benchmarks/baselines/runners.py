"""What reduces the inputs of a case: each runner times one library, in microseconds per reduction."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.baselines import cub
from gpureduce import _core
from gpureduce._arrays.device_array import DeviceArray, empty
from gpureduce._bench import timing
from gpureduce._device.devices import resolve
from gpureduce._reduce import functions
from gpureduce._rules.dtypes import core_dtype, dtype_from_name

OUT_BYTES = 64  # of each result: enough for any dtype, or for a value and an index


def address(array: Any) -> int:
    """Return the address of a tensor of PyTorch, or of an array on the device."""
    return array.data_ptr() if hasattr(array, "data_ptr") else array.__cuda_array_interface__["data"][0]


class ReductionCase:
    """One reduction: operator, dtype, inputs, second vectors of a dot product, and memory for the results.

    Inputs are tensors of PyTorch, or instances of DeviceArray where PyTorch is not installed.
    """

    def __init__(self, op: str, dtype: str, firsts: list[Any], seconds: list[Any], launches: int) -> None:
        self.op, self.dtype = op, dtype
        self.firsts, self.seconds = firsts, seconds
        self.n = math.prod(firsts[0].shape)
        self.itemsize = firsts[0].dtype.itemsize
        self.rounds = max(1, launches // len(firsts))
        self.launches = self.rounds * len(firsts)
        size = OUT_BYTES * len(firsts) // self.itemsize
        self.outs: Any
        if isinstance(firsts[0], DeviceArray):
            self.outs = empty((size,), firsts[0].dtype, *resolve(str(firsts[0].device)))
        else:
            self.outs = firsts[0].new_empty(size)

    def __len__(self) -> int:
        return len(self.firsts)

    def out_addresses(self) -> list[int]:
        """Return the addresses of the results."""
        return [address(self.outs) + i * OUT_BYTES for i in range(len(self.firsts))]


def results(torch: Any, case: ReductionCase) -> list[Any]:
    """Return a tensor without dimensions for each result, of the dtype that the core returns."""
    dtype = getattr(torch, str(core_dtype(case.op, dtype_from_name(case.dtype))))
    raw = case.outs.view(torch.uint8).reshape(-1, OUT_BYTES)
    return [piece[: dtype.itemsize].view(dtype)[0] for piece in raw]


def exact(op: str, first: Any, second: Any) -> float:
    """Return the result for integer-valued inputs, by NumPy in exact arithmetic."""

    def wide(array: Any) -> np.ndarray:
        if isinstance(array, DeviceArray):
            return array.numpy().astype(np.float64)
        return array.cpu().double().numpy()

    x = wide(first)
    if op == "sum":
        return float(x.sum())
    if op == "dot":
        return float(np.dot(x, wide(second)))
    return float(x.max() if op == "max" else x.argmax())


def _replays(torch: Any, case: ReductionCase, call: Callable[[int], object], repeats: int) -> list[float]:
    """Capture calls for all inputs into a graph of PyTorch, and replay it."""
    return timing.graph_times(torch, {"": call}, len(case), case.launches, [repeats])[""]


class GpureduceRunner:
    """gpureduce, variant auto: calls captured by PyTorch, or where that is not installed by the core."""

    name = "gpureduce"
    exact = False  # whether ``exact=True`` is passed

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def calls(self, case: ReductionCase) -> Callable[[int], object]:
        """Return what enqueues the reduction of one input into PyTorch's current stream."""
        reduce, outs = getattr(functions, case.op), results(self.torch, case)
        seconds = [case.seconds] if case.op == "dot" else []
        pairs = list(zip(case.firsts, *seconds, strict=True))
        options = {"exact": True} if self.exact else {}
        return lambda i: reduce(*pairs[i], out=outs[i], **options)

    def time(self, case: ReductionCase, repeats: int) -> list[float]:
        """Replay a graph."""
        if self.torch is not None:
            return _replays(self.torch, case, self.calls(case), repeats)
        first = case.firsts[0]
        form = ((case.n,), (case.itemsize,), case.dtype)
        out = core_dtype(case.op, first.dtype).name
        sources = tuple((address(each), *form) for each in case.firsts)
        outs = tuple((each, (), (), out) for each in case.out_addresses())
        place = resolve(str(first.device))
        return _core.time_general(sources, case.op, (0,), outs, *place, case.rounds, repeats)

    def answer(self, case: ReductionCase) -> float:
        """Return the result of the first input."""
        if self.torch is None:
            pair = [case.firsts[0], *case.seconds[:1]]
            return float(getattr(functions, case.op)(*pair))
        self.time(case, 1)
        dtype = getattr(self.torch, str(core_dtype(case.op, dtype_from_name(case.dtype))))
        raw = case.outs[: OUT_BYTES // case.itemsize].cpu()
        return float(raw.view(dtype)[0])


class ExactRunner(GpureduceRunner):
    """gpureduce, with ``exact=True``."""

    name = "exact"
    exact = True


class CubRunner:
    """cub::DeviceReduce, and what the machine allows: an empty kernel, and kernels that read and copy."""

    name = "cub"

    def __init__(self, nvcc: str | Path) -> None:
        library = cub.build(nvcc, cub.REDUCTIONS)
        self.peer_time, self.peer_enqueue = library.peer_time, library.peer_enqueue
        self.peer_time.restype = self.peer_enqueue.restype = ctypes.c_char_p
        words: Any = ctypes.POINTER(ctypes.c_uint64)
        work: list[Any] = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64]
        self.peer_time.argtypes = [*work, words, words, words, *[ctypes.c_size_t] * 3]
        self.peer_time.argtypes += [ctypes.POINTER(ctypes.c_double)]
        self.peer_enqueue.argtypes = [*work, *[ctypes.c_uint64] * 4]
        self.peer_enqueue.argtypes += [ctypes.POINTER(ctypes.c_size_t), ctypes.c_void_p]

    def replay(
        self, op: str, dtype: str, n: int, addresses: list[list[int]], launches: int, repeats: int
    ) -> list[float]:
        """Replay a graph of `launches` reductions over addresses of inputs, second inputs, results."""
        times = (ctypes.c_double * repeats)()
        lists = [(ctypes.c_uint64 * len(each))(*each) for each in addresses]
        error = self.peer_time(
            op.encode(), dtype.encode(), n, *lists, len(addresses[0]), launches, repeats, times
        )
        if error is not None:
            raise RuntimeError(f"cub {op} {dtype}: {error.decode()}")
        return list(times)

    def _enqueue(self, case: ReductionCase, i: int, temp: int, nbytes: ctypes.c_size_t) -> None:
        """Put the reduction of one input into PyTorch's current stream; without `temp` only set `nbytes`."""
        import torch

        first = address(case.firsts[i])
        second = address(case.seconds[i]) if case.seconds else first
        operands = (first, second, case.out_addresses()[i], temp, ctypes.byref(nbytes))
        stream = torch.cuda.current_stream().cuda_stream
        error = self.peer_enqueue(case.op.encode(), case.dtype.encode(), case.n, *operands, stream)
        if error is not None:
            raise RuntimeError(f"cub {case.op} {case.dtype}: {error.decode()}")

    def calls(self, case: ReductionCase) -> Callable[[int], object]:
        """Return what enqueues the reduction of one input."""
        nbytes = ctypes.c_size_t(0)
        self._enqueue(case, 0, 0, nbytes)
        temp = case.firsts[0].new_empty(nbytes.value // case.itemsize + 1)
        return lambda i: self._enqueue(case, i, temp.data_ptr(), nbytes)

    def time(self, case: ReductionCase, repeats: int) -> list[float]:
        """Replay a graph."""
        firsts = list(map(address, case.firsts))
        seconds = list(map(address, case.seconds)) or firsts
        addresses = [firsts, seconds, case.out_addresses()]
        return self.replay(case.op, case.dtype, case.n, addresses, case.launches, repeats)


class TorchRunner:
    """PyTorch."""

    name = "torch"

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def _call(self, case: ReductionCase, i: int) -> Any:
        if case.op == "dot":
            return self.torch.dot(case.firsts[i], case.seconds[i])
        return getattr(self.torch, "amax" if case.op == "max" else case.op)(case.firsts[i])

    def calls(self, case: ReductionCase) -> Callable[[int], object]:
        """Return what enqueues the reduction of one input into an output of ours."""
        reduce = self.torch.amax if case.op == "max" else self.torch.sum
        outs = results(self.torch, case)
        return lambda i: reduce(case.firsts[i], 0, out=outs[i])

    def time(self, case: ReductionCase, repeats: int) -> list[float]:
        """Replay a graph."""
        if case.op == "dot" and "int" in case.dtype:
            return []  # PyTorch has no dot product of integers on CUDA
        return _replays(self.torch, case, lambda i: self._call(case, i), repeats)


class CupyRunner:
    """CuPy, with its CUB back end where it uses that by itself."""

    name = "cupy"

    def __init__(self, cupy: Any, torch: Any = None) -> None:
        self.cupy, self.torch = cupy, torch

    def calls(self, case: ReductionCase) -> Callable[[int], object]:
        """Return what enqueues the reduction of one input into PyTorch's current stream."""
        arrays = [self.cupy.from_dlpack(tensor) for tensor in case.firsts]
        outs = [self.cupy.from_dlpack(tensor) for tensor in results(self.torch, case)]

        def call(i: int) -> None:
            with self.cupy.cuda.ExternalStream(self.torch.cuda.current_stream().cuda_stream):
                getattr(arrays[i], case.op)(out=outs[i])

        return call

    def time(self, case: ReductionCase, repeats: int) -> list[float]:
        """Replay a graph that CuPy captures."""
        cupy = self.cupy
        if case.dtype == "bfloat16":
            return []
        arrays = [cupy.from_dlpack(tensor) for tensor in case.firsts]
        seconds = [cupy.from_dlpack(tensor) for tensor in case.seconds]
        outs = [getattr(arrays[0], case.op)() if case.op != "dot" else arrays[0].dot(seconds[0])]

        def call(i: int) -> None:
            if case.op == "dot":
                cupy.dot(arrays[i], seconds[i], out=outs[0])
            else:
                getattr(arrays[i], case.op)(out=outs[0])

        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            for i in range(min(2, len(arrays))):
                call(i)
            stream.synchronize()
            stream.begin_capture()
            for launch in range(case.launches):
                call(launch % len(arrays))
            graph = stream.end_capture()
            graph.launch()
            times = []
            for _ in range(repeats):
                start, stop = cupy.cuda.Event(), cupy.cuda.Event()
                start.record(stream)
                graph.launch(stream)
                stop.record(stream)
                stop.synchronize()
                times.append(cupy.cuda.get_elapsed_time(start, stop) * 1e3 / case.launches)
        return times


class JaxRunner:
    """JAX: all reductions of a case as one compiled function, by the wall clock."""

    name = "jax"

    def __init__(self, jax: Any) -> None:
        self.jax = jax

    def time(self, case: ReductionCase, repeats: int) -> list[float]:
        """Call the compiled function."""
        jax = self.jax
        arrays = [jax.dlpack.from_dlpack(tensor) for tensor in case.firsts[:16]]
        seconds = [jax.dlpack.from_dlpack(tensor) for tensor in case.seconds[:16]]

        def reduce_all(*pairs: tuple[Any, Any]) -> list[Any]:
            if case.op == "dot":
                return [jax.numpy.dot(x, y) for x, y in pairs]
            return [getattr(jax.numpy, case.op)(x) for x, _ in pairs]

        reduce = jax.jit(reduce_all)
        pairs = list(zip(arrays, seconds or arrays, strict=True))
        jax.block_until_ready(reduce(*pairs))
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            jax.block_until_ready(reduce(*pairs))
            times.append((time.perf_counter() - start) * 1e6 / len(pairs))
        return times


class HostRunner:
    """A reduction of the same elements in host memory, by the wall clock: NumPy, or PyTorch on all cores."""

    def __init__(self, name: str) -> None:
        self.name = name

    def time(self, case: ReductionCase, repeats: int) -> list[float]:
        """Call it on a copy of the first input."""
        first = case.firsts[0]
        tensor = first if isinstance(first, DeviceArray) else first.cpu()
        array = tensor if self.name == "torch_cpu" else tensor.numpy()
        call = getattr(array, "amax" if self.name == "torch_cpu" and case.op == "max" else case.op)
        times = []
        for _ in range(min(repeats, 7)):
            start = time.perf_counter()
            call()
            times.append((time.perf_counter() - start) * 1e6)
        return times
