// The correction of weights, after the structure of Rodinia's Backprop: a block of 16 x 16 threads has 16 units of a layer in y and 16
// of the next layer in x. Unit 0 of both layers is the bias, whose weights the first threads correct. Networks of the same size lie
// one behind another, one for each block index in z.
//
// The published constants are in double precision, and so are the products with them.
#include "../../../../applications/cuda.h"

#define SIDE 16
#define RATE 0.3
#define MOMENTUM 0.3

extern "C" __global__ void adjust_weights(const float *delta, int hidden, const float *layer, const float *weights,
                                          const float *changes, float *new_weights, float *new_changes) {
    const int by = blockIdx.y;
    const int copy = blockIdx.z;
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int first = copy * (SIDE * (int)gridDim.y + 1);
    const int unit = first + SIDE * by + ty + 1;
    const int index = (hidden + 1) * unit + tx + 1;
    const int next = copy * (hidden + 1) + tx + 1;
    new_weights[index] = weights[index] + (RATE * delta[next] * layer[unit] + MOMENTUM * changes[index]);
    new_changes[index] = RATE * delta[next] * layer[unit] + MOMENTUM * changes[index];
    __syncthreads();
    if (ty == 0 && by == 0) {
        const int bias = (hidden + 1) * first + tx + 1;
        new_weights[bias] = weights[bias] + (RATE * delta[next] + MOMENTUM * changes[bias]);
        new_changes[bias] = RATE * delta[next] + MOMENTUM * changes[bias];
    }
}
