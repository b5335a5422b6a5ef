"""Patterns of shared-memory addresses in which an H200 was asked for its wavefronts.

A pattern is 32 byte addresses, one a lane, None for a lane that takes no part.
"""

import random

WIDTHS = (4, 8, 16)  # bytes per lane
BYTES = 16384  # of shared memory


def _structured() -> list:
    """In units of the width: functions of the lane."""
    strided = [lambda i, s=s: s * i for s in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 31, 32)]
    return [
        *strided,
        lambda i: 31 - i,
        lambda i: i ^ 1,
        lambda i: i ^ 16,
        lambda i: i // 2,
        lambda i: i // 4,
        lambda i: i // 8,
        lambda i: i // 16,
        lambda i: i % 16,
        lambda i: i % 8,
        lambda i: i % 4,
        lambda i: i % 2,
        lambda i: 8 * (i % 4) + i // 4,
        lambda i: 4 * (i % 8) + i // 8,
        lambda i: 16 * (i % 2) + i // 2,
        lambda i: 32 * (i % 2),
        lambda i: 64 * (i // 16) + i % 16,
        lambda i: 33 * (i % 8) + 8 * (i // 8),
    ]


_MASKS = [0x0000FFFF, 0xFFFF0000, 0x55555555, 0x00FF00FF, 0x0000000F, 0x80000001, 0x00010000, 0x11111111]


def patterns(width: int) -> list[list[int | None]]:
    """64 patterns for accesses of `width` bytes per lane; always the same."""
    found = [[width * f(i) for i in range(32)] for f in _structured()]
    for k, mask in enumerate(_MASKS):
        stride = (1, 2, 4, 1, 8, 1, 3, 2)[k]
        found.append([width * stride * i if mask >> i & 1 else None for i in range(32)])
    draw = random.Random(width)
    while len(found) < 64:
        span = draw.choice((8, 16, 32, 64, 128, 512))
        share = draw.choice((1, 1, 1, 0.5, 0.2))
        row = [width * draw.randrange(span) if draw.random() < share else None for _ in range(32)]
        if any(address is not None for address in row):
            found.append(row)
    return found


_PTX = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry load(.param .u64 offsets)
{{
    .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<4>;
    .shared .align 16 .b8 memory[16384];
    ld.param.u64 %rd1, [offsets]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3]; setp.ge.s32 %p, %r2, 0; mov.u32 %r3, memory; add.u32 %r4, %r3, %r2;
    @%p {access};
    ret;
}}
"""
_VECTORS = {4: ".f32 %f0", 8: ".v2.f32 {%f0, %f1}", 16: ".v4.f32 {%f0, %f1, %f2, %f3}"}


def ptx(width: int, store: bool) -> str:
    """A kernel `load` that accesses shared memory at the 32 offsets it is given, -1 for none."""
    types, _, values = _VECTORS[width].partition(" ")
    access = f"st.shared{types} [%r4], {values}" if store else f"ld.shared{types} {values}, [%r4]"
    return _PTX.format(access=access)
