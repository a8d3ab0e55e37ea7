// A polynomial and a dot product in half precision, single and in pairs (cuda_fp16.h); conversions on the host are checked bit by bit.
// Needs: sm_53
// Arguments: 1000

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        cudaError_t e = (call);                                                            \
        if (e != cudaSuccess) {                                                            \
            fprintf(stderr, "half_precision:%d: %s\n", __LINE__, cudaGetErrorString(e));   \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

// y = (a x + b) x + c, every step rounded once.
__global__ void polynomial(int n, const __half *x, __half *y, __half a, __half b, __half c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __hfma(__hfma(a, x[i], b), x[i], c);
}

__global__ void dot(int pairs, const __half2 *x, const __half2 *y, float *result)
{
    __shared__ __half2 partial[64];
    __half2 sum = __float2half2_rn(0.0f);
    for (int i = threadIdx.x; i < pairs; i += blockDim.x)
        sum = __hfma2(x[i], y[i], sum);
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int distance = blockDim.x / 2; distance > 0; distance /= 2) {
        if (threadIdx.x < distance)
            partial[threadIdx.x] = __hadd2(partial[threadIdx.x], partial[threadIdx.x + distance]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *result = __low2float(partial[0]) + __high2float(partial[0]);
}

__global__ void largest(int n, const __half *x, unsigned short *bits)
{
    __half most = x[0];
    for (int i = 1; i < n; ++i)
        most = __hgt(x[i], most) ? x[i] : most;
    *bits = __half_as_ushort(most);
}

int main(int argc, char **argv)
{
    const int n = (argc > 1 ? atoi(argv[1]) : 1000) & ~1;
    std::vector<__half> x(n), y(n);
    // Eighths from -2 to 2: the polynomial is exact until its last rounding.
    for (int i = 0; i < n; ++i)
        x[i] = __float2half((float)((i * 7) % 33 - 16) / 8.0f);
    const float a = 0.5f, b = -1.25f, c = 3.0f;

    __half *d_x, *d_y;
    float *d_dot;
    unsigned short *d_bits, bits;
    CHECK(cudaMalloc(&d_x, n * sizeof(__half)));
    CHECK(cudaMalloc(&d_y, n * sizeof(__half)));
    CHECK(cudaMalloc(&d_dot, sizeof(float)));
    CHECK(cudaMalloc(&d_bits, sizeof(unsigned short)));
    CHECK(cudaMemcpy(d_x, x.data(), n * sizeof(__half), cudaMemcpyHostToDevice));
    polynomial<<<(n + 127) / 128, 128>>>(n, d_x, d_y, __float2half(a), __float2half(b), __float2half(c));
    dot<<<1, 64>>>(n / 2, (const __half2 *)d_x, (const __half2 *)d_y, d_dot);
    largest<<<1, 1>>>(n, d_y, d_bits);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(y.data(), d_y, n * sizeof(__half), cudaMemcpyDeviceToHost));
    float got = 0.0f;
    CHECK(cudaMemcpy(&got, d_dot, sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&bits, d_bits, sizeof(bits), cudaMemcpyDeviceToHost));

    int errors = 0;
    double wanted = 0.0, magnitude = 0.0;
    float most = -INFINITY;
    for (int i = 0; i < n; ++i) {
        float value = __half2float(x[i]);
        __half result = __float2half((a * value + b) * value + c);
        errors += memcmp(&result, &y[i], sizeof(__half)) != 0;
        wanted += (double)value * __half2float(result);
        magnitude += fabs((double)value * __half2float(result));
        most = fmaxf(most, __half2float(result));
    }
    __half_raw raw;
    raw.x = bits;
    errors += __half2float(__half(raw)) != most;
    errors += !(fabs(got - wanted) < 2e-3 * magnitude + 1e-3);
    printf("dot product %g, wanted %g, largest %g, %d errors: %s\n", got, wanted, most, errors, errors ? "FAILED" : "PASSED");
    CHECK(cudaFree(d_x));
    CHECK(cudaFree(d_y));
    CHECK(cudaFree(d_dot));
    CHECK(cudaFree(d_bits));
    return errors ? 1 : 0;
}
