"""Names of kernels, which compilers mangle, are shown as one writes them."""

import re

import numpy as np
import pytest

import gpureduce
from gpureduce._profiles.itanium_demangle import (
    demangled,
    demangled_names,
    find_entries,
    kernel_name,
    parameters,
)

# Names that nvcc 13.0 gave to kernels and to what is in them, and what c++filt 2.40 makes of these.
FILTERED = {
    "_Z3autILb1EEvPi": "void aut<true>(int*)",
    "_Z3autILc120EEvPi": "void aut<(char)120>(int*)",
    "_Z3autILi5EEvPi": "void aut<5>(int*)",
    "_Z3lamIZ2govEUliE_EvT_Pi": "void lam<go()::{lambda(int)#1}>(go()::{lambda(int)#1}, int*)",
    "_Z3ptrIXadL_Z12global_arrayEEEvPf": "void ptr<&global_array>(float*)",
    "_Z3sumPKdPdi": "sum(double const*, double*, int)",
    "_Z3sumPKfPfi": "sum(float const*, float*, int)",
    "_Z4intsIJLi1ELi2ELi3EEEvPi": "void ints<1, 2, 3>(int*)",
    "_Z4nonev": "none()",
    "_Z4onlyILi256EEvPi": "void only<256>(int*)",
    "_Z4onlyILin3EEvPi": "void only<-3>(int*)",
    "_Z4statPf": "stat(float*)",
    "_Z4widenoewDsabstlmx":
        "wide(__int128, unsigned __int128, long double, wchar_t, "
        "char16_t, signed char, bool, short, unsigned short, long, unsigned long, long long)",
    "_Z5byvecIdEvN2ns3VecIT_Li4EEENS3_3SubIiEEPS3_":
        "void byvec<double>(ns::Vec<double, 4>, "
        "ns::Vec<double, 4>::Sub<int>, ns::Vec<double, 4>*)",
    "_Z5enumsILN2ns5ColorE1ELNS0_3BigEn5EEvPi": "void enums<(ns::Color)1, (ns::Big)-5>(int*)",
    "_Z5flagsILb0ELc0ELx9EEvPi": "void flags<false, (char)0, 9ll>(int*)",
    "_Z5flagsILb1ELc97ELxn7EEvPi": "void flags<true, (char)97, -7ll>(int*)",
    "_Z5qualsPVKfPfPPhPK6__halfP13__nv_bfloat16PK7__half26float44dim3":
        "quals(float const volatile*, float*, unsigned char**, __half const*, "
        "__nv_bfloat16*, __half2 const*, float4, dim3)",
    "_Z6arraysPA4_fPFvifEPKcPvPKv":
        "arrays(float (*) [4], void (*)(int, float), char const*, void*, void const*)",
    "_Z6reduceI6__halfLj32EEvPKT_PS1_y":
        "void reduce<__half, 32u>(__half const*, __half*, unsigned long long)",
    "_Z6reduceIfLj256EEvPKT_PS0_y": "void reduce<float, 256u>(float const*, float*, unsigned long long)",
    "_Z6reduceIxLj64EEvPKT_PS0_y":
        "void reduce<long long, 64u>(long long const*, long long*, unsigned long long)",
    "_Z6withopIN2ns4PlusEEvPfT_": "void withop<ns::Plus>(float*, ns::Plus)",
    "_Z7membersPi": "members(int*)",
    "_ZN1S1fEi": "S::f(int)",
    "_ZN2ns2v13inlENS_4PairENS1_2InE": "ns::v1::inl(ns::Pair, ns::Pair::In)",
    "_ZN2ns3addEPfNS_5ColorE": "ns::add(float*, ns::Color)",
    "_ZN2ns4deep4fillIPNS_4PairEEEvPT_S4_": "void ns::deep::fill<ns::Pair*>(ns::Pair**, ns::Pair*)",
    "_ZN2ns4deep4fillIfEEvPT_S2_": "void ns::deep::fill<float>(float*, float)",
    "_ZN2ns4deep4fillIhEEvPT_S2_": "void ns::deep::fill<unsigned char>(unsigned char*, unsigned char)",
    "_ZN2ns6helperIiEET_S1_": "int ns::helper<int>(int)",
    "_ZN36_GLOBAL__N__df3bb7cc_4_k_cu_bd26d4114anonEPf": "(anonymous namespace)::anon(float*)",
    "_ZZ3sumPKfPfiE5slots": "sum(float const*, float*, int)::slots",
    "_ZL4statPf": "stat(float*)",
    "_ZN12_GLOBAL__N_14anonEPf": "(anonymous namespace)::anon(float*)",
}  # fmt: skip


def normalised(text):
    """Return a name without what c++filt spells in another way: types of values, and the place of const."""
    text = re.sub(r"^(?:void|int) |\((?:char|ns::\w+)\)(?=-?\d)|(?<=\d)(?:u|ll)\b", "", text)
    text = re.sub(r"([\w:]+) const volatile\b", r"volatile const \1", text)
    text = re.sub(r"((?:unsigned )?(?:long )?[\w:]+) const\b", r"const \1", text)
    return text.replace(" ", "").replace("unsignedint", "unsigned")


@pytest.mark.parametrize("entry", FILTERED)
def test_names_are_those_of_other_demanglers(entry):
    types = parameters(entry)
    name = kernel_name(entry)
    if not entry.startswith("_ZZ"):  # of a variable, which has no parameters
        assert types is not None
        name += f"({', '.join(each.text for each in types)})"
    assert normalised(name) == normalised(FILTERED[entry])
    assert kernel_name(entry) in demangled(f"kernel {entry}, line 3")


def test_other_names_stay():
    for name in ("sum", "v0_sum_f32", "_Z", "_Zebra", "_Z9short", "_ZN1SC1Ei", "_Z1fI", "", "_Z3depIXT_EE"):
        assert kernel_name(name) == name and demangled(name) == name
    assert kernel_name("_Z3refIfEvT_DTplfL0p_Li1EE") == "ref<float>"  # its parameters are not read
    assert kernel_name("_Z2fnIXadL_Z5twicefEEEvPf") == "fn<&twice>"
    deep = "_Z1f" + "P" * 100000 + "f"
    assert parameters(deep) is None and kernel_name(deep) == "f"


def test_overloads_are_told_apart():
    entries = ["_Z3sumPKfPfi", "_Z3sumPKdPdi", "_Z6secondPf", "_Z3refIfEvT_DTplfL0p_Li1EE", "_Z3refIfEvT_"]
    assert demangled_names(entries) == {
        "_Z3sumPKfPfi": "sum(const float *, float *, int)",
        "_Z3sumPKdPdi": "sum(const double *, double *, int)",
        "_Z6secondPf": "second",
        "_Z3refIfEvT_DTplfL0p_Li1EE": "_Z3refIfEvT_DTplfL0p_Li1EE",
        "_Z3refIfEvT_": "ref<float>(float)",
    }
    ptx = "".join(f".visible .entry {entry}(\n" for entry in [*entries, "_ZN2ns3addIN2in1TEEEvPf"])
    for kernel, found in [
        ("sum", entries[:2]), ("_Z3sumPKdPdi", entries[1:2]), ("second", entries[2:3]),
        ("second(float *)", entries[2:3]), ("sum(const float*,float*, int)", entries[:1]), ("third", []),
        ("ref<float>", entries[3:]), ("add<in::T>", ["_ZN2ns3addIN2in1TEEEvPf"]),
        ("ns::add< in::T >", ["_ZN2ns3addIN2in1TEEEvPf"]), ("T>", []), ("", []),
    ]:  # fmt: skip
        assert find_entries(ptx, kernel)[0] == found, kernel


PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry _Z3sumPf(.param .u64 _Z3sumPf_param_0)
{
    .reg .b64 %d0;
    ld.param.u64 %d0, [_Z3sumPf_param_0];
    st.global.f32 [%d0+STORED], 0f3F800000;
    ret;
}
"""
SECOND = PTX[PTX.index(".visible") :].replace("_Z3sumPf", "_Z6reduceILi256EEvPf")
OVERLOAD = PTX[PTX.index(".visible") :].replace("_Z3sumPf", "_Z3sumPd")


def simulated(ptx, kernel, stored=0):
    a = np.zeros(1, np.float32)
    found = gpureduce.simulate(ptx.replace("STORED", str(stored)), kernel, grid=1, block=1, args=[a])
    assert a[0] == 1
    return found


def test_kernels_of_ptx_are_shown_and_called_by_their_names():
    for given, shown in [("sum", "sum"), ("_Z3sumPf", "sum"), ("reduce<256>", "reduce<256>")]:
        found = simulated(PTX + SECOND, given)
        assert found.title.startswith(f"{shown}: ") and found.kernels[0].name == shown
        assert "_Z" not in str(found)
        with pytest.raises(gpureduce.SimulationError, match=f"^kernel {shown}, PTX line") as caught:
            simulated(PTX + SECOND, given, 4)
        assert "_Z" not in str(caught.value)
    for given in ("sum(double *)", "_Z3sumPd"):
        assert simulated(PTX + OVERLOAD, given).kernels[0].name == "sum(double *)"


def test_errors_list_kernels_by_their_names():
    listed = r"\['sum\(float \*\)', 'reduce<256>', 'sum\(double \*\)'\]"
    for name in ("sum", "none"):
        with pytest.raises(ValueError, match=rf"no kernel '{name}' in the PTX; it has {listed}"):
            simulated(PTX + SECOND + OVERLOAD, name)
    with pytest.raises(ValueError, match=r"in the PTX there are sum, reduce<256>"):
        gpureduce.course.ladder(PTX + SECOND)
    with pytest.raises(gpureduce.SimulationError, match="line 9"):  # first of all, it does not parse
        simulated(PTX.replace("st.global.f32", "st.nowhere") + SECOND, "none")


def test_ptx_above_a_caret_stays():
    wrong = PTX.replace("[_Z3sumPf_param_0]", "[_Z3sumPf_param_1]")
    with pytest.raises(gpureduce.SimulationError) as caught:
        simulated(wrong, "sum")
    lines = str(caught.value).split("\n")
    assert lines[2].strip() == "^" and lines[1][lines[2].index("^") :].startswith("_Z3sumPf_param_1")


def test_overloads_in_cuda_are_chosen_by_their_parameters():
    pytest.importorskip("cuda.pathfinder")
    source = "".join(
        f"__global__ void twice({t} *a) {{ a[threadIdx.x] *= 2; }}\n" for t in ("float", "double")
    )
    for dtype in ("float32", "float64"):
        a = np.arange(1, 33, dtype=dtype)
        name = f"twice({'float' if dtype == 'float32' else 'double'} *)"
        found = gpureduce.simulate(source, name, grid=1, block=32, args=[a])
        assert a.tolist() == list(range(2, 66, 2)) and found.kernels[0].name == name
    with pytest.raises(
        gpureduce.CompileError, match="'twice' is overloaded; pass its parameters, as in 'twice"
    ):
        gpureduce.simulate(source, "twice", grid=1, block=32, args=[a])
