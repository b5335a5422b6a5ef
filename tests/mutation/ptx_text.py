"""The traps of PTX whose names are numbered by differences, and of kernels that are extracted from it."""

from mutants import Mutant

DECODER = "csrc/device/ptx_text.c"
EXTRACTED = ("tests/driver/test_packed_kernels.py",)
RESTORED = ("tests/packaging/test_packing.py",)

MUTANTS = (
    Mutant(
        "each register of a line is the next reference",
        DECODER,
        "restore_register",
        "state->is_first = false;",
        "state->is_first = true;",
        RESTORED,
    ),
    Mutant(
        "the first register of a file is the only reference",
        DECODER,
        "restore_next",
        "state->is_first = true;",
        "state->is_first = false;",
        RESTORED,
    ),
    Mutant(
        "a name without a difference is a reference",
        DECODER,
        "restore_register",
        "if (state->from != before && state->is_first)",
        "if (state->is_first)",
        RESTORED,
    ),
    Mutant(
        "registers of two types have one reference",
        DECODER,
        "register_type",
        '{"fd", "rd", "rs", "f", "p", "r"}',
        '{"f", "rd", "rs", "fd", "p", "r"}',
        RESTORED,
    ),
    Mutant(
        "a label's function is forgotten",
        DECODER,
        "restore_label",
        "state->function = restore_number(state, state->function);",
        "restore_number(state, state->function);",
        RESTORED,
    ),
    Mutant(
        "a difference has no sign",
        DECODER,
        "restore_number",
        "is_negative ? reference - difference :",
        "is_negative ? reference + difference :",
        RESTORED,
    ),
    Mutant(
        "restored PTX may be too short",
        DECODER,
        "gr_restore_registers",
        "if (state.damaged || state.to != state.to_end)",
        "if (state.damaged)",
        RESTORED,
    ),
    Mutant(
        "a length without a line's end is read",
        DECODER,
        "gr_restore_registers",
        "if (*at != '\\n' || bytes >",
        "if (bytes >",
        RESTORED,
    ),
    Mutant(
        "a kernel ends at the first closing brace",
        DECODER,
        "block_end",
        "--depth <= 0",
        "--depth >= 0",
        EXTRACTED,
    ),
    Mutant(
        "a kernel ends with the text",
        DECODER,
        "block_end",
        "return at;",
        "return text_end;",
        EXTRACTED,
    ),
)
