# Modules: triton-sm_75 triton-sm_90
"""Counts of a program, added by atomics."""

import triton
import triton.language as tl

SIGNATURE = {"bytes": "*u8", "n": "i32", "counts": "*i32"}
CONSTANTS = {"SIZE": 512}
OPTIONS = {"num_warps": 2}


@triton.jit
def kernel(bytes, n, counts, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    bin = tl.load(bytes + place, mask=place < n, other=0).to(tl.int32) // 8
    tl.atomic_add(counts + tl.arange(0, 32), tl.histogram(bin, 32, mask=place < n))
