# Modules: triton-sm_75 triton-sm_80
"""The functions that Triton's language has; the others are left as they were."""

import triton
import triton.language as tl

SIGNATURE = {"x": "*fp32", "single": "*fp32", "n": "i32"}
CONSTANTS = {"SIZE": 64}
OPTIONS = {"num_warps": 1}


@triton.jit
def kernel(x, single, n, SIZE: tl.constexpr):
    place = tl.arange(0, SIZE)
    a = tl.load(x + place)
    tl.store(single + 2 * n + place, tl.exp(a))
    tl.store(single + 3 * n + place, tl.log(a))
    tl.store(single + 7 * n + place, tl.rsqrt(a))
