"""Reductions that users write: which definitions and calls are refused; kernels as objects."""

import copy
import pickle

import numpy as np
import pytest

import gpureduce
from tests.support.custom_reductions import norm2, total, whole_numbers

pytestmark = pytest.mark.usefixtures("kept_kernels")

# What is refused


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"in_params": "flaot32 x"},
            ValueError,
            "in_params: unknown type 'flaot32'; expected one of bool, int8",
        ),
        ({"in_params": "float x"}, ValueError, "in_params: unknown type 'float'"),
        ({"out_params": "TT y"}, ValueError, "out_params: unknown type 'TT'"),
        ({"in_params": "1 x"}, ValueError, "in_params: unknown type '1'"),
        ({"in_params": "raw T x"}, ValueError, "in_params: 'raw' in 'raw T x' is not supported"),
        ({"in_params": "x"}, ValueError, "in_params: expected a type and a name, got 'x'"),
        ({"in_params": ""}, ValueError, "in_params: expected a type and a name, got ''"),
        ({"in_params": "T x,"}, ValueError, "in_params: expected a type and a name, got ''"),
        ({"in_params": "T x+"}, ValueError, "in_params: expected a type and a name, got 'T x\\+'"),
        ({"in_params": "T x, T x"}, ValueError, "in_params: two parameters are called 'x'"),
        ({"in_params": "T y"}, ValueError, "in_params: two parameters are called 'y'"),
        (
            {"in_params": ", ".join(f"T x{i}" for i in range(9))},
            ValueError,
            "in_params: 9 parameters; at most 8",
        ),
        (
            {"out_params": ", ".join(f"T y{i}" for i in range(9))},
            ValueError,
            "out_params: 9 parameters; at most 8",
        ),
        ({"out_params": "T y, T y"}, ValueError, "out_params: two parameters are called 'y'"),
        ({"out_params": "T y, T a"}, ValueError, "out_params: 'a' is the reduced value"),
        ({"in_params": "T _J"}, ValueError, "in_params: '_J' is the number of an element"),
        ({"out_params": "T a"}, ValueError, "out_params: 'a' is the reduced value"),
        ({"in_params": 3}, TypeError, "in_params: expected str, got int"),
        ({"map_expr": None}, TypeError, "map_expr: expected str, got NoneType"),
        ({"reduce_expr": "  "}, ValueError, "reduce_expr: expected a C\\+\\+ expression"),
        ({"post_map_expr": ""}, ValueError, "post_map_expr: expected a C\\+\\+ expression"),
        ({"identity": float("inf")}, TypeError, "identity: expected str, got float"),
        ({"identity": [0]}, TypeError, "identity: expected str, got list"),
        ({"name": "two words"}, ValueError, "name: expected an identifier"),
        ({"name": "n" * 201}, ValueError, "name: expected an identifier of at most 200"),
        ({"name": None}, TypeError, "name: expected str"),
        ({"reduce_type": ""}, ValueError, "reduce_type: expected"),
        ({"reduce_type": 3}, TypeError, "reduce_type: expected str or a dtype with fields, got int"),
        ({"reduce_type": [("n", "U3")]}, TypeError, "reduce_type: field 'n' has dtype <U3; expected one of"),
        ({"reduce_type": [("n", [("m", "f8")])]}, TypeError, "reduce_type: field 'n' has dtype"),
        ({"reduce_type": [("two words", "f8")]}, ValueError, "reduce_type: 'two words' is not a valid name"),
        ({"preamble": None}, TypeError, "preamble: expected str"),
        ({"options": "-G"}, TypeError, "options: expected a tuple of str"),
        ({"options": (1,)}, TypeError, "options: expected str, got int"),
    ],
)
def test_definitions_that_make_no_sense(changes, error, message):
    with pytest.raises(error, match=message):
        norm2(**changes)


def test_calls_that_make_no_sense(device):
    x = whole_numbers((4, 5))
    kernel = total("T x, T w", map_expr="x * w")
    for arguments in ((), (x,), (x,) * 4):
        with pytest.raises(TypeError, match=rf"total: expected 2 arguments \(x, w\), got {len(arguments)}"):
            kernel(*arguments, device=device)
    with pytest.raises(TypeError, match="total: w has dtype float64, but T is float32"):
        kernel(x, x.astype(float), device=device)
    with pytest.raises(TypeError, match=r"total: x has dtype float32; expected int8"):
        total("int8 x")(x, device=device)
    with pytest.raises(TypeError, match=r"x: dtype .* is not supported"):
        kernel(x.astype(str), x, device=device)
    with pytest.raises(TypeError, match="w: masked arrays are not supported"):
        kernel(x, np.ma.masked_less(x, 0), device=device)
    with pytest.raises(ValueError, match=r"total: shapes \(4, 5\), \(4,\) do not broadcast"):
        kernel(x, x[:, 0], device=device)
    with pytest.raises(np.exceptions.AxisError):
        kernel(x, x, axis=2, device=device)
    with pytest.raises(ValueError, match="axis: duplicate"):
        kernel(x, x, axis=(0, -2), device=device)
    with pytest.raises(TypeError, match="unexpected keyword"):
        kernel(x, x, where=x > 0)
    with pytest.raises(ValueError, match="device: unknown device"):
        kernel(x, x, device="tpu")


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"map_expr": "x *\n undefined_thing"}, "map_expr(2)"),
        ({"reduce_expr": "a +"}, "reduce_expr(2)"),
        ({"post_map_expr": "z = a"}, "post_map_expr(1)"),
        ({"identity": "nothing"}, "identity(1)"),
        ({"reduce_type": "flaot"}, "reduce_type(1)"),
        ({"preamble": "\n\n#error wrong"}, "preamble(3)"),
        ({"map_expr": "pow(x, 2"}, "map_expr("),
    ],
)
def test_compile_errors_say_which_expression(device, changes, where):
    kernel = norm2(**changes)
    for _ in range(2):  # it is no cached success
        with pytest.raises(gpureduce.CompileError) as caught:
            kernel(whole_numbers(3), device=device)
    message = str(caught.value)
    assert message.startswith("norm2: ")
    assert where in message
    assert repr(next(iter(changes.values()))) in message  # what the user wrote
    assert caught.value.log in message and "error" in caught.value.log
    assert "gr_map" in caught.value.source
    assert isinstance(caught.value, ValueError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.log, again.source) == (message, caught.value.log, caught.value.source)
    assert kernel.cache_info() == (0, 0, 0)


def test_options_reach_the_compiler(device):
    x = whole_numbers(70, "float64")
    assert total(map_expr="x * FACTOR", options=["-DFACTOR=3"])(x, device=device) == 3 * x.sum()
    with pytest.raises(gpureduce.CompileError, match="--no-such-option"):
        total(options=("--no-such-option",))(x, device=device)


def test_values_that_are_too_large(device):
    def kernel(doubles, identity):
        return total(
            preamble=f"struct Wide {{ double x[{doubles}]; }};", reduce_type="Wide", map_expr="Wide{{x}}",
            reduce_expr="Wide{{a.x[0] + b.x[0]}}", post_map_expr="y = a.x[0]", identity=identity,
        )  # fmt: skip

    x = whole_numbers(1001, "float64")
    assert kernel(6, "Wide{{0}}")(x, device=device) == x.sum()
    assert kernel(5, None)(x, device=device) == x.sum()
    for doubles, identity in ((7, "Wide{{0}}"), (6, None)):
        with pytest.raises(gpureduce.CompileError, match="reduce_type: its values have at most 48 bytes"):
            kernel(doubles, identity)(x, device=device)


# Being an object


def test_repr_copy_and_pickle(device):
    x = whole_numbers(100)
    for kernel in (
        norm2(),
        norm2(identity=None, reduce_type="float64", preamble="// none", options=("-DX=1",)),
        norm2(
            reduce_type=np.dtype([("s", "f4")]),
            map_expr="{x * x}",
            reduce_expr="{a.s + b.s}",
            post_map_expr="y = sqrt(a.s)",
            identity="{0}",
        ),
    ):
        wanted = kernel(x, device=device)
        twins = (
            eval(repr(kernel), {"ReductionKernel": gpureduce.ReductionKernel}),
            copy.copy(kernel),
            copy.deepcopy(kernel),
            pickle.loads(pickle.dumps(kernel)),
        )
        for twin in twins:
            assert repr(twin) == repr(kernel)
            assert twin(x, device=device) == wanted
            assert twin.cache_info() == (0, 0, 1)
    assert repr(norm2()) == "ReductionKernel('T x', 'T y', 'x * x', 'a + b', 'y = sqrt(a)', '0', 'norm2')"
    assert norm2().name == norm2().__name__ == "norm2"
