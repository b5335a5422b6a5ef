"""What every rung asks of memory, passes and barriers, to the last one, so that none gets worse unseen.

Products are held to the hardware's own counters in test_hardware_counters.py.
"""

import pytest

import gpureduce

pytestmark = pytest.mark.usefixtures("full")

COLUMNS = ("requests", "sectors", "ideal", "copied", "wavefronts", "ideal", "barriers", "atomics")
# Of 2^18 float32, or 16384 of an exact sum, or in 1000 groups, or 65536 of a scan; a
# convolution of 18 x 18 x 12 by 24 filters of 3 x 3, of float32
# or else float16. Sectors and their ideal, passes through shared memory and their ideal.
TABLE = """
v0              9254   33926   33926        0  154350  154350   74088     0
v1              9254   33926   33926        0  154350   46305   74088     0
v2              9254   33926   33926        0   46305   46305   74088     0
v3              8721   33345   33345        0   23085   23085   36936     0
v4              8721   33345   33345        0   20007   20007   12312     0
v5              8721   33345   33345        0   16416   16416   12312     0
v6              8721   33345   33345        0   16416   16416   12312     0
v7              8721   33345   33345        0    4617    4617    8208     0
v8              2307   33057   33057        0    2313    2313    4112     0
v9              2569   33313   33313        0    4617    4617    6160   256
v10             2569   33313   33313        0    4617    4617    6160   256
v11             2114   32837   32837        0    2633    2633    4368    32
v12              521     545     545  1048576   12809   12809    9232   256
grid_stride     9249   33921   33921        0   46125   46125   73800     0
atomic          9216   33792   33792        0    9216    9216   16384  1024
cub_block       2307   33057   33057        0    3855    3855    2056     0
v4_published    8721   33345   33345        0   23085   23085   12312     0
e0               518    2054    2054        0     153     153     232     2
e1               521    2057    2057        0     462     288     232     2
e2               520    2061    2059        0    1141    1141      80  1063
e3               520    2061    2059        0     153     153      80    75
e4               136    2061    2059        0    3225    3225     112    11
g0            1536   18536    6144        0       0       0        0   512
g1           36401   87980   57079        0    9602    5106      256  1024
g2            1056    4221    4221        0    1834     576       64   544
g3            1729    6959    6959        0    3701    1185      128  1089
g4            4871   19317   19317        0    5851    3335      928  2627
s0           96262  391169  385028        0       0       0       0     0
s1            9205   33601   33601        0   77515   18040   20800     0
s2            8347   32545   32545        0    1188    1188     264     0
s3            6046   24101   24101        0   12784   12784     760     0
s4            4123   16414   16411        0   12356   12356     360     6
c0             41664  250368  166656        0       0       0       0     0
c1              2268   18944   13483        0   16404   15016     168     0
c2               432    9264    4872        0   12176   10912     168     0
c2_ring         1320    9432    4872        0   10480   10408      80     0
c2_winograd    26332   60688   60036        0     480     384      16     0
c3               304    6492    1956        0    9856    9356       8     0
c4               192     768     768    25920    4658    4658      12     0
c5               169    1902    1578        0     565     565      16     0
c5_few           169    1902    1578        0     565     565      16     0
c6               169    1902    1578        0    1072    1072      32     0
c7               192    1929     817        0     247     247      16     0
c7_few           192    1929     817        0     247     247      16     0
c8                96     768     768   350208    2372    2340      68     0
c9               411    4164    1336   350208    1860    1732      68     0
"""
ROWS = {name: tuple(map(int, row)) for name, *row in (line.split() for line in TABLE.split("\n") if line)}
ASKED = {
    "reduction": 2**18,
    "exact": 2**14,
    "groups": (2**14, 1000),
    "scan": 2**16,
    "conv": ((1, 18, 18, 12), (24, 3, 3, 12), {"layout": "NHWC"}),
}
VARIANTS = {
    variant.name: variant
    for ladder in ASKED
    for variant in gpureduce.variants(ladder)
    if "sim" in variant.backends
}
REDUCTIONS = [name for name, variant in VARIANTS.items() if variant.ladder == "reduction"]


def counters(name):
    variant = VARIANTS[name]
    dtype = "float32" if "float32" in variant.dtypes else "float16"
    return gpureduce.profile(ASKED[variant.ladder], name, dtype=dtype, races=False).totals


@pytest.fixture(scope="module", params=list(VARIANTS))
def counted(request):
    return request.param, counters(request.param)


def test_every_rung_has_a_row():
    assert list(ROWS) == list(VARIANTS)


def test_the_counters_are_those_of_the_table(counted):
    name, found = counted
    row = (found.global_requests, found.global_sectors, found.global_ideal, found.copied_bytes)
    row += (found.shared_wavefronts, found.shared_ideal, found.barriers, found.atomics)
    assert dict(enumerate(row)) == dict(enumerate(ROWS[name])), (name, COLUMNS)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_reads_its_array_once(name):
    """At most 1.05 of the ideal sectors, and of the bytes that there are."""
    _, sectors, ideal, copied, wavefronts, least, *_ = ROWS[name]
    brought = (32 * sectors + copied) / (4 * ASKED["reduction"])
    assert sectors <= 1.05 * ideal and brought <= 1.05
    assert wavefronts == least or name == "v1"
