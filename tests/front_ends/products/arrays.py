"""Products of matrices whose elements every type holds exactly."""

import numpy as np

from rounding import bfloat_bits


def arrays():
    random = np.random.default_rng(17)
    a, b, s, t = random.integers(-127, 128, (4, 32, 32)) / 32
    i, j = random.integers(-128, 128, (2, 32, 32), dtype=np.int8)
    return {
        "a": bfloat_bits(a),
        "b": bfloat_bits(b),
        "s": s.astype(np.float32),
        "t": t.astype(np.float32),
        "i": i,
        "j": j,
        "c": (a @ b + s @ t).astype(np.float32),
        "k": i.astype(np.int32) @ j.astype(np.int32),
    }
