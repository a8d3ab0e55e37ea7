# Modules: triton-sm_70 triton-sm_80
"""Prefix sums by one program."""

import triton
import triton.language as tl

SIGNATURE = {"x": "*i32", "y": "*i32"}
CONSTANTS = {"SIZE": 512}
OPTIONS = {"num_warps": 4}


@triton.jit
def kernel(x, y, SIZE: tl.constexpr):
    place = tl.arange(0, SIZE)
    tl.store(y + place, tl.cumsum(tl.load(x + place), 0))
