"""States of four processes are one result in each of them, that of one process."""

import multiprocessing
import multiprocessing.connection
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import gpureduce
from tests.interop import state_of_rank
from tests.support.children import outputs

PROGRAM = state_of_rank.__file__
SIZE = state_of_rank.SIZE


@pytest.fixture(scope="module")
def wanted():
    """What one process makes of all elements."""
    a = state_of_rank.elements()
    found = [float(gpureduce.fsum(a, device="sim")).hex()]
    for op in ("var", "argmax", "min"):
        found.append(float(gpureduce.partial(a, op, device="sim").result()).hex())
    means = gpureduce.mean(a.reshape(-1, 10), axis=0, exact=True, device="sim")
    return " ".join([*found, *(float(mean).hex() for mean in means), "refused"])


def read(lines, wanted):
    """Compare what the program wrote; a transport's own messages may stand between its lines."""
    lines = [line for line in lines if re.match(r"\d+: ", line)]
    assert sorted(lines) == [f"{rank}: {wanted}" for rank in range(SIZE)]


def test_mpi(wanted):
    pytest.importorskip("mpi4py")
    start = shutil.which("mpiexec", path=Path(sys.executable).parent) or shutil.which("mpiexec")
    if start is None:
        pytest.skip("there is no mpiexec")
    command = [start, "-n", str(SIZE), sys.executable, PROGRAM, "mpi"]
    # Shared memory alone: there may be no network, and nothing that says which there are.
    environment = {**os.environ, "UCX_TLS": "sm,self", "UCX_LOG_LEVEL": "fatal"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    read(done.stdout.splitlines(), wanted)


def test_torch(wanted, tmp_path):
    pytest.importorskip("torch")
    commands = [[sys.executable, PROGRAM, "torch", str(rank), str(tmp_path / "meet")] for rank in range(SIZE)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    read(outputs(running), wanted)


class Pipes:
    """A communicator whose processes give what they have to their parent, and get what all have given."""

    def __init__(self, pipe):
        self.pipe = pipe

    def allgather(self, mine):
        self.pipe.send_bytes(mine)
        return [self.pipe.recv_bytes() for _ in range(SIZE)]


def work(rank, pipe):
    pipe.send_bytes(b"=" + state_of_rank.results(rank, Pipes(pipe)).encode())


def received(pipe, child):
    """Return what a child sends; fail if the child ends or a minute passes before."""
    ready = multiprocessing.connection.wait([pipe, child.sentinel], 60)
    assert pipe in ready, f"nothing was sent; exit code of the child: {child.exitcode}"
    return pipe.recv_bytes()


def test_pipes(wanted):
    """Processes that share nothing, and a communicator of one's own."""
    context = multiprocessing.get_context("fork")
    pairs = [context.Pipe() for _ in range(SIZE)]
    children = [
        context.Process(target=work, args=(rank, there), daemon=True) for rank, (_, there) in enumerate(pairs)
    ]
    for child in children:
        child.start()
    lines = []
    while not lines:
        said = [received(here, child) for (here, _), child in zip(pairs, children, strict=True)]
        if said[0][:1] == b"=":
            lines = [f"{rank}: {text[1:].decode()}" for rank, text in enumerate(said)]
            break
        for here, _ in pairs:
            for part in said:
                here.send_bytes(part)
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0] * SIZE
    read(lines, wanted)


def test_threads():
    """The same states in every thread of one process."""
    meet, given = threading.Barrier(SIZE), [b""] * SIZE

    class Threads:
        def __init__(self, rank):
            self.rank = rank

        def allgather(self, mine):
            given[self.rank] = mine
            meet.wait(60)
            parts = list(given)
            meet.wait(60)
            return parts

    found = [None] * SIZE

    def run(rank):
        state = gpureduce.partial(np.full(100, 0.1), "sum", device="sim")
        found[rank] = gpureduce.allreduce(state, Threads(rank)).result()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(SIZE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {gpureduce.fsum(np.full(100 * SIZE, 0.1), device="sim")}


def test_refused():
    state = gpureduce.partial([1.0], "sum", device="sim")
    with pytest.raises(TypeError, match="comm: expected a communicator"):
        gpureduce.allreduce(state, 3)
    with pytest.raises(TypeError, match="state: expected a State"):
        gpureduce.allreduce(3, Pipes(None))
