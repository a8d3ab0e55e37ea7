// The forward step of a layer, after the structure of Rodinia's Backprop: a block of 16 x 16 threads has 16 input units in y and 16
// hidden units in x. It multiplies weights by inputs and adds the products of each hidden unit in a tree. Unit 0 of both layers is
// the bias. Networks of the same size lie one behind another, one for each block index in z.
#include "../../../../applications/cuda.h"

#define SIDE 16

extern "C" __global__ void layer_forward(const float *input, const float *weights, float *products, float *partial, int hidden) {
    __shared__ float node[SIDE];
    __shared__ float matrix[SIDE][SIDE];
    const int by = blockIdx.y;
    const int copy = blockIdx.z;
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int blocks = gridDim.y;
    const int unit = copy * (SIDE * blocks + 1) + SIDE * by + ty + 1;
    const int index = (hidden + 1) * unit + tx + 1;
    if (tx == 0) node[ty] = input[unit];
    __syncthreads();
    matrix[ty][tx] = weights[index];
    __syncthreads();
    matrix[ty][tx] = matrix[ty][tx] * node[ty];
    __syncthreads();
#pragma unroll 1
    for (int level = 1; level <= __log2f(SIDE); level++) {
        const int power = __powf(2, level);
        if (ty % power == 0) matrix[ty][tx] = matrix[ty][tx] + matrix[ty + power / 2][tx];
        __syncthreads();
    }
    products[index] = matrix[ty][tx];
    __syncthreads();
    if (tx == 0) partial[(copy * blocks + by) * hidden + ty] = matrix[tx][ty];
}
