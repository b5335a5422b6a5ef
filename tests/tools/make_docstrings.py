"""Writes the descriptions of shared parameters into the docstrings of public functions.

Run ``python -m tests.tools.make_docstrings`` in the folder of the repository.

Many functions have the same parameters. The text of each is written once, in the tables below; this program
puts it into every docstring whose section "Parameters" has an entry with the same first line. Other entries
are the function's own. A test holds that the committed docstrings are those that this program writes.
"""

import ast
import re
import sys
import textwrap

from tests.tools import make_stub

PACKAGE = make_stub.PACKAGE
WIDTH = 110
PLACE = """\
True leaves the result on the device, as a `DeviceArray`; False copies it to host memory. Default: True if"""
DEVICE = """\
Device that runs the call: ``"cuda"``, ``"cuda:1"`` or ``"sim"``. Default: the device of {first}, or for a
host array the default device (see `set_default_device`): without a setting, the first CUDA device, or the
simulator with a `SimulatorWarning` if there is none."""

# By the first line of an entry: the text, for functions of arrays that have such an entry.
ANY = {
    "axis : int or tuple of int, optional": "Axis or axes along which to reduce. Default: all axes.",
    "keepdims : bool": """\
True keeps the reduced axes with length one, so that the result broadcasts against `a`.""",
    "initial : scalar, optional": "Starting value of the reduction, which counts as one more element.",
    "where : array_like of bool": """\
Elements to include, broadcast to the shape of `a`. For an array on a device, the mask may be on that
device or in host memory; for a host array, in host memory only.""",
    "ddof : float": """\
Delta degrees of freedom: the variance of N elements divides by ``N - ddof``. 0 gives the population
variance, 1 the sample variance.""",
    "mean : array_like, optional": """\
Mean to take deviations from, instead of computing it. Its shape broadcasts to the shape that the result
has with ``keepdims=True``.""",
    "correction : float, optional": "Name of `ddof` in the array API standard. Pass only one of the two.",
    "block_size, grid_size : int, optional": """\
Threads per block, and blocks of the first launch. Only for a named variant. Default: chosen by the
variant.""",
    "device : str, Device or list of them, optional": f"""\
{DEVICE} A list, or ``"cuda:all"``, splits a host array across several devices: see
docs/how-to/several-gpus.md.""",
    "device : str or Device, optional": DEVICE,
    "stream : int or object, optional": """\
CUDA stream to work on: an integer handle, or an object that has one (``torch.cuda.Stream``,
``cupy.cuda.Stream``, anything with ``__cuda_stream__``). Default: the stream of the first argument on a
device, which is its library's current stream, or the stream of a `DeviceArray`. The call is ordered after
the work already queued on this stream and on the streams of the other arguments. The host synchronizes
only when a result is returned to host memory. See docs/explanation/streams.md.""",
    "progress : callable or bool, optional": """\
Called as ``progress(done, total)``, in bytes, about every 50 ms while a large host array is copied to the
device, and at the end. An exception that it raises stops the call. True shows a progress bar (tqdm's, if
installed). Only a contiguous host array that is reduced as a whole is copied in chunks: other calls report
nothing, and a named variant raises ValueError.""",
    "exact : bool": """\
True returns the correctly rounded result (to nearest, ties to even), which depends neither on the order of
the elements nor on the device. See docs/explanation/exact-sums.md.""",
    "as_device : bool, optional": f"{PLACE} {{first}} is on a device.",
    "out : numpy.ndarray or device array, optional": """\
Output array of the shape of the result; it is also returned. An array on a device must have the result's
dtype and C order.""",
}
# Of the operators, which `reduce` calls by name, and `dot`.
OPERATORS = {
    "a : array_like or device array": """\
Input array of any shape, strides, byte order and alignment: a NumPy array, or anything that `numpy.asarray`
accepts, or an array on a device, which is read there without a copy (a `DeviceArray`, or another library's
array that supports DLPack or ``__cuda_array_interface__``). Subclasses such as ``numpy.matrix`` are treated
as plain arrays; masked arrays raise TypeError.""",
    "dtype : dtype_like, optional": """\
Data type of the accumulator and of the result. Default: as in NumPy. For an array on a device, the cast
makes a temporary copy there.""",
    "out : numpy.ndarray or device array, optional": """\
Output array of the shape of the result; it is also returned. A host array may have any dtype to which NumPy
would cast the result; an array on a device must have the result's dtype and C order.""",
    "variant : str": """\
Kernel to run: ``"auto"``, or the name of one of `variants`, which reduces whole arrays only, with the
operators and dtypes in its ``coverage``.""",
    "as_device : bool, optional": f"{PLACE} `a` is on a device and `axis` is given.",
}
# Of functions with a text of their own for an entry of such a first line.
OWN = {
    "matmul": ("out : numpy.ndarray or device array, optional",),
    "conv2d": ("out : numpy.ndarray or device array, optional",),
    "median": ("as_device : bool, optional",),
    "topk": (
        "as_device : bool, optional",
        "device : str or Device, optional",
        "stream : int or object, optional",
    ),
    "unique_counts": ("as_device : bool, optional",),
    "segment_reduce": ("ddof : float", "exact : bool"),
}
FIRST = {"conv2d": "`x`"}  # where `a` has another name
TENSORS = {
    "a : torch.Tensor": "Input tensor of any shape and strides, on a GPU or the CPU.",
    "axis : int or tuple of int, optional": "Axis or axes along which to reduce. Default: all axes.",
    "dim, keepdim": "PyTorch's names of `axis` and `keepdims`.",
    "dtype : torch.dtype or dtype_like, optional": """\
Data type of the result. Elements are cast to it before they are reduced.""",
    "keepdims : bool": "True keeps the reduced axes with length one.",
}
CHUNKED = {
    "a : dask.array.Array": "Input array of any shape and chunks.",
    "axis : int or tuple of int, optional": "Axis or axes along which to reduce. Default: all axes.",
    "axis : int, optional": "Axis to search. Default: the whole array, in C order.",
    "dtype : dtype_like, optional": "Data type to which elements are cast before they are reduced.",
    "keepdims : bool": "True keeps the reduced axes with length one.",
    "ddof : int": "Delta degrees of freedom: the variance of N elements divides by ``N - ddof``.",
    "split_every : int or dict, optional": """\
Number of states to merge at a time, or a dict with one number for each axis. Default: Dask's setting.""",
    "device : str or Device, optional": """\
Device on which the workers reduce their chunks, as for `gpureduce.sum`.""",
}


def texts(name, operators):
    """Return the shared texts of a function of arrays."""
    shared = ANY | (OPERATORS if name in operators else {})
    first = FIRST.get(name, "`a`")
    own = OWN.get(name, ())
    return {entry: text.replace("{first}", first) for entry, text in shared.items() if entry not in own}


def written(source, chosen):
    """Return a module's source with the descriptions that `chosen` has for each function, by name."""
    lines = source.split("\n")
    for node in reversed(ast.parse(source).body):
        shared = chosen(node.name) if isinstance(node, ast.FunctionDef) else None
        if not shared or ast.get_docstring(node) is None:
            continue
        begin, end = node.body[0].lineno - 1, node.body[0].end_lineno
        lines[begin:end] = _described(lines[begin:end], shared)
    return "\n".join(lines)


def _described(lines, shared):
    """Return the lines of a docstring with the shared descriptions in its section "Parameters"."""
    found, inside, skipping = [], False, False
    for i, line in enumerate(lines):
        if re.fullmatch(r"    -{4,}", line):
            inside = lines[i - 1].strip() == "Parameters"
        starts = re.match(r"    \S", line) or not line.strip()
        skipping = skipping and not starts
        if not skipping:
            found.append(line)
        if inside and line.strip() in shared and starts:
            text = " ".join(shared[line.strip()].split())
            found += textwrap.wrap(text, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
            skipping = True
    return found


def modules():
    """Yield the modules that have shared parameters, and their source as it is to be."""
    public = make_stub.functions_by_module()
    operators = {"dot", *_operators()}
    for path, names in public.items():
        yield (
            path,
            written(path.read_text(), lambda name, names=names: name in names and texts(name, operators)),
        )
    tensors = ("reduction", "search", "nan", "statistics")
    others = {f"_torch/{name}_functions.py": TENSORS for name in tensors} | {"dask.py": CHUNKED}
    for name, shared in others.items():
        path = PACKAGE / name
        yield path, written(path.read_text(), lambda name, shared=shared: not name.startswith("_") and shared)


def _operators():
    """Return the functions whose parameters are those of `sum`: they have `block_size`."""
    return {
        name for name, function in make_stub.functions() if "block_size" in make_stub.parameters_of(function)
    }


def stale():
    """Return the modules whose docstrings are not those that the tables give."""
    return [path for path, text in modules() if text != path.read_text()]


if __name__ == "__main__":
    for path, text in list(modules()):
        if text != path.read_text():
            path.write_text(text)
            print(path, file=sys.stderr)
