// Modules: nvcc-sm_75 nvcc-sm_80 nvcc-sm_90 nvrtc-sm_70
// The positive part of a x + b in both kinds of 16 bits, two at a time, and a sum of pairs by atomics.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void halves(const __half2 *x, __half2 *y, const __nv_bfloat162 *u, __nv_bfloat162 *v,
                                  __half2 *sum, float a, float b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __half2 half = __hfma2(__float2half2_rn(a), x[i], __float2half2_rn(b));
    y[i] = __hmax2(half, __float2half2_rn(0));
#if __CUDA_ARCH__ >= 800
    v[i] = __hmax2(__hfma2(__float2bfloat162_rn(a), u[i], __float2bfloat162_rn(b)), __float2bfloat162_rn(0));
#else
    float2 both = __bfloat1622float2(u[i]);
    v[i] = __floats2bfloat162_rn(fmaxf(a * both.x + b, 0), fmaxf(a * both.y + b, 0));
#endif
    // How many are above zero: small numbers, so that the order of the sum does not matter.
    atomicAdd(sum, __hgt2(half, __float2half2_rn(0)));
}
