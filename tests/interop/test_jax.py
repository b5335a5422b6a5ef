"""gpureduce.jax: bits, dtypes, gradients and batches inside jit, and the layout of XLA's structs."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax", minversion="0.5")
import jax.numpy as jnp  # noqa: E402

import gpureduce  # noqa: E402
import gpureduce.jax as ops  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning")

THEIRS = {
    name: getattr(jnp, name) for name in ("sum", "mean", "var", "std", "max", "min", "argmax", "argmin")
}
THEIRS["logsumexp"] = jax.nn.logsumexp
AXES = [None, 0, 1, 2, (0, 1), (0, 2)]
FLOATS = ("float16", "bfloat16", "float32")


@pytest.fixture(autouse=True)
def place(device):
    """JAX's device, and its default dtypes: other tests turn 64 bits on."""
    index = int(device.partition(":")[2] or 0)
    where = jax.devices("cpu")[0] if device == "sim" else jax.devices("cuda")[index]
    bits = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    with jax.default_device(where):
        yield where
    jax.config.update("jax_enable_x64", bits)


def elements(shape=(5, 7, 40), dtype="float32", seed=1):
    """Numbers of many exponents, most of which cancel."""
    generator = np.random.default_rng(seed)
    half = generator.standard_normal((int(np.prod(shape)) + 1) // 2)
    half *= 2.0 ** generator.integers(-8, 9, len(half))
    values = np.concatenate([half, -half * (1 + generator.integers(0, 2, len(half)) / 64)])
    return jnp.asarray(generator.permutation(values)[: int(np.prod(shape))].reshape(shape), dtype)


def close(a, b, tolerance=2e-5):
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1, float(np.abs(b).max(initial=0))))


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype and a.shape == b.shape
    assert a.tobytes() == b.tobytes()


# Results


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("op", THEIRS)
def test_bits_are_those_of_the_package(op, axis, device):
    """Those of (0, 2) are those of a copy in another order, which XLA makes."""
    if op.startswith("arg") and isinstance(axis, tuple):
        pytest.skip("one axis or all")
    x = elements()
    if axis == (0, 2):
        x, axis = jnp.moveaxis(x, 1, 0), (1, 2)
    ours = getattr(gpureduce, op)(np.asarray(x), axis=axis, device=device)
    same(jax.jit(lambda x: getattr(ops, op)(x, axis))(x), np.asarray(ours, "i4" if "arg" in op else None))


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "uint16", "int32", "uint32", "bool", "complex64"])
@pytest.mark.parametrize("op", THEIRS)
def test_dtypes_are_those_of_jax(op, dtype):
    if dtype == "complex64" and op not in ("sum", "mean", "var", "std"):
        with pytest.raises(TypeError, match="a: expected real numbers"):
            getattr(ops, op)(jnp.zeros(3, dtype))
        return
    x = elements((3, 50)).astype(dtype) if dtype in FLOATS else jnp.arange(150).reshape(3, 50).astype(dtype)
    result, expected = getattr(ops, op)(x, 1), THEIRS[op](x, 1)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    if dtype not in ("float16", "bfloat16"):
        close(np.abs(result), np.abs(expected))


def test_integers_wrap_as_those_of_jax():
    x = jnp.full(70_000, 2**31 - 1, jnp.int32)
    assert ops.sum(x) == jnp.sum(x) and ops.sum(x).dtype == jnp.int32
    same(ops.cumsum(x)[-5:], jnp.cumsum(x)[-5:])


def test_integers_of_64_bits():
    jax.config.update("jax_enable_x64", True)
    x = jnp.arange(2**33, 2**33 + 100)
    assert ops.sum(x).dtype == jnp.int64 and ops.sum(x) == jnp.sum(x)
    assert ops.argmax(x).dtype == jnp.int64 and ops.argmax(x) == 99
    same(ops.cumsum(x), jnp.cumsum(x))
    assert ops.topk(x, 2)[1].tolist() == [99, 98]
    assert ops.mean(x).dtype == jnp.float64


@pytest.mark.parametrize("bits", [False, True])
def test_dtypes_of_means_of_integers(bits):
    """New versions of JAX have float32 for short integers, also with x64."""
    jax.config.update("jax_enable_x64", bits)
    for dtype in ("int16", "int64") if bits else ("int8",):
        x = jnp.arange(6).astype(dtype)
        for name in ("mean", "median"):
            want, got = getattr(jnp, name)(x), getattr(ops, name)(x)
            assert got.dtype == want.dtype and abs(got - want) < 1e-6, (name, dtype)


def test_no_results():
    for name in ("mean", "logsumexp", "median"):
        assert getattr(ops, name)(jnp.zeros((0, 3, 0)), axis=2, keepdims=True).shape == (0, 3, 1)
    assert ops.quantile(jnp.zeros((0, 0)), [0.2, 0.5], axis=0).shape == (2, 0)


def test_exact_sums_do_not_depend_on_the_order():
    x = elements((4000,))
    moved = x[np.random.default_rng(2).permutation(4000)]
    assert ops.sum(x, exact=True) == ops.sum(moved, exact=True) == np.float32(gpureduce.fsum(np.asarray(x)))
    assert ops.mean(x, exact=True) == ops.mean(moved, exact=True)
    assert ops.sum(jnp.arange(5), exact=True) == 10


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_cumulative_sums(axis, device):
    x = elements()
    same(ops.cumsum(x, axis), gpureduce.cumsum(np.asarray(x), axis=axis, device=device))
    steps = elements(seed=3)
    close(jax.jvp(lambda x: ops.cumsum(x, axis), (x,), (steps,))[1], jnp.cumsum(steps, axis))
    close(jax.vmap(ops.cumsum)(x.reshape(5, 280)), jnp.cumsum(x.reshape(5, 280), 1))


@pytest.mark.parametrize("axis", AXES)
def test_quantiles(axis, device):
    x, q = elements(), [0.0, 0.13, 0.5, 0.99]
    host = np.asarray(x)
    same(ops.median(x, axis), np.asarray(gpureduce.median(host, axis=axis, device=device)))
    for method in ("linear", "nearest", "midpoint", "hazen"):
        each = [gpureduce.quantile(host, v, axis=axis, method=method, device=device) for v in q]
        same(jax.jit(lambda x, m=method: ops.quantile(x, q, axis, method=m))(x), np.stack(each))
    assert ops.quantile(x, 0.5, axis, keepdims=True).shape == jnp.median(x, axis, keepdims=True).shape
    many = np.linspace(0, 1, 19)
    close(ops.quantile(x, many, axis), jnp.quantile(x, jnp.asarray(many), axis), 1e-4)
    assert ops.quantile(x.astype(jnp.bfloat16), 0.3, axis).dtype == jnp.bfloat16
    assert np.isnan(ops.median(x.at[0, 0, 0].set(np.nan)))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_topk(axis, largest):
    x = jnp.round(elements()) + 0.0  # with equal elements, and no -0, which JAX sorts before 0
    sign = 1 if largest else -1
    values, indices = jax.lax.top_k(sign * jnp.moveaxis(x, axis, -1), 4)
    found = jax.jit(lambda x: ops.topk(x, 4, axis, largest=largest))(x)
    np.testing.assert_array_equal(jnp.moveaxis(found[0], axis, -1), sign * values)
    same(jnp.moveaxis(found[1], axis, -1), indices)
    assert ops.topk(x, 0)[0].shape == (5, 7, 0)


# Segments


@pytest.fixture
def rows():
    generator = np.random.default_rng(4)
    return elements((3000, 3)), jnp.asarray(generator.integers(-3, 14, 3000), jnp.int32)


def test_segments_do_not_depend_on_the_order(rows, device):
    data, labels = rows
    sums = jax.jit(lambda data, labels: ops.segment_sum(data, labels, 11))
    moved = np.random.default_rng(5).permutation(3000)
    inside = np.where(np.asarray(labels) < 11, labels, -1)
    expected = gpureduce.group_reduce(np.asarray(data), inside, num_groups=11, device=device)
    same(sums(data, labels), expected)
    same(sums(data[moved], labels[moved]), expected)
    close(sums(data, labels), jax.ops.segment_sum(data, labels, 11), 1e-3)
    assert ops.segment_sum(data, labels).shape == (14, 3)
    same(ops.segment_sum(labels, labels, 11), jax.ops.segment_sum(labels, labels, 11))
    assert ops.segment_sum(data[:0], labels[:0], 2).tolist() == [[0] * 3] * 2


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32"])
def test_labels_of_other_dtypes(rows, dtype):
    data, labels = rows
    own = jnp.where(labels < 0, -1, labels).astype(dtype)
    expected = ops.segment_sum(data, labels, 200)
    same(ops.segment_sum(data, own, 200), expected)
    both = jax.vmap(lambda own: ops.segment_sum(data, own, 200))(jnp.stack([own, own]))
    same(both[1], expected)


def test_segments_in_parts():
    """Of float64, whose workspace is large, and of more rows than one launch takes."""
    jax.config.update("jax_enable_x64", True)
    data = jnp.round(elements((17_000,), "float64")) + 0.0  # whole numbers, no -0: sums do not round
    labels = jnp.asarray(np.random.default_rng(7).integers(-5, 70_000, 17_000))
    sums = jax.jit(lambda data, labels: ops.segment_sum(data, labels, 60_000))
    assert calls(sums, data, labels) == 2
    same(sums(data, labels), jax.ops.segment_sum(data, labels, 60_000))


def test_gradient_of_segments_is_that_of_jax(rows):
    """That of a row with a negative label is 0, not that of the last segment."""
    data, labels = rows
    ours, theirs = (
        jax.grad(lambda data, f=f: jnp.sum(jnp.arange(1.0, 12.0)[:, None] * f(data, labels, 11)))(data)
        for f in (ops.segment_sum, jax.ops.segment_sum)
    )
    same(ours, theirs)
    assert not ours[labels < 0].any() and ours[labels == 10].all()


def test_batches_of_segments(rows):
    data, labels = rows
    both, other = jnp.stack([data, -2 * data]), jnp.stack([labels, labels[::-1]])

    def sums(data, labels):
        return ops.segment_sum(data, labels, 11)

    for axes, arguments in (((0, None), (both, labels)), ((None, 0), (data, other)), ((0, 0), (both, other))):
        one_by_one = [
            sums(*(each[i] if axis == 0 else each for axis, each in zip(axes, arguments, strict=True)))
            for i in range(2)
        ]
        same(jax.vmap(sums, axes)(*arguments), jnp.stack(one_by_one))


# Transformations


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("op", [op for op in THEIRS if not op.startswith("arg")])
def test_gradients(op, axis):
    x = elements((3, 4, 6))
    ours, theirs = (
        jax.jit(jax.grad(lambda x, f=f: jnp.vdot(jnp.cos(jnp.arange(f(x, axis).size)), f(x, axis))))(x)
        for f in (getattr(ops, op), THEIRS[op])
    )
    close(ours, theirs, 1e-4)


def test_derivatives_of_derivatives():
    x = elements((12,)) / 50
    close(jax.hessian(ops.logsumexp)(x), jax.hessian(jax.nn.logsumexp)(x), 1e-4)
    close(jax.jacfwd(ops.var)(x), jax.jacrev(jnp.var)(x), 1e-4)
    rows = elements((4, 12)) / 50
    close(jax.vmap(jax.grad(ops.logsumexp))(rows), jax.vmap(jax.grad(jax.nn.logsumexp))(rows), 1e-4)


def test_gradients_of_selections():
    x = elements()
    for ours, theirs in (
        (lambda x: ops.median(x, 1), lambda x: jnp.median(x, 1)),
        (lambda x: ops.quantile(x, 0.3, 2), lambda x: jnp.quantile(x, 0.3, 2)),
        (lambda x: ops.topk(x, 3)[0], lambda x: jax.lax.top_k(x, 3)[0]),
    ):
        close(*(jax.grad(lambda x, f=f: jnp.sum(f(x) ** 2))(x) for f in (ours, theirs)), 1e-4)


def calls(function, *arguments):
    return jax.jit(function).lower(*arguments).as_text().count("gpureduce_")


@pytest.mark.parametrize("op", [*THEIRS, "median", "cumsum"])
def test_a_batch_is_one_call(op):
    x = elements((4, 5, 60))
    function = getattr(ops, op)
    assert calls(jax.vmap(jax.vmap(function)), x) == 1
    close(jax.vmap(jax.vmap(function))(x), np.stack([[function(row) for row in each] for each in x]))


def test_names_of_targets_have_a_version():
    text = jax.jit(ops.sum).lower(elements()).as_text()
    assert '"gpureduce_reduce_1"' in text or "@gpureduce_reduce_1" in text


def test_exported_programs(place):
    """JAX exports a custom call if it is allowed by its name; a shape of unknown lengths is refused."""
    export = pytest.importorskip("jax.export", exc_type=ImportError)  # JAX 0.5 needs absl for it
    x = elements((6, 40))
    allowed = [export.DisabledSafetyCheck.custom_call("gpureduce_reduce_1")]

    def function(x):
        return ops.sum(x, 1)

    exported = export.export(jax.jit(function), disabled_checks=allowed)(x)
    same(exported.call(x), function(x))
    with pytest.raises(ValueError, match="gpureduce_reduce_1"):
        export.export(jax.jit(function))(x)
    unknown = jax.ShapeDtypeStruct(export.symbolic_shape("b, 40"), jnp.float32)
    with pytest.raises(TypeError, match="expected a shape of numbers"):
        export.export(jax.jit(function), disabled_checks=allowed)(unknown)


def test_loops_and_checkpoints():
    x = elements((6, 40))
    same(jax.lax.scan(lambda total, row: (total, ops.median(row)), 0.0, x)[1], ops.median(x, 1))
    same(jax.lax.map(lambda row: ops.sum(row), x), jnp.stack([ops.sum(row) for row in x]))
    same(jax.grad(jax.checkpoint(ops.logsumexp))(x), jax.grad(ops.logsumexp)(x))


def test_threads():
    x = elements((100, 40))
    program = jax.jit(lambda x: (ops.sum(x, 1), ops.segment_sum(x, jnp.arange(100) % 7, 7)))
    expected = [np.asarray(each) for each in program(x)]
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: program(x), range(40)):
            for a, b in zip(found, expected, strict=True):
                same(a, b)


def test_a_training_step():
    """A network over groups: rows, their sums by group, and a loss by logsumexp."""
    generator = np.random.default_rng(6)
    x = jnp.asarray(generator.standard_normal((400, 8)), jnp.float32)
    groups, targets = jnp.asarray(generator.integers(0, 20, 400)), jnp.asarray(generator.integers(0, 5, 20))
    weights = jnp.asarray(generator.standard_normal((8, 5)) / 3, jnp.float32)

    def loss(weights, segment_sum, logsumexp):
        logits = segment_sum(jnp.tanh(x @ weights), groups, 20)
        return jnp.mean(logsumexp(logits, axis=1) - logits[jnp.arange(20), targets])

    def trained(*functions):
        @jax.jit
        def step(weights):
            value, gradient = jax.value_and_grad(loss)(weights, *functions)
            return value, weights - 0.1 * gradient

        current, values = weights, []
        for _ in range(10):
            value, current = step(current)
            values.append(value)
        return np.stack(values), current

    # Products in TensorFloat-32 would turn differences of a rounding into those of 2^-11.
    with jax.default_matmul_precision("highest"):
        ours, last = trained(ops.segment_sum, ops.logsumexp)
        theirs, their_last = trained(jax.ops.segment_sum, jax.nn.logsumexp)
    close(ours, theirs, 1e-5)
    close(last, their_last, 1e-4)
    assert ours[-1] < ours[0]


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_functions_outside_of_jit(dtype, device):
    """Selections, groups and segments of an array of JAX have the bits of those of its copy."""
    x, labels = elements((400,), dtype), jnp.arange(400) * 7 % 31
    there, on_host = gpureduce.to_device(np.asarray(x), device), np.asarray(labels)
    copied = gpureduce.to_device(on_host, device)
    for call in (
        lambda x, labels: gpureduce.topk(x, 9, device=device, as_device=True),
        lambda x, labels: [gpureduce.group_reduce(x, labels, num_groups=31, device=device, as_device=True)],
        lambda x, labels: [
            gpureduce.group_reduce(x, labels, "max", num_groups=31, device=device, as_device=True)
        ],
        lambda x, labels: [
            gpureduce.segment_reduce(x, [0, 7, 150, 400], "mean", device=device, as_device=True)
        ],
    ):
        for got, wanted in zip(call(x, labels), call(there, copied), strict=True):
            same(got.numpy(), wanted.numpy())


def test_other_arrays_are_left_alone():
    """Workspace belongs to XLA: a program that XLA replays writes to no memory that others have got."""
    x = elements((1 << 16,))

    @jax.jit
    def program(x):
        labels = jnp.arange(x.size) % 100
        return ops.sum(x), ops.sum(2 * x), ops.median(x), ops.segment_sum(jnp.sin(x), labels, 100), jnp.cos(x)

    first = program(x)
    for _ in range(5):
        program(x)
    others = [jnp.full(256, float(i)) for i in range(200)]
    for _ in range(4):
        again = program(x)
    assert all((np.asarray(each) == i).all() for i, each in enumerate(others))
    for a, b in zip(first, again, strict=True):
        same(a, b)


def test_shards(device):
    """Two devices: each reduces its shard, and nothing is gathered unless the reduced axis is sharded."""
    if device != "sim" and len(jax.devices()) < 2:
        pytest.skip("two GPUs")
    code = """
import jax, jax.numpy as jnp, numpy as np, gpureduce.jax as ops
from functools import partial
from jax.sharding import Mesh, PartitionSpec as P, NamedSharding
try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map as checked
    shard_map = partial(checked, check_rep=False)
mesh = Mesh(np.array(jax.devices()[:2]), ("d",))
x = jax.device_put(jnp.arange(80.0).reshape(8, 10), NamedSharding(mesh, P("d")))
step = jax.jit(shard_map(lambda x: ops.sum(x, 1), mesh=mesh, in_specs=P("d"), out_specs=P("d")))
assert "all-gather" not in step.lower(x).compile().as_text()
assert step(x).tolist() == jnp.sum(x, 1).tolist()
rows, columns, labels = P("d"), P(None, "d"), jnp.arange(8) % 3
for function, spec, of_result in (
    (lambda x: ops.sum(x, 1), rows, rows),
    (lambda x: ops.var(x, 0), columns, rows),
    (lambda x: ops.argmax(x, 1), rows, rows),
    (lambda x: ops.cumsum(x, 1), rows, rows),
    (lambda x: ops.median(x, 1), rows, rows),
    (lambda x: ops.topk(x, 3)[1], rows, rows),
    (lambda x: ops.segment_sum(x, labels, 3), columns, columns),
    (jax.vmap(ops.logsumexp), rows, rows),
    (lambda x: ops.sum(x, 0, exact=True), rows, P()),
    (lambda x: ops.median(x, 0), rows, P()),
    (lambda x: ops.segment_sum(x, labels, 3), rows, P()),
    (lambda x: ops.sum(x[:7], 0), rows, P()),
    (lambda x: ops.var(x, 0), rows, P()),
):
    sharded = jax.device_put(x, NamedSharding(mesh, spec))
    compiled = jax.jit(function).lower(sharded).compile()
    result = compiled(sharded)
    assert ("all-gather" in compiled.as_text()) == (of_result == P())
    assert result.sharding.is_equivalent_to(NamedSharding(mesh, of_result), result.ndim)
    assert np.array_equal(result, function(jax.device_put(x, jax.devices()[0])))
functions = [
    lambda x: ops.sum(x, 0),
    lambda x: ops.sum(x.astype(int)),
    lambda x: ops.mean(x),
    lambda x: ops.max(x.at[5, 3].set(jnp.nan), 0),
    lambda x: ops.min(x, 0, True),
    lambda x: ops.logsumexp(x / 80, 0),
    lambda x: ops.argmax(-jnp.abs(x - 13), 0),
    lambda x: ops.argmin(x.at[5, 3].set(jnp.nan)),
    lambda x: ops.argmax(x // 50, 0, True),
    lambda x: jax.vmap(lambda x: ops.sum(x, 0), 1)(x),
]
if jax.__version_info__ > (0, 5, 3):  # which refuses gradients of sharded arrays
    functions.append(jax.grad(lambda x: ops.max(x, 0).sum()))
for function in functions:
    whole = jnp.arange(80.0).reshape(8, 10) - 30
    sharded = jax.device_put(whole, NamedSharding(mesh, rows))
    compiled = jax.jit(function).lower(sharded).compile()
    gathered = [line for line in compiled.as_text().splitlines() if " all-gather(" in line]
    assert gathered and not any("[8,10]" in line or "[80]" in line for line in gathered), gathered
    expected = function(jax.device_put(whole, jax.devices()[0]))
    assert np.allclose(compiled(sharded), expected, 1e-6, equal_nan=True)
print(len(mesh.devices))
"""
    two = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    environment = os.environ | (two if device == "sim" else {})
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=ROOT
    )
    assert done.stdout == "2\n", done.stderr


# Errors


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: ops.sum("text"), TypeError, "a: expected an array, got str"),
        (lambda: ops.sum(jnp.zeros(3), axis=1), ValueError, "axis"),
        (lambda: ops.sum(jnp.zeros(3), keepdims="no"), TypeError, "keepdims: expected a bool"),
        (lambda: ops.mean(jnp.zeros((3, 0)), 1), ValueError, "a: mean of no elements"),
        (lambda: ops.argmax(jnp.zeros((3, 2)), (0, 1)), TypeError, "axis"),
        (lambda: ops.quantile(jnp.zeros(3), 1.5), ValueError, "q: expected"),
        (lambda: ops.quantile(jnp.zeros(3), 0.5, method="none"), ValueError, "method: expected"),
        (lambda: jax.jit(ops.quantile)(jnp.zeros(3), 0.5), TypeError, "q: expected numbers, got a traced"),
        (lambda: ops.topk(jnp.zeros(3), 4), ValueError, "k: expected 0 to 3"),
        (lambda: ops.segment_sum(jnp.zeros(3), jnp.zeros(3)), TypeError, "segment_ids: expected integers"),
        (lambda: ops.segment_sum(jnp.zeros(3), jnp.zeros(2, int)), ValueError, "segment_ids: expected one"),
        (
            lambda: ops.segment_sum(jnp.zeros(3), jnp.zeros(3, int), -1),
            ValueError,
            "num_segments: expected 0",
        ),
        (
            lambda: jax.jit(ops.segment_sum)(jnp.zeros(3), jnp.zeros(3, int)),
            TypeError,
            "num_segments: needed inside jit",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_arrays_of_no_elements():
    assert ops.sum(jnp.zeros((3, 0)), 1).tolist() == [0, 0, 0]
    assert ops.max(jnp.zeros((0, 3)), 1).shape == (0,)
    assert ops.cumsum(jnp.zeros((0, 3)), 1).shape == (0, 3)
    assert ops.median(jnp.zeros((0, 3)), 1).shape == (0,)


@pytest.mark.parametrize("change", [{"op": "none"}, {"exact": 7.5}, {"parameter": None}])
def test_handlers_refuse_what_they_do_not_know(change, place):
    """A program that another version exported, or that is no program of the package."""
    ops.sum(jnp.ones(3))
    attributes = {"op": "sum", "exact": 0, "parameter": 0} | change
    attributes = {name: value for name, value in attributes.items() if value is not None}
    results = [jax.ShapeDtypeStruct((1, 1), jnp.float32), jax.ShapeDtypeStruct((4096,), jnp.uint8)]
    with pytest.raises(Exception, match=r"expected|there is no such"):
        jax.ffi.ffi_call("gpureduce_reduce_1", results)(jnp.ones((1, 3, 1)), **attributes)[
            0
        ].block_until_ready()


# XLA's structs


def headers():
    """Return the folders of XLA's headers: of the installed jaxlib, and of those that CI unpacks."""
    import jaxlib

    more = os.environ.get("JAXLIB_HEADERS", "").split(":")
    return [Path(jaxlib.__file__).parent / "include", *(Path(each) for each in more if each)]


@pytest.mark.parametrize("folder", headers(), ids=str)
def test_structs_are_those_of_jaxlib(folder):
    if not (folder / "xla/ffi/api/c_api.h").exists() or shutil.which("cc") is None:
        pytest.skip("no header of jaxlib, or no compiler")
    command = ["cc", "-std=c11", "-fsyntax-only", "-isystem", folder, "-I", ROOT / "csrc"]
    done = subprocess.run([*command, ROOT / "tests/interop/xla_ffi_layout.c"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
