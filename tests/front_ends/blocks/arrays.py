"""Numbers in order, the sums up to each, and the greatest of every fourth sum."""

import numpy as np


def arrays():
    x = np.random.default_rng(24).integers(-(10**6), 10**6, 256, dtype=np.int32)
    x[10:30] = x[200:220]
    ordered = np.sort(x)
    sums = ordered.cumsum(dtype=np.int32)
    return {"x": x, "sorted": ordered, "sums": sums, "total": sums[3::4].max(keepdims=True)}
