// Gauss's elimination without pivots, after the structure of Rodinia's: for each column one kernel makes the multipliers of
// the rows below, another subtracts the column's row from them. Threads in x stand for rows, as published, so neighbours lie
// a row apart. Every launch has threads for the whole matrix; those that have nothing left to do end at once.
#include "../cuda.h"

extern "C" __global__ void fan1(float *multipliers, const float *matrix, int n, int column) {
    const int below = blockIdx.x * blockDim.x + threadIdx.x;
    if (below >= n - 1 - column) return;
    const int place = n * (below + column + 1) + column;
    multipliers[place] = matrix[place] / matrix[n * column + column];
}

extern "C" __global__ void fan2(const float *multipliers, float *matrix, float *vector, int n, int column) {
    const int below = blockIdx.x * blockDim.x + threadIdx.x;
    const int right = blockIdx.y * blockDim.y + threadIdx.y;
    if (below >= n - 1 - column || right >= n - column) return;
    const int row = below + column + 1;
    const float multiplier = multipliers[n * row + column];
    matrix[n * row + column + right] -= multiplier * matrix[n * column + column + right];
    if (right == 0) vector[row] -= multiplier * vector[column];
}
