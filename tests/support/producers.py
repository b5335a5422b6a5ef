"""Arrays of other libraries, made by hand."""

import ctypes
import sys
from typing import ClassVar

import numpy as np

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
CPU, CUDA, CUDA_HOST, ROCM, EXTENSION, MANAGED = 1, 2, 3, 10, 12, 13


def numbers(shape, dtype):
    """Different numbers, both signs where there are."""
    n = int(np.prod(shape))
    values = (np.arange(1, n + 1) * 37 % 101 - 50).reshape(shape)
    return (values % 3 == 0) if dtype == "bool" else values.astype(dtype)


# DLPack's structures as Python sees them, to make capsules of every kind by hand


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER))


class Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = (ctypes.py_object,)
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


def references(thing):
    return sys.getrefcount(thing)


# What references() says of something that is in one tuple only; Pythons count their own stack differently.
ALONE = next(references(entry[1]) for entry in [(None, object())])


def is_dropped(entry):
    """Whether the capsule has no other owner and was not consumed."""
    used = entry[1] is None or (api.PyCapsule_GetName(entry[1]) or b"").startswith(b"used_")
    return not used and references(entry[1]) <= ALONE


class Producer:
    """A tensor made by hand, and how often its deleter was called.

    Its consumers know only its memory, so it lives until they have called its deleter, or dropped the capsule
    without consuming it.
    """

    held: ClassVar[list] = []  # with the capsule, if it was handed out in one

    def __init__(self, versioned=False, shape=(2, 3), strides=(3, 1), flags=0, major=1, **fields):
        self.deleted = 0
        self.name = b"dltensor_versioned" if versioned else b"dltensor"
        self.managed = Versioned(major=major, flags=flags) if versioned else Managed()
        self.shape, self.strides = (
            (ctypes.c_int64 * len(v))(*v) if v is not None else None for v in (shape, strides)
        )
        self.tensor = self.managed.tensor
        defaults = {
            "data": 0x7000,
            "device_type": CUDA,
            "ndim": len(shape or ()),
            "code": 2,
            "bits": 32,
            "lanes": 1,
        }
        for field, value in {**defaults, **fields}.items():
            setattr(self.tensor, field, value)
        for field in ("shape", "strides"):
            if getattr(self, field) is not None:
                setattr(self.tensor, field, ctypes.cast(getattr(self, field), ctypes.POINTER(ctypes.c_int64)))
        self.deleter = DELETER(self._delete)
        self.managed.deleter = self.deleter

    def _delete(self, address):
        assert address == ctypes.addressof(self.managed)
        self.deleted += 1
        self.held.remove(next(entry for entry in self.held if entry[0] is self))

    def capsule(self):
        self.held[:] = [entry for entry in self.held if not is_dropped(entry)]
        capsule = api.PyCapsule_New(ctypes.addressof(self.managed), self.name, None)
        self.held.append((self, capsule))
        return capsule

    def take(self):
        """Hand it out as DLPack's functions for C do."""
        self.held.append((self, None))
        return ctypes.addressof(self.managed)


class Exporter:
    """An array object over a `Producer`, noting what it was asked."""

    def __init__(self, device=(CUDA, 0), knows_versions=True, **fields):
        self.device, self.knows_versions, self.asked = device, knows_versions, []
        self.producer = Producer(device_type=device[0], device_id=device[1], **fields)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.asked.append(options)
        if not self.knows_versions and "max_version" in options:
            raise TypeError("unexpected keyword argument 'max_version'")
        return self.producer.capsule()


class Interface:
    """An array object with the given entries in its `__cuda_array_interface__`."""

    def __init__(self, **entries):
        self.__cuda_array_interface__ = {
            "shape": (2, 3),
            "typestr": "<f4",
            "data": (0x7000, False),
            "version": 3,
            **entries,
        }


class Carrier:
    """Hands NumPy a capsule for the CPU."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return (CPU, 0)

    def __dlpack__(self, *, stream=None, max_version=None, **options):
        return self.array.__dlpack__(max_version=max_version, dl_device=(CPU, 0))


# The functions of DLPack 1.3 for C

TAKE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
CURRENT_STREAM = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
)


class Table(ctypes.Structure):
    pass


Table._fields_ = (
    ("major", ctypes.c_uint32),
    ("minor", ctypes.c_uint32),
    ("previous", ctypes.POINTER(Table)),
    ("allocate", ctypes.c_void_p),
    ("take", TAKE),
    ("wrap", ctypes.c_void_p),
    ("borrow", ctypes.c_void_p),
    ("current_stream", CURRENT_STREAM),
)


class Exchange:
    """A type's table of functions that hand out an array's `producer` and name a stream.

    `asked` has the device whose stream was asked for last. `refuses` names the function that fails, `lacks`
    the one that there is none of. `exporter` makes arrays that carry the table.
    """

    def __init__(
        self, stream=None, major=1, previous=None, refuses=None, lacks=None, name=b"dlpack_exchange_api"
    ):
        def take(array, out):
            out[0] = None if refuses == "take" else array.producer.take()
            return -1 if refuses == "take" else 0

        def current_stream(device_type, device_id, out):
            self.asked[:] = [(device_type, device_id)]
            out[0] = stream
            return -1 if refuses == "current_stream" else 0

        self.asked = []
        self.functions = TAKE(take), CURRENT_STREAM(current_stream)
        self.table = Table(major=major, minor=3, take=self.functions[0], current_stream=self.functions[1])
        if lacks is not None:
            setattr(self.table, lacks, type(getattr(self.table, lacks))())
        if previous is not None:
            self.table.previous = ctypes.pointer(previous.table)
        self.capsule = api.PyCapsule_New(ctypes.addressof(self.table), name, None)
        # The capsule keeps the pointer to its name.
        self.name = name
        self.type = type(
            "Quick",
            (Exporter,),
            {
                "__dlpack_c_exchange_api__": self.capsule,
                "__dlpack__": Exporter.__dlpack__,
                "exchange": self,  # a table lives as long as its type
            },
        )

    def exporter(self, device=(CUDA, 0), **fields):
        return self.type(device, versioned=True, **fields)
