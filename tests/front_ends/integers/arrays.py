"""Twelve results of each pair of numbers, by Python's integers, which have no end."""

import numpy as np

MASK = 2**32 - 1


def signed(x, bits=32):
    return x - (1 << bits) if x >> (bits - 1) else x


def quotient(a, b):
    """As C divides: towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def results(a, b):
    wide, other = a << 32 | b, b * b + 1
    bytes_of = lambda x: list(x.to_bytes(4, "little"))
    both = bytes_of(a) + bytes_of(b)
    picked = int.from_bytes(bytes(both[(0x6240 >> 4 * i) & 7] for i in range(4)), "little")
    halves = lambda x: [signed(x & 0xFFFF, 16), signed(x >> 16, 16)]
    greatest = sum((max(p, q) & 0xFFFF) << 16 * i for i, (p, q) in enumerate(zip(halves(a), halves(b))))
    added = sum((p + q & 0xFF) << 8 * i for i, (p, q) in enumerate(zip(bytes_of(a), bytes_of(b))))
    wide_signed, other_signed = signed(wide, 64), signed(other % 2**64, 64)
    ffs = (a & -a).bit_length()
    # The distance of a shift counts modulo 32.
    distance = a % 40 % 32
    return [
        a // b,
        signed(a) - quotient(signed(a), signed(b)) * signed(b),
        wide // other,
        wide_signed - quotient(wide_signed, other_signed) * other_signed,
        a * b >> 32,
        (wide * other >> 64) >> 7,
        bin(a).count("1") + 64 * (32 - b.bit_length()) + 4096 * ffs,
        int(f"{a:032b}"[::-1], 2) ^ picked,
        ((b << 32 | a) << distance) >> 32,
        sum(signed(p, 8) * signed(q, 8) for p, q in zip(bytes_of(a), bytes_of(b))) + 7,
        abs(signed(a) - signed(b)) + 5,
        added ^ greatest,
    ]


def arrays():
    random = np.random.default_rng(12)
    x = random.integers(0, 2**32, 64, dtype=np.uint32)
    # Divisors of all lengths.
    y = (random.integers(2**31, 2**32, 64) >> (np.arange(64) % 32)).astype(np.uint32)
    rows = [[value & MASK for value in results(int(a), int(b))] for a, b in zip(x, y)]
    return {"x": x, "y": y, "out": np.array(rows, np.uint32).T.copy()}
