from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

CUDA: int
SIM: int

class DeviceError(RuntimeError): ...
class SimulationError(DeviceError): ...

def reduce(
    a: ArrayLike,
    op: str,
    variant: str,
    block_size: int | None,
    grid_size: int | None,
    device_kind: int,
    device_index: int,
    /,
) -> np.generic: ...
def time(
    a: ArrayLike,
    op: str,
    variant: str,
    block_size: int | None,
    grid_size: int | None,
    device_kind: int,
    device_index: int,
    buffers: int,
    rounds: int,
    repeats: int,
    /,
) -> tuple[list[float], list[float]]: ...
def devices() -> list[tuple[str, int, str, tuple[int, int], int, int, int]]: ...
def cuda_problem() -> str | None: ...
def variants() -> list[
    tuple[
        str,
        str,
        str,
        str,
        str,
        tuple[str, ...],
        tuple[str, ...],
        tuple[int, ...],
        int,
        str,
        bool,
        bool,
    ]
]: ...
def open_registry(folder: str | PathLike[str], /) -> None: ...
