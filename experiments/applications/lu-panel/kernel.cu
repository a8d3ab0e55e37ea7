// A step of LU factorisation without pivots in panels of 16, after the structure of Rodinia's LUD: the diagonal block,
// the panels right of it and below it, and all that lies behind both. The matrix is n x n, n a multiple of 16; `first` is
// the first row and column of the panel.
#include "../cuda.h"

#define SIDE 16

// A CTA of 16 threads, one a column.
extern "C" __global__ void diagonal(float *matrix, int n, int first) {
    __shared__ float block[SIDE][SIDE];
    const int tx = threadIdx.x;
    float *corner = matrix + first * n + first;
    for (int row = 0; row < SIDE; row++) block[row][tx] = corner[row * n + tx];
    __syncthreads();
    for (int k = 0; k < SIDE - 1; k++) {
        if (tx > k) {
            // As a row: its multiple of the pivot's row.
            block[tx][k] /= block[k][k];
        }
        __syncthreads();
        if (tx > k) {
            for (int column = k + 1; column < SIDE; column++) block[tx][column] -= block[tx][k] * block[k][column];
        }
        __syncthreads();
    }
    for (int row = 1; row < SIDE; row++) corner[row * n + tx] = block[row][tx];
}

// A CTA of 32 threads: the first 16 finish a block to the right of the diagonal one, the others one below it.
extern "C" __global__ void perimeter(float *matrix, int n, int first) {
    __shared__ float pivot[SIDE][SIDE];
    __shared__ float right[SIDE][SIDE];
    __shared__ float below[SIDE][SIDE];
    const int away = (blockIdx.x + 1) * SIDE;
    if (first + away >= n) return;
    const int tx = threadIdx.x % SIDE;
    const bool is_right = threadIdx.x < SIDE;
    float *corner = matrix + first * n + first;
    float *block = is_right ? corner + away : corner + away * n;
    for (int row = 0; row < SIDE; row++) {
        if (is_right) {
            pivot[row][tx] = corner[row * n + tx];
            right[row][tx] = block[row * n + tx];
        } else {
            below[row][tx] = block[row * n + tx];
        }
    }
    __syncthreads();
    if (is_right) {
        for (int row = 1; row < SIDE; row++) {
            for (int k = 0; k < row; k++) right[row][tx] -= pivot[row][k] * right[k][tx];
        }
    } else {
        for (int column = 0; column < SIDE; column++) {
            for (int k = 0; k < column; k++) below[tx][column] -= below[tx][k] * pivot[k][column];
            below[tx][column] /= pivot[column][column];
        }
    }
    __syncthreads();
    for (int row = 0; row < SIDE; row++) block[row * n + tx] = is_right ? right[row][tx] : below[row][tx];
}

// A CTA of 16 x 16 threads: a block behind the panels loses the product of what is left of it and above it.
extern "C" __global__ void internal(float *matrix, int n, int first) {
    __shared__ float left[SIDE][SIDE];
    __shared__ float above[SIDE][SIDE];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = first + (blockIdx.y + 1) * SIDE + ty;
    const int column = first + (blockIdx.x + 1) * SIDE + tx;
    if (first + (int)(blockIdx.x + 1) * SIDE >= n || first + (int)(blockIdx.y + 1) * SIDE >= n) return;
    left[ty][tx] = matrix[row * n + first + tx];
    above[ty][tx] = matrix[(first + ty) * n + column];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < SIDE; k++) sum += left[ty][k] * above[k][tx];
    matrix[row * n + column] -= sum;
}
