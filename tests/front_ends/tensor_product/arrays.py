"""Half of A B + C; B is kept by columns."""

import numpy as np

from rounding import half_bits


def arrays():
    random = np.random.default_rng(5)
    a, b = random.normal(0, 1, (16, 48)).astype(np.float16), random.normal(0, 1, (48, 32)).astype(np.float16)
    c = random.normal(0, 1, (16, 32)).astype(np.float32)
    d = (a.astype(np.float64) @ b.astype(np.float64) + c) / 2
    return {"a": half_bits(a), "b": half_bits(b.T.copy()), "c": c, "d": d.astype(np.float32)}
