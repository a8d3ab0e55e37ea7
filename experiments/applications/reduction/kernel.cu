// The sum of many numbers: a thread adds up every so-many-th, the lanes of a warp are summed by shuffles, the warps of a CTA
// of 256 through shared memory, and one thread of each CTA adds to the total with an atomic operation. Where there are
// no shuffles (before sm_30), a CTA halves its partial sums in shared memory.
#include "../cuda.h"

#define THREADS 256
#define WARPS (THREADS / 32)

#if __CUDA_ARCH__ >= 300

static __device__ float warp_sum(float sum) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    return sum;
}

// The sum over the CTA, in its first thread.
static __device__ float cta_sum(float sum) {
    __shared__ float partial[WARPS];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    return threadIdx.x < 32 ? warp_sum(threadIdx.x < WARPS ? partial[threadIdx.x] : 0.0f) : 0.0f;
}

#else

static __device__ float cta_sum(float sum) {
    __shared__ float partial[THREADS];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    return partial[0];
}

#endif

extern "C" __global__ void reduction(const float *values, float *total, int n) {
    float sum = 0.0f;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) sum += values[i];
    sum = cta_sum(sum);
    if (threadIdx.x == 0) atomicAdd(total, sum);
}
