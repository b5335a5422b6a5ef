"""Races are told in the order in which the kernel has them: which side comes too early."""

import pickle
import re

import numpy as np
import pytest

import gpureduce
from gpureduce.course import exercise

pytest.importorskip("cuda.pathfinder")

EARLY_READ = "reads too early, before another thread writes"
EARLY_WRITE = "overwrites too early what another thread has yet to read"
READ = "reads what another thread has written"
WRITE = "overwrites what another thread may still have to read"
MET = "overwrites what another thread has read"

# Statements, a line each from line 2; which line does what to which. Each of the two warps is the first one
# for half of the words, so that the simulator meets the two sides in either order.
KERNELS = {
    "a read behind the write": (
        ["s[t] = in[t];", "out[t] = s[63 - t];"], "write-read", {(3, READ, 2), (3, EARLY_READ, 2)},
    ),
    "a write behind the read": (
        ["s[t] = in[t];", "__syncthreads();", "float x = s[63 - t];", "s[t] = x + 1;", "out[t] = s[t];"],
        "read-write", {(5, WRITE, 4), (5, EARLY_WRITE, 4)},
    ),
    "a loop that is unrolled": (
        ["#pragma unroll", "for (int k = 0; k < 2; ++k) {", "s[t] = in[t] + k;", "__syncthreads();",
         "out[t] = s[63 - t];", "}"], "read-write", {(4, WRITE, 6), (4, EARLY_WRITE, 6)},
    ),
    "a loop, in which either may be first": (
        ["#pragma unroll 1", "for (int k = 0; k < n; ++k) {", "s[t] = in[t] + k;", "__syncthreads();",
         "out[t] = s[63 - t];", "}"], "", {(4, MET, 6), (6, READ, 4)},
    ),
    "a call in front": (
        ['printf("");', "s[t] = in[t];", "out[t] = s[63 - t];"], "write-read",
        {(4, READ, 3), (4, EARLY_READ, 3)},
    ),
    "a sum, which no barrier helps": (
        ["s[0] += in[t];", "__syncthreads();", "out[t] = s[0];"], "read-write", {(2, READ, 2), (2, MET, 2)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_what_comes_too_early_is_told(name):
    lines, order, expected = KERNELS[name]
    head = "__global__ void k(const float *in, float *out, int n) { __shared__ float s[64]; "
    head += "const int t = threadIdx.x;"
    a = np.arange(1, 65, dtype=np.float32)
    source = "\n".join([head, *lines, "}"])
    found = gpureduce.simulate(source, "k", grid=1, block=64, args=[a, np.zeros_like(a), 3])
    races = [race for race in found.races if race.kind in ("write-read", "read-write")]
    assert {race.program_order for race in races} == {order}
    told = [re.search(r"kernel.cu:(\d+) (.*?), thread .* at kernel.cu:(\d+); ", str(race)) for race in races]
    assert {(int(each[1]), each[2], int(each[3])) for each in told} == expected
    again = pickle.loads(pickle.dumps(found.races))
    assert again == found.races


def test_the_race_of_the_third_exercise_is_a_read_too_early():
    third = exercise("3")
    wrong = {part.name: part.message for part in third.check(third.start).parts if not part.passed}
    early = f"thread 0 (warp 0, lane 0) at kernel.cu:9 {EARLY_READ}, thread 32 (warp 1, lane 0)"
    assert f"{early} at kernel.cu:6; __syncthreads is missing between" in wrong["without races"]


def test_a_shuffle_inside_an_if_waits_at_no_barrier():
    source = """
__global__ void k(float *a) {
    float x = a[threadIdx.x];
    if (threadIdx.x < 16)
        x += __shfl_down_sync(0xffffffff, x, 8);
    a[threadIdx.x] = x;
}
"""
    a = np.ones(32, np.float32)
    (finding,) = gpureduce.simulate(source, "k", grid=1, block=32, args=[a]).findings
    assert "barrier" not in str(finding) and "waits" not in str(finding) and "kernel.cu:5" in str(finding)
