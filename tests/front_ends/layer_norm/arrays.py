"""Eight rows of 64, brought to mean 0 and variance 1, scaled and moved."""

import numpy as np


def arrays():
    random = np.random.default_rng(2)
    x = random.normal(3, 2, (8, 64)).astype(np.float32)
    weight, bias = random.normal(1, 1, (2, 64)).astype(np.float32)
    d = x.astype(np.float64)
    d -= d.mean(axis=1, keepdims=True)
    y = d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * weight + bias
    return {"x": x, "weight": weight, "bias": bias, "y": y.astype(np.float32)}
