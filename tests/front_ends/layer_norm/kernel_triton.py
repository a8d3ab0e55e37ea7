# Modules: triton-sm_75 triton-sm_90
"""A row by each program."""

import triton
import triton.language as tl

SIGNATURE = {"x": "*fp32", "weight": "*fp32", "bias": "*fp32", "y": "*fp32"}
CONSTANTS = {"SIZE": 64}
OPTIONS = {"num_warps": 1}


@triton.jit
def kernel(x, weight, bias, y, SIZE: tl.constexpr):
    place = tl.arange(0, SIZE)
    start = tl.program_id(0) * SIZE
    row = tl.load(x + start + place)
    row -= tl.sum(row, 0) / SIZE
    scale = tl.rsqrt(tl.sum(row * row, 0) / SIZE + 1e-5)
    tl.store(y + start + place, row * scale * tl.load(weight + place) + tl.load(bias + place))
