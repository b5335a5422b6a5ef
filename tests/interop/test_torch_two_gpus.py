"""gpureduce.torch.clip_grad_norm_ and gpureduce.multi on two GPUs: the bits of one GPU, by two processes."""

import json
import os

import pytest

torch = pytest.importorskip("torch", minversion="2.4")

import gpureduce.torch as ops  # noqa: E402
from gpureduce import multi  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::gpureduce.SimulatorWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
    pytest.mark.filterwarnings("ignore::FutureWarning:torch"),
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs"),
]

SHAPES = ((301, 7), (1,), (4099,), (3, 5, 2), (2048, 64), (2,))
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def gradients_on(place, seed):
    """Return tensors whose elements spread over exponents: the sums of squares depend on each order."""
    generator = torch.Generator().manual_seed(seed)
    tensors = []
    for i, shape in enumerate(SHAPES):
        spread = torch.exp2(4 * torch.randn(shape, generator=generator))
        values = torch.randn(shape, generator=generator) * spread
        tensors.append(values.clamp(-1e3, 1e3).to(DTYPES[i % 3]).to(place))
    return tensors


def scalar(result):
    return torch.from_dlpack(result).item()


def clip_on_two_devices(devices):
    """Return norms of gradients of which each second one is on the other device, and those of one device."""
    norms = []
    for seed in range(3):
        tensors = gradients_on("cpu", seed)
        parameters = []
        for i, tensor in enumerate(tensors):
            grad = tensor.to(devices[i % 2])
            parameters.append(torch.nn.Parameter(torch.zeros_like(grad)))
            parameters[-1].grad = grad
        norm = ops.clip_grad_norm_(parameters, 0.5)
        whole = [tensor.to(devices[0]) for tensor in tensors]
        norms.append((norm.item(), scalar(multi.total_norm(whole, dtype="float32"))))
        clipped = torch.stack([p.grad.cpu().double().square().sum() for p in parameters]).sum().sqrt().item()
        assert clipped == pytest.approx(0.5, rel=3e-3)  # bfloat16 rounds the scaled gradients
    return norms


def test_gradients_on_two_devices_have_the_norm_of_one():
    for norm, whole in clip_on_two_devices([torch.device("cuda", 0), torch.device("cuda", 1)]):
        assert norm == whole


def test_states_and_fingerprints_of_two_devices_merge():
    tensors = gradients_on("cuda:0", 7)
    shards = [tensors[:3], [tensor.to("cuda:1") for tensor in tensors[3:]]]
    states = [torch.from_dlpack(multi.partial_total_norm(shard)).cpu() for shard in shards]
    norm = multi.total_norm_of((states[0] + states[1]).numpy(), dtype="float64", device="cuda:1")
    assert norm == scalar(multi.total_norm(tensors, dtype="float64"))
    copies = [tensor.to("cuda:1") for tensor in tensors]
    for call in (multi.fingerprint, multi.total_norm):
        assert scalar(call(copies)) == scalar(call(tensors))


def reduce_shards(rank, folder):
    """Run in each process: clip gradients that are sharded over both, and write norms to a file."""
    from torch.distributed.tensor import Shard, distribute_tensor

    place = torch.device("cuda", rank)
    torch.cuda.set_device(place)
    store = torch.distributed.FileStore(os.path.join(folder, "store"), 2)
    torch.distributed.init_process_group("nccl", store=store, rank=rank, world_size=2)
    mesh = torch.distributed.init_device_mesh("cuda", (2,))
    norms = []
    for norm_type in (2.0, float("inf")):
        tensors = gradients_on(place, 5)
        parameters = []
        for tensor in tensors:
            p = torch.nn.Parameter(distribute_tensor(torch.zeros_like(tensor), mesh, [Shard(0)]))
            p.grad = distribute_tensor(tensor, mesh, [Shard(0)])
            parameters.append(p)
        norm = ops.clip_grad_norm_(parameters, 0.5, norm_type)
        norms.append((norm.item(), scalar(multi.total_norm(tensors, norm_type, dtype="float32"))))
        one = [torch.nn.Parameter(torch.zeros_like(tensor)) for tensor in tensors]
        for p, tensor in zip(one, tensors, strict=True):
            p.grad = tensor
        ops.clip_grad_norm_(one, 0.5, norm_type)
        for p, q in zip(parameters, one, strict=True):
            assert torch.equal(p.grad.full_tensor(), q.grad)
    norms.append(clip_fully_sharded(mesh, place))
    if rank == 0:
        with open(os.path.join(folder, "norms.json"), "w") as file:
            json.dump(norms, file)
    torch.distributed.destroy_process_group()


def clip_fully_sharded(mesh, place):
    """Return the norm of the gradients of an FSDP2 model, and that of its whole gradients."""
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(37, 65), torch.nn.ReLU(), torch.nn.Linear(65, 11)).to(place)
    fully_shard(model[0], mesh=mesh)
    fully_shard(model, mesh=mesh)
    model(torch.randn(64, 37, device=place)).square().mean().backward()
    whole = [p.grad.full_tensor() for p in model.parameters()]
    norm = ops.clip_grad_norm_(model.parameters(), 1e-3)
    return norm.item(), scalar(multi.total_norm(whole, dtype="float32"))


def test_shards_of_two_processes_have_the_norm_of_one(tmp_path):
    pytest.importorskip("torch.distributed.tensor")
    if not torch.distributed.is_nccl_available():
        pytest.skip("needs NCCL")
    torch.multiprocessing.spawn(reduce_shards, args=(str(tmp_path),), nprocs=2)
    norms = json.loads((tmp_path / "norms.json").read_text())
    assert len(norms) == 3
    for norm, whole in norms:
        assert norm == whole
