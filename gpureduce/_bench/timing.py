"""Times of calls on a CUDA device, from events around replays of a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ROTATION_BYTES = 512 << 20  # of the inputs that a graph rotates over: 8 times the 60 MB L2 cache of an H200


def capture(torch: Any, call: Callable[[int], object], inputs: int, launches: int) -> Any:
    """Return a CUDA graph, captured by PyTorch, of `launches` calls that rotate over `inputs` inputs.

    `call` takes the index of an input. The first call, outside the graph, loads kernels and allocates memory;
    it is issued to the stream of the capture, because CuPy caches memory per stream.
    """
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        call(0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        for launch in range(launches):
            call(launch % inputs)
    return graph


def replay_times(torch: Any, graph: Any, launches: int, repeats: int) -> list[float]:
    """Return microseconds per launch for each of `repeats` replays of a graph; one replay before warms up."""
    graph.replay()
    times = []
    for _ in range(repeats):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) * 1e3 / launches)
    return times
