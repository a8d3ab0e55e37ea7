# Modules: numba-sm_70 numba-sm_89
"""The same by masks of lanes."""

from numba import cuda, int32, int64, types, uint64

SIGNATURE = types.void(int32[::1], int32[::1], uint64[::1])


def kernel(x, out, pairs):
    i, lane = cuda.grid(1), cuda.laneid
    value = x[i]
    third = cuda.ballot_sync(0xFFFFFFFF, value % 3 == 0)
    large = cuda.ballot_sync(0xFFFFFFFF, value > 90) & ~third
    small = cuda.ballot_sync(0xFFFFFFFF, value <= 5) & ~third
    odd = cuda.ballot_sync(0xFFFFFFFF, value % 2 == 1) & ~third
    result = int32(0)
    for k in range(32):
        other = cuda.shfl_sync(0xFFFFFFFF, value, k)
        if k < lane and other % 3 == 0:
            result += other
    if value % 3 == 0:
        result += 1000 * cuda.popc(third)
    else:
        result = (large != 0) + 2 * (small == 0) + 4 * cuda.popc(odd)
    alike = cuda.match_any_sync(0xFFFFFFFF, value % 5)
    out[i] = 100000 * cuda.popc(alike) + result
    wide = int64(value) << 40 | int64(i)
    pairs[i] = uint64(cuda.shfl_xor_sync(0xFFFFFFFF, wide, 5)) + uint64(cuda.shfl_sync(0xFFFFFFFF, wide, lane // 2))
