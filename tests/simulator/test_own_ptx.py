"""PTX of one's own: what `simulate` runs, refuses and profiles."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import gpureduce

SCALE = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 in, .param .u64 out, .param .f32 factor, .param .u32 n, .param .s16 shift)
{
    .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>; .reg .b16 %h<2>;
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.f32 %f1, [factor]; ld.param.u32 %r1, [n];
    ld.param.s16 %h1, [shift]; cvt.s32.s16 %r6, %h1; cvt.rn.f32.s32 %f3, %r6;
    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p bra end;
    mul.wide.u32 %rd3, %r5, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4]; mul.rn.f32 %f2, %f2, %f1; add.rn.f32 %f2, %f2, %f3;
    st.global.f32 [%rd5], %f2;
end: ret;
}
"""


def scale(a, out, factor=2.5, n=None, shift=-3, grid=4, block=64):
    return gpureduce.simulate(
        SCALE, "scale", grid, block, [a, out, factor, len(a) if n is None else n, shift]
    )


def test_simulate_runs_a_kernel():
    a = np.arange(200, dtype=np.float32)
    out = np.full(201, 7, dtype=np.float32)
    found = scale(a, out)
    assert (out[:200] == a * np.float32(2.5) - 3).all() and out[200] == 7
    assert (a == np.arange(200)).all()
    assert found.totals.global_load_requests == 7 and found.totals.global_load_sectors == 25
    assert found.races == () and found.kernels[0].grid == (4, 1, 1)
    assert "ld.global.f32" in found.annotate()
    assert "2 x" not in found.title and "4 x 1 x 1 blocks of 64 x 1 x 1" in found.title


REMOTE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry remote(.param .u64 out) {
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b32 slot;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, slot;
    st.shared.u32 [slot], %r2;
    {wait}
    xor.b32 %r4, %r1, 1;
    mapa.shared::cluster.u32 %r5, %r3, %r4;
    ld.shared::cluster.u32 %r6, [%r5];
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r6;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    ret;
}
"""


def test_simulate_takes_a_cluster_size():
    """Each block takes its neighbour's number; with the barrier gone that is a race."""
    out = np.zeros(6, np.uint32)
    waiting = REMOTE.replace("{wait}", "barrier.cluster.arrive; barrier.cluster.wait;")
    assert gpureduce.simulate(waiting, "remote", 6, 1, [out], cluster=2).races == ()
    assert out.tolist() == [1, 0, 3, 2, 5, 4]
    races = gpureduce.simulate(REMOTE.replace("{wait}", ""), "remote", 6, 1, [out], cluster=(2, 1, 1)).races
    assert {race.kind for race in races} == {"write-read", "read-write", "uninitialised"}
    with pytest.raises(gpureduce.SimulationError, match="no block 1 in a cluster of 1"):
        gpureduce.simulate(waiting, "remote", 6, 1, [out])


def test_simulate_takes_any_numpy_array():
    grid = np.arange(400, dtype=np.float32).reshape(20, 20)
    out = np.zeros((20, 20), dtype=np.float32)
    scale(grid[::2, ::2], out[::2, ::2], n=100)
    assert (out[::2, ::2] == grid[::2, ::2] * np.float32(2.5) - 3).all()
    assert not out[1::2].any()
    inplace = np.arange(64, dtype=np.float32)
    gpureduce.simulate(
        SCALE, "scale", 1, (64, 1), (inplace, inplace, np.float32(2), np.uint32(64), np.int16(1))
    )
    assert (inplace == 2 * np.arange(64) + 1).all()
    frozen = np.zeros(64, dtype=np.float32)
    frozen.flags.writeable = False
    scale(np.ones(64, dtype=np.float32), frozen)
    assert not frozen.any()


def test_simulate_refuses():
    a, out = np.ones(64, dtype=np.float32), np.zeros(64, dtype=np.float32)

    def simulate(ptx=SCALE, kernel="scale", grid=1, block=64, args=(a, out, 2.0, 64, 1), **rest):
        return gpureduce.simulate(ptx, kernel, grid, block, args, **rest)

    for call, error, text in [
        (lambda: simulate(ptx=b"x"), TypeError, "source: expected str or a path, got bytes"),
        (lambda: simulate(ptx=".nonsense\n"), gpureduce.SimulationError, "line 1"),
        (
            lambda: simulate(ptx=SCALE.replace("mul.rn.f32", "frob.f32")),
            gpureduce.SimulationError,
            r"line 14.*frob",
        ),
        (lambda: simulate(kernel="scales"), ValueError, r"kernel: there is no kernel 'scales'.*\['scale'\]"),
        (lambda: simulate(kernel="scale\0"), ValueError, "kernel: a name cannot have a NUL"),
        (lambda: simulate(grid=0), ValueError, "grid: expected 1 to"),
        (lambda: simulate(grid=(1, 2, 3, 4)), TypeError, "grid: expected an int or up to three"),
        (lambda: simulate(grid=1.5), TypeError, "grid: expected an int"),
        (lambda: simulate(grid=(1, "2")), TypeError, "grid: expected an int"),
        (lambda: simulate(block=2048), ValueError, "a block of 2048"),
        (lambda: simulate(cluster=0), ValueError, "cluster: expected 1 to"),
        (lambda: simulate(cluster="2"), TypeError, "cluster: expected an int"),
        (lambda: simulate(grid=3, cluster=2), ValueError, "clusters of 2 blocks do not divide the grid's 3"),
        (lambda: simulate(shared_bytes=-1), ValueError, "shared_bytes: expected 0 or more"),
        (lambda: simulate(shared_bytes=10**6), ValueError, "1000000 dynamic bytes"),
        (lambda: simulate(args=(a, out)), ValueError, "args: the kernel takes 5 arguments, got 2"),
        (lambda: simulate(args=a), TypeError, "args: expected a list or tuple"),
        (lambda: simulate(args=(a, out, "x", 64, 1)), TypeError, r"args\[2\]: expected a value for a .f32"),
        (lambda: simulate(args=(a, out, 1e300, 64, 1)), ValueError, r"args\[2\]: 1e\+300 does not fit"),
        (
            lambda: simulate(args=(a, out, 2.0, 2**32, 1)),
            ValueError,
            r"args\[3\]: 4294967296 does not fit a .u32",
        ),
        (lambda: simulate(args=(a, out, 2.0, 64.0, 1)), TypeError, r"args\[3\]: expected a value for a .u32"),
        (
            lambda: simulate(args=(a, out, 2.0, 64, 70000)),
            ValueError,
            r"args\[4\]: 70000 does not fit a .s16",
        ),
        (lambda: simulate(args=(a, out, a, 64, 1)), TypeError, r"args\[2\]: the kernel takes a .f32 here"),
        (
            lambda: simulate(args=(a, out, 2.0, b"123", 1)),
            ValueError,
            r"args\[3\]: the parameter has 4 bytes",
        ),
        (lambda: simulate(args=(a, a[1:], 2.0, 64, 1)), ValueError, r"args\[1\]: the array shares memory"),
        (lambda: simulate(args=(a, out.astype(">f4"), 2.0, 64, 1)), ValueError, r"args\[1\]:.*byte order"),
        (lambda: simulate(args=(a, out.astype(object), 2.0, 64, 1)), TypeError, r"args\[1\]:.*objects"),
        (lambda: simulate(args=(a, out, 2.0, 65, 1), grid=2), gpureduce.SimulationError, "not allocated"),
        (lambda: simulate(races="yes"), ValueError, "races: expected True, False or 'global'"),
    ]:
        with pytest.raises(error, match=text):
            call()
    assert not out.any()


def test_a_stopped_kernel_leaves_its_profile():
    a, out = np.ones(64, dtype=np.float32), np.zeros(32, dtype=np.float32)
    with pytest.raises(gpureduce.SimulationError, match="past the end") as raised:
        scale(a, out, grid=1)
    assert raised.value.profile.totals.global_load_requests == 2
    assert not out.any()


LOOP = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry forever() { again: bra again; }
"""


def test_ctrl_c_stops_a_simulation():
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
    start = time.monotonic()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            gpureduce.simulate(LOOP, "forever", 1, 32)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - start < 20


def test_profiles_run_beside_each_other():
    """From several threads at once, and with the GIL released meanwhile."""
    wanted = str(gpureduce.profile(50_000, "v2").annotate())
    got = [None] * 4
    threads = [
        threading.Thread(target=lambda i=i: got.__setitem__(i, gpureduce.profile(50_000, "v2").annotate()))
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [wanted] * 4


def test_a_kernel_of_ones_own_is_looked_at_again():
    """As it ran first, though it changed what it was given, and the caller did, too."""
    a = np.arange(64, dtype=np.float32)
    found = gpureduce.simulate(SCALE, "scale", 2, 32, [a, a, 2.0, 64, 0])
    assert (a == 2 * np.arange(64)).all()
    a[:] = -1
    accesses = found.accesses(block=1)
    assert len(accesses) == 64 and set(accesses["memory"]) == {0}
    assert found.timeline(block=1).block == 1 and (a == -1).all()
