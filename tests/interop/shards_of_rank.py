"""One process of test_torch_shards.py: operators of DTensors whose shards are in two processes.

Prints what differs from the result of a tensor that is not sharded, in each process; nothing means success.
"""

import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, init_device_mesh

import gpureduce
import gpureduce.torch as ops

SIZE = 2
R, P = Replicate(), Partial("sum")


def elements(*shape, dtype=torch.float64):
    """Return numbers of which some cancel, whose sums are exact in any order."""
    generator = torch.Generator().manual_seed(len(shape))
    return torch.randint(-9, 10, shape, generator=generator).to(dtype) / 4


# The function, tensors, their placements, and the placement of the result.
X, ODD = elements(4, 6, 5), elements(3, 2)
CASES = [
    (lambda a: ops.sum(a, 1), [X], [Shard(0)], Shard(0)),
    (lambda a: ops.sum(a, 0), [X], [Shard(2)], Shard(1)),
    (lambda a: ops.sum(a, 0, keepdims=True), [X], [Shard(2)], Shard(2)),
    (lambda a: ops.sum(a, 1), [X], [Shard(1)], P),
    (lambda a: ops.sum(a, 1), [X], [P], P),
    (lambda a: ops.sum(a, 0), [ODD], [Shard(0)], R),
    (lambda a: ops.sum(a, 1), [ODD], [Shard(0)], Shard(0)),
    (lambda a: ops.sum(a, dim=(0, 2)), [X], [Shard(1)], Shard(0)),
    (lambda a: ops.sum(a, 1, exact=True), [X], [Shard(1)], R),
    (lambda a: ops.max(a, 1), [X[0, :1]], [Shard(0)], R),  # one process has no elements
    (ops.mean, [X], [Shard(0)], Partial("avg")),
    (ops.mean, [ODD], [Shard(0)], R),
    (lambda a: ops.mean(a, 2), [X], [Shard(1)], Shard(1)),
    (lambda a, m: ops.sum(a, 1, where=m), [X, X > 0], [Shard(1), Shard(1)], P),
    (lambda a, m: ops.mean(a, 1, where=m), [X, X > 0], [Shard(1), Shard(1)], R),
    (lambda a, m: ops.var(a, 0, correction=0, where=m), [X, X > -9], [Shard(2), R], Shard(1)),
    (lambda a: ops.max(a, 1), [X], [Shard(0)], Shard(0)),
    (ops.max, [X], [Shard(0)], R),
    (ops.max, [(4 * X).long()], [Shard(0)], Partial("max")),
    (lambda a: ops.argmax(a, 1), [X], [Shard(2)], Shard(1)),
    (ops.count_nonzero, [X], [Shard(0)], P),
    (lambda a: ops.var(a, 0), [X], [Shard(1)], Shard(0)),
    (lambda a: ops.norm(a, 1), [X], [Shard(0)], Shard(0)),
    (lambda a: ops.logsumexp(a, (1, 2)), [X], [Shard(0)], Shard(0)),
    (lambda a: ops.quantile(a, [0.25, 0.5], 1), [X], [Shard(0)], Shard(1)),
    (lambda a: ops.median(a, 1), [X], [Shard(1)], R),
    (lambda a: ops.moments(a, 1).var, [X], [Shard(0)], Shard(0)),
    (lambda a: ops.cumsum(a, 1), [X], [Shard(2)], Shard(2)),
    (lambda a: ops.cumsum(a, 1), [X], [Shard(1)], R),
    (lambda a: ops.cummax(a, 0).values, [X], [Shard(1)], Shard(1)),
    (lambda a: ops.sort(a, -1)[1], [X], [Shard(0)], Shard(0)),
    (lambda a: ops.topk(a, 2, 1)[0], [X], [Shard(0)], Shard(0)),
    (ops.softmax, [X], [Shard(1)], Shard(1)),
    (lambda a, w: ops.layer_norm(a, w), [X, X[0, 0]], [Shard(0), R], Shard(0)),
    (ops.matmul, [X, elements(5, 4)], [Shard(1), R], Shard(1)),
    (ops.matmul, [X, elements(5, 4)], [R, Shard(1)], Shard(2)),
    (ops.matmul, [X, elements(4, 5, 2)], [Shard(0), Shard(0)], Shard(0)),
    (ops.matmul, [X[0].T, X[0]], [Shard(1), Shard(0)], P),
    (ops.dot, [X[0, :, 0], X[1, :, 0]], [Shard(0), Shard(0)], P),
    (ops.conv2d, [elements(4, 1, 5, 5), elements(6, 1, 2, 2)], [Shard(0), R], Shard(0)),
    (ops.conv2d, [elements(4, 1, 5, 5), elements(6, 1, 2, 2)], [R, Shard(0)], Shard(1)),
]
GRADIENTS = ("sum", "max", "matmul", "softmax", "logsumexp")


def distributed(tensor, mesh, placement):
    """Return a DTensor; of partial sums, whose parts are different."""
    if placement.is_partial():
        part = tensor * (dist.get_rank() + 2)
        return DTensor.from_local(part if dist.get_rank() else part * 2 - tensor * 5, mesh, [placement])
    return distribute_tensor(tensor.clone(), mesh, [placement])


def whole(tensor, placement):
    """Return the tensor that a DTensor of `distributed` is."""
    return tensor * (4 - 5 + 3) if placement.is_partial() else tensor


def check(number, mesh):
    """Compare the result of shards with that of whole tensors, and its placement."""
    function, tensors, placements, wanted = CASES[number]
    result = function(*[distributed(t, mesh, p) for t, p in zip(tensors, placements, strict=True)])
    expected = function(*[whole(t, p) for t, p in zip(tensors, placements, strict=True)])
    if result.placements != (wanted,):
        print(f"{number}: placed {result.placements}, not {wanted}")
    if not torch.equal(result.full_tensor(), expected):
        print(f"{number}: {result.full_tensor()}, not {expected}")


def check_gradients(mesh):
    """Compare gradients of shards with those of whole tensors."""
    for name in GRADIENTS:
        whole_a, b = X[0].clone().requires_grad_(), elements(5, 4)
        sharded = distribute_tensor(X[0].clone(), mesh, [Shard(0)]).requires_grad_()
        other = distribute_tensor(b, mesh, [R])
        if name == "matmul":
            results = ops.matmul(sharded, other), ops.matmul(whole_a, b)
        else:
            results = getattr(ops, name)(sharded, 1), getattr(ops, name)(whole_a, 1)
        for result in results:
            (result * result).sum().backward()
        if not torch.allclose(sharded.grad.full_tensor(), whole_a.grad, rtol=1e-12):
            print(f"gradient of {name}: {sharded.grad.full_tensor()}, not {whole_a.grad}")


def main(rank, place):
    dist.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=SIZE)
    mesh = init_device_mesh("cpu", (SIZE,))
    with gpureduce.device("sim"):
        for number in range(len(CASES)):
            check(number, mesh)
        check_gradients(mesh)
    dist.destroy_process_group()
    print("done")
    sys.stdout.flush()
    os._exit(0)  # threads of gloo may wait for the other process


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
