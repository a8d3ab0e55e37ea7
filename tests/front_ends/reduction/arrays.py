"""The sum of numbers, which overflows, and the greatest."""

import numpy as np


def arrays():
    x = np.random.default_rng(6).integers(0, 2**32, 1000, dtype=np.uint32)
    result = np.array([x.sum(dtype=np.uint32), x.max()], np.uint32)
    return {"x": x, "zero": np.zeros(2, np.uint32), "none": np.zeros(1, np.uint32), "result": result}
