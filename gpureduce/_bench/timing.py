"""Times of calls on a CUDA device, from events around replays of a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

ROTATION_BYTES = 512 << 20  # of the inputs that a graph rotates over: 8 times the 60 MB L2 cache of an H200


def capture(torch: Any, call: Callable[[int], object], inputs: int, launches: int, stream: Any = None) -> Any:
    """Return a CUDA graph, captured by PyTorch, of `launches` calls that rotate over `inputs` inputs.

    `call` takes the index of an input. The first call, outside the graph, loads kernels and allocates memory;
    it runs on the stream of the capture, because CuPy caches memory per stream. With `stream`, PyTorch does
    not collect garbage and keeps its cached memory.
    """
    if stream is not None:
        with torch.cuda.stream(stream):
            call(0)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            graph.capture_begin()
            for launch in range(launches):
                call(launch % inputs)
            graph.capture_end()
        return graph
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


def graph_times(
    torch: Any,
    calls: Mapping[str, Callable[[int], object]],
    inputs: int,
    launches: int | Mapping[str, int],
    turns: Sequence[int],
    stream: Any = None,
) -> dict[str, list[float]]:
    """Return microseconds per call of contenders, which are timed in alternation.

    Parameters
    ----------
    torch : module
        PyTorch, which captures the graphs.
    calls : mapping
        Functions that enqueue one call, given the index of an input, by contender.
    inputs : int
        Number of inputs over which the calls rotate.
    launches : int or mapping
        Number of calls per graph, or a number for each contender.
    turns : sequence of int
        The number of replays in each turn.
    stream : torch.cuda.Stream, optional
        As for `capture`.
    """
    each = dict.fromkeys(calls, launches) if isinstance(launches, int) else dict(launches)
    graphs = {name: capture(torch, call, inputs, each[name], stream) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for replays in turns:
        for name, graph in graphs.items():
            times[name] += replay_times(torch, graph, each[name], replays)
    return times
