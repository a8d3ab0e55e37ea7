"""Functions of 64 numbers from 1/16 to 20, computed in double precision."""

import math

import numpy as np


def arrays():
    x = np.geomspace(1 / 16, 20, 64).astype(np.float32)
    d = x.astype(np.float64)
    power = d ** np.float64(np.float32(1.7))
    erf = np.vectorize(math.erf)(d)
    single = [np.sin(d), np.cos(d), np.exp(d), np.log(d), power, np.tanh(d), erf, d**-0.5, np.arctan(d)]
    single = np.array(single, np.float32)
    some = np.zeros_like(single)
    for row in (2, 3, 7):
        some[row] = single[row]
    twice = np.array([np.sin(d), np.exp(-d) / np.sqrt(d), np.log(d)])
    return {"x": x, "zero": np.zeros_like(single), "single": single, "some": some, "twice": twice}
