// A step of a seven-point stencil, after the structure of Parboil's: a thread walks through a column of the volume in
// strides of a plane and keeps what it will need again. The surface stays.
#include "../cuda.h"

extern "C" __global__ void stencil3d(float centre, float neighbour, const float *source, float *result, int nx,
                                     int ny, int nz) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    const bool inside = x > 0 && y > 0 && x < nx - 1 && y < ny - 1;
    const int plane = nx * ny;
    int index = y * nx + x;
    float below = source[index];
    float here = source[index + plane];
    result[index] = below;
    for (int z = 1; z < nz - 1; z++) {
        index += plane;
        const float above = source[index + plane];
        float value = here;
        if (inside) {
            const float sum = above + below + source[index - nx] + source[index + nx] + source[index - 1] +
                              source[index + 1];
            value = neighbour * sum + centre * here;
        }
        result[index] = value;
        below = here;
        here = above;
    }
    result[index + plane] = here;
}
