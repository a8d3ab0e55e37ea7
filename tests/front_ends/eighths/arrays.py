"""Floats of 8 bits: the nearest of all that there are, the even one of two, and the largest for what is beyond."""

import numpy as np


def values(exponent_bits, mantissa_bits, largest):
    """The numbers that are not negative, by their bits."""
    bias = 2 ** (exponent_bits - 1) - 1
    numbers = []
    for bits in range(128):
        exponent, mantissa = bits >> mantissa_bits, bits % 2**mantissa_bits
        scale = 2.0 ** (max(exponent, 1) - bias - mantissa_bits)
        numbers.append((mantissa + (2**mantissa_bits if exponent else 0)) * scale)
    return np.array([number for number in numbers if number <= largest])


def nearest(x, table):
    distance = np.abs(np.abs(x)[:, None].astype(np.float64) - table)
    # Of two at one distance that with even bits.
    bits = np.lexsort((np.broadcast_to(np.arange(len(table)) % 2, distance.shape), distance), axis=1)[:, 0]
    return (bits | np.where(np.signbit(x), 128, 0)).astype(np.uint8), np.copysign(table[bits], x)


def arrays():
    random = np.random.default_rng(21)
    x = (random.normal(0, 1, 128) * 2.0 ** random.integers(-14, 12, 128)).astype(np.float32)
    x[:8] = [0, -0.0, 17, 19, 1.125, 1.0625, 3.5 * 2**-16, 1e6]
    four, four_back = nearest(x, values(4, 3, 448))
    five, five_back = nearest(x, values(5, 2, 57344))
    back = np.empty(128, np.float32)
    back[::2], back[1::2] = (four_back + five_back)[::2], (four_back - five_back)[1::2]
    return {"x": x, "four": four.view(np.uint16), "five": five.view(np.uint16), "back": back}
