"""One process of tests/devices/test_several_gpus.py, on one device: BACKEND RANK SIZE DEVICE FILE.

Prints the sum of the elements of all processes, as hexadecimal digits.
"""

import sys

import numpy as np
import torch
import torch.distributed

import gpureduce


def elements():
    rng = np.random.default_rng(6)
    return (rng.standard_normal(4000) * 2.0 ** rng.integers(-30, 30, 4000)).astype(np.float32)


def main(backend, rank, size, device, meet):
    rank, size = int(rank), int(size)
    if backend == "nccl":
        torch.cuda.set_device(int(device.partition(":")[2] or 0))
    torch.distributed.init_process_group(backend, init_method=f"file://{meet}", rank=rank, world_size=size)
    part = gpureduce.to_device(elements()[rank::size].copy(), device)
    state = gpureduce.partial(part, "sum")
    total = gpureduce.allreduce(state, torch.distributed).result()
    print(total.item().hex(), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
