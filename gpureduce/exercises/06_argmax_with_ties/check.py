import numpy as np

from gpureduce.course import Case

KERNEL = "argmax"
RUNG = "v0"


def cases(rng):
    many = rng.permutation(1000).astype(np.float32)
    ties = np.zeros(700, np.float32)
    ties[[400, 130, 5, 129]] = 3  # thread 1 has 129, and is compared with the one that has 5 later
    zeros = np.where(np.arange(300) % 2, 0.0, -0.0).astype(np.float32)
    # The first is found by an earlier thread than the other, and by a later one.
    nans, others = rng.random((2, 500)).astype(np.float32)
    nans[[20, 177]] = others[[300, 177]] = np.nan
    trials = {
        "1000 elements, all different": many,
        "1 element": many[:1],
        "all elements equal": np.full(257, 2, np.float32),
        "4 largest of 700 elements": ties,
        "zeros of both signs": zeros,
        "two NaNs": nans,
        "two other NaNs": others,
        "a NaN in front of infinities": np.array([1, np.nan, np.inf, np.inf], np.float32),
        "minus infinity alone": np.full(40, -np.inf, np.float32),
    }
    for name, data in trials.items():
        expected = np.array([np.argmax(data)], np.int32)
        args = [data, np.full(1, -1, np.int32), len(data)]
        limits = {
            "warp_instructions": 4 * (340 + 30 * -(-len(data) // 128))
        }  # of four warps and seven rounds
        yield Case(name, 1, 128, args, {1: expected}, limits, at_least={"mean_lanes": 10})
