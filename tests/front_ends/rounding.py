"""Numbers of 16 bits in NumPy, for `arrays.py` of the kernels."""

import numpy as np


def half_bits(x):
    """The bits of halves, each rounded once from double precision."""
    return x.astype(np.float16).view(np.uint16)


def bfloat_bits(x):
    """The bits of numbers with eight bits of mantissa, each rounded once from double precision."""
    mantissa, exponent = np.frexp(np.asarray(x, np.float64))
    rounded = np.ldexp(np.rint(np.ldexp(mantissa, 8)), exponent - 8).astype(np.float32)
    return (rounded.view(np.uint32) >> 16).astype(np.uint16)
