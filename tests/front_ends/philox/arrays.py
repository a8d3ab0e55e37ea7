"""Philox 4x32 of ten rounds, by Python's integers (Salmon et al., SC 2011)."""

import numpy as np

MASK = 2**32 - 1


def words(counter, key):
    x, y, z, w = counter
    key, other = key
    for _ in range(10):
        first, second = 0xD2511F53 * x, 0xCD9E8D57 * z
        x, y, z, w = second >> 32 ^ y ^ key, second & MASK, first >> 32 ^ w ^ other, first & MASK
        key, other = key + 0x9E3779B9 & MASK, other + 0xBB67AE85 & MASK
    return x, y, z, w


def arrays():
    # The known answer that comes with the authors' library.
    known = (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    assert words((0, 0, 0, 0), (0, 0)) == known
    out = [words((i, 0, 0, 0), (0x89ABCDEF, 0x01234567)) for i in range(128)]
    return {"out": np.array(out, np.uint32)}
