# Modules: triton-sm_80 triton-sm_90
"""Products of other types than halves: eight bits of mantissa, single precision rounded to ten bits, and bytes."""

import triton
import triton.language as tl

SIGNATURE = {"a": "*bf16", "b": "*bf16", "s": "*fp32", "t": "*fp32", "i": "*i8", "j": "*i8", "c": "*fp32", "k": "*i32"}
CONSTANTS = {"SIZE": 32}
OPTIONS = {"num_warps": 2}


@triton.jit
def kernel(a, b, s, t, i, j, c, k, SIZE: tl.constexpr):
    lines = tl.arange(0, SIZE)
    place = lines[:, None] * SIZE + lines[None, :]
    sum = tl.dot(tl.load(a + place), tl.load(b + place))
    sum = tl.dot(tl.load(s + place), tl.load(t + place), sum, input_precision="tf32")
    tl.store(c + place, sum)
    tl.store(k + place, tl.dot(tl.load(i + place), tl.load(j + place), out_dtype=tl.int32))
