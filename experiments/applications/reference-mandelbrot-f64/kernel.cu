// Mandelbrot set of 64 x 64 points in double precision. Measured with GPGPU-Sim 4.2: experiments/validation.
#include "../cuda.h"

extern "C" __global__ void mandelbrot_d(int *out, int w, int h, double x0, double y0, double dx, double dy, int most) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= w || j >= h) return;
    double cx = x0 + i * dx, cy = y0 + j * dy, x = 0, y = 0;
    int n = 0;
    while (n < most && x * x + y * y < 4.0) {
        double t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
        n++;
    }
    out[j * w + i] = n;
}
