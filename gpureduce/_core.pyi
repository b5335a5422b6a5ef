from collections.abc import Callable
from contextvars import Token
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

# Destination of a call: `out` or None, kind and index of the device, and its stream.
Destination: TypeAlias = tuple[DeviceView | None, object, int, object]

CUDA: int
SIM: int
MAX_INPUTS: int
MAX_OUTPUTS: int
# Traits of operators (csrc/reduce/ops.h).
OF_PAIR: int
SHARES_FILE: int
# Kinds of results of the operator `extremes`, its parameter.
DIFFERENCE: int
MAGNITUDE: int
# Merge operations of state fields (csrc/states/params.h), and bits of the fields of a state.
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
    # The profile of a stopped kernel until then; other errors have none.
    profile: Profile

class Array:
    @property
    def _pointer(self) -> int:
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
    def _kind(self) -> int:
        """The kind of its device, as the core numbers it."""

    @property
    def _index(self) -> int:
        """The number of its device."""

    @property
    def stream(self) -> int:
        """The CUDA stream in whose order it is written and freed."""

    def _share(self) -> None: ...
    def _settle(self) -> None: ...

# Registers the class of results on devices, a subclass of Array without attributes.
def array_class(of: type, /) -> None: ...

# The function is called with another library's tensor after it was written as `out`.
def on_written(function: Callable[[object], None], /) -> None: ...

# The functions are called when device memory runs out.
def on_low_memory(
    release_caches: Callable[[int], bool], error_class: Callable[[], type[MemoryError]], /
) -> None: ...

# The running sums, or products, along an axis, or `out`.
def scan(
    a: object,
    op: int,
    axis: int,
    initial: bool,
    exact: bool,
    destination: Destination,
    /,
) -> Any: ...

# softmax and other functions of csrc/normalize/ops.def along an axis. `weight`, `bias` and `residual` are
# contiguous or None; the residual is added, and gets the sums.
def normalize(
    *,
    a: object,
    op: str,
    axis: int,
    weight: object,
    bias: object,
    residual: object,
    eps: float,
    destination: Destination,
) -> Any: ...

# A capsule that `multi` takes as the tuple, which has to stay alive; or NotImplemented.
# Unless signs matter, it is for norms and scaling alone.
def multi_list(arrays: tuple[object, ...] | list[object], signs_matter: bool, /) -> Any: ...

# The name of the dtype of results of such a list.
def multi_dtype(list: Any, /) -> str: ...

# A device array; None of an operation in place; NotImplemented if an array needs more than a look at its
# memory. `place`: kind and index of the device of arrays given as views.
def multi(
    arrays: object,
    op: str,
    each: bool = False,
    dtype: str | None = None,
    offset: int = 0,
    stream: object = None,
    norm: object = None,
    max_norm: float = 0.0,
    eps: float = 0.0,
    place: tuple[int, int] | None = None,
    out: DeviceView | None = None,
    blocks: int = 0,
) -> Any: ...

# `offsets`: of the segments, then `permuted_rows` row numbers (0: elements are in order). `path` is a
# gr_segments_path of csrc/segments/segments.h: the kernels, which all give the same bits.
def segments(
    *,
    a: object,
    op: str,
    axis: int,
    offsets: object,
    permuted_rows: int,
    ddof: float,
    destination: Destination,
    path: int = 0,
) -> Any: ...

# Exact sums or means of rows by label; NotImplemented where there are no kernels for it. `path` is a
# gr_groups_path of csrc/groups/request.h: the kernels, which all give the same bits. `partition_shift` is the
# log2 of groups per partition, in tests of small arrays.
def groups(
    *,
    a: object,
    op: str,
    axis: int,
    labels: object,
    num_groups: int,
    destination: Destination,
    path: int = 0,
    partition_shift: int = 0,
    states: bool = False,
) -> Any: ...

# The pairs of operator and dtype that `segments` supports.
def segment_coverage() -> list[tuple[str, str]]: ...

# The offsets of the groups, then the numbers of their rows, or `out`.
def label_order(labels: object, groups: int, destination: Destination, /) -> Any: ...

# Of elements of a shape (lines, rows, columns), which is also that of `mask`: the numbers of their results
# among those of all lines, groups and columns, or -1; or `out`. int32 if these numbers fit, else int64. The
# labels of each row are there `repeats` times.
def masked_labels(
    *,
    labels: object,
    by_offsets: bool,
    num_groups: int,
    shape: tuple[int, int, int],
    mask: object | None,
    repeats: int,
    destination: Destination,
) -> Any: ...

# Products of the shape (lines, rows, columns), each row followed by one of their rounding errors; of float32
# with `wide` the exact products as float64.
def group_products(*, weights: object, a: object, wide: bool, destination: Destination) -> Any: ...

# The labels of sorted elements, whose indices are given; and the quantile `q` of each group of sorted
# elements, given the result of label_order.
def gather_labels(labels: object, indices: object, destination: Destination, /) -> Any: ...
def group_quantile(
    sorted: object, segments: object, groups: int, q: float, destination: Destination, /
) -> Any: ...

# Quotients of float64, as float32 if `narrow`.
def group_quotients(
    *, dividends: object, divisors: object, narrow: bool, destination: Destination
) -> Any: ...

# The elements of ranks, a row per line, or `out`; their quantiles if `quantiles` is (mean, dtype, lower,
# upper, weight, rest).
def order_select(
    a: object, ranks: np.ndarray, nans: bool, quantiles: dict[str, Any] | None, destination: Destination, /
) -> Any: ...

# The first k elements of each line, or `out`; their indices are written to `indices`, a view of device
# memory.
def order_topk(
    a: object, k: int, largest: bool, sorted: bool, indices: object, destination: Destination, /
) -> Any: ...

# The number of elements of each line that are not NaN, or `out`.
def order_count_valid(a: object, destination: Destination, /) -> Any: ...

# The median of the elements of each line that are not NaN, or `out`; the host does not wait.
def order_valid(a: object, q: float | None, weak: bool, destination: Destination, /) -> Any: ...

# Custom calls for XLA: the name of each target, and capsules of its handlers for the CPU and for a GPU.
def jax_targets() -> list[tuple[str, object, object]]: ...

# The bytes of workspace that a call of a target requires on a device. Operands and results are names of
# dtypes, and shapes.
def jax_workspace(
    target: str,
    device_kind: object,
    device_index: int,
    operands: tuple[tuple[str, tuple[int, ...]], ...],
    results: tuple[tuple[str, tuple[int, ...]], ...],
    attributes: dict[str, str | np.ndarray],
    /,
) -> int: ...

# An uninitialized array.
def array_empty(
    shape: tuple[int, ...], dtype: str, device_kind: int, device_index: int, stream: object = ..., /
) -> Any: ...

# The elements in a dtype, in C order, or `out`.
def convert(
    a: Any,
    dtype: str,
    destination: Destination,
    /,
) -> Any: ...

# A view that begins `offset` bytes after the array's first element.
def array_view(array: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, /) -> Any: ...

# A view of a packed array in another shape, ints or one tuple of them, and a copy in C order, of another
# dtype if it is named. NotImplemented where Python has more to do.
def array_reshaped(array: Any, shape: tuple[Any, ...], /) -> Any: ...
def array_copied(array: Any, dtype: str = ..., /) -> Any: ...
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

# Microseconds of the first pass, and of all passes, one figure per repeat. `timing`: buffers, rounds,
# repeats.
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

# Name, traits, and by the dtype of elements the dtype of the result, of each row of csrc/reduce/ops.def.
def operators() -> tuple[tuple[str, int, tuple[tuple[str, str], ...]], ...]: ...
def devices() -> list[tuple[str, int, str, tuple[int, int], int, int, int, int]]: ...

# Why the library behind a variant cannot be loaded, or None.
def library_problem(variant: str, /) -> str | None: ...

# Why no CUDA device is available, or None.
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

# Whether the array has no infinity and no NaN.
def all_finite(array: np.ndarray, /) -> bool: ...

# Launch parameters of each variant of the reduction ladder, from rungs.def.
def ladder_launches() -> tuple[tuple[str, str, int, int, str, str], ...]: ...

# The pairs of operator and dtype that `general` supports.

# The content of a file of compiled kernels, decompressed.
def read_image(path: str | PathLike[str], kernel: str | None = None, /) -> bytes: ...
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

# As `general`, rounded once; 0 as `fold` or `blocks` lets the planner choose.
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

# States, (results, parts, words) of int64. `second` may be True: the source itself. In `out`, device
# memory, they are not normalised, as state_begin reads them.
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

# Adds others, (any, words) of int64, to states, in place.
def exact_merge(states: np.ndarray, others: np.ndarray, /) -> None: ...

# Normalises states that were computed on a device, in place. Returns whether all are valid.
def exact_carry(states: np.ndarray, /) -> bool: ...

# The exact sum or mean of all elements of device arrays, or of their products with others; NotImplemented:
# fall back to Python.
def exact_sharded(arrays: tuple[object, ...], others: tuple[object, ...] | None, mean: bool, /) -> Any: ...

# The dtype, and per operator the merged states of exact sums (`states`), or one result per array; or
# NotImplemented. `dot` without others is the sum of squares. Without states, sums are of integers that cannot
# wrap.
def sharded(
    arrays: tuple[object, ...],
    others: tuple[object, ...] | None,
    ops: tuple[str, ...],
    states: bool,
    device: object = None,
    /,
) -> Any: ...

# Makes states, in place, of the results that reductions wrote there and of `input`; see
# csrc/python/device_state.c.
def state_begin(
    memory: Array,
    layout: dict[str, Any],
    input: dict[str, Any],
    device_kind: int,
    device_index: int,
    stream: object,
    /,
) -> Array: ...

# Merges others into states on the device, in place.
def state_merge(
    memory: Array,
    others: Array,
    layout: dict[str, Any],
    device_kind: int,
    device_index: int,
    stream: object,
    /,
) -> Array: ...

# The bits of each number, as uint64.
def exact_round(
    states: np.ndarray, divisors: np.ndarray, below: int, precision: int, exponent_bits: int, /
) -> np.ndarray: ...

# The bits of variances, or of their roots, each rounded once; of norms, without counts and sums.
def exact_variances(
    counts: np.ndarray | None,
    sums: np.ndarray | None,
    squares: np.ndarray,
    parts: int,
    sum_below: int,
    square_below: int,
    precision: int,
    exponent_bits: int,
    ddof: int,
    root: bool,
    /,
) -> np.ndarray: ...
def exact_rung(
    a: np.ndarray | DeviceView, variant: str, device_kind: object, device_index: int, /
) -> np.generic: ...

# Sums of float32 by int32 label, or `out`.
def group_rung(
    a: object, labels: object, num_groups: int, variant: str, destination: Destination, /
) -> np.ndarray | None: ...

# The cumulative sum of a float32 vector, or `out`.
def scan_rung(a: object, variant: str, destination: Destination, /) -> np.ndarray | None: ...

# The fast path of a public function by its name, or of a reduction by an operator, which returns
# NotImplemented to fall back to Python. `report` is called with a result on the host that is not finite; of
# topk, with values and indices, and returns the result. `tensors`: csrc/python/tensors.h.
def fast_path(
    function: str,
    positional: tuple[str, ...],
    named: tuple[str, ...],
    report: Callable[..., object] | None = None,
    parameter: int = 0,
    exact: bool = False,
    tensors: tuple[
        tuple[type, type],
        tuple[tuple[object, str | None, object], ...],
        tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]],
        Callable[[], bool],
        tuple[Callable[..., object], tuple[object, ...], int, Callable[..., object]]
        | Callable[..., object]
        | bool
        | None,
        dict[str, object],
    ]
    | None = None,
    /,
) -> Callable[..., Any]: ...

# Whether PyTorch's C functions make tensors, and whether they tell the dispatch keys of a thread.
def torch_shim() -> tuple[bool, bool]: ...
def torch_view(
    object: Any, /
) -> tuple[
    tuple[int, int, str, int, int] | None,
    tuple[int, tuple[int, ...], tuple[int, ...], int, tuple[int, int]] | None,
]: ...

# The device (kind and index) of calls on host arrays without `device=`: the context's, else the process's;
# None if neither is set.
def default_device() -> tuple[int, int] | None: ...

# Sets the device of the process; None unsets it.
def set_default_device(device: tuple[int, int] | None, /) -> None: ...

# Sets the device of the context; `token.var.reset(token)` restores the one before.
def push_device(device: tuple[int, int], /) -> Token[tuple[int, int]]: ...

# The number of successful runs of the calling thread.
def runs() -> int: ...

# Frees the device memory that is cached between calls.
def free_memory() -> None: ...

# Locks or unlocks all locks of the core around a fork, so that no other thread holds one.
def lock_for_fork(locked: bool, /) -> None: ...

# Kind of the kernel, mode, blocks along x, and along y, and the name of the kernel, per launch.
def plan_general(
    source: np.ndarray | DeviceView,
    op: str,
    axes: tuple[int, ...],
    second: np.ndarray | DeviceView | None,
    /,
) -> list[tuple[str, str, int, int, str]]: ...

# Largest size in bytes, kernel, threads, maximum of blocks, early trigger, per launch shape.
def flat_shapes() -> list[tuple[int, str, int, int, bool]]: ...
def matmul(
    a: np.ndarray | DeviceView,
    b: np.ndarray | DeviceView,
    variant: str | None,
    precision: str | None,
    batch_invariant: bool,
    destination: Destination,
    /,
) -> Any: ...
def conv2d(
    *,
    x: np.ndarray | DeviceView,
    w: np.ndarray | DeviceView,
    stride: tuple[int, int],
    padding: tuple[int, int, int, int],
    dilation: tuple[int, int],
    groups: int,
    layout: str,
    variant: str | None,
    precision: str | None,
    destination: Destination,
    bias: np.ndarray | DeviceView | None = None,
    batch_invariant: bool = True,
) -> Any: ...

# Microseconds per repeat.
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

# The kernels of a custom reduction, for custom_run and user_rung_run.
def custom_load(name: str, ptx: str, device_kind: int, device_index: int, /) -> object: ...

# `call`: kernels, entry, data, passes (n, blocks), block, shared_bytes, count_bytes (of the parameter n).
def user_rung_run(call: dict[str, Any], out: np.ndarray, /) -> None: ...
def user_rung_time(
    call: dict[str, Any], timing: tuple[int, int, int], /
) -> tuple[list[float], list[float]]: ...

# Names of the needed kernels that `kernels`, by name, lacks; if none, it has run. An input is an array, a
# view, or bytes for a scalar.
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
    list[tuple[str, int, int, int, int, int, int, int, int, int, int, int]] | None,
    int,
    tuple[bytes, int] | None,
    tuple[bytes, bytes, bytes, int, list[str]] | None,
]

# A simulator that records its launches: it is passed as the kind of a device, with an index of 0.
def profile_device(races: int, timeline_block: int, watched: int, /) -> object: ...
def profile_launches(device: object, /) -> list[Observed]: ...

# The parsed module, for `simulate` and `kernel_params`.
def parse_ptx(text: str, /) -> object: ...

# The record of each launch, and the reason why the simulator stopped, or None. An array is passed with the
# offset of its address in the parameters; it is copied to the simulator and back.
def simulate(
    *,
    module: object,
    kernel: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    cluster: tuple[int, int, int],
    params: bytes,
    arrays: tuple[tuple[np.ndarray, int], ...],
    shared_bytes: int,
    instruments: tuple[int, int, int],
    steps: int = ...,
) -> tuple[list[Observed], str | None]: ...

# Type, offset and bytes of each parameter, and the bytes of all.
def kernel_params(module: object, kernel: str, /) -> tuple[list[tuple[str, int, int]], int]: ...
def device_alloc(device_kind: object, device_index: int, nbytes: int, /) -> int: ...
def device_free(device_kind: int, device_index: int, address: int, /) -> None: ...
def device_write(
    device_kind: int, device_index: int, address: int, array: np.ndarray, stream: object = ..., /
) -> None: ...
def device_read(
    device_kind: object, device_index: int, address: int, array: np.ndarray, stream: object = ..., /
) -> None: ...

# The handle of a stream given as a handle or as an object that has one.
def stream_handle(stream: object, /) -> int: ...

# Later work in the stream `after` waits for earlier work in `before`, on the device.
def stream_order(device_kind: int, device_index: int, before: object, after: object, /) -> None: ...

# Keeps an object alive until the work queued on the stream is done; does nothing during capture.
def keep_alive_until_done(device_kind: int, device_index: int, stream: object, held: object, /) -> None: ...

# Whether the stream is being captured into a graph.
def stream_captured(device_kind: int, device_index: int, stream: object, /) -> bool: ...

# Returns when the work in the stream is done.
def stream_wait(device_kind: int, device_index: int, stream: object, /) -> None: ...

# Returns function(), called while that CUDA device is the current one.
def call_on(index: int, function: Callable[[], _T], /) -> _T: ...

# The index of the CUDA device of this memory.
def pointer_device(address: int, /) -> int: ...
def dlpack_import(capsule: object, /) -> _Parts: ...

# The parts and the stream to wait for, or None: its `__dlpack__` has to be called.
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
