"""What atomics of many threads leave, in any order."""

import numpy as np


def arrays():
    x = np.random.default_rng(20).integers(0, 1000, 128)
    words = np.array([0, 20, 5, 0, 0, 2**32 - 1, 65530 << 16, 0], np.uint32)
    wide, sum, least = np.array([3, 0, 0], np.uint64), np.array([1.5]), np.array([1000, 0], np.float32)
    after = [
        len(x) % 100,
        # From 20 down to 0, and from there round by 51.
        (20 - len(x)) % 51,
        5 ^ int(np.bitwise_xor.reduce(x * 77)),
        int(np.bitwise_or.reduce(1 << x % 32)),
        int(min(0, x.min() - 500)) % 2**32,
        (2**32 - 1) & ~int(np.bitwise_or.reduce(1 << x % 31)),
        (65530 + int(x.sum())) % 2**16 << 16,
        0,
    ]
    total = int(x.sum())
    return {
        "x": x.astype(np.int32),
        "words": words,
        "wide": wide,
        "sum": sum,
        "least": least,
        "words_after": np.array(after, np.uint32),
        "wide_after": np.array([3 + (total << 30), int(x.max()) ** 2, 2**64 + int(x.min()) - 2**40], np.uint64),
        "sum_after": np.array([1.5 + total / 4]),
        "least_after": np.array([x.min() / 2 + 1, total / 2], np.float32),
    }
