"""Numba: Conway's game of life on a torus."""

import numpy
from numba import cuda

from tensor import close


@cuda.jit
def step(world, after):
    y, x = cuda.grid(2)
    rows, columns = world.shape
    if y < rows and x < columns:
        neighbours = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                neighbours += world[(y + dy) % rows, (x + dx) % columns]
        neighbours -= world[y, x]
        after[y, x] = 1 if neighbours == 3 or (neighbours == 2 and world[y, x]) else 0


def by_numpy(world):
    neighbours = sum(numpy.roll(world, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1)) - world
    return ((neighbours == 3) | ((neighbours == 2) & (world == 1))).astype(world.dtype)


world = numpy.random.default_rng(9).integers(0, 2, (48, 40), numpy.int32)
now, after = cuda.to_device(world), cuda.to_device(world)
for _ in range(10):
    step[(3, 3), (16, 16)](now, after)
    now, after, world = after, now, by_numpy(world)
close(now.copy_to_host(), world, 0)
