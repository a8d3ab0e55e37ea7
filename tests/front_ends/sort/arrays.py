"""Two times 256 numbers, some of them equal, and each part in order."""

import numpy as np


def arrays():
    x = np.random.default_rng(9).integers(0, 2**32, (2, 256), dtype=np.uint32)
    x[:, 5:20] = x[:, 100:115]
    return {"x": x, "y": np.sort(x, axis=1)}
