"""The mean of a point and its four neighbours; columns at the edge stay, and so do rows, which are zero."""

import numpy as np


def arrays():
    x = np.random.default_rng(10).normal(0, 1, (12, 64)).astype(np.float32)
    x[0] = x[-1] = 0
    y, d = x.copy(), x.astype(np.float64)
    inner = (d[1:-1, 1:-1] + d[1:-1, :-2] + d[1:-1, 2:] + d[:-2, 1:-1] + d[2:, 1:-1]) / 5
    y[1:-1, 1:-1] = inner.astype(np.float32)
    return {"x": x, "zero": np.zeros_like(x), "y": y}
