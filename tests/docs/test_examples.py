"""Every public name has an example in its docstring, and all examples in docstrings give what they say."""

import doctest
import importlib.util
import inspect
import os

import numpy as np
import pytest

import gpureduce
from gpureduce import _ufuncs, course, kernels, numpy_like, testing
from gpureduce._custom import nvcc

SUBMODULES = {"course": course, "kernels": kernels, "numpy_like": numpy_like, "testing": testing}
OWN = [name for name in gpureduce.__all__ if name != "__version__" and name not in SUBMODULES]
PUBLIC = [
    ("gpureduce", ""),
    *(("gpureduce", name) for name in OWN),
    *((f"gpureduce.{module}", "") for module in SUBMODULES),
    *((f"gpureduce.{module}", name) for module in SUBMODULES for name in SUBMODULES[module].__all__),
]
for each in ("torch", "jax", "dask", "flox"):
    if importlib.util.find_spec(each):
        names = importlib.import_module(f"gpureduce.{each}").__all__
        PUBLIC += [(f"gpureduce.{each}", name) for name in ("", *names)]
# Their examples need NVIDIA's run-time compiler.
COMPILED = ("ReductionKernel", "CompileError", "simulate", "check")

pytestmark = [
    pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="numbers look otherwise"),
    pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning"),
]


@pytest.fixture(autouse=True)
def kept_kernels(monkeypatch, tmp_path):
    """What is compiled stays out of the user's own folder."""
    monkeypatch.setenv("GPUREDUCE_CACHE_DIR", os.environ.get("GPUREDUCE_TEST_KERNELS") or str(tmp_path))


def docstrings(value, name):
    """Return the docstring of something and, of a class, those of its public members, by name.

    Of its bases that are ours, too; but not of functions that are methods as well.
    """
    found = {name: inspect.getdoc(value) or ""}
    for base in value.__mro__ if inspect.isclass(value) else ():
        for each, member in vars(base).items() if base.__module__.startswith("gpureduce.") else ():
            own = getattr(member, "__module__", base.__module__) == base.__module__
            if own and not each.startswith("_") and (text := inspect.getdoc(member)):
                found[f"{name}.{each}"] = text
    return found


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=lambda part: part or "itself")
def test_examples(module, name, monkeypatch):
    monkeypatch.setattr(_ufuncs, "_fallbacks", 0)  # as an example finds it, whatever other tests called
    if name in COMPILED or module == "gpureduce.course":
        pytest.importorskip("cuda.pathfinder")
    if name == "run_program" and nvcc.find() is None:
        pytest.skip("needs nvcc and g++")
    loaded = importlib.import_module(module)
    value = getattr(loaded, name) if name else loaded
    whole = f"{module}.{name}".rstrip(".")
    runner = doctest.DocTestRunner(verbose=False)
    said = []
    for place, text in docstrings(value, whole).items():
        found = doctest.DocTestParser().get_doctest(text, {}, place, None, 0)
        assert found.examples or place != whole, "no example"
        assert not any(example.options.get(doctest.SKIP) for example in found.examples)
        runner.run(found, out=said.append)
    assert not runner.summarize(verbose=False).failed, "".join(said)
