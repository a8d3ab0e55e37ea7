"""Records and complex numbers with few digits, so that every result is exact."""

import numpy as np

RECORD = np.dtype([("weight", "f8"), ("key", "i4"), ("flag", "?"), ("level", "u1"), ("none", "u2")], align=True)


def arrays():
    random = np.random.default_rng(23)
    records = np.zeros(64, RECORD)
    records["weight"], records["key"] = random.integers(-99, 99, 64) / 4, random.integers(0, 100, 64)
    records["flag"], records["level"] = random.integers(0, 2, 64), random.integers(0, 256, 64)
    numbers = (random.integers(-3, 4, 64) + 1j * random.integers(-3, 4, 64)).astype(np.complex64)
    z = numbers ** (records["key"] % 4)
    own = np.where(records["flag"], records["weight"], records["level"])
    out = own[np.arange(64) - (records["key"] & 3)] + z.real * z.imag
    floats = lambda numbers: np.ascontiguousarray(numbers.astype(np.complex64)).view(np.float32)
    return {
        "records": np.frombuffer(records.tobytes(), np.uint32),
        "numbers": floats(numbers),
        "after": floats(z.conj()),
        "out": out.astype(np.float32),
    }
