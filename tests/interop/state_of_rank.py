"""One process of test_state_processes.py: its share of an array, merged with those of the others.

Prints the result of all, as hexadecimal digits, in every process.
"""

import os
import sys

import numpy as np

import gpureduce

SIZE = 4


def elements():
    rng = np.random.default_rng(11)
    return rng.standard_normal(1000) * 2.0 ** rng.integers(-300, 300, 1000)


def results(rank, comm):
    """Return what each operator gives of the elements of all processes."""
    a, found = elements(), []
    start, stop = [0, 10, 500, 500, 1000][rank : rank + 2]
    for op in ("sum", "var", "argmax", "min"):
        offset = {"offset": start} if op == "argmax" else {}
        state = gpureduce.partial(a[start:stop], op, device="sim", **offset)
        found.append(float(gpureduce.allreduce(state, comm).result()).hex())
    rows = gpureduce.partial(a[start:stop].reshape(-1, 10), "mean", 0, device="sim")
    found += [float(mean).hex() for mean in gpureduce.allreduce(rows, comm).result()]
    wrong = gpureduce.partial([1.0], "sum" if rank else "mean", device="sim")
    try:
        gpureduce.allreduce(wrong, comm)
    except ValueError:
        found.append("refused")
    return " ".join(found)


def main(kind, *more):
    if kind == "mpi":
        from mpi4py import MPI

        rank, comm = MPI.COMM_WORLD.rank, MPI.COMM_WORLD
    else:
        import torch.distributed as comm

        rank, place = int(more[0]), more[1]
        comm.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=SIZE)
    line = f"{rank}: {results(rank, comm)}\n"
    os.write(1, line.encode())  # at once: lines of processes do not mix
    if kind != "mpi":
        comm.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
