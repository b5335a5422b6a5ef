"""Which variants a test can run, and with which block sizes."""

import functools


@functools.cache
def runs_on(variant, device):
    """Whether this installation runs the variant on `device`, which is given as text."""
    return variant.runs_on(device)


def block_sizes(variant):
    """What to pass as block_size=: all there is to choose from, or None where a library chooses."""
    return variant.block_sizes or (None,)


def few_block_sizes(variant):
    """Those that a slow build runs: the C code takes the same ways for the others."""
    sizes = block_sizes(variant)
    return sorted({*sizes[:2], sizes[-1]})


def usual_block_sizes(variant):
    """Those that the simulator runs without --exhaustive: of many the ends, their neighbours, the default."""
    sizes = block_sizes(variant)
    return sizes if len(sizes) < 9 else (*sizes[:2], variant.default_block_size, *sizes[-2:])
