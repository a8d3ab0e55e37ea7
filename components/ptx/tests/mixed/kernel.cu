// Small kernels that make compilers use what the applications do not: only decoded, not run, by the tests.
#include "../../../../experiments/applications/cuda.h"

__constant__ float weights[16] = {1.0f, 2.0f, 3.0f};
__device__ unsigned counter;

extern "C" __global__ __launch_bounds__(256, 2) void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float ta[16][16], tb[16][16];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        ta[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
        tb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum * weights[threadIdx.x];
}

extern "C" __global__ void integers(const int *in, unsigned *out, long long *wide, short *small, unsigned char *bytes,
                                    int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = in[i];
    out[i] = (unsigned)v / 7u + v % (n | 1) + (v << (i & 31)) + ((unsigned)v >> 3 ^ ~v);
    wide[i] = (long long)v * v / (i + 1) + (wide[i] >> 5) % 11;
    small[i] = (short)(small[i] * 3 - bytes[i]);
    bytes[i] = (unsigned char)(v > 255 ? 255 : v < 0 ? 0 : v);
}

extern "C" __global__ void doubles(const double *in, float *out, double *sum, int n) {
    extern __shared__ double scratch[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    scratch[t] = i < n ? in[i] * 0.5 + in[i] / 3.0 : 0.0;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) scratch[t] += scratch[t + s];
        __syncthreads();
    }
    if (t == 0) sum[blockIdx.x] = scratch[0];
    if (i < n) out[i] = (float)in[i] > 1e3f ? (float)(int)in[i] : (float)(unsigned)i / 3.0f;
}

struct __attribute__((aligned(16))) four { float x, y, z, w; };
struct pair { int first; float second; };

extern "C" __global__ void vectors(const four *in, four *out, pair choice, int n) {
    float local[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    four v = in[i];
    for (int k = 0; k < 8; k++) local[(k * choice.first) & 7] = v.x * k;
    v.y = local[i & 7] + choice.second;
    if (v.w != v.w || v.z >= 2.0f) v.w = 0.0f;
    out[n - i] = v;
}
