// Mandelbrot set of 256 x 256 points; bound by divergence. Measured with GPGPU-Sim 4.2: experiments/validation.
#include "../cuda.h"

extern "C" __global__ void mandel(int *o, int n, int most) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    float cx = i * 3.0f / n - 2.0f, cy = j * 3.0f / n - 1.5f, x = 0, y = 0;
    int k = 0;
    while (k < most && x * x + y * y <= 4.0f) {
        float t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
        k++;
    }
    o[j * n + i] = k;
}
