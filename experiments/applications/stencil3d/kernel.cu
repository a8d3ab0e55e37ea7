// A step of a seven-point stencil, after the structure of Parboil's: a thread walks through a column of the volume in
// strides of a plane and keeps what it will need again. CTAs in z share a column, `depth` planes each. The surface stays.
#include "../cuda.h"

extern "C" __global__ void stencil3d(float centre, float neighbour, const float *source, float *result, int nx,
                                     int ny, int nz, int depth) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    const bool inside = x > 0 && y > 0 && x < nx - 1 && y < ny - 1;
    const int plane = nx * ny;
    const int first = max((int)blockIdx.z * depth, 1);
    const int last = min(((int)blockIdx.z + 1) * depth, nz - 1);
    int index = first * plane + y * nx + x;
    float below = source[index - plane];
    float here = source[index];
    if (blockIdx.z == 0) result[index - plane] = below;
    for (int z = first; z < last; z++) {
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
        index += plane;
    }
    if (blockIdx.z == gridDim.z - 1) result[index] = here;
}
