// How energies of an unknown range are spread over 256 bins. A first kernel takes samples and notes the least and the
// greatest; a second one reads all particles and counts them with atomic operations in shared memory, as the CUDA SDK's
// histogram256 does, and every CTA adds what it has counted to the sums in global memory. A particle is a place, three numbers,
// and an energy.
#include "../cuda.h"

#define BINS 256
#define SAMPLERS 64

// A CTA looks at 64 particles; those of two CTAs lie `step` apart. No energy is negative, so its bits are in its order.
extern "C" __global__ void sample(const float *particles, int *least, int *greatest, unsigned *counts, int step) {
    __shared__ int low, high;
    const int bits = __float_as_int(particles[4 * (blockIdx.x * step + threadIdx.x) + 3]);
    const int bin = blockIdx.x * SAMPLERS + threadIdx.x;
    if (bin < BINS) counts[bin] = 0;
    if (threadIdx.x == 0) {
        low = bits;
        high = bits;
    }
    __syncthreads();
    atomicMin(&low, bits);
    atomicMax(&high, bits);
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMin(least, low);
        atomicMax(greatest, high);
    }
}

// Energies beyond the samples belong to the outermost bins.
extern "C" __global__ void count(const float *particles, const int *least, const int *greatest, unsigned *counts, int n) {
    __shared__ unsigned bins[BINS];
    const float low = __int_as_float(*least);
    const float scale = (float)BINS / (__int_as_float(*greatest) - low);
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * BINS + threadIdx.x; i < n; i += gridDim.x * BINS) {
        const int bin = (int)((particles[4 * i + 3] - low) * scale);
        atomicAdd(&bins[max(0, min(BINS - 1, bin))], 1u);
    }
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}
