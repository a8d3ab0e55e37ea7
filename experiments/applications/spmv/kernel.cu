// y = A x for a sparse matrix in compressed rows (CSR), one row a thread.
#include "../cuda.h"

extern "C" __global__ void spmv(const unsigned *__restrict__ starts, const unsigned *__restrict__ columns,
                                const float *__restrict__ values, const float *__restrict__ x, float *y, int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (unsigned i = starts[row]; i < starts[row + 1]; i++) sum += values[i] * x[columns[i]];
    y[row] = sum;
}
