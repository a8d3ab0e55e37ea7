// A seven-point stencil on 48 x 48 x 48 cells, a thread a cell; bound by the L2. Measured with GPGPU-Sim 4.2: experiments/validation.
#include "../cuda.h"

extern "C" __global__ void stencil3d7_flat(const float *in, float *out, int nx, int ny, int nz, float c0, float c1) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = i % nx, y = i / nx % ny, z = i / (nx * ny);
    if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
    out[i] = c0 * in[i] + c1 * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - nx * ny] + in[i + nx * ny]);
}
