from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:  # it stands above
    from gpureduce._profiles.profile import Profile

_T = TypeVar("_T")
# Pointer, shape, strides in bytes, dtype name, device type, device number, read-only, owner.
_Parts: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...], str, int, int, bool, object]

# A view of device memory: address, shape, strides in bytes, name of the dtype.
DeviceView: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...], str]

# Where a call runs and puts its result: `out` or None, kind and index of the device, and its stream.
Destination: TypeAlias = tuple[DeviceView | None, object, int, object]

CUDA: int
SIM: int
MAX_INPUTS: int
MAX_OUTPUTS: int
# What a result of the operator `extremes` is, as its parameter.
DIFFERENCE: int
MAGNITUDE: int
# How two values of states are merged (csrc/states/params.h), and bits of the fields that a state has.
STATE_NO_VALUE: int
STATE_MIN: int
STATE_MAX: int
STATE_ARGMIN: int
STATE_ARGMAX: int
STATE_ADD: int
STATE_PROD: int
STATE_AND: int
STATE_OR: int
STATE_XOR: int
STATE_HAS_VALUE: int
STATE_HAS_COUNT: int
STATE_HAS_INDEX: int
STATE_HAS_SUM: int
STATE_HAS_SQUARES: int

class DeviceError(RuntimeError): ...

class SimulationError(DeviceError):
    # What was seen until then, of a kernel that was stopped; others have none.
    profile: Profile

class Array:
    @property
    def pointer(self) -> int:
        """The address of the first element."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""

    @property
    def strides(self) -> tuple[int, ...]:
        """The steps along its axes, in bytes."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its elements."""

    @property
    def kind(self) -> int:
        """The kind of its device, as the core numbers it."""

    @property
    def index(self) -> int:
        """The number of its device."""

    @property
    def stream(self) -> int:
        """The CUDA stream in whose order it is written and freed."""

    def _share(self) -> None: ...
    def _settle(self) -> None: ...

def array_class(of: type, /) -> None: ...
def on_written(function: Callable[[object], None], /) -> None: ...
def on_low_memory(
    release_caches: Callable[[int], bool], error_class: Callable[[], type[MemoryError]], /
) -> None: ...
def scan(
    a: object,
    product: bool,
    axis: int,
    initial: bool,
    destination: Destination,
    /,
) -> Any: ...
def segments(
    a: object,
    op: str,
    axis: int,
    offsets: object,
    ordered: int,
    nothing: np.ndarray,
    ddof: float,
    destination: Destination,
    /,
) -> Any: ...
def segment_coverage() -> list[tuple[str, str]]: ...
def label_order(labels: object, groups: int, destination: Destination, /) -> Any: ...
def order_select(
    a: object, ranks: np.ndarray, nans: bool, ends: tuple | None, destination: Destination, /
) -> Any: ...
def order_firsts(
    a: object, k: int, largest: bool, sorted: bool, indices: object, destination: Destination, /
) -> Any: ...
def order_valids(a: object, destination: Destination, /) -> Any: ...
def array_empty(
    shape: tuple[int, ...], dtype: str, device_kind: int, device_index: int, stream: object = ..., /
) -> Any: ...
def convert(
    a: Any,
    dtype: str,
    destination: Destination,
    /,
) -> Any: ...
def array_view(array: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, /) -> Any: ...
def reduce(
    a: ArrayLike | DeviceView,
    op: str,
    variant: str,
    block_size: int | None,
    grid_size: int | None,
    device_kind: object,
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
    timing: tuple[int, int, int],
    /,
) -> tuple[list[float], list[float]]: ...

# Name, NumPy's name, bytes, kind, dtypes of sum and mean, scope, DLPack's code and bits.
def dtypes() -> tuple[tuple[str, str, int, str, str, str, str, int, int], ...]: ...
def devices() -> list[tuple[str, int, str, tuple[int, int], int, int, int, int]]: ...
def cublas_problem() -> str | None: ...
def cudnn_problem() -> str | None: ...
def cuda_problem() -> str | None: ...
def variants() -> list[
    tuple[
        str,
        str,
        str,
        str,
        str,
        tuple[tuple[str, str], ...],
        tuple[str, ...],
        tuple[int, ...],
        int,
        str,
        bool,
        bool,
        tuple[int, int],
        str,
        str,
        bool,
    ]
]: ...
def all_finite(array: np.ndarray, /) -> bool: ...
def ladder_launches() -> tuple[tuple[str, str, int, int, str, str], ...]: ...
def general_coverage() -> tuple[tuple[str, str], ...]: ...
def read_image(path: str | PathLike[str], /) -> bytes: ...
def open_registry(folder: str | PathLike[str], /) -> None: ...

# The result; None where it was written to `out`.
def general(
    source: np.ndarray | DeviceView,
    op: str,
    axes: tuple[int, ...],
    second: np.ndarray | DeviceView | None,
    initial: np.ndarray | None,
    out: DeviceView | None,
    device_kind: int,
    device_index: int,
    progress: Callable[[int, int], object] | None,
    stream: object = ...,
    parameter: int = ...,
    /,
) -> Any: ...
def exact(
    source: np.ndarray | DeviceView,
    op: str,
    axes: tuple[int, ...],
    second: np.ndarray | DeviceView | None,
    initial: np.ndarray | None,
    out: DeviceView | None,
    device_kind: int,
    device_index: int,
    stream: object,
    fold: int,
    blocks: int,
    /,
) -> Any: ...
def exact_states(
    source: np.ndarray | DeviceView,
    op: str,
    axes: tuple[int, ...],
    second: np.ndarray | DeviceView | bool | None,
    device_kind: int,
    device_index: int,
    stream: object,
    out: DeviceView | None = None,
    /,
) -> Any: ...
def exact_merge(states: np.ndarray, others: np.ndarray, /) -> None: ...
def exact_carry(states: np.ndarray, /) -> bool: ...
def exact_sharded(arrays: tuple[object, ...], others: tuple[object, ...] | None, mean: bool, /) -> Any: ...
def sharded_states(
    arrays: tuple[object, ...], others: tuple[object, ...] | None, ops: tuple[str, ...], /
) -> Any: ...
def sharded_values(arrays: tuple[object, ...], ops: tuple[str, ...], /) -> Any: ...
def state_begin(
    memory: Array,
    layout: tuple[object, ...],
    left: tuple[object, ...],
    device_kind: int,
    device_index: int,
    stream: object,
    /,
) -> Array: ...
def state_merge(
    memory: Array,
    others: Array,
    layout: tuple[object, ...],
    device_kind: int,
    device_index: int,
    stream: object,
    /,
) -> Array: ...
def exact_round(
    states: np.ndarray, divisors: np.ndarray, below: int, precision: int, exponent_bits: int, /
) -> np.ndarray: ...
def exact_rung(
    a: np.ndarray | DeviceView, variant: str, device_kind: object, device_index: int, /
) -> np.generic: ...
def reducer(
    op: str,
    positional: tuple[str, ...],
    others: tuple[str, ...],
    parameter: int = 0,
    exact: bool = False,
    report: Callable[..., None] | None = None,
    /,
) -> Callable[..., Any]: ...
def default_device(device_kind: int, device_index: int, /) -> None: ...
def runs() -> int: ...
def free_memory() -> None: ...
def hold(taken: bool, /) -> None: ...
def plan_general(
    source: np.ndarray | DeviceView,
    op: str,
    axes: tuple[int, ...],
    second: np.ndarray | DeviceView | None,
    /,
) -> list[tuple[str, str, int, int]]: ...
def flat_shapes() -> list[tuple[int, str, int, int, bool]]: ...
def multiplier(
    positional: tuple[str, ...], named: tuple[str, ...], report: Callable[..., None] | None = None, /
) -> Callable[..., Any]: ...
def matmul(
    a: np.ndarray | DeviceView,
    b: np.ndarray | DeviceView,
    variant: str | None,
    precision: str | None,
    destination: Destination,
    /,
) -> Any: ...
def convolver(positional: tuple[str, ...], named: tuple[str, ...], /) -> Callable[..., Any]: ...
def conv2d(
    x: np.ndarray | DeviceView,
    w: np.ndarray | DeviceView,
    strides: tuple[int, int],
    paddings: tuple[int, int, int, int],
    dilations: tuple[int, int],
    groups: int,
    layout: str,
    variant: str | None,
    precision: str | None,
    destination: Destination,
    /,
) -> Any: ...
def time_general(
    sources: tuple[DeviceView, ...],
    op: str,
    axes: tuple[int, ...],
    outs: tuple[DeviceView, ...],
    device_kind: int,
    device_index: int,
    rounds: int,
    repeats: int,
    seconds: tuple[DeviceView, ...] | None = ...,
    shape: int = ...,
    exact: bool = ...,
    /,
) -> list[float]: ...
def custom_load(name: str, ptx: str, device_kind: int, device_index: int, /) -> object: ...
def own_run(
    call: tuple[object, str, np.ndarray, tuple[tuple[int, int], ...], int, int, int], out: np.ndarray, /
) -> None: ...
def own_time(
    call: tuple[object, str, np.ndarray, tuple[tuple[int, int], ...], int, int, int],
    timing: tuple[int, int, int],
    /,
) -> tuple[list[float], list[float]]: ...
def custom_run(
    kernels: dict[str, object],
    inputs: tuple[np.ndarray | DeviceView | bytes, ...],
    by_position: bool,
    packed: bool,
    counts: bool,
    large: bool,
    axes: tuple[int, ...],
    outs: tuple[np.ndarray | DeviceView, ...],
    stream: object = ...,
    /,
) -> list[str]: ...

# A launch: name, grid, block, shared bytes, instructions, counters, rounds, timeline, races, races dropped,
# accesses of one block and how many more there were, its steps.
Observed: TypeAlias = tuple[
    str,
    tuple[int, int, int],
    tuple[int, int, int],
    int,
    list[tuple[int, str, str, tuple[tuple[str, int], ...], int]],
    bytes,
    bytes,
    tuple[int, int, bytes] | None,
    list[tuple[str, int, int, int, int, int, int, int, int, int]] | None,
    int,
    tuple[bytes, int] | None,
    tuple[bytes, bytes, bytes, int, list[str]] | None,
]

# A simulator that records its launches: it is passed as the kind of a device, with an index of 0.
def profile_device(races: bool, timeline_block: int, watched: int, /) -> object: ...
def profile_launches(device: object, /) -> list[Observed]: ...
def parse_ptx(text: str, /) -> object: ...
def simulate(
    module: object,
    kernel: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    cluster: tuple[int, int, int],
    params: bytes,
    arrays: tuple[tuple[np.ndarray, int], ...],
    shared_bytes: int,
    instruments: tuple[bool, int, int],
    steps: int = ...,
    /,
) -> tuple[list[Observed], str | None]: ...
def kernel_params(module: object, kernel: str, /) -> tuple[list[tuple[str, int, int]], int]: ...
def device_alloc(device_kind: object, device_index: int, nbytes: int, /) -> int: ...
def device_free(device_kind: int, device_index: int, address: int, /) -> None: ...
def device_write(
    device_kind: int, device_index: int, address: int, array: np.ndarray, stream: object = ..., /
) -> None: ...
def device_read(
    device_kind: object, device_index: int, address: int, array: np.ndarray, stream: object = ..., /
) -> None: ...
def stream_handle(stream: object, /) -> int: ...
def stream_order(device_kind: int, device_index: int, before: object, after: object, /) -> None: ...
def hold_until_done(device_kind: int, device_index: int, stream: object, held: object, /) -> None: ...
def stream_captured(device_kind: int, device_index: int, stream: object, /) -> bool: ...
def stream_wait(device_kind: int, device_index: int, stream: object, /) -> None: ...
def call_on(index: int, function: Callable[[], _T], /) -> _T: ...
def pointer_device(address: int, /) -> int: ...
def dlpack_import(capsule: object, /) -> _Parts: ...
def dlpack_exchange(array: object, /) -> tuple[_Parts, int] | None: ...
def dlpack_export(
    owner: object,
    pointer: int,
    shape: tuple[int, ...],
    dtype: str,
    device_type: int,
    device_id: int,
    versioned: bool,
    copied: bool,
    strides: tuple[int, ...] = ...,
    /,
) -> object: ...
