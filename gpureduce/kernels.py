"""Tools for kernels: the package's own, by variant name, and your own.

`variants`, `source`, `profile` and `simulate` are also available as `gpureduce.variants` and so on.

>>> import gpureduce
>>> [variant.name for variant in gpureduce.kernels.variants("exact")][:2]
['e0', 'e1']
>>> ".visible .entry v7_sum_f32" in gpureduce.kernels.ptx("v7")
True
"""

from gpureduce._course.export import export
from gpureduce._course.rung import check
from gpureduce._device.variants import ptx, source, variants
from gpureduce._profiles.simulate import simulate
from gpureduce._profiles.variant import profile
from gpureduce._program.run import run_program

__all__ = ["check", "export", "profile", "ptx", "run_program", "simulate", "source", "variants"]


def __dir__() -> list[str]:
    return sorted(__all__)
