"""Arguments of a user's kernel: values and arrays against the types of C++, and against PTX."""

import math

import numpy as np
import pytest

import gpureduce
from gpureduce._profiles.declared import declared
from gpureduce._profiles.itanium_demangle import parameters

pytest.importorskip("cuda.pathfinder")
pytestmark = pytest.mark.usefixtures("kept_kernels")

# Every integer type, with its least and largest value.
INTEGERS = {
    "char": (-(2**7), 2**7 - 1), "signed char": (-(2**7), 2**7 - 1), "unsigned char": (0, 2**8 - 1),
    "short": (-(2**15), 2**15 - 1), "unsigned short": (0, 2**16 - 1), "int": (-(2**31), 2**31 - 1),
    "unsigned": (0, 2**32 - 1), "long": (-(2**63), 2**63 - 1), "unsigned long": (0, 2**64 - 1),
    "long long": (-(2**63), 2**63 - 1), "unsigned long long": (0, 2**64 - 1),
    "__int128": (-(2**127), 2**127 - 1), "unsigned __int128": (0, 2**128 - 1),
    "wchar_t": (-(2**31), 2**31 - 1), "char16_t": (0, 2**16 - 1), "char32_t": (0, 2**32 - 1), "bool": (0, 1),
}  # fmt: skip
FLOATS = {"float": np.float32, "double": np.float64}
ENUMS = {"Color": (-(2**31), 2**32 - 1), "Small": (0, 2**8 - 1), "Signed": (-(2**15), 2**15 - 1)}
PARAMETERS = [*INTEGERS, *ENUMS, *FLOATS]


def kernels(head):
    """One kernel with a parameter of every type, which writes them down; as C++, and as extern "C"."""
    named = [f"{kind} a{i}" for i, kind in enumerate(PARAMETERS)]
    stores = "\n".join(f"    *({kind} *)(out + {16 * i}) = a{i};" for i, kind in enumerate(PARAMETERS))
    return f"""
enum Color {{ RED, GREEN = 7 }};
enum class Small : unsigned char {{ A }};
enum Signed : short {{ B = 1 }};
{head} void every(unsigned char *out, {", ".join(named)}) {{
{stores}
}}
"""


def store(source, values):
    out = np.zeros(16 * len(PARAMETERS), np.uint8)
    gpureduce.simulate(source, "every", 1, 1, [out, *values], races=False)
    return [row.tobytes() for row in out.reshape(-1, 16)]


@pytest.mark.parametrize(
    "head", ["__global__", 'extern "C" __global__', "namespace n {{}} static __global__"]
)
def test_every_type_takes_its_whole_range_and_nothing_beyond(head):
    source, limits = kernels(head.replace("{{}}", "{}")), [*INTEGERS.values(), *ENUMS.values()]
    for side in (0, 1):
        values = [each[side] for each in limits] + [(-1) ** side * math.pi, float("inf")]
        stored = store(source, values)
        for kind, value, raw in zip(PARAMETERS, values, stored, strict=True):
            if kind in FLOATS:
                dtype = FLOATS[kind]
                assert np.frombuffer(raw[: np.dtype(dtype).itemsize], dtype) == dtype(value), kind
            else:
                assert raw == (value % 2**128 & (2 ** (8 * size(kind)) - 1)).to_bytes(16, "little"), kind
    if "static" in head:
        return
    zeros = [0] * len(PARAMETERS)
    for i, (kind, (least, most)) in enumerate(zip(PARAMETERS, limits, strict=False), 1):
        for value in (least - 1, most + 1, np.int8(-1) if least == 0 else 2**130):
            wrong = [*zeros[: i - 1], value, *zeros[i:]]
            text = rf"args\[{i}\]: {value} does not fit '{kind}', which holds {least} to {most}$"
            with pytest.raises(ValueError, match=text):
                store(source, wrong)
    for i, (kind, value) in enumerate(zip(PARAMETERS, [*[1.0] * len(limits), 1j, "1"], strict=True), 1):
        with pytest.raises(TypeError, match=rf"args\[{i}\]: expected a value for '{kind}', got "):
            store(source, [*zeros[: i - 1], value, *zeros[i:]])
    with pytest.raises(ValueError, match=rf"args\[{len(limits) + 1}\]: 1e\+39 does not fit 'float'"):
        store(source, [*zeros[:-2], 1e39, 0])


def size(kind):
    names = {
        "char": 1,
        "wchar_t": 4,
        "char16_t": 2,
        "char32_t": 4,
        "bool": 1,
        "Color": 4,
        "Small": 1,
        "Signed": 2,
    }
    words = kind.split()
    sizes = {"char": 1, "short": 2, "int": 4, "unsigned": 4, "long": 8, "__int128": 16}
    return names.get(kind) or sizes[words[-1]]


STRUCTURES = """
struct Mix { char c; double d; short s[3]; };
struct Tiny { unsigned char v[8]; };
namespace n { template <class T> struct Pair { T a, b; }; }
__global__ void k(Mix m, Tiny t, float4 f, n::Pair<int> p, const Mix *array, double *out) {
    out[0] = m.c + m.d + m.s[2];
    out[1] = t.v[7];
    out[2] = f.x + 10 * f.w;
    out[3] = p.a - 2 * p.b;
    out[4] = array[1].d;
}
"""
MIX = np.dtype([("c", "i1"), ("d", "f8"), ("s", "i2", 3)], align=True)


def test_structures_are_passed_by_value():
    mix = np.zeros(2, MIX)
    mix[1] = -3, 0.5, (1, 2, 300)
    tiny = np.array((range(1, 9),), np.dtype([("v", "u1", 8)]))
    four = np.array([1.5, 0, 0, -2], np.float32).tobytes()
    pair = np.array((7, -5), "i4,i4")
    out = np.zeros(5)
    gpureduce.simulate(STRUCTURES, "k", 1, 1, [mix[1], tiny[()], four, pair, mix, out])
    assert out.tolist() == [297.5, 8, -18.5, 17, 0.5]
    for i, value, error, text in (
        (0, mix[:1], TypeError, "the kernel takes 'Mix' here, got an array of"),
        (
            0,
            3,
            TypeError,
            "'Mix' has 24 bytes; pass them as bytes, or as a NumPy scalar of a structured dtype",
        ),
        (0, np.zeros((), MIX.descr[:1])[()], ValueError, "'Mix' has 24 bytes, got 1"),
        (2, b"123", ValueError, "'float4' has 16 bytes, got 3"),
        (2, np.zeros((), object), TypeError, "'float4'"),
        (3, (1, 2), TypeError, r"'n::Pair<int>' has 8 bytes"),
        (4, 1, TypeError, r"the kernel takes 'const Mix \*' here, got 1"),
    ):
        args = [mix[1], tiny[()], four, pair, mix, out]
        args[i] = value
        with pytest.raises(error, match=rf"args\[{i}\]: .*{text}"):
            gpureduce.simulate(STRUCTURES, "k", 1, 1, args)


PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out, .param .{kind} value) {{
    .reg .b64 %rd<3>;
    .reg .{register} %v;
    ld.param.u64 %rd1, [out];
    ld.param.{kind} %v, [value];
    st.global.{kind} [%rd1], %v;
    ret;
}}
"""


@pytest.mark.parametrize("letter", "usb")
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_ptx_takes_whatever_has_the_width(letter, bits):
    source = PTX.format(kind=f"{letter}{bits}", register=f"b{max(bits, 16)}")
    for value in (-(2 ** (bits - 1)), 2**bits - 1, -1, np.int8(-3), True):
        out = np.zeros(bits // 8, np.uint8)
        gpureduce.simulate(source, "k", 1, 1, [out, value])
        if isinstance(value, np.int8) and letter != "b":
            value = int(value)
        if not isinstance(value, np.int8):
            assert out.tobytes() == (int(value) % 2**bits).to_bytes(bits // 8, "little")
    for value in (-(2 ** (bits - 1)) - 1, 2**bits):
        with pytest.raises(ValueError, match=rf"does not fit a .{letter}{bits} parameter, which holds"):
            gpureduce.simulate(source, "k", 1, 1, [np.zeros(8, np.uint8), value])


def test_halves_are_rounded():
    source = (
        "struct __half { unsigned short v; }; struct __nv_bfloat16 { unsigned short v; };\n"
        "__global__ void k(unsigned short *o, __half h, __nv_bfloat16 b) { o[0] = h.v; o[1] = b.v; }"
    )
    for value in (math.pi, -0.0, 1 + 2**-8, 1 + 3 * 2**-8, 1e-41, float("-inf"), 65504):
        out = np.zeros(2, np.uint16)
        gpureduce.simulate(source, "k", 1, 1, [out, value, value])
        bits = int(np.float32(value).view(np.uint32))
        nearest = bits + 0x7FFF + (bits >> 16 & 1) >> 16
        assert out.tolist() == [int(np.float16(value).view(np.uint16)), nearest], value
    for i, value in ((1, 65520.0), (2, 3.4e38)):
        args = [np.zeros(2, np.uint16), 0, 0]
        args[i] = value
        with pytest.raises(ValueError, match=rf"args\[{i}\]: .* does not fit '__"):
            gpureduce.simulate(source, "k", 1, 1, args)


@pytest.mark.parametrize(
    ("entry", "types"),
    [
        ("_ZN2ns2k1ENS_4DeepENS_1QEPS1_PKS1_PS0_4pairIS1_iEPS7_",
         "ns::Deep, ns::Q, ns::Q *, const ns::Q *, ns::Deep *, pair<ns::Q, int>, pair<ns::Q, int> *"),
        ("_ZN2ns2k2I4pairINS_1QEiELi3EEEvPT_S4_S1_IS4_S2_EPS5_PVS4_",
         "pair<ns::Q, int> *, pair<ns::Q, int>, pair<pair<ns::Q, int>, ns::Q>, pair<ns::Q, int> **, "
         "volatile pair<ns::Q, int> *"),
        ("_Z2k5IfEv3boxIT_ES0_IS2_ES1_", "box<float>, box<box<float>>, float"),
        ("_Z2k8PA4_iP1SS1_PKS1_PFviE", "int (*)[4], S *, S, const S *, void (*)(int)"),
        ("_Z2k9ILb1ELc97ELln5EEvPfSt4pairIiiE", "float *, std::pair<int, int>"),
    ],
)  # fmt: skip
def test_names_tell_types(entry, types):
    assert ", ".join(each.text for each in parameters(entry)) == types


def test_what_names_do_not_tell():
    for entry in ("k", "_Z", "_Z1", "_Z1kDpT_", "_Z1kS_", "_Z1kM1Ai", "_Z2k6IJfiEEvDpT_", "_Z1k" + "P" * 50):
        assert parameters(entry) is None


def test_declarations_tell_types():
    source = """
using Count = unsigned long long; typedef Count Mine;
__global__ void other(int);
extern "C" __global__ void __launch_bounds__(256, 2) k(const float *__restrict__ const a, uint8_t b[4],
    long unsigned int c, Mine d, struct S s, std::size_t, unsigned char const &r, T<int> t,
    float *const *p, half h, int n = f(1, 2)) {}
"""
    found = declared("k", [source])
    assert [each and each.text for each in found] == [
        "const float *", "unsigned char *", "unsigned long", "unsigned long long", "S", "unsigned long",
        None, None, "float **", "__half", "int",
    ]  # fmt: skip
    assert declared("nothing", [source]) is None and declared("other", [source])[0].text == "int"
