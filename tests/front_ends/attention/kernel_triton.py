# Modules: triton-sm_75 triton-sm_80 triton-sm_90
"""Attention of 32 queries: one pass over the keys, with the greatest so far and the sum so far."""

import triton
import triton.language as tl

SIGNATURE = {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp32", "keys": "i32", "scale": "fp32"}
CONSTANTS = {"ROWS": 32, "STEP": 32, "WIDTH": 32}
OPTIONS = {"num_warps": 2, "num_stages": 2}


@triton.jit
def kernel(q, k, v, out, keys, scale, ROWS: tl.constexpr, STEP: tl.constexpr, WIDTH: tl.constexpr):
    rows, columns, step = tl.arange(0, ROWS), tl.arange(0, WIDTH), tl.arange(0, STEP)
    query = tl.load(q + rows[:, None] * WIDTH + columns[None, :])
    most = tl.full((ROWS,), -float("inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    sum = tl.zeros((ROWS, WIDTH), tl.float32)
    for start in range(0, keys, STEP):
        there = start + step < keys
        key = tl.load(k + (start + step)[None, :] * WIDTH + columns[:, None], mask=there[None, :], other=0)
        value = tl.load(v + (start + step)[:, None] * WIDTH + columns[None, :], mask=there[:, None], other=0)
        score = tl.where(there[None, :], tl.dot(query, key) * scale, -float("inf"))
        now = tl.maximum(most, tl.max(score, 1))
        part = tl.exp2(score - now[:, None])
        faded = tl.exp2(most - now)
        total = total * faded + tl.sum(part, 1)
        sum = tl.dot(part.to(tl.float16), value, sum * faded[:, None])
        most = now
    tl.store(out + rows[:, None] * WIDTH + columns[None, :], sum / total[:, None])
