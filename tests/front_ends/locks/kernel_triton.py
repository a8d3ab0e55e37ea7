# Modules: triton-sm_70 triton-sm_80
"""The lock of a program, which changes two words together."""

import triton
import triton.language as tl

SIGNATURE = {"x": "*i32", "words": "*i32", "lock": "*i32"}
CONSTANTS = {"SIZE": 32}
OPTIONS = {"num_warps": 2}


@triton.jit
def kernel(x, words, lock, SIZE: tl.constexpr):
    part = tl.load(x + tl.program_id(0) * SIZE + tl.arange(0, SIZE))
    sum, most = tl.sum(part, 0), tl.max(part, 0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(words, tl.load(words, volatile=True) + sum)
    tl.store(words + 1, tl.maximum(tl.load(words + 1, volatile=True), most))
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)
