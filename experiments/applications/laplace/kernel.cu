// A step of Jacobi's iteration for Laplace's equation: an inner cell becomes the mean of its four neighbours, the edge
// stays.
#include "../cuda.h"

extern "C" __global__ void laplace(const float *source, float *result, int columns, int rows) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    const int index = y * columns + x;
    if (x == 0 || y == 0 || x == columns - 1 || y == rows - 1) {
        result[index] = source[index];
    } else {
        result[index] = 0.25f * ((source[index - columns] + source[index + columns]) +
                                 (source[index - 1] + source[index + 1]));
    }
}
