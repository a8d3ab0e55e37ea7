"""Functions of halves from 0 to 9 in double precision, and conversions rounded once."""

import numpy as np

from rounding import half_bits


def towards_zero(x):
    """Halves rounded towards zero."""
    near = x.astype(np.float16)
    beyond = np.abs(near.astype(np.float64)) > np.abs(x)
    return np.where(beyond, np.nextafter(near, np.float16(0)), near)


def arrays():
    x = np.random.default_rng(26).uniform(0, 9, 64).astype(np.float16)
    x[:4] = [0, 2.5, 3.5, 1]
    d, i = x.astype(np.float64), np.arange(64)
    near = [np.exp(d), np.log(d + 1), np.sin(d), np.cos(d), 1 / (d + 1), np.sqrt(d), (d + 1) ** -0.5, np.exp2(d)]
    # The argument of some functions is rounded itself.
    e = (d + 1).astype(np.float16).astype(np.float64)
    near[1], near[4], near[6] = np.log(e), 1 / e, e**-0.5
    single = (i.astype(np.float32) * np.float32(1.7)).astype(np.float64)
    equal = [np.rint(d), np.floor(d), np.ceil(d), np.trunc(d), towards_zero(single), i * 999.0 - 20000, i * 0.3]
    equal.append(np.minimum(d, (1 - d).astype(np.float16)))
    whole = [np.ceil(d) + 1000 * np.trunc(d) + 1000000 * np.floor(d), (d >= 1) + 4 * (d < 1)]
    return {
        "x": half_bits(x),
        "near": np.array(near, np.float32),
        "equal": half_bits(np.array([row.astype(np.float16) for row in equal])),
        "whole": np.array(whole, np.int32),
    }
