"""No call on tensors or device arrays takes the host longer than PyTorch's, waits, or breaks a capture.

These tests measure: they need a GPU, and no other work beside them, as with `pytest -n 0 --device=cuda`.
"""

import pytest

from benchmarks.harness.wall_clock import batch_times
from benchmarks.suite import host_calls
from benchmarks.suite.host_calls import CALLS

MAX_RATIO = 1.15
TRIES, TURNS = 4, 6
# Calls that take longer: at most these multiples of PyTorch's time.
SLOWER: dict[str, float] = {
    "ops.index_add(z, 0, g, x)": 1.8,
    "ops.sum(r, 1)": 1.5,
    "ops.mean(r, 1)": 1.6,
    "ops.max(r, 1)": 1.7,
    "ops.softmax(r, 1)": 1.8,
    "ops.sum(r, 1).backward(w)": 1.6,
}
# Calls that PyTorch lacks take at most this multiple of the time of `torch.sum(x, 1)`.
MAX_OF_SUM = 1.8
# Calls whose results depend on numbers that the host needs.
WAITING = {"bincount(g, minlength=8)"}


@pytest.fixture
def torch(device):
    """PyTorch, with a GPU."""
    if device == "sim":
        pytest.skip("needs --device=cuda")
    return pytest.importorskip("torch")


def check_time(torch, text, contenders, limit):
    """Fail unless each contender takes at most `limit` times the time of the one called torch."""
    ratios = []
    for _ in range(TRIES):
        taken = batch_times(contenders, torch.cuda.synchronize, host_calls.BATCH, TURNS, host_calls.WARM_UP)
        best = {name: min(values) for name, values in taken.items()}
        ratios.append(max(us for name, us in best.items() if name != "torch") / best["torch"])
        if ratios[-1] <= limit:
            return
    pytest.fail(f"{text}: {ratios} of the time of PyTorch's call, more than {limit}")


@pytest.mark.parametrize("text", [text for text, theirs in CALLS.items() if theirs])
def test_calls_take_no_longer_than_pytorchs(text, device, torch):
    contenders = host_calls.calls(torch, text, host_calls.inputs(), device)
    check_time(torch, text, contenders, SLOWER.get(text, MAX_RATIO))


@pytest.mark.parametrize("text", [text for text, theirs in CALLS.items() if not theirs])
def test_calls_that_pytorch_lacks_take_little_longer_than_its_sum(text, device, torch):
    arrays = host_calls.inputs()
    contenders = host_calls.calls(torch, text, arrays, device)
    contenders["torch"] = host_calls.calls(torch, "sum(x, axis=1)", arrays, device)["torch"]
    check_time(torch, text, contenders, MAX_OF_SUM)


@pytest.mark.parametrize("text", CALLS)
def test_calls_do_not_wait(text, device, torch):
    contenders = host_calls.calls(torch, text, host_calls.inputs(), device)
    waiting = {name for name, call in contenders.items() if host_calls.waits(torch, call)}
    assert (waiting <= {"torch"}) == (text not in WAITING), waiting
    if "tensor" in contenders and text not in WAITING:
        assert host_calls.captured(torch, contenders["tensor"])
