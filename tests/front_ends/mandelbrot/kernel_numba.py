# Modules: numba-sm_90
"""A point by each thread, of a grid in two dimensions."""

from numba import cuda, int64, types, uint32

SIGNATURE = types.void(uint32[:, ::1], types.int64)


def kernel(counts, most):
    column, row = cuda.grid(2)
    one = int64(1 << 28)
    step = 3 * one // counts.shape[1]
    a, b = -2 * one + step * column, -3 * one // 2 + step * row
    x, y, count = int64(0), int64(0), int64(0)
    while count < most:
        xx, yy = x * x >> 28, y * y >> 28
        if xx + yy > 4 * one:
            break
        y = (x * y >> 27) + b
        x = xx - yy + a
        count += 1
    counts[row, column] = count
