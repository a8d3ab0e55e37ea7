"""Bodies before and after a step, as bytes."""

import numpy as np

BODY = np.dtype(
    [("x", "f4"), ("y", "f4"), ("z", "f4"), ("kind", "u2"), ("charge", "i1"), ("spare", "i1")]
)
WORLD = np.dtype([("energy", "f8"), ("step", "f4"), ("count", "i2"), ("mirrored", "u1"), ("none", "u1")])


def arrays():
    random = np.random.default_rng(14)
    # Numbers with few digits: all steps are exact, however they are rounded.
    bodies = np.zeros(48, BODY)
    for axis in "xyz":
        bodies[axis] = random.integers(-512, 512, 48) / 64
    bodies["kind"], bodies["charge"] = random.integers(0, 4, 48), random.integers(-40, 40, 48)
    after, step = bodies.copy(), np.float32(-0.125)
    mass = np.array([1, 0.5, 4, 0.25], np.float32)[bodies["kind"]]
    after["x"] += step * bodies["charge"] / mass
    after["y"] += np.float32(2.5) * step / mass
    after["z"] -= step / mass
    after["spare"] = bodies["charge"] * np.int8(3)
    # The last two bodies stay.
    after[46:] = bodies[46:]
    world = np.array([(2.5, 0.125, 46, 1, 0)], WORLD)
    as_words = lambda array: np.frombuffer(array.tobytes(), np.uint32)
    return {"bodies": as_words(bodies), "world": as_words(world), "after": as_words(after)}
