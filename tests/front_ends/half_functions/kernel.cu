// Modules: nvcc-sm_75 nvcc-sm_90 nvrtc-sm_70
// Functions of halves, approximate ones as floats, and conversions in every direction, which are exact.
#include <cuda_fp16.h>

extern "C" __global__ void half_functions(const __half *x, float *near, __half *equal, int *whole, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __half a = x[i], one = __float2half(1);
    __half results[8] = {hexp(a),  hlog(a + one),  hsin(a),       hcos(a),
                         hrcp(a + one), hsqrt(a), hrsqrt(a + one), hexp2(a)};
    for (int k = 0; k < 8; k++) near[k * n + i] = __half2float(results[k]);
    __half exact[8] = {hrint(a), hfloor(a), hceil(a), htrunc(a), __float2half_rz(i * 1.7f),
                       __int2half_rn(i * 999 - 20000), __double2half(i * 0.3), __hmin(a, __hneg(one) * a + one)};
    for (int k = 0; k < 8; k++) equal[k * n + i] = exact[k];
    whole[i] = __half2int_ru(a) + 1000 * __half2uint_rz(a) + 1000000 * __half2short_rd(a);
    whole[n + i] = (__hge(a, one) ? 1 : 0) + (__hisnan(a) ? 2 : 0) + (__hltu(a, one) ? 4 : 0);
}
