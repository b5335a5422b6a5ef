"""A Dask cluster on this machine reduces a chunked array on disk: dask_workers.py FOLDER small|large.

The last line says whether all results were those of the same array in one process, bit for bit.
"""

import functools
import operator
import os
import signal
import sys
import threading
import time

import dask
import dask.array as da
import numpy as np
import zarr
from distributed import Client, LocalCluster

import gpureduce
import gpureduce.dask as gd

PLACES = ("argmin", "argmax")
TIMED = ("sum", "mean", "var", "argmax")


def numbers(shape, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape, np.float32) * np.float32(2) ** rng.integers(-20, 20, shape, np.int8)


def stored(folder, shape, chunks):
    """Write the array, a row of chunks at a time."""
    path = os.path.join(folder, "numbers.zarr")
    array = zarr.open(path, mode="w", shape=shape, chunks=chunks, dtype="f4")
    for start in range(0, shape[0], chunks[0]):
        array[start : start + chunks[0]] = numbers((min(chunks[0], shape[0] - start), *shape[1:]), start)
    return path


def by_hand(path, op, axis=None):
    """Reduce the same chunks one after the other in this process; return the result and the seconds."""
    lazy = da.from_zarr(path)
    began, states = time.perf_counter(), []
    for index in np.ndindex(*lazy.numblocks):
        starts = tuple(sum(lengths[:i]) for lengths, i in zip(lazy.chunks, index, strict=True))
        where = tuple(
            slice(start, start + lengths[i])
            for start, lengths, i in zip(starts, lazy.chunks, index, strict=True)
        )
        block = zarr.open(path, mode="r")[where]
        options = {"offset": starts, "within": lazy.shape} if op in PLACES else {}
        states.append(gpureduce.partial(block, op, axis, device="sim", **options))
    result = functools.reduce(operator.add, states).result()
    return result, time.perf_counter() - began


def same(got, want):
    return np.asarray(got).tobytes() == np.asarray(want).tobytes()


def cluster(workers, **options):
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None, **options}
    return LocalCluster(**options)


def dies_once(block, mark):
    """Return the block; the first worker that comes here dies of it, with all that it has."""
    if not os.path.exists(mark):
        with open(mark, "w"):
            os.kill(os.getpid(), signal.SIGKILL)
    return block


SMALL = ("sum", "var", "argmax", "any")  # the others are tested without processes


def small(folder):
    path = stored(folder, (60, 50, 8), (25, 20, 8))
    alike = []
    with cluster(2) as local, Client(local):
        lazy = da.from_zarr(path)
        other = lazy.rechunk((13, 50, 3))
        found = {op: getattr(gd, op)(lazy, device="sim") for op in SMALL}
        found |= {f"{op} of other chunks": getattr(gd, op)(other, device="sim") for op in SMALL}
        rows = gd.var(lazy, axis=(0, 2), split_every=2, device="sim")
        found = dask.compute({**found, "rows": rows, "max": gd.max(lazy)})[0]  # the last warns, once a worker
        mark = os.path.join(folder, "killed")
        deadly = other.map_blocks(dies_once, mark, meta=np.empty((0,) * 3, np.float32))
        found["sum, a worker was killed"] = gd.sum(deadly, device="sim").compute()
        alike.append(os.path.exists(mark))
    array = zarr.open(path, mode="r")[...]
    for name, got in found.items():
        op = "var" if name == "rows" else name.partition(" ")[0].strip(",")
        want = gpureduce.partial(array, op, (0, 2) if name == "rows" else None, device="sim").result()
        alike.append(same(got, want))
        print(name, got if name != "rows" else "", "as in one process" if alike[-1] else f"not {want}")
    return all(alike)


def status(name):
    """Return a figure of this process, in MiB: VmRSS is the memory it has, VmHWM the most since `forget`."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def forget():
    """Forget the most memory that this process has had; return what it has."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return status("VmRSS")


def warm_up():
    """Reduce a chunk by each operator, for what stays loaded: kernels, a ring."""
    block = np.zeros((4, 1024, 1024), np.float32)
    for op in TIMED:
        options = {"offset": (0, 0, 0), "within": block.shape} if op in PLACES else {}
        gpureduce.partial(block, op, device="sim", **options)


def memory(client, lazy):
    """Compute and return how many chunks of memory that took of a worker, at most."""
    before = client.run(forget)
    lazy.compute()
    peaks = client.run(functools.partial(status, "VmHWM"))
    return max(peaks[name] - before[name] for name in peaks) / CHUNK


def kill_one(client, after):
    """End the process of a worker in the middle of the work."""
    time.sleep(after)
    pids = client.run(os.getpid)
    os.kill(next(iter(pids.values())), signal.SIGKILL)


CHUNK = 16  # MiB
SLOWER = 1.5  # than one process by itself, of two workers on two cores
CHUNKS = 3.5  # of memory, in a worker; to read one from zarr takes 3.0: its file, the bytes, the array


def timed(path, workers, turns=3):
    """Time each operator by workers, and by this process alone, in turn: others use this machine, too."""
    good = True
    with cluster(workers, memory_limit="280MiB") as local, Client(local) as client:
        lazy = da.from_zarr(path)
        gd.sum(lazy[:8], device="sim").compute()
        client.run(warm_up)
        for op in TIMED:
            alone, together, alike = [], [], []
            for _ in range(turns):
                wanted, seconds = by_hand(path, op)
                began = time.perf_counter()
                got = getattr(gd, op)(lazy, device="sim").compute()
                together.append(time.perf_counter() - began)
                alone.append(seconds)
                alike.append(same(got, wanted))
            ratio = min(together) / min(alone)
            good = good and all(alike) and (workers != 2 or ratio <= SLOWER)
            print(
                f"{workers} workers, {op}: {min(together):.2f} s, one process {min(alone):.2f} s, ratio "
                f"{ratio:.2f}, {'alike' if all(alike) else 'other'}",
                flush=True,
            )
        took = {op: memory(client, getattr(gd, op)(lazy, device="sim")) for op in TIMED}
        took["Dask's sum"] = memory(client, lazy.sum())
        listed = ", ".join(f"{op} {chunks:.2f}" for op, chunks in took.items())
        print(f"{workers} workers: chunks of memory in a worker: {listed}", flush=True)
    return good and max(took.values()) <= CHUNKS


def large(folder):
    shape, chunks = (80, 1024, 1024), (4, 1024, 1024)  # 320 MiB in 20 chunks of 16 MiB
    path = stored(folder, shape, chunks)
    wanted = {op: by_hand(path, op)[0] for op in TIMED}
    alike = [timed(path, workers) for workers in (1, 2, 4)]
    with cluster(2, memory_limit="280MiB") as local, Client(local):
        other = da.from_zarr(path).rechunk((8, 512, 512))
        for op in TIMED:
            alike.append(same(getattr(gd, op)(other, device="sim").compute(), wanted[op]))
            print(f"other chunks, {op}: {'alike' if alike[-1] else 'other'}", flush=True)
    with cluster(2, memory_limit="280MiB") as local, Client(local) as client:
        killer = threading.Thread(target=kill_one, args=(client, 1))
        killer.start()
        got = gd.var(da.from_zarr(path), device="sim").compute()
        killer.join()
        alike.append(same(got, wanted["var"]))
        print(f"a worker was killed: {'alike' if alike[-1] else 'other'}")
    return all(alike)


if __name__ == "__main__":
    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})  # starts in half the time
    good = {"small": small, "large": large}[sys.argv[2]](sys.argv[1])
    print("all alike" if good else "not all alike")
