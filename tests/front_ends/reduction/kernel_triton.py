# Modules: triton-sm_70 triton-sm_80
"""Sums and maxima of programs, joined by atomics."""

import triton
import triton.language as tl

SIGNATURE = {"x": "*u32", "n": "i32", "result": "*u32"}
CONSTANTS = {"SIZE": 512}
OPTIONS = {"num_warps": 4}


@triton.jit
def kernel(x, n, result, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    part = tl.load(x + place, mask=place < n, other=0)
    tl.atomic_add(result, tl.sum(part, 0))
    tl.atomic_max(result + 1, tl.max(part, 0))
