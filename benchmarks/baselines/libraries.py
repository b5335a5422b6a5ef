"""Who reduces: each contender times one reduction over all inputs of a case, in microseconds a reduction."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpureduce._bench import timing
from gpureduce._reduce import functions
from gpureduce._rules.dtypes import core_dtype, dtype_from_name

SOURCE = Path(__file__).with_name("cub_peer.cu")
OUT_BYTES = 64  # of each result: room for any dtype, or for a value and a place


def address_list(addresses: list[int]) -> ctypes.Array:
    """Return addresses as C has them."""
    return (ctypes.c_uint64 * len(addresses))(*addresses)


class Case:
    """One reduction: operator, dtype, inputs, second vectors of a dot product, places for the results."""

    def __init__(self, op: str, dtype: str, firsts: list, seconds: list, launches: int) -> None:
        self.op, self.dtype = op, dtype
        self.firsts, self.seconds = firsts, seconds
        self.n = firsts[0].numel()
        self.rounds = max(1, launches // len(firsts))
        self.launches = self.rounds * len(firsts)
        torch_like = firsts[0]
        self.outs = torch_like.new_empty(OUT_BYTES * len(firsts) // torch_like.element_size())

    def places(self) -> list[int]:
        """Return the addresses of the results."""
        return [self.outs.data_ptr() + i * OUT_BYTES for i in range(len(self.firsts))]


def results(torch, case: Case) -> list:
    """Return a tensor without dimensions for each result, of the dtype that the core gives."""
    dtype = getattr(torch, str(core_dtype(case.op, dtype_from_name(case.dtype))))
    raw = case.outs.view(torch.uint8).reshape(-1, OUT_BYTES)
    return [piece[: dtype.itemsize].view(dtype)[0] for piece in raw]


def replays(torch, case: Case, call: Callable[[int], object], repeats: int) -> list[float]:
    """Capture calls for all inputs into a graph of PyTorch, and replay it."""
    graph = timing.capture(torch, call, len(case.firsts), case.launches)
    return timing.replay_times(torch, graph, case.launches, repeats)


class Ours:
    """gpureduce, variant auto."""

    name = "gpureduce"

    def __init__(self) -> None:
        import torch

        self.torch = torch

    def calls(self, case: Case) -> Callable[[int], object]:
        """Return what enqueues the reduction of one input into PyTorch's current stream."""
        reduce, outs = getattr(functions, case.op), results(self.torch, case)
        seconds = [case.seconds] if case.op == "dot" else []
        pairs = list(zip(case.firsts, *seconds, strict=True))
        return lambda i: reduce(*pairs[i], out=outs[i])

    def time(self, case: Case, repeats: int) -> list[float]:
        """Replay a graph."""
        return replays(self.torch, case, self.calls(case), repeats)

    def answer(self, case: Case) -> float:
        """Return what the last time() left for the first input."""
        return read_result(case, str(core_dtype(case.op, dtype_from_name(case.dtype))))


def read_result(case: Case, dtype: str) -> float:
    """Return the first result."""
    raw = case.outs[: OUT_BYTES // case.outs.element_size()].cpu()
    torch_dtype = getattr(__import__("torch"), dtype)
    return float(raw.view(torch_dtype)[0])


class Cub:
    """cub::DeviceReduce, and the floors."""

    name = "cub"

    def __init__(self, nvcc: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        library = Path(self.folder.name) / "cub_peer.so"
        flags = ["-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-DNDEBUG"]
        subprocess.run([nvcc, *flags, "-o", str(library), str(SOURCE)], check=True)
        peer = ctypes.CDLL(str(library))
        self.peer_time, self.peer_enqueue = peer.peer_time, peer.peer_enqueue
        self.peer_time.restype = self.peer_enqueue.restype = ctypes.c_char_p
        words: Any = ctypes.POINTER(ctypes.c_uint64)
        work: list[Any] = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64]
        self.peer_time.argtypes = [*work, words, words, words, *[ctypes.c_size_t] * 3]
        self.peer_time.argtypes += [ctypes.POINTER(ctypes.c_double)]
        self.peer_enqueue.argtypes = [*work, *[ctypes.c_uint64] * 4]
        self.peer_enqueue.argtypes += [ctypes.POINTER(ctypes.c_size_t), ctypes.c_void_p]

    def replay(self, op: str, dtype: str, n: int, addresses: list[list[int]], launches: int, repeats: int):
        """Replay a graph of `launches` reductions over addresses of inputs, second inputs, results."""
        times = (ctypes.c_double * repeats)()
        lists = [address_list(one) for one in addresses]
        wrong = self.peer_time(
            op.encode(), dtype.encode(), n, *lists, len(addresses[0]), launches, repeats, times
        )
        if wrong is not None:
            raise RuntimeError(f"cub {op} {dtype}: {wrong.decode()}")
        return list(times)

    def enqueue(self, case: Case, i: int, temp: int, room: ctypes.c_size_t) -> None:
        """Put the reduction of one input into PyTorch's current stream; without `temp` only set `room`."""
        import torch

        first = case.firsts[i].data_ptr()
        second = case.seconds[i].data_ptr() if case.seconds else first
        where = (first, second, case.places()[i], temp, ctypes.byref(room))
        stream = torch.cuda.current_stream().cuda_stream
        wrong = self.peer_enqueue(case.op.encode(), case.dtype.encode(), case.n, *where, stream)
        if wrong is not None:
            raise RuntimeError(f"cub {case.op} {case.dtype}: {wrong.decode()}")

    def calls(self, case: Case) -> Callable[[int], object]:
        """Return what enqueues the reduction of one input."""
        room = ctypes.c_size_t(0)
        self.enqueue(case, 0, 0, room)
        temp = case.firsts[0].new_empty(room.value // case.firsts[0].element_size() + 1)
        return lambda i: self.enqueue(case, i, temp.data_ptr(), room)

    def time(self, case: Case, repeats: int) -> list[float]:
        """Replay a graph."""
        firsts = [tensor.data_ptr() for tensor in case.firsts]
        seconds = [tensor.data_ptr() for tensor in case.seconds] or firsts
        return self.replay(
            case.op, case.dtype, case.n, [firsts, seconds, case.places()], case.launches, repeats
        )


class Torch:
    """PyTorch."""

    name = "torch"

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.version = torch.__version__

    def call(self, case: Case, i: int):
        """Enqueue one reduction."""
        if case.op == "dot":
            return self.torch.dot(case.firsts[i], case.seconds[i])
        return getattr(self.torch, "amax" if case.op == "max" else case.op)(case.firsts[i])

    def calls(self, case: Case) -> Callable[[int], object]:
        """Return what enqueues the reduction of one input, whose result has a place of ours."""
        reduce, outs = self.torch.amax if case.op == "max" else self.torch.sum, results(self.torch, case)
        return lambda i: reduce(case.firsts[i], 0, out=outs[i])

    def time(self, case: Case, repeats: int) -> list[float]:
        """Replay a graph."""
        if case.op == "dot" and not case.firsts[0].is_floating_point():
            return []  # PyTorch has no dot product of integers on CUDA
        return replays(self.torch, case, lambda i: self.call(case, i), repeats)


class Cupy:
    """CuPy, with its CUB back end where it uses that by itself."""

    name = "cupy"

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy
        self.version = cupy.__version__

    def calls(self, case: Case) -> Callable[[int], object]:
        """Return what enqueues the reduction of one input into PyTorch's current stream."""
        import torch

        arrays = [self.cupy.from_dlpack(tensor) for tensor in case.firsts]
        outs = [self.cupy.from_dlpack(tensor) for tensor in results(torch, case)]

        def call(i: int) -> None:
            with self.cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
                getattr(arrays[i], case.op)(out=outs[i])

        return call

    def time(self, case: Case, repeats: int) -> list[float]:
        """Replay a graph."""
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


class Jax:
    """JAX: all reductions of a case as one compiled function, by the wall clock."""

    name = "jax"

    def __init__(self) -> None:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX would take most of the memory
        import jax

        self.jax = jax
        self.version = jax.__version__

    def time(self, case: Case, repeats: int) -> list[float]:
        """Call the compiled function."""
        jax = self.jax
        arrays = [jax.dlpack.from_dlpack(tensor) for tensor in case.firsts[:16]]
        seconds = [jax.dlpack.from_dlpack(tensor) for tensor in case.seconds[:16]]
        reduce = jax.jit(
            lambda *both: [
                jax.numpy.dot(x, y) if case.op == "dot" else getattr(jax.numpy, case.op)(x) for x, y in both
            ]
        )
        pairs = list(zip(arrays, seconds or arrays, strict=True))
        jax.block_until_ready(reduce(*pairs))
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            jax.block_until_ready(reduce(*pairs))
            times.append((time.perf_counter() - start) * 1e6 / len(pairs))
        return times


class OnHost:
    """A reduction of the same elements in host memory, by the wall clock: NumPy, or PyTorch on all cores."""

    def __init__(self, name: str) -> None:
        self.name = name

    def time(self, case: Case, repeats: int) -> list[float]:
        """Call it on a copy of the first input."""
        tensor = case.firsts[0].cpu()
        array = tensor if self.name == "torch_cpu" else tensor.numpy()
        call = getattr(array, "amax" if self.name == "torch_cpu" and case.op == "max" else case.op)
        times = []
        for _ in range(min(repeats, 7)):
            start = time.perf_counter()
            call()
            times.append((time.perf_counter() - start) * 1e6)
        return times
