"""Elements of few lines: a block selects from a short one, a sample gives a window of a long one."""

import numpy as np
import pytest

import gpureduce
from gpureduce import _core
from gpureduce._profiles.from_core import kernel_profiles, observe

SHORT, LONG, DIGITS = (
    900,
    20_003,
    3 * 2**20 + 5,
)  # a block, a window, a window whose elements digits select from
DTYPES = ("float32", "float64", "int32", "uint64")
KINDS = ("distinct", "few", "one", "ascending", "descending", "zeros", "zeros and nans", "mostly nans")
CALLS = ((1, True, False), (37, False, True), (800, True, True), (2048, True, False))  # k, largest, by_index
WINDOW = ["order_sample", "order_filter"]


def line_of(kind, n, dtype, seed):
    """Elements that are distinct, of few values, all equal, sorted, or with NaNs and zeros of either sign."""
    if ("nans" in kind or kind == "zeros") and np.dtype(dtype).kind != "f":
        kind = "few"
    draw = np.random.default_rng(seed)
    numbers = draw.permutation(n) - (n // 3 if np.dtype(dtype).kind != "u" else 0)
    if kind == "few":
        numbers = draw.integers(0, 4, n)
    elif kind == "one":
        numbers = np.full(n, 7)
    elif kind == "ascending":
        numbers = np.arange(n)
    elif kind == "descending":
        numbers = np.arange(n)[::-1]
    a = numbers.astype(dtype)
    if "nans" in kind:
        for share, special in ((0.3, 0.0), (0.3, -0.0), (0.1, np.inf), (0.1, -np.inf)):
            a[draw.random(n) < share] = special
        a[draw.random(n) < (0.03 if kind == "zeros and nans" else 0.7)] = np.nan
    elif kind == "zeros":
        a[draw.random(n) < 0.98] = 0
    if "nans" in kind or kind == "zeros":
        a = np.where(draw.random(n) < 0.5, -a, a)
    return a


def first_indices(line, k, largest, by_index):
    """The indices of the first elements: NaN is the largest, equal elements are in the order of indices."""
    nan = np.isnan(line) if line.dtype.kind == "f" else np.zeros(line.shape, bool)
    _, ranks = np.unique(np.where(nan, 0, line), return_inverse=True)
    ranks = np.where(nan, line.size, ranks)
    first = np.argsort(-ranks if largest else ranks, kind="stable")[:k]
    return np.sort(first) if by_index else first


def launched(call):
    """The result of a call on the simulator, and the names of its kernels, which have no races."""
    result, launches, problem = observe(call, True)
    assert problem is None
    profiles = kernel_profiles(launches, "", 0)
    assert {profile.races for profile in profiles} == {()}
    return result, [profile.name.rsplit("_", 1)[0] for profile in profiles]


def topk_on(a, k, by_index=False):
    lines = a.shape[0]

    def call(device):
        indices = (_core.device_alloc(device, 0, 8 * lines * k), (lines, k), (8 * k, 8), "int64")
        return _core.order_topk(a, k, True, not by_index, indices, (None, device, 0, 0))

    return call


def select_on(a, ranks, nans=True):
    return lambda device: _core.order_select(a, np.array(ranks), nans, None, (None, device, 0, 0))


@pytest.mark.core
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_first_elements(dtype, kind, device):
    for n, lines in ((SHORT, 2), (LONG, 1), (LONG, 3)):
        a = np.stack([line_of(kind, n, dtype, line) for line in range(lines)])
        for k, largest, by_index in (
            (1, True, False),
            (37, False, True),
            (800, True, True),
            (2048, True, False),
        ):
            k = min(k, n)
            found = gpureduce.topk(a, k, largest=largest, sorted=not by_index, device=device)
            for line in range(lines):
                wanted = first_indices(a[line], k, largest, by_index)
                np.testing.assert_array_equal(found.indices[line], wanted)
                assert found.values[line].tobytes() == a[line][wanted].tobytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_of_ranks(dtype, kind, device):
    for n, lines in ((SHORT, 2), (LONG, 1), (LONG, 3)):
        a = np.stack([line_of(kind, n, dtype, line) for line in range(lines)])
        np.testing.assert_array_equal(gpureduce.median(a, axis=1, device=device), np.median(a, axis=1))
        for q in (0, 0.001, 0.37, 1):
            found = gpureduce.quantile(a, q, axis=1, method="lower", device=device)
            np.testing.assert_array_equal(found, np.quantile(a, q, axis=1, method="lower"))
        if a.dtype.kind == "f":
            np.testing.assert_array_equal(
                gpureduce.nanmedian(a, axis=1, device=device), np.nanmedian(a, axis=1)
            )


def test_digits_of_the_elements_in_a_window(device):
    """A median of a line that long, and a topk of more elements than a block sorts."""
    for kind in ("distinct", "ascending"):
        a = line_of(kind, DIGITS, "float64", 1)
        a[::3] = np.round(a[::3], -4)
        assert gpureduce.median(a, device=device) == np.median(a)
    a = line_of("few", LONG, "float64", 2)
    a[::2] = line_of("distinct", LONG, "float64", 3)[::2]
    found = gpureduce.topk(a, 4000, device=device)
    np.testing.assert_array_equal(found.indices, first_indices(a, 4000, True, False))


@pytest.mark.parametrize("call", [topk_on, select_on])
def test_windows_of_equal_elements_are_small(call):
    """An end of a window is a key and an index, so that the list holds a few of equal elements alone."""
    a = np.full((1, LONG), 7.0)
    found, kernels, problem = observe(call(a, 20 if call is topk_on else [LONG // 2]), True)
    assert problem is None and (found == 7).all()
    block = kernel_profiles(kernels, "", 0)[-1]
    assert block.name == "order_block_b64"
    assert block.totals.global_load_sectors * 32 < a.nbytes / 2  # the line itself is not read


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (topk_on(line_of("few", SHORT, "float32", 4)[None], 10), ["order_block"]),
        (topk_on(line_of("few", LONG, "float32", 4)[None], 10), [*WINDOW, "order_block"]),
        (topk_on(line_of("zeros and nans", LONG, "float64", 4)[None], 900, True), [*WINDOW, "order_block"]),
        (topk_on(line_of("few", LONG, "int32", 4)[None], 900), [*WINDOW, "order_block"]),
        (topk_on(line_of("few", SHORT, "float64", 4)[None], 150), ["order_block"]),
        (topk_on(line_of("distinct", SHORT, "uint64", 4)[None], 150), ["order_block"]),
        (select_on(line_of("zeros and nans", SHORT, "float64", 5)[None], [9]), ["order_block"]),
        (select_on(line_of("few", LONG, "int64", 5)[None], [7000, 7001]), [*WINDOW, "order_block"]),
        (
            select_on(line_of("distinct", DIGITS, "float64", 5)[None], [7000]),
            [*WINDOW, *["order_digit"] * 6],
        ),
    ],
)
def test_kernels_have_no_races(call, names):
    assert launched(call)[1] == names


def sampled_positions(n, samples):
    """The positions of the samples of a line, as the kernel computes them."""
    i = np.arange(samples, dtype=np.uint64)
    mask = np.uint64(0xFFFFFFFF)
    hashes = i * np.uint64(2654435761) & mask
    hashes = (hashes ^ hashes >> np.uint64(15)) * np.uint64(2246822519) & mask
    hashes ^= hashes >> np.uint64(13)
    return (
        i * np.uint64(n) // np.uint64(samples) + (hashes * np.uint64(n // samples) >> np.uint64(32))
    ).astype(int)


@pytest.mark.parametrize("misleading", ["too few", "too many"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_sample_that_misleads(dtype, misleading, device):
    """Of lines whose samples are unlike the rest, the window has too few elements, or more than the list."""
    samples = 1024
    at = sampled_positions(LONG, samples)
    assert len(set(at)) == samples
    a = line_of("distinct", LONG, dtype, 6) / 4
    a[at] += LONG if misleading == "too few" else -LONG
    for k, by_index in ((100, False), (2048, True)):
        found = gpureduce.topk(a, k, sorted=not by_index, device=device)
        np.testing.assert_array_equal(found.indices, first_indices(a, k, True, by_index))
    assert gpureduce.median(a, device=device) == np.median(a)
    assert gpureduce.quantile(a, 0.2, method="lower", device=device) == np.quantile(a, 0.2, method="lower")


def test_a_window_that_begins_between_the_two_ranks(device):
    """The list has the second rank of a median alone."""
    n, samples = LONG + 1, 1024
    share = np.float32(samples) / np.float32(n)
    rank = np.float32(n // 2 - 1) * share
    below = int(rank - (5 * np.sqrt(rank * (1 - rank / samples)) + 6))  # samples before the window
    sampled = np.zeros(n, bool)
    sampled[sampled_positions(n, samples)] = True
    a = np.empty(n)
    order = np.random.default_rng(7).permutation(n // 2)
    a[sampled] = np.r_[order[:below], n // 2 + np.arange(samples - below)]
    rest = np.r_[order[below:], n // 2 + samples - below + np.arange(n - n // 2 - samples + below)]
    a[~sampled] = np.random.default_rng(8).permutation(rest)
    a[a >= n // 2] += 2**30  # so that no bin of the sample's keys has elements of both halves
    assert np.unique(a).size == n
    found, names = launched(select_on(a[None], [n // 2 - 1, n // 2]))
    assert names == [*WINDOW, "order_block"] and found.tolist() == [[n // 2 - 1, n // 2 + 2**30]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_windows_that_end_beside_nans_and_zeros(dtype, device):
    """No element has a key between those of infinity and NaN, or just before that of zero."""
    draw = np.random.default_rng(11)
    a = np.where(draw.random(LONG) < 0.3, np.inf, draw.standard_normal(LONG)).astype(dtype)
    a[draw.random(LONG) < 0.02] = np.nan
    b = draw.random(LONG).astype(dtype)
    b[draw.random(LONG) < 0.5] = 0
    low = draw.random(LONG) < 0.02
    b[low] = draw.integers(1, 4000, low.sum()) * np.finfo(dtype).smallest_subnormal
    b[sampled_positions(LONG, 1024)[0]] = (2**20 - 1) * np.finfo(dtype).smallest_subnormal
    low[sampled_positions(LONG, 1024)[0]] = True
    b = np.where(low | ((b == 0) & (draw.random(LONG) < 0.5)), -b, b)
    for line, largest in ((np.where(draw.random(LONG) < 0.5, a, -a), True), (b, False)):
        for k in range(1, 300, 2):
            found = gpureduce.topk(line, k, largest=largest, sorted=False, device=device)
            np.testing.assert_array_equal(found.indices, first_indices(line, k, largest, True))
