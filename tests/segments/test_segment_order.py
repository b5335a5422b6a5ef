"""Products, variances and logsumexp of segments and groups: bits follow from the elements of each alone."""

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._profiles.from_core import kernel_profiles, observe, race_scope

OPERATORS = ("prod", "nanprod", "var", "std", "nanvar", "nanstd", "logsumexp")
LENGTHS = (
    *(0, 1, 2, 3, 7, 8, 9, 16, 17, 33, 64, 65, 100, 129, 255, 256, 257),
    *(511, 512, 513, 700, 1537, 3000, 9000),
)
CHUNK = 512  # rows up to which a segment is not divided
LONG = (66_000, 270_000)  # rows: larger chunks; more of them than a warp combines


def drawn(op, shape, dtype, seed):
    """Numbers whose bits show the order: factors near 1 and of both signs, or numbers whose mean is large."""
    rng = np.random.default_rng(seed)
    if op.endswith("prod"):
        a = rng.choice([-1, 1], shape) * 2.0 ** rng.uniform(-0.05, 0.05, shape)
    elif op == "logsumexp":  # near 0
        a = rng.standard_normal(shape) - np.log(max(1, shape[0])) - 0.5
    else:
        a = 1000 + rng.standard_normal(shape) * 2.0 ** rng.integers(-8, 5, shape)
    if np.dtype(dtype).kind == "c":
        a = a * np.exp(1j * rng.uniform(0, 6, shape))
    a = a.astype(dtype)
    if op.startswith("nan"):
        a[rng.random(shape) < 0.1] = np.nan
    return a


def dtypes_of(op):
    more = ("complex128",) if op.endswith("prod") else () if op.startswith("nan") else ("int64",)
    return ("float64", "float32", "float16", *more)


def bits(results):
    host = np.ascontiguousarray(results)
    return host.view(f"u{host.real.itemsize}").reshape(len(host), -1)


def reduce_all(parts, op, device, before=0):
    """Return the bits of segments that are side by side, behind `before` rows of none."""
    a = np.concatenate([np.repeat(parts[1][:1], before, axis=0), *parts])
    offsets = before + np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    return bits(gpureduce.segment_reduce(a, offsets, op, device=device))


def strips_of(count):
    return next(strips for strips in (1, 2, 4, 8, 16, 32) if strips == 32 or 16 * strips >= count)


def chunk_strips_of(count):
    if count > 256:
        return 256
    return 1 if count <= 8 else next(strips for strips in (32, 16, 8) if strips <= count)


def in_strips(factors, strips):
    """Multiply each strip in order, and then the strips by a binary tree of neighbours."""
    products = []
    for strip in range(strips):
        product = factors[strip]
        for factor in factors[strip + strips :: strips]:
            product = product * factor
        products.append(product)
    while len(products) > 1:
        products = [left * right for left, right in zip(products[::2], products[1::2], strict=True)]
    return products[0]


def product(factors):
    """Multiply in the order of csrc/segments/ordered/params.h."""
    chunk = CHUNK if len(factors) <= 2**16 else 2 * CHUNK
    chunks = [factors[at : at + chunk] for at in range(0, len(factors), chunk)]
    products = [in_strips(each, strips_of(len(each))) for each in chunks]
    return in_strips(products, chunk_strips_of(len(products)))


def test_a_product_has_the_order_that_follows_from_its_length(device):
    parts = [drawn("prod", (n,), "float64", n) for n in (*range(1, 70), *LENGTHS[1:], *LONG)]
    expected = np.array([product(part.tolist()) for part in parts])
    assert (reduce_all(parts, "nanprod", device) == bits(expected)).all()


@pytest.mark.parametrize("op", [op for op in OPERATORS if op != "prod"])
def test_a_segment_has_the_same_bits_alone_and_among_others(op, device):
    rng = np.random.default_rng(3)
    for dtype in dtypes_of(op):
        parts = [drawn(op, (n,), dtype, n) for n in LENGTHS]
        alone = [gpureduce.segment_reduce(a, [0, len(a)], op, device=device) for a in parts]
        alone = np.concatenate([bits(each) for each in alone])
        assert len(np.unique(alone)) > len(parts) // 2
        few = rng.permutation(len(parts))
        many = np.concatenate([np.append(np.repeat([1, 4, 8], 30), which) for which in few])
        for chosen, before in ((few, 0), (few[::-1], 3), (many, 777)):
            among = reduce_all([parts[i] for i in chosen], op, device, before)
            assert (among == alone[chosen]).all(), (dtype, before)


@pytest.mark.parametrize("op", OPERATORS)
def test_a_group_has_the_bits_of_a_segment(op, device):
    """Rows in any order of the groups, slices, labels on the device, and a mask."""
    rng = np.random.default_rng(4)
    for dtype in dtypes_of(op)[::2]:
        parts = [drawn(op, (n,), dtype, n) for n in LENGTHS]
        expected = reduce_all(parts, "nanprod" if op == "prod" else op, device)
        labels = rng.permutation(np.repeat(np.arange(len(parts)), LENGTHS))
        a = np.empty(len(labels), dtype)
        a[np.argsort(labels, kind="stable")] = np.concatenate(parts)
        assert (bits(gpureduce.group_reduce(a, labels, op, device=device)) == expected).all()
        on_device = [gpureduce.to_device(each, device) for each in (a, labels)]
        assert (bits(gpureduce.group_reduce(*on_device, op, len(parts)).numpy()) == expected).all()
        more, others = np.insert(a, [5] * 3, 3), np.insert(labels, [5] * 3, [0, 1, 2])
        included = np.insert(np.ones(len(a), bool), [5] * 3, False)
        masked = gpureduce.group_reduce(more, others, op, where=included, device=device)
        assert (bits(masked) == expected).all()
        if op != "prod":
            starts = np.cumsum((0, *LENGTHS))[1:-1]
            slices = gpureduce.reduceat(np.concatenate(parts), starts, op, device=device)
            assert (bits(slices) == expected[1:]).all()


@pytest.mark.parametrize("columns", [2, 3, 5, 8, 11, 40])
@pytest.mark.parametrize("op", ["prod", "nanprod", "std", "logsumexp"])
def test_columns_have_the_bits_of_vectors(op, columns, device):
    lengths = LENGTHS[:-1]
    parts = [drawn(op, (n, columns), "float64", n) for n in lengths]
    alone = "nanprod" if op == "prod" else op
    expected = [reduce_all([part[:, i] for part in parts], alone, device)[:, 0] for i in range(columns)]
    expected = np.stack(expected, axis=1)
    assert (reduce_all(parts, op, device) == expected).all()
    a = np.concatenate(parts).T  # segments along axis 1
    turned = gpureduce.segment_reduce(a, np.cumsum((0, *lengths)), op, axis=1, device=device)
    assert (bits(turned.T) == expected).all()


@pytest.mark.parametrize("op", ["nanprod", "var"])
def test_warps_and_blocks_that_share_a_segment_have_no_races(op):
    a = drawn(op, (40_000,), "float64", 5)
    offsets = np.array([0, 5, 700, 30_000, 30_000, 36_000, 40_000])

    def call(device):
        destination = (None, device, 0, 0)
        return _core.segments(
            a=a, op=op, axis=0, offsets=offsets, permuted_rows=0, ddof=0, destination=destination
        )

    made, launches, problem = observe(call, race_scope("global"))
    assert problem is None and all(kernel.races == () for kernel in kernel_profiles(launches, "", 0))
    assert (bits(made) == bits(gpureduce.segment_reduce(a, offsets, op, device="sim"))).all()


def test_descending_offsets_end_and_leave_nothing_behind(device):
    """Whatever the results are: the next call has the right ones."""
    rng = np.random.default_rng(6)
    a, offsets = drawn("var", (50_000,), "float64", 6), np.array([0, 20_000, 20_003, 50_000])
    expected = bits(gpureduce.segment_reduce(a, offsets, "var", device=device))
    on_device = gpureduce.to_device(a, device)
    for wrong in (offsets[::-1], rng.integers(-9, 60_000, 300), rng.integers(0, 50_000, 9)):
        wrong = gpureduce.to_device(np.ascontiguousarray(wrong), device)
        gpureduce.segment_reduce(on_device, wrong, "var").numpy()
        again = gpureduce.segment_reduce(on_device, gpureduce.to_device(offsets, device), "var")
        assert (bits(again.numpy()) == expected).all()


def test_columns_of_long_segments_have_the_bits_of_vectors(device):
    a = drawn("prod", (LONG[1], 2), "float64", 7)
    expected = [gpureduce.segment_reduce(a[:, i], [0, 3, len(a)], "nanprod", device=device) for i in range(2)]
    assert (
        bits(gpureduce.segment_reduce(a, [0, 3, len(a)], "prod", device=device).T) == bits(expected)
    ).all()
