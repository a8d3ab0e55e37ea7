"""A product of matrices whose elements are halves."""

import numpy as np

from rounding import half_bits


def arrays():
    random = np.random.default_rng(4)
    a, b = random.normal(0, 1, (32, 64)).astype(np.float16), random.normal(0, 1, (64, 32)).astype(np.float16)
    c = a.astype(np.float64) @ b.astype(np.float64)
    return {
        "a": a.astype(np.float32),
        "b": b.astype(np.float32),
        "a_half": half_bits(a),
        "b_half": half_bits(b),
        "c": c.astype(np.float32),
    }
