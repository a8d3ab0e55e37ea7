# Modules: numba-sm_80
"""Warps by shuffles, blocks and the grid by atomics."""

from numba import cuda, int32, types, uint32

SIGNATURE = types.void(uint32[::1], uint32[::1])


def kernel(x, result):
    both = cuda.shared.array(2, uint32)
    if cuda.threadIdx.x < 2:
        both[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    total, most = uint32(0), uint32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total = uint32(total + x[i])
        most = max(most, x[i])
    distance = 16
    while distance > 0:
        total = uint32(total + uint32(cuda.shfl_down_sync(0xFFFFFFFF, int32(total), distance)))
        most = max(most, uint32(cuda.shfl_down_sync(0xFFFFFFFF, int32(most), distance)))
        distance //= 2
    if cuda.laneid == 0:
        cuda.atomic.add(both, 0, total)
        cuda.atomic.max(both, 1, most)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(result, 0, both[0])
        cuda.atomic.max(result, 1, both[1])
