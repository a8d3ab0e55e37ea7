# Modules: triton-sm_70 triton-sm_90
"""The same by Triton's library."""

import triton
import triton.language as tl

SIGNATURE = {"out": "*u32", "seed": "i64"}
CONSTANTS = {"SIZE": 64}
OPTIONS = {"num_warps": 2}


@triton.jit
def kernel(out, seed, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    a, b, c, d = tl.randint4x(seed, place)
    tl.store(out + 4 * place, a.to(tl.uint32))
    tl.store(out + 4 * place + 1, b.to(tl.uint32))
    tl.store(out + 4 * place + 2, c.to(tl.uint32))
    tl.store(out + 4 * place + 3, d.to(tl.uint32))
