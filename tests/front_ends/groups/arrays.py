"""Counts and sums over lanes of each warp that have something in common."""

import numpy as np


def arrays():
    x = np.random.default_rng(18).integers(0, 100, 128, dtype=np.int32)
    out, pairs = np.zeros(128, np.int32), np.zeros(128, np.uint64)
    for i in range(128):
        start = i // 32 * 32
        warp, value = x[start : start + 32], x[i]
        third = warp[warp % 3 == 0]
        rest = warp[warp % 3 != 0]
        if value % 3 == 0:
            before = x[start:i]
            result = before[before % 3 == 0].sum() + 1000 * len(third)
        else:
            result = (rest > 90).any() + 2 * (rest > 5).all() + 4 * (rest % 2 == 1).sum()
        out[i] = 100000 * (warp % 5 == value % 5).sum() + result
        wide = lambda lane: (int(x[start + lane]) << 40) + start + lane
        pairs[i] = wide(i % 32 ^ 5) + wide(i % 32 // 2)
    return {"x": x, "out": out, "pairs": pairs}
