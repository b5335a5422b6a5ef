"""What the public functions say of themselves: signatures and docstrings, as written in the source."""

import ast
import inspect
import re

import jedi
import numpy as np
import pytest

import gpureduce
from gpureduce._rules.dtypes import COVERAGE
from tests.support import numpy_oracle as oracle
from tests.tools import make_docstrings, make_stub

OPTIONS = {
    "variant": "auto", "device": None, "block_size": None, "grid_size": None, "stream": None,
    "as_device": None, "progress": None,
}  # fmt: skip
REDUCTIONS = tuple(COVERAGE)
# In the order in which they stand, of which a function may leave some out.
ARGUMENTS = (
    "a", "b", "axis", "dtype", "order", "out", "ddof", "keepdims", "initial", "where", "mean", "correction",
    "bias", "fisher", "nan_policy", *OPTIONS, "exact",
)  # fmt: skip
SECTIONS = ["Parameters", "Yields", "Returns", "Raises", "Warns", "Notes", "Examples"]
PROJECT = jedi.Project(make_stub.PACKAGE.parent)
FUNCTIONS = [
    name for name in gpureduce.__all__ if inspect.isfunction(getattr(gpureduce, name)) or name == "bench"
]
# One text for all, as what Jedi has read of the package is kept with it.
EDITED = jedi.Script(
    "\n".join(["import gpureduce", *(f"gpureduce.{name}" for name in FUNCTIONS)]),
    project=PROJECT,
    environment=jedi.InterpreterEnvironment(),
)


OF_ARRAYS = gpureduce._functions.__all__


def sections(text):
    """Return the sections of a docstring in numpydoc's form, by name; what comes before them is ''."""
    parts = re.split(r"^([A-Z]\w+)\n-{4,}\n", inspect.cleandoc(text), flags=re.M)
    return dict(zip(["", *parts[1::2]], parts[::2], strict=True))


def described(text):
    """Return what a docstring says of each parameter, by name, in order."""
    parts = re.split(r"^(\*{0,2}\w+(?:, \w+)*)(?= :|$)", sections(text).get("Parameters", ""), flags=re.M)
    names = [(name.lstrip("*"), body) for group, body in zip(parts[1::2], parts[2::2], strict=True)
             for name in group.split(", ")]  # fmt: skip
    return {name: body.strip() for name, body in names}


def parameters(function):
    return inspect.signature(function).parameters


def test_there_is_a_function_for_each_operator():
    assert set(REDUCTIONS) <= set(FUNCTIONS) and len(REDUCTIONS) == 19


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_have_the_same_arguments(name):
    """In one order, with the same defaults, and the options by name only."""
    found = parameters(getattr(gpureduce, name))
    assert list(found) == [argument for argument in ARGUMENTS if argument in found]
    for option, default in OPTIONS.items():
        assert found[option].kind is inspect.Parameter.KEYWORD_ONLY and found[option].default == default
    theirs = parameters(gpureduce.sum)
    for argument in found.keys() & theirs.keys() - {"axis"}:
        assert found[argument].default is theirs[argument].default
        # Several devices are for some of them: see tests/devices/test_sharded_arguments.py.
        same = found[argument].annotation == theirs[argument].annotation
        assert same or (argument == "device" and found[argument].annotation == "str | Device | None")


def positional(function):
    return [name for name, each in parameters(function).items() if each.kind is not each.KEYWORD_ONLY]


# Functions whose model is not the function of that name in NumPy's namespace.
MODELS = {"norm": np.linalg.norm}
# NumPy's ufuncs take two arrays, element by element: ours reduces one, or has parameters of its own.
UFUNCS = {name for name in FUNCTIONS if isinstance(getattr(np, name, None), np.ufunc)}
AS_NUMPY = [name for name in FUNCTIONS if name in MODELS or (name not in UFUNCS and hasattr(np, name))]


@pytest.mark.parametrize("name", AS_NUMPY)
def test_positional_parameters_are_numpys(name):
    """So a call without keywords means the same here; the name of the first one differs in a few."""
    ours, numpys = positional(getattr(gpureduce, name)), positional(MODELS.get(name) or getattr(np, name))
    more = ["out"] if name == "inner" else []  # as in dot and matmul
    assert ours[1:] == numpys[1:] + more


def test_numpy_has_functions_of_most_names():
    assert len(AS_NUMPY) > 30


@pytest.mark.parametrize("name", [*OF_ARRAYS, "to_device", "partial", "profile"])
def test_an_array_is_the_first_parameter_and_is_named_a(name):
    standard = {
        "bincount": "x",
        "conv2d": "x",
        "vecdot": "x1",
    }  # as in the literature, and as in NumPy and the array API
    assert next(iter(parameters(getattr(gpureduce, name)))) == standard.get(name, "a")


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("bench", "ladder", "profile")])
def test_keyword_only_parameters_stand_in_one_order(name):
    """The order of positional ones equals the order of the function's model, NumPy's or PyTorch's."""
    found = parameters(getattr(gpureduce, name))
    named = [each for each in found if found[each].kind is inspect.Parameter.KEYWORD_ONLY]
    named = [
        each for each in named if each in ARGUMENTS and (name, each) != ("conv2d", "bias")
    ]  # another bias
    assert named == [each for each in ARGUMENTS if each in named]


def test_reductions_of_parts_take_the_operator_first():
    """`num_groups` is optional, and follows what a call names most."""
    kinds = {
        name: positional(getattr(gpureduce, name)) for name in ("segment_reduce", "reduceat", "group_reduce")
    }
    assert kinds == {
        "segment_reduce": ["a", "offsets", "op"],
        "reduceat": ["a", "indices", "op"],
        "group_reduce": ["a", "labels", "op", "num_groups"],
    }
    for name in kinds:
        assert parameters(getattr(gpureduce, name))["op"].default == "sum"
    assert parameters(gpureduce.group_reduce)["num_groups"].default is None


@pytest.mark.parametrize("argument", ["a", *ARGUMENTS[2:]])
def test_reductions_say_the_same_of_an_argument(argument):
    said = {}
    for name in REDUCTIONS:
        found = described(getattr(gpureduce, name).__doc__)
        if argument in found and not (argument == "axis" and name.startswith("arg")):  # they search one
            said.setdefault(found[argument], []).append(name)
    assert len(said) == 1, said
    assert len(next(iter(said))) > 20


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstrings_have_what_signatures_have(name):
    function = getattr(gpureduce, name)
    text = sections(function.__doc__)
    assert sorted(described(function.__doc__)) == sorted(parameters(function))
    assert all(described(function.__doc__).values())
    assert [section for section in SECTIONS if section in text] == list(text)[1:]
    assert "{" not in text.get("Parameters", "") and re.fullmatch(r"[A-Z].*[.]", text[""].splitlines()[0])
    annotation = inspect.signature(function).return_annotation
    assert annotation is not inspect.Signature.empty
    assert ("Returns" in text or "Yields" in text) == (annotation != "None")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_an_editor_shows(name):
    """Jedi reads the source, as the language servers do; of a stub it goes on to the function."""
    (found,) = EDITED.infer(2 + FUNCTIONS.index(name), len("gpureduce.") + 1)
    function = getattr(gpureduce, name)
    assert found.docstring(raw=True) == inspect.getdoc(function)
    shown = {each.name for signature in found.get_signatures() for each in signature.params}
    assert shown - {"*"} >= {each for each in parameters(function) if each != "arguments"}


def test_what_an_editor_shows_of_arrays():
    """The attributes that are compiled have what they say of themselves in the stub, too."""
    stub = ast.parse((make_stub.PACKAGE / "_core.pyi").read_text())
    (array,) = (node for node in stub.body if isinstance(node, ast.ClassDef) and node.name == "Array")
    said = {node.name: ast.get_docstring(node) for node in array.body if not node.name.startswith("_")}
    assert said == {name: getattr(gpureduce.DeviceArray, name).__doc__ for name in said} and len(said) == 4


@pytest.mark.parametrize("name", ["sum", "argmax", "dot", "matmul", "conv2d"])
def test_what_an_editor_shows_of_functions_of_tensors(name):
    code = f"import gpureduce.torch\ngpureduce.torch.{name}"
    script = jedi.Script(code, project=PROJECT, environment=jedi.InterpreterEnvironment())
    (found,) = script.infer(2, len("gpureduce.torch.") + 1)
    (function,) = (node for node in TENSOR_FUNCTIONS if node.name == name)
    assert found.docstring(raw=True) == ast.get_docstring(function)


TENSOR_FUNCTIONS = [
    node
    for path in sorted((make_stub.PACKAGE / "_torch").glob("*_functions.py"))
    for node in ast.parse(path.read_text()).body
    if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
]


@pytest.mark.parametrize("function", TENSOR_FUNCTIONS, ids=lambda node: node.name)
def test_docstrings_of_functions_of_tensors(function):
    """PyTorch is not needed for it."""
    text = ast.get_docstring(function)
    names = [each.arg for each in (*function.args.args, *function.args.kwonlyargs)]
    assert sorted(described(text)) == sorted(names) and "{" not in text
    own = {node.name for node in TENSOR_FUNCTIONS}
    assert own >= {*REDUCTIONS, "matmul", "conv2d"} - {*oracle.MORE}
    if function.name in own & {*REDUCTIONS} - {*oracle.MORE, "dot"}:
        model = "argmax" if function.name.startswith("arg") else "sum"
        said = next(described(ast.get_docstring(node)) for node in TENSOR_FUNCTIONS if node.name == model)
        assert all(said.get(name) == what for name, what in described(text).items())


def test_the_stub_is_made_of_the_source():
    """To renew it: python tests/tools/make_stub.py."""
    assert make_stub.stub() == make_stub.STUB.read_text()
    assert make_stub.methods() == make_stub.METHODS.read_text()


def test_shared_parameters_are_described_by_the_tables():
    """To renew the docstrings: python -m tests.tools.make_docstrings."""
    assert make_docstrings.stale() == []


def test_each_shared_text_stands_in_several_docstrings():
    sources = {path: path.read_text() for path, _ in make_docstrings.modules()}
    for table, names in (
        (
            make_docstrings.ANY | make_docstrings.OPERATORS,
            [name for name in sources if name.parent.name not in ("gpureduce", "_torch")],
        ),
        (make_docstrings.TENSORS, [name for name in sources if name.parent.name == "_torch"]),
        (make_docstrings.CHUNKED, [make_stub.PACKAGE / "dask.py"]),
    ):
        text = "".join(sources[name] for name in names)
        for entry in table:
            assert text.count(f"    {entry}\n") >= 2, entry


def test_a_description_that_was_edited_is_written_again():
    path = next(path for path, _ in make_docstrings.modules() if path.name == "arithmetic.py")
    source = path.read_text()
    edited = source.replace("with length one, so that", "of length one,\n        so that", 1)
    shared = make_docstrings.texts("sum", {"sum"})
    assert edited != source
    assert make_docstrings.written(edited, lambda name: name == "sum" and shared) == source
    assert make_docstrings.written(edited, lambda name: None) == edited


# What the stub says of results is so


@pytest.mark.parametrize("name", [name for name in REDUCTIONS if name not in make_stub.OWN])
def test_results_are_what_the_stub_says(name, device):
    function = getattr(gpureduce, name)
    dtypes = ["float16", "float32", "float64", "complex64", "complex128"]
    if name in make_stub.SAME:
        dtypes = ["bool", "uint8", "int64"] + (dtypes if name in ("min", "max") else [])
    for dtype in dtypes:
        host = np.ones(6, dtype) if name == "dot" else np.ones((2, 3), dtype)
        there = gpureduce.to_device(host, device)
        both = (lambda *arrays: arrays * 2) if name == "dot" else lambda *arrays: arrays
        kind = {"np.bool_": np.bool_, "np.int64": np.int64}.get(
            make_stub.FIXED.get(name), np.dtype(dtype).type
        )
        if name in make_stub.REAL:
            kind = host.real.dtype.type
        assert type(function(*both(host), device=device)) is kind
        assert type(function(*both(there), as_device=False)) is kind
        assert type(function(*both(host), device=device, as_device=True)) is gpureduce.DeviceArray
        if name != "dot":
            for axis in (1, (0, 1))[: 1 if name.startswith("arg") else 2]:
                assert type(function(there, axis)) is gpureduce.DeviceArray


@pytest.mark.parametrize("shape", [(3,), (3, 3)])
def test_products_are_what_the_stub_says(shape, device):
    host = np.ones(shape, np.float32)
    there = gpureduce.to_device(host, device)
    assert type(gpureduce.matmul(there, there)) is gpureduce.DeviceArray
    assert type(gpureduce.matmul(host, host, device=device, as_device=True)) is gpureduce.DeviceArray


def test_convolutions_are_what_the_stub_says(device):
    host = np.ones((1, 2, 3, 3), np.float32)
    there = gpureduce.to_device(host, device)
    assert type(gpureduce.conv2d(there, there)) is gpureduce.DeviceArray
    assert type(gpureduce.conv2d(host, host, device=device, as_device=True)) is gpureduce.DeviceArray
    result = gpureduce.conv2d(host, host, device=device)
    assert type(result) is np.ndarray and result.dtype == host.dtype
