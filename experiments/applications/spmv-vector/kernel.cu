// y = A x for a sparse matrix in compressed rows (CSR), one row a warp: its lanes take every 32nd element and add up what
// they have in shared memory. A CTA of 256 threads has eight rows.
#include "../cuda.h"

#define THREADS 256
#define LANES 32

extern "C" __global__ void spmv(const unsigned *__restrict__ starts, const unsigned *__restrict__ columns,
                                const float *__restrict__ values, const float *__restrict__ x, float *y, int rows) {
    __shared__ float partial[THREADS];
    const int lane = threadIdx.x % LANES;
    const int row = blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
    float sum = 0.0f;
    if (row < rows) {
        for (unsigned i = starts[row] + lane; i < starts[row + 1]; i += LANES) sum += values[i] * x[columns[i]];
    }
    partial[threadIdx.x] = sum;
    for (int half = LANES / 2; half > 0; half /= 2) {
        __syncthreads();
        if (lane < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    if (lane == 0 && row < rows) y[row] = partial[threadIdx.x];
}
