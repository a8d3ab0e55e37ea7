// Iterations until z = z*z + c leaves the circle of radius 2, one point a thread. No operation is contracted, so that
// every compiler counts the same.
#include "../cuda.h"

extern "C" __global__ void mandelbrot(unsigned *counts, int width, int height, float left, float top, float step,
                                      unsigned most) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    const float cx = __fadd_rn(left, __fmul_rn((float)column, step));
    const float cy = __fadd_rn(top, __fmul_rn((float)row, step));
    float x = 0.0f, y = 0.0f;
    unsigned count = 0;
    while (count < most) {
        const float xx = __fmul_rn(x, x);
        const float yy = __fmul_rn(y, y);
        if (__fadd_rn(xx, yy) > 4.0f) break;
        const float xy = __fmul_rn(x, y);
        y = __fadd_rn(__fadd_rn(xy, xy), cy);
        x = __fadd_rn(__fadd_rn(xx, -yy), cx);
        count++;
    }
    counts[row * width + column] = count;
}
