"""The positive part of a x + b, in halves and in numbers with eight bits of mantissa.

The products are exact in both, so that a fused operation and two plain ones round alike.
"""

import numpy as np

from rounding import bfloat_bits, half_bits

A, B = -1.75, 3.203125


def arrays():
    random = np.random.default_rng(3)
    x, u = random.integers(-31, 32, (2, 256)) / 16
    half, bfloat = A * x + np.float16(B), A * u + 205 / 64
    count = (half_bits(half).view(np.float16) > 0).reshape(-1, 2).sum(axis=0)
    return {
        "x": half_bits(x),
        "y": half_bits(np.maximum(half, 0)),
        "u": bfloat_bits(u),
        "v": bfloat_bits(np.maximum(bfloat, 0)),
        "zero": np.zeros(2, np.uint16),
        "sum": half_bits(count),
    }
