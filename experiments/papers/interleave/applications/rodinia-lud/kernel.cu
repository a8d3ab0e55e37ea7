// A step of LU factorisation by panels of 16, after the structure of Rodinia's LUD: each 16 x 16 block behind the first panels loses
// the product of the block left of it and the block above it. Matrices of the same size lie one behind another, one for each block
// index in z; the results, without the panels, too.
#include "../../../../applications/cuda.h"

#define SIDE 16

extern "C" __global__ void lu_internal(const float *matrix, float *result, int n) {
    __shared__ float above[SIDE][SIDE];
    __shared__ float left[SIDE][SIDE];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int inner = n - SIDE;
    const float *whole = matrix + blockIdx.z * n * n;
    const int row = blockIdx.y * SIDE + ty;
    const int column = blockIdx.x * SIDE + tx;
    above[ty][tx] = whole[ty * n + SIDE + column];
    left[ty][tx] = whole[(SIDE + row) * n + tx];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < SIDE; k++) sum += left[ty][k] * above[k][tx];
    result[(blockIdx.z * inner + row) * inner + column] = whole[(SIDE + row) * n + SIDE + column] - sum;
}
