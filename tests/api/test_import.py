"""`import gpureduce` loads what `sum` needs; everything else is loaded at its first use."""

import ast
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpureduce
from gpureduce import course, kernels
from tests.support.children import python

pytestmark = pytest.mark.usefixtures("full")

# Of the package: what tools, states and arrays of several devices need.
TOOLS = ("_course", "_custom", "_profiles", "_states", "_bench", "course", "kernels", "numpy_like", "testing")
# Of the standard library: what NumPy does not load, and no reduction needs.
STANDARD = (
    "argparse",
    "csv",
    "ctypes",
    "hashlib",
    "html",
    "multiprocessing",
    "random",
    "shutil",
    "subprocess",
    "tempfile",
)


def loaded_by(code):
    """Return the modules that some code loads in a fresh interpreter which has loaded NumPy."""
    after = "print(json.dumps(sorted(set(sys.modules) - before)))"
    program = f"import json, sys, numpy\nbefore = set(sys.modules)\n{code}\n{after}"
    path = os.pathsep.join([str(Path(gpureduce.__file__).parents[1]), *sys.path])
    options = {"env": {**os.environ, "PYTHONPATH": path}, "capture_output": True, "text": True}
    found = subprocess.run([sys.executable, "-c", program], check=True, **options)
    return set(json.loads(found.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code", ["import gpureduce", "import gpureduce; gpureduce.sum([1.0, 2.0], device='sim')"]
)
def test_import_and_sum_load_no_tools(code):
    modules = loaded_by(code)
    assert "gpureduce._core" in modules
    assert not {name for name in modules if name.split(".")[0] in STANDARD}
    ours = {name for name in modules if name.split(".")[0] == "gpureduce"}
    assert not {name for name in ours if name.startswith("gpureduce.") and name.split(".")[1] in TOOLS}
    assert len(ours) <= 73  # each takes 0.1 to 0.5 ms
    assert len(modules - ours) <= 12


def test_a_first_sum_loads_no_module():
    assert loaded_by("import gpureduce") == loaded_by("import gpureduce; gpureduce.sum([1.0], device='sim')")


def test_import_opens_no_library():
    """Neither the CUDA driver nor what unpacks kernels: each is opened at its first use."""
    done = python(
        """
        import numpy

        def opened():
            names = [line.split("/")[-1] for line in open("/proc/self/maps") if ".so" in line]
            return {name.split(".")[0] for name in names}

        before = opened()  # what Python and NumPy need
        import gpureduce
        print(sorted(opened() - before))
        """
    )
    libraries = ast.literal_eval(done.stdout)
    assert "_core" in libraries and not {"libcuda", "liblzma", "libnvrtc"} & set(libraries)


@pytest.mark.parametrize(
    ("code", "module"),
    [
        ("gpureduce.profile", "gpureduce._profiles.variant"),
        ("gpureduce.ReductionKernel", "gpureduce._custom.kernel"),
        ("gpureduce.partial", "gpureduce._states.build"),
        ("gpureduce.course.exercises", "gpureduce._course.exercises"),
        ("gpureduce.numpy_like.sum", "gpureduce.numpy_like"),
        ("gpureduce.sum([1.0, 2.0], device=['sim', 'sim'])", "gpureduce._states.sharded"),
    ],
)
def test_first_use_loads_the_module(code, module):
    assert module not in loaded_by("import gpureduce")
    assert module in loaded_by(f"import gpureduce; {code}")


def test_each_lazy_name_is_public_and_is_what_its_module_has():
    for name in gpureduce._LAZY:
        assert name in gpureduce.__all__ or name == "load_ipython_extension"
        assert getattr(gpureduce, name) is not None
        assert vars(gpureduce)[name] is getattr(gpureduce, name)  # found without __getattr__ from then on


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'gpureduce' has no attribute 'summ'"):
        _ = gpureduce.summ
    with pytest.raises(ImportError, match="ladder"):
        from gpureduce import ladder  # noqa: F401


def test_tools_for_kernels_are_in_gpureduce_kernels():
    assert kernels.__all__ == [
        "check",
        "export",
        "profile",
        "ptx",
        "run_program",
        "simulate",
        "source",
        "variants",
    ]
    for name in ("profile", "simulate", "source", "variants"):
        assert getattr(gpureduce, name) is getattr(kernels, name)
    for name in ("check", "export", "ptx", "ladder", "OwnRung"):
        assert not hasattr(gpureduce, name)
    assert inspect.isclass(course.OwnRung) and inspect.isfunction(course.ladder)
