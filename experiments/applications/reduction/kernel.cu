// The sum of many numbers: a thread adds up every so-many-th, a CTA of 256 halves its partial sums in shared memory, and
// one thread of each CTA adds to the total with an atomic operation.
#include "../cuda.h"

#define THREADS 256

extern "C" __global__ void reduction(const float *values, float *total, int n) {
    __shared__ float partial[THREADS];
    float sum = 0.0f;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) sum += values[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(total, partial[0]);
}
