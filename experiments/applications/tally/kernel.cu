// How often each byte occurs, counted in an array of the module that both kernels see: the first adds to it, the second
// takes the counts out and leaves zeros. A sum of all values stays in the module from launch to launch; it begins with
// 1000 and is reached through a pointer that the module holds, too.
#include "../cuda.h"

#define BINS 256

__device__ unsigned bins[BINS];
__device__ unsigned sum = 1000;
__device__ unsigned *target = &sum;

extern "C" __global__ void add(const unsigned char *bytes, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&bins[bytes[i]], 1u);
    atomicAdd(target, bytes[i]);
}

extern "C" __global__ void take(unsigned *counts, unsigned *sums) {
    const int value = threadIdx.x;
    counts[value] = bins[value];
    bins[value] = 0;
    if (value == 0) sums[0] = sum;
}
