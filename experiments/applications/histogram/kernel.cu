// How often each byte occurs, after the CUDA SDK's histogram256: a CTA of 256 threads counts its share with atomic
// operations in shared memory; a second kernel, a CTA for each of the 256 values, adds up the counts of all CTAs.
#include "../cuda.h"

#define BINS 256

extern "C" __global__ void count(const unsigned *words, unsigned *partial, int n) {
    __shared__ unsigned bins[BINS];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * BINS + threadIdx.x; i < n; i += gridDim.x * BINS) {
        const unsigned word = words[i];
        atomicAdd(&bins[word & 0xff], 1u);
        atomicAdd(&bins[(word >> 8) & 0xff], 1u);
        atomicAdd(&bins[(word >> 16) & 0xff], 1u);
        atomicAdd(&bins[word >> 24], 1u);
    }
    __syncthreads();
    partial[blockIdx.x * BINS + threadIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void merge(const unsigned *partial, unsigned *result, int parts) {
    __shared__ unsigned sums[BINS];
    unsigned sum = 0;
    for (int part = threadIdx.x; part < parts; part += BINS) sum += partial[part * BINS + blockIdx.x];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = BINS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) result[blockIdx.x] = sums[0];
}
