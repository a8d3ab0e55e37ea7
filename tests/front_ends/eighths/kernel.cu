// Modules: nvcc-sm_80 nvcc-sm_89 nvcc-sm_90
// Floats of 8 bits of both kinds: rounded from floats, and brought back (by instructions from sm_89 on, by tables of bits before).
#include <cuda_fp8.h>

extern "C" __global__ void eighths(const float2 *x, unsigned short *four, unsigned short *five, float2 *back) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __nv_fp8x2_e4m3 a(x[i]);
    __nv_fp8x2_e5m2 b(x[i]);
    four[i] = a.__x;
    five[i] = b.__x;
    float2 both = (float2)a, other = (float2)b;
    back[i] = make_float2(both.x + other.x, both.y - other.y);
}
