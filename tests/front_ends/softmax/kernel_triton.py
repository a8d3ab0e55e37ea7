# Modules: triton-sm_70 triton-sm_80 triton-sm_90
"""A softmax of a row by each program."""

import triton
import triton.language as tl

SIGNATURE = {"x": "*fp32", "y": "*fp32", "columns": "i32"}
CONSTANTS = {"SIZE": 128}
OPTIONS = {"num_warps": 2}


@triton.jit
def kernel(x, y, columns, SIZE: tl.constexpr):
    place = tl.arange(0, SIZE)
    there = place < columns
    start = tl.program_id(0) * columns
    row = tl.load(x + start + place, mask=there, other=-float("inf"))
    row = tl.exp(row - tl.max(row, 0))
    tl.store(y + start + place, row / tl.sum(row, 0), mask=there)
