"""What XLA's handlers do on a CUDA device, against the fake driver: frames as XLA makes them, without JAX.

tests/interop/test_jax.py calls the handlers by JAX: on the simulator, and on a GPU.
"""

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_void_p

import numpy as np

import gpureduce
from gpureduce import _core
from tests.support.fake_driver import driver_calls, run

HOST = np.arange(1, 1001, dtype=np.int32) * 37 % 101 - 50
S32, S64, U8, F32 = 4, 5, 6, 11  # numbers of XLA's dtypes
STRING, SCALAR = 4, 3  # of its types of attributes


def struct(name, *fields):
    head = [("struct_size", c_size_t), ("extensions", c_void_p)]
    return type(name, (ctypes.Structure,), {"_fields_": [*head, *fields]})


Version = struct("Version", ("major", c_int), ("minor", c_int))
Buffer = struct("Buffer", ("dtype", c_int), ("data", c_void_p), ("rank", c_int64), ("dims", POINTER(c_int64)))
Buffers = struct("Buffers", ("size", c_int64), ("types", POINTER(c_int)), ("items", POINTER(c_void_p)))
Attributes = struct(
    "Attributes",
    ("size", c_int64),
    ("types", POINTER(c_int)),
    ("names", POINTER(c_void_p)),
    ("items", POINTER(c_void_p)),
)
ErrorArgs = struct("ErrorArgs", ("message", c_char_p), ("code", c_int))
StreamArgs = struct("StreamArgs", ("context", c_void_p), ("stream", c_void_p))
ErrorCreate = ctypes.CFUNCTYPE(c_void_p, POINTER(ErrorArgs))
StreamGet = ctypes.CFUNCTYPE(c_void_p, POINTER(StreamArgs))
Api = struct(
    "Api",
    ("version", Version),
    ("internal", c_void_p),
    ("error_create", ErrorCreate),
    ("unused", c_void_p * 3),
    ("stream_get", StreamGet),
)
Frame = struct(
    "Frame",
    ("api", POINTER(Api)),
    ("context", c_void_p),
    ("stage", c_int),
    ("operands", Buffers),
    ("results", Buffers),
    ("attributes", Attributes),
)


class Text(ctypes.Structure):
    _fields_ = [("data", c_char_p), ("bytes", c_size_t)]


class Scalar(ctypes.Structure):
    _fields_ = [("dtype", c_int), ("value", c_void_p)]


class Metadata(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("version", Version), ("traits", c_uint32)]


class MetadataExtension(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("type", c_int),
        ("next", c_void_p),
        ("metadata", POINTER(Metadata)),
    ]


def handler(target):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]
    (capsule,) = (cuda for name, _, cuda in _core.jax_targets() if name == f"gpureduce_{target}_1")
    return ctypes.CFUNCTYPE(c_void_p, POINTER(Frame))(pointer(capsule, None))


def pointers(structs):
    return (c_void_p * len(structs))(*(ctypes.addressof(each) for each in structs))


def call(target, operands, results, attributes, stream=0):
    """Call a handler; return code and message of its error, or None. Arrays: dtype, address, shape."""
    keep, errors = [], []

    def buffers(arrays):
        made = [
            Buffer(0, None, dtype, data, len(shape), (c_int64 * len(shape))(*shape))
            for dtype, data, shape in arrays
        ]
        keep.append(made)
        return Buffers(0, None, len(made), (c_int * len(made))(*[1] * len(made)), pointers(made))

    def create(args):
        errors.append((args.contents.code, args.contents.message.decode()))
        return 1

    def get_stream(args):
        args.contents.stream = stream
        return None

    api = Api(error_create=ErrorCreate(create), stream_get=StreamGet(get_stream))
    names = [Text(name.encode(), len(name)) for name in sorted(attributes)]
    values = [attributes[name] for name in sorted(attributes)]
    types = [STRING if isinstance(value, str) else SCALAR for value in values]
    numbers = [None if isinstance(value, str) else c_int64(value) for value in values]
    items = [
        Text(value.encode(), len(value)) if number is None else Scalar(S64, ctypes.addressof(number))
        for value, number in zip(values, numbers, strict=True)
    ]
    frame = Frame(
        api=ctypes.pointer(api),
        stage=3,
        operands=buffers(operands),
        results=buffers(results),
        attributes=Attributes(
            0, None, len(names), (c_int * len(types))(*types), pointers(names), pointers(items)
        ),
    )
    failed = _core.call_on(0, lambda: handler(target)(ctypes.byref(frame)))
    return errors[0] if failed else None


def arrays(workspace_bytes=None):
    """Return the operands and the results of a sum of HOST, and the memory that they are in."""
    source = gpureduce.to_device(HOST, "cuda:0")
    out = gpureduce.to_device(np.zeros(1, np.int64), "cuda:0")
    shapes = ((("int32", (1, 1000, 1)),), (("int64", (1, 1)),))
    attributes = {"op": "sum", "exact": np.array([0]), "parameter": np.array([0]), "whole": np.array([0])}
    needed = _core.jax_workspace("reduce", _core.CUDA, 0, *shapes, attributes)
    size = needed if workspace_bytes is None else workspace_bytes
    workspace = gpureduce.to_device(np.full(max(size, 1), 0xFF, np.uint8), "cuda:0")
    operands = [(S32, source._pointer, (1, 1000, 1))]
    results = [(S64, out._pointer, (1, 1)), (U8, workspace._pointer, (size,))]
    return operands, results, (source, out, workspace), needed


SUM = {"op": "sum", "exact": 0, "parameter": 0, "whole": 0}


def check_a_call_that_allocates_nothing():
    operands, results, memory, needed = arrays()
    assert needed > 0
    assert call("reduce", operands, results, SUM) is None  # loads the kernels
    counted = ("cuMemAllocFromPoolAsync", "cuMemAllocAsync", "cuMemAlloc_v2", "cuStreamSynchronize")
    before = [driver_calls(symbol) for symbol in counted]
    launches = driver_calls("cuLaunchKernelEx") + driver_calls("cuLaunchKernel")
    for _ in range(3):  # the second finds the workspace as the first left it
        assert call("reduce", operands, results, SUM) is None
    assert [driver_calls(symbol) for symbol in counted] == before
    assert driver_calls("cuLaunchKernelEx") + driver_calls("cuLaunchKernel") == launches + 3
    assert memory[1].numpy() == HOST.sum()


def check_workspace_of_another_size():
    operands, results, memory, needed = arrays()
    smaller = [results[0], (U8, results[1][1], (needed - 1,))]
    code, message = call("reduce", operands, smaller, SUM)
    assert code == 3 and message.startswith(f"workspace: expected {needed} bytes")
    del memory


def check_arrays_that_do_not_fit():
    operands, results, memory, _ = arrays()
    (dtype, data, shape), workspace = operands[0], results[1]
    for wrong, message in (
        (([(dtype, data + 4, shape)], results, SUM), "multiples of 16 bytes"),
        (([(dtype, data, (1000,))], results, SUM), "three axes"),
        (([(dtype, data, (1, 1, 1000, 1))], results, SUM), "up to 3 dimensions"),
        (([(99, data, shape)], results, SUM), "of dtypes of gpureduce"),
        (([*operands, *operands], results, SUM), "expected 1 operands and 2 results"),
        ((operands, [(F32, results[0][1], (1, 1)), workspace], SUM), "result: expected 1 elements of int64"),
        ((operands, results, {"op": "sum", "exact": 0}), "parameter: expected an attribute"),
        ((operands, results, {**SUM, "op": "s" * 200}), "op: expected an attribute of fewer"),
        ((operands, results, {**SUM, "op": "softmax"}), "op: there is no such softmax of int32"),
        ((operands, results, {**SUM, "exact": 1}), "op: there is no such sum of int32"),
        ((operands, results, {**SUM, **{f"a{i}": 0 for i in range(9)}}), "expected up to 8 attributes"),
    ):
        code, said = call("reduce", *wrong)
        assert code == 3 and message in said, said
    del memory


def check_the_query_of_metadata():
    """Old versions of XLA give no functions with it."""
    metadata = Metadata(traits=99)
    extension = MetadataExtension(type=1, metadata=ctypes.pointer(metadata))
    frame = Frame(extensions=ctypes.addressof(extension))
    assert handler("reduce")(ctypes.byref(frame)) is None
    version = metadata.version
    assert (version.struct_size, version.major, version.minor, metadata.traits) == (24, 0, 1, 1)


def test_handlers(fake_libraries):
    run(
        fake_libraries,
        check_a_call_that_allocates_nothing,
        check_workspace_of_another_size,
        check_arrays_that_do_not_fit,
        check_the_query_of_metadata,
    )
