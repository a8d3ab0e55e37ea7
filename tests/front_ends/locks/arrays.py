"""The sum and the greatest of some numbers."""

import numpy as np


def arrays():
    x = np.random.default_rng(19).integers(0, 10000, 128, dtype=np.int32)
    return {"x": x, "zero": np.zeros(2, np.int32), "none": np.zeros(1, np.int32), "words": np.array([x.sum(), x.max()], np.int32)}
