// The first diagonal block and the internal blocks of a block LU decomposition; bound by the L2. Measured with GPGPU-Sim 4.2: experiments/validation.
#include "../cuda.h"

extern "C" __global__ void lud_diagonal(float *m, int n, int off) {
    __shared__ float s[16][16];
    int t = threadIdx.x;
    for (int i = 0; i < 16; i++) s[i][t] = m[(off + i) * n + off + t];
    __syncthreads();
    for (int i = 0; i < 15; i++) {
        if (t > i) {
            for (int k = 0; k < i; k++) s[t][i] -= s[t][k] * s[k][i];
            s[t][i] /= s[i][i];
        }
        __syncthreads();
        if (t > i) {
            for (int k = 0; k < i + 1; k++) s[i + 1][t] -= s[i + 1][k] * s[k][t];
        }
        __syncthreads();
    }
    for (int i = 1; i < 16; i++) m[(off + i) * n + off + t] = s[i][t];
}
extern "C" __global__ void lud_internal(float *m, int n, int off) {
    __shared__ float pr[16][16], pc[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = off + (blockIdx.y + 1) * 16, col = off + (blockIdx.x + 1) * 16;
    pr[y][x] = m[(off + y) * n + col + x];
    pc[y][x] = m[(row + y) * n + off + x];
    __syncthreads();
    float s = 0;
    for (int k = 0; k < 16; k++) s += pc[y][k] * pr[k][x];
    m[(row + y) * n + col + x] -= s;
}
