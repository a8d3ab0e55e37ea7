// Modules: nvcc-sm_86 nvrtc-sm_70 clang-sm_70
// Counts of bytes in bins of eight, in the shared memory that the launch adds; lanes with one bin count together.
#ifdef __clang__
#include "../../../experiments/applications/cuda.h"
#endif

extern __shared__ unsigned bins[];

extern "C" __global__ void histogram(const unsigned char *bytes, int n, unsigned *counts) {
    for (int i = threadIdx.x; i < 32; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned bin = bytes[i] >> 3;
#ifdef __clang__
        atomicAdd(&bins[bin], 1u);
#else
        unsigned mates = __match_any_sync(__activemask(), bin);
        if (__ffs(mates) - 1 == threadIdx.x % 32) atomicAdd(&bins[bin], __popc(mates));
        __syncwarp(mates);
#endif
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 32; i += blockDim.x) atomicAdd(&counts[i], bins[i]);
}
