# Modules: triton-sm_70 triton-sm_80 triton-sm_90
"""A product of halves, summed in single precision: pipelined copies and matrix instructions from sm_80 on."""

import triton
import triton.language as tl

SIGNATURE = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "n": "i32", "k": "i32"}
CONSTANTS = {"SIZE": 32, "STEP": 16}
MULTIPLES_OF_16 = ("n", "k")
OPTIONS = {"num_warps": 2, "num_stages": 3}


@triton.jit
def kernel(a, b, c, n, k, SIZE: tl.constexpr, STEP: tl.constexpr):
    rows = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    columns = tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    inner = tl.arange(0, STEP)
    sum = tl.zeros((SIZE, SIZE), tl.float32)
    for start in range(0, k, STEP):
        left = tl.load(a + rows[:, None] * k + start + inner[None, :])
        right = tl.load(b + (start + inner[:, None]) * n + columns[None, :])
        sum = tl.dot(left, right, sum)
    tl.store(c + rows[:, None] * n + columns[None, :], sum)
