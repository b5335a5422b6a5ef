"""gpureduce.torch.clip_grad_norm_ and gpureduce.multi on tensors: norms, bits, graphs, shards."""

import math
import os

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.4")

import gpureduce  # noqa: E402
import gpureduce.torch as ops  # noqa: E402
from gpureduce import multi  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
]

DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
SHAPES = ((300, 7), (1,), (0,), (4099,), (3, 5, 2), ())

every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


@pytest.fixture
def place(device, on_gpu):
    """The GPU of the run: tensors on the CPU are PyTorch's own matter."""
    if not on_gpu:
        pytest.skip("needs a GPU")
    return torch.device("cuda", int(device.partition(":")[2] or 0))


def parameters_on(place, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    found = []
    for shape in SHAPES:
        p = torch.nn.Parameter(torch.zeros(shape, dtype=dtype, device=place))
        p.grad = torch.randn(shape, generator=generator).to(dtype).to(place)
        found.append(p)
    return [*found, torch.nn.Parameter(torch.zeros(3, device=place))]


def exact_norm(tensors):
    """Return the norm as math.fsum has it, whose error is at most that of the last root."""
    return math.sqrt(math.fsum(x * x for t in tensors for x in t.double().cpu().ravel().tolist()))


def test_cpu_gradients_are_clipped_by_pytorch():
    mine, theirs = parameters_on("cpu", torch.float32), parameters_on("cpu", torch.float32)
    norm = ops.clip_grad_norm_(mine, 1.5)
    assert norm == torch.nn.utils.clip_grad_norm_(theirs, 1.5)
    for p, q in zip(mine[:-1], theirs[:-1], strict=True):
        torch.testing.assert_close(p.grad, q.grad, rtol=0, atol=0)


def test_no_gradients():
    assert ops.clip_grad_norm_([], 1.0) == 0
    assert ops.clip_grad_norm_(torch.nn.Parameter(torch.zeros(2)), 1.0) == 0


@every_dtype
@pytest.mark.parametrize("norm_type", [1, 2.0, math.inf])
@pytest.mark.parametrize("max_norm", [0.25, 1e6])
def test_gradients_are_scaled_to_the_norm(dtype, norm_type, max_norm, place):
    mine, theirs = parameters_on(place, dtype), parameters_on(place, torch.float64)
    for p, q in zip(mine[:-1], theirs[:-1], strict=True):
        q.grad = p.grad.double().clone()
    theirs[2].grad = None  # PyTorch has no largest element of no elements
    norm = ops.clip_grad_norm_(iter(mine), max_norm, norm_type)
    wanted = torch.nn.utils.clip_grad_norm_(theirs, max_norm, norm_type)
    assert norm.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    torch.testing.assert_close(norm.double(), wanted, rtol=1e-6, atol=0)
    tolerance = max(2 * torch.finfo(dtype).eps, 1e-12)  # PyTorch's norm is not exact
    for p, q in zip(mine[:-1], theirs[:-1], strict=True):
        if q.grad is not None:
            torch.testing.assert_close(p.grad.double(), q.grad, rtol=tolerance, atol=torch.finfo(dtype).tiny)


def test_norm_is_exact_and_independent_of_the_order(place):
    parameters = parameters_on(place, torch.float32)
    norm = ops.clip_grad_norm_(parameters, 1e9)
    assert norm.item() == np.float32(exact_norm([p.grad for p in parameters[:-1]]))
    assert ops.clip_grad_norm_(parameters[::-1], 1e9).item() == norm.item()


def test_nonfinite_gradients(place):
    for value in (math.inf, math.nan):
        p = torch.nn.Parameter(torch.zeros(3, device=place))
        p.grad = torch.tensor([1.0, value, 2.0], device=place)
        with pytest.raises(RuntimeError, match="the total norm of the gradients is"):
            ops.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)
        assert p.grad[0] == 1
        norm = ops.clip_grad_norm_([p], 1.0)
        assert not math.isfinite(norm.item())
        wanted = torch.tensor([0.0, math.nan, 0.0]) if value == math.inf else torch.full((3,), math.nan)
        torch.testing.assert_close(p.grad.cpu(), wanted, equal_nan=True)


def test_other_norms_are_refused():
    p = torch.nn.Parameter(torch.zeros(3))
    p.grad = torch.ones(3)
    for norm_type in (3.0, 0, "fro"):
        with pytest.raises(ValueError, match="norm_type: expected 1, 2 or inf"):
            ops.clip_grad_norm_([p], 1.0, norm_type)


def test_gradient_with_gaps_in_memory(place):
    p = torch.nn.Parameter(torch.zeros(4, 3, device=place))
    p.grad = torch.ones(4, 6, device=place)[:, ::2]
    assert ops.clip_grad_norm_([p], 1.0).item() == np.float32(math.sqrt(12))
    torch.testing.assert_close(p.grad.cpu(), torch.full((4, 3), 1 / math.sqrt(12)))


def test_call_can_be_captured(place):
    parameters = parameters_on(place, torch.float32)
    originals = [p.grad.clone() for p in parameters[:-1]]
    ops.clip_grad_norm_(parameters, 1.0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        norm = ops.clip_grad_norm_(parameters, 1.0)
    for factor in (1.0, 3.0):
        for p, original in zip(parameters[:-1], originals, strict=True):
            p.grad.copy_(original * factor)
        wanted = exact_norm([p.grad for p in parameters[:-1]])
        graph.replay()
        assert norm.item() == np.float32(wanted)
        assert exact_norm([p.grad for p in parameters[:-1]]) == pytest.approx(1.0, rel=1e-5)


def test_capture_of_a_list_that_no_call_had_before(place):
    tensors = [torch.ones(5, device=place) * k for k in range(1, 4)]
    multi.total_norm([torch.ones(2, device=place)])  # loads the kernels
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        norm = torch.from_dlpack(multi.total_norm(tensors))
    graph.replay()
    assert norm.item() == np.float32(math.sqrt(5 * 14))


def test_writes_are_told_to_autograd(place):
    p = torch.nn.Parameter(torch.zeros(3, device=place))
    p.grad = torch.ones(3, device=place)
    before = p.grad._version
    ops.clip_grad_norm_([p], 1.0)
    assert p.grad._version > before


@every_dtype
def test_lists_of_tensors_have_the_bits_of_host_arrays(dtype, place):
    tensors = [p.grad for p in parameters_on(place, dtype)[:-1]]
    tensors.append(torch.randn(6, 40, device=place).to(dtype).t())
    arrays = [gpureduce._rules.tensors.host_array(t.cpu(), "t") for t in tensors]
    on_device = str(place)
    for call in (multi.sums, multi.norms, multi.max_abs, multi.total_norm, multi.fingerprint):
        got = torch.from_dlpack(call(tensors)).cpu()
        gpureduce.testing.assert_same_bits(
            gpureduce._rules.tensors.host_array(got, "t"), np.asarray(call(arrays, device=on_device))
        )


def test_tensors_that_require_gradients(place):
    weights = [torch.nn.Parameter(torch.full((3,), 2.0, device=place)), torch.ones(4, device=place)]
    norm = torch.from_dlpack(multi.total_norm(weights))
    assert norm.item() == 4.0 and not norm.requires_grad
    assert torch.from_dlpack(multi.sums([w * 2 for w in weights])).tolist() == [12, 8]


def test_conjugate_and_negative_views(place):
    z = torch.tensor([1 + 2j, 3 - 4j], device=place)
    plain = z.conj().resolve_conj()
    assert torch.from_dlpack(multi.fingerprint([z.conj()])).item() == (
        torch.from_dlpack(multi.fingerprint([plain])).item()
    )
    lazy = torch._neg_view(torch.ones(5, device=place))
    assert torch.from_dlpack(multi.sums([lazy])).item() == -5
    assert torch.from_dlpack(multi.sums([torch.ones(2, device=place), lazy, -lazy])).tolist() == [2, -5, 5]
    assert torch.from_dlpack(multi.fingerprint([plain, z.conj()])).item() == (
        torch.from_dlpack(multi.fingerprint([plain, plain])).item()
    )


def test_lists_again_after_tensors_have_other_memory(place):
    tensors = [torch.full((4,), float(k), device=place) for k in range(1, 4)]
    assert torch.from_dlpack(multi.sums(tensors)).tolist() == [4, 8, 12]
    tensors[1].data = torch.full((8,), 5, dtype=torch.float64, device=place)[::2]
    torch.utils.swap_tensors(tensors[0], tensors[2])
    assert torch.from_dlpack(multi.sums(tensors)).tolist() == [12, 20, 4]


def test_the_same_list_after_its_tensors_have_changed(place):
    """The second call with the same tensors describes only what may have changed."""
    tensors = [torch.arange(24.0, device=place).reshape(4, 6) + k for k in range(6)]
    changes = [
        lambda: None,
        lambda: tensors[1].t_(),
        lambda: tensors[2].resize_(2, 3),
        lambda: tensors[3].fill_(2.5),
        lambda: setattr(tensors[4], "data", tensors[4].data.half()),
        lambda: setattr(tensors[5], "data", tensors[5].data.view(torch.int32).view(torch.float32)[1:]),
        lambda: tensors.__setitem__(0, torch._neg_view(tensors[0])),
        lambda: tensors.__setitem__(0, torch.nn.Parameter(tensors[3])),
    ]
    for change in changes:
        change()
        for _ in range(3):
            copies = [tensor.detach().clone().contiguous() for tensor in tensors]
            for call in (multi.sums, multi.norms, multi.fingerprints):
                got, wanted = (torch.from_dlpack(call(items)) for items in (tensors, copies))
                assert torch.equal(got.view(torch.int64), wanted.view(torch.int64))
    for _ in range(3):  # tensors at the addresses of others that are gone
        fresh = [torch.ones(5, device=place) for _ in range(4)]
        assert torch.from_dlpack(multi.sums(fresh)).tolist() == [5] * 4
        with torch.cuda.stream(torch.cuda.Stream(place)):
            assert torch.from_dlpack(multi.sums(fresh)).tolist() == [5] * 4


def test_mixed_places_are_refused(place):
    with pytest.raises(ValueError, match=r"arrays\[1\]: is on the host, but arrays\[0\] is on"):
        multi.total_norm([torch.ones(2, device=place), torch.ones(2)])


@pytest.fixture
def mesh(place, tmp_path):
    """A mesh of one process."""
    if not torch.distributed.is_available():
        pytest.skip("needs torch.distributed")
    os.environ.setdefault("MASTER_ADDR", "localhost")
    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    torch.cuda.set_device(place)
    torch.distributed.init_process_group("nccl", store=store, rank=0, world_size=1)
    yield torch.distributed.init_device_mesh("cuda", (1,))
    torch.distributed.destroy_process_group()


def test_sharded_gradients(mesh, place):
    tensor = pytest.importorskip("torch.distributed.tensor")
    parameters = parameters_on(place, torch.float32)[:4]
    norm = ops.clip_grad_norm_(parameters, 1e9)
    for i, p in enumerate(parameters):
        placement = tensor.Shard(0) if i % 2 == 0 else tensor.Replicate()
        sharded = torch.nn.Parameter(tensor.distribute_tensor(p.data, mesh, [placement]))
        sharded.grad = tensor.distribute_tensor(p.grad, mesh, [placement])
        parameters[i] = sharded
    for norm_type in (2.0, math.inf):
        wanted = (
            norm if norm_type == 2 else max(p.grad.to_local().abs().max() for p in parameters if p.numel())
        )
        assert ops.clip_grad_norm_(parameters, 1e9, norm_type).item() == wanted.item()
    ops.clip_grad_norm_(parameters, 0.5)
    assert exact_norm([p.grad.to_local() for p in parameters]) == pytest.approx(0.5, rel=1e-5)
    with pytest.raises(NotImplementedError, match="norm_type: 1 is not supported"):
        ops.clip_grad_norm_(parameters, 0.5, 1.0)
    partial = torch.nn.Parameter(parameters[0].data)
    local = parameters[0].grad.to_local()
    partial.grad = tensor.DTensor.from_local(local, mesh, [tensor.Partial()])
    with pytest.raises(NotImplementedError, match="a DTensor of partial sums"):
        ops.clip_grad_norm_([partial], 0.5)
