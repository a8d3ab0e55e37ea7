# Modules: triton-sm_80
"""Each program sorts 256 numbers."""

import triton
import triton.language as tl

SIGNATURE = {"x": "*u32", "y": "*u32"}
CONSTANTS = {"SIZE": 256}
OPTIONS = {"num_warps": 2}


@triton.jit
def kernel(x, y, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(y + place, tl.sort(tl.load(x + place)))
