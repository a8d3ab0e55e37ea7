"""Iterations of 16 x 16 points, in integers."""

import numpy as np


def arrays():
    one = 1 << 28
    step = np.int64(3 * one // 16) * np.arange(16)
    a, b = np.broadcast_arrays(-2 * one + step, (-3 * one // 2 + step)[:, None])
    x, y = np.zeros((2, 16, 16), np.int64)
    counts, going = np.zeros((16, 16), np.uint32), np.ones((16, 16), bool)
    for _ in range(50):
        xx, yy = x * x >> 28, y * y >> 28
        going &= xx + yy <= 4 * one
        x, y = np.where(going, xx - yy + a, x), np.where(going, (x * y >> 27) + b, y)
        counts += going
    return {"counts": counts}
