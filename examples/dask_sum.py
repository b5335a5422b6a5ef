"""The exact sum of an array larger than the memory of any GPU, on two workers: dask_sum.py [BLOCKS]."""

import sys

import dask.array as da
from dask.distributed import Client

import gpureduce.dask as gd

if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1)
    shape = (int(sys.argv[1]) if sys.argv[1:] else 1024, 16384, 8192)  # 512 GiB in blocks of 512 MiB
    x = da.random.default_rng(1).random(shape, dtype="float32", chunks=(1, *shape[1:]))
    print(gd.sum(x).compute())
