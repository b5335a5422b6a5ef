"""Variants as they are shown and looked up, and the PTX of one kernel alone."""

import html.parser
import pickle
import re

import numpy as np
import pytest

import gpureduce
from gpureduce._device.extraction import kernel_names
from gpureduce._device.variants import _chosen

EVERY = gpureduce.variants()
OWN = [variant for variant in EVERY if variant.block_sizes]


# The tuple of them


def test_lookup_by_name():
    for place, variant in enumerate(EVERY):
        assert EVERY[variant.name] is variant is EVERY[place] and variant.name in EVERY and variant in EVERY
    assert gpureduce.variants("conv")["c3"].ladder == "conv"
    for name in ("v99", "", "c3"):
        assert name not in gpureduce.variants("reduction")
        with pytest.raises(
            KeyError, match=rf"unknown variant '{name}'; expected one of v0, v1, .*v4_published"
        ):
            gpureduce.variants("reduction")[name]


def test_variants_are_a_tuple():
    plain = tuple(EVERY)
    assert plain == EVERY and hash(EVERY) == hash(plain) and isinstance(EVERY, tuple)
    assert [*EVERY] == [*plain] and EVERY[-1] is plain[-1]
    assert EVERY[2:9:3] == plain[2:9:3] and type(EVERY[2:9:3]) is type(EVERY)
    assert EVERY.index(plain[7]) == 7 and 3 not in EVERY
    copied = pickle.loads(pickle.dumps(EVERY))
    assert copied == EVERY and type(copied) is type(EVERY)
    with pytest.raises(IndexError):
        EVERY[len(EVERY)]
    with pytest.raises(TypeError):
        EVERY[1.5]


def test_the_table_of_variants():
    head, *lines = str(EVERY).splitlines()
    assert head.split() == ["name", "title", "ladder", "role", "runs", "on"]
    assert all(len(line) <= 100 for line in (head, *lines))
    for variant, line in zip(EVERY, lines, strict=True):
        at = [head.index(word) for word in ("title", "ladder", "role", "runs")]
        cells = [line[i:j].strip() for i, j in zip([0, *at], [*at, None], strict=True)]
        assert cells[:4] == [variant.name, variant.title, variant.ladder, variant.role]
        assert re.findall(r"cuda|sim", cells[4]) == list(variant.backends)
        needed = re.search(r"(\d)\.(\d)(\+?)", cells[4])
        assert (needed is None) == (variant.compute_capability < (8, 0))
        if needed:
            assert (int(needed[1]), int(needed[2])) == variant.compute_capability
            assert (needed[3] == "") == variant.only_capability
    assert len(str(EVERY[:0]).splitlines()) == 1


def test_the_table_in_a_notebook():
    cells = []

    class Cells(html.parser.HTMLParser):
        def handle_starttag(self, tag, attributes):
            if tag == "td":
                cells.append("")

        def handle_data(self, data):
            if cells:
                cells[-1] += data

    Cells(convert_charrefs=True).feed(EVERY._repr_html_())
    assert len(cells) == 6 * len(EVERY)
    assert cells[::6] == [variant.name for variant in EVERY]
    assert cells[2::6] == [variant.technique for variant in EVERY]


# One kernel's PTX


@pytest.mark.parametrize("variant", OWN, ids=lambda variant: variant.name)
def test_kernels_are_found(variant):
    """Those of a reduction are for one operator and dtype each; what is covered has kernels."""
    whole = gpureduce.kernels.ptx(variant.name)
    every = re.findall(r"\.entry (\w+)", whole)
    assert list(kernel_names(whole)) == every
    found = [set(filter(_chosen(variant, op, dtype), every)) for op, dtype in variant.coverage]
    assert all(found)
    if variant.ladder == "reduction":
        assert sum(map(len, found)) == len(every) == len(set().union(*found))


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype("f4")])
def test_one_kernel_alone(dtype):
    text = gpureduce.kernels.ptx("v7", op="sum", dtype=dtype)
    assert kernel_names(text) == ("v7_sum_f32",)
    assert len(text.splitlines()) < 300 < len(gpureduce.kernels.ptx("v7").splitlines()) / 20
    assert re.findall(r"\w+_f64|\w+_i32", text) == []


@pytest.mark.parametrize("name", ["v0", "v7", "v8", "grid_stride"])
@pytest.mark.parametrize(("op", "dtype"), [("sum", "float64"), ("bitwise_xor", "int32"), ("max", "int64")])
def test_ptx_of_one_kernel_runs_alone(name, op, dtype):
    """What it uses of the module came along: shared memory, files, names of functions."""
    array = np.random.default_rng(3).integers(1, 1000, 200).astype(dtype)
    whole = gpureduce.profile(array, name, op)
    (launched,) = whole.kernels
    text = gpureduce.kernels.ptx(name, op, dtype)
    (kernel,) = kernel_names(text)
    out = np.zeros(1, dtype)
    arguments = [array, out, array.size]
    found = gpureduce.simulate(
        text, kernel, launched.grid, launched.block, arguments, launched.shared_bytes, races=False
    )
    assert out[0] == whole.result == gpureduce.reduce(array, op, device="sim")
    own = whole.files()[0]
    assert str(found.totals) == str(whole.totals) and own in found.files()
    assert [line.number for line in found.lines(own)] == [line.number for line in whole.lines(own)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("v7", "mean"), "op: v7 covers sum, prod, .*, not 'mean'"),
        (("v7", 3), "op: v7 covers sum, .*, not 3"),
        (("v7", np.zeros(2)), "op: v7 covers sum, .*, not array"),
        (("v4_published", "max"), "op: v4_published covers sum, not 'max'"),
        (("v7", "sum", "float16"), "dtype: v7 for sum covers float32, .*int64, not float16"),
        (("v7", None, "nothing"), "dtype: v7 covers float32, .*, not 'nothing'"),
        (("v7", "bitwise_and", "float32"), "dtype: v7 for bitwise_and covers int32, int64, not float32"),
        (("m3", "sum"), "op: m3 covers matmul, not 'sum'"),
        (("t0", "matmul", "float64"), "dtype: t0 for matmul covers .*bfloat16, not float64"),
        (("cub", "sum"), "variant: cub has no PTX"),
        (("v99", "sum"), "variant: unknown variant 'v99'"),
    ],
)
def test_kernels_that_there_are_not(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        gpureduce.kernels.ptx(*arguments)
