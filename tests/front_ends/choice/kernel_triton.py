# Modules: triton-sm_75 triton-sm_89
"""Places of the greatest, a gather, a turn, and a scan of a recurrence: orders and layouts of a program's elements."""

import triton
import triton.language as tl

SIGNATURE = {"x": "*fp32", "index": "*i32", "place": "*i32", "picked": "*fp32", "turned": "*fp32", "run": "*fp32"}
CONSTANTS = {"ROWS": 8, "COLUMNS": 32}
OPTIONS = {"num_warps": 2}


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def kernel(x, index, place, picked, turned, run, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    both = rows[:, None] * COLUMNS + columns[None, :]
    part = tl.load(x + both)
    tl.store(place + rows, tl.argmax(part, 1))
    tl.store(picked + both, tl.gather(part, tl.load(index + both), 1))
    tl.store(turned + columns[:, None] * ROWS + rows[None, :], tl.trans(tl.flip(part, 1)))
    tl.store(run + both, tl.associative_scan(part, 1, larger))
