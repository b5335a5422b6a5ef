import numpy as np

from gpureduce.course import Case

KERNEL = "histogram"
RUNG = "g2"


def cases(rng):
    trials = {
        "10,000 elements of all values": rng.integers(0, 256, 10_000),
        "5,000 elements, most of them equal": np.where(
            rng.random(5000) < 0.9, 255, rng.integers(0, 256, 5000)
        ),
        "1 element": np.array([7]),
    }
    blocks = 4
    for name, values in trials.items():
        data = values.astype(np.uint8)
        expected = np.bincount(data, minlength=256).astype(np.uint32)
        limits = {"global_requests": -(-len(data) // 32) + blocks * 256 // 32}
        yield Case(name, blocks, 128, [data, np.zeros(256, np.uint32), len(data)], {1: expected}, limits)
