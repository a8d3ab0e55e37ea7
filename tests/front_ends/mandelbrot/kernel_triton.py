# Modules: triton-sm_75
"""All points of a program go on until none is left."""

import triton
import triton.language as tl

SIGNATURE = {"counts": "*u32", "width": "i32", "most": "i32"}
CONSTANTS = {"SIZE": 64}
OPTIONS = {"num_warps": 2}


@triton.jit
def kernel(counts, width, most, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    one = tl.full((), 1 << 28, tl.int64)
    a = -2 * one + 3 * one // width * (place % width).to(tl.int64)
    b = -(3 * one // 2) + 3 * one // width * (place // width).to(tl.int64)
    x, y = tl.zeros_like(a), tl.zeros_like(a)
    count = tl.zeros((SIZE,), tl.int32)
    going = tl.full((SIZE,), 1, tl.int32)
    round = 0
    while (round < most) & (tl.max(going, 0) > 0):
        xx, yy = x * x >> 28, y * y >> 28
        going = tl.where(xx + yy > 4 * one, 0, going)
        y = tl.where(going > 0, (x * y >> 27) + b, y)
        x = tl.where(going > 0, xx - yy + a, x)
        count += going
        round += 1
    tl.store(counts + place, count.to(tl.uint32))
