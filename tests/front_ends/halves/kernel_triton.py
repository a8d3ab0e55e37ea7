# Modules: triton-sm_80 triton-sm_90
"""The same without atomics on pairs: one number is counted at a time."""

import triton
import triton.language as tl

SIGNATURE = {"x": "*fp16", "y": "*fp16", "u": "*bf16", "v": "*bf16", "sum": "*fp16", "a": "fp32", "b": "fp32"}
CONSTANTS = {"SIZE": 128}
OPTIONS = {"num_warps": 2}


@triton.jit
def kernel(x, y, u, v, sum, a, b, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    half = tl.load(x + place) * a.to(tl.float16) + b.to(tl.float16)
    tl.store(y + place, tl.maximum(half, 0.0))
    tl.store(v + place, tl.maximum(tl.load(u + place) * a.to(tl.bfloat16) + b.to(tl.bfloat16), 0.0))
    tl.atomic_add(sum + place % 2, tl.where(half > 0, 1.0, 0.0).to(tl.float16))
